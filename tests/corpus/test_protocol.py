"""The build against a second implementation of the protocol, on made-up and on real logs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import irc_days
from tests.corpus.plain import Counts, count
from towhom.corpus import Corpus, CorpusSettings, DocumentSettings, build_corpus
from towhom.errors import CorpusError

UBUNTU = Path(__file__).parents[2].parent / "shared" / "data" / "ubuntu-irc" / "dev"


def counts_of(corpus: Corpus, context: int) -> Counts:
    return Counts(
        documents=len(corpus.documents.names),
        messages=len(corpus.messages.speaker),
        addressed=int((corpus.messages.addressee >= 0).sum()),
        samples=len(corpus.samples.message),
        usable=len(corpus.samples_of(None, context=context)),
    )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    days=st.integers(1, 4),
    lines=st.integers(1, 60),
    context=st.integers(1, 20),
    min_addressed=st.integers(2, 25),
)
def test_made_up_logs(seed: int, days: int, lines: int, context: int, min_addressed: int) -> None:
    log = "\n".join(irc_days(Random(seed), days=days, lines=lines)).encode()
    expected = count(log, context=context, min_addressed=min_addressed)
    protocol = CorpusSettings(document=DocumentSettings(min_addressed=min_addressed, candidates=(2,)))
    with TemporaryDirectory() as folder:
        path = Path(folder, "log.txt")
        path.write_bytes(log)
        if not expected.documents:
            with pytest.raises(CorpusError, match="no document is left"):
                build_corpus(Path(folder, "corpus"), [path], format="irc", settings=protocol)
            return
        corpus = build_corpus(Path(folder, "corpus"), [path], format="irc", settings=protocol)
        assert counts_of(corpus, context) == expected


def test_made_up_logs_have_what_they_are_to_test() -> None:
    counts = count("\n".join(irc_days(Random(0), days=3, lines=200)).encode(), context=3)
    assert counts.documents == 3
    assert counts.messages > counts.addressed > counts.samples > counts.usable > 0


@pytest.mark.skipif(not UBUNTU.is_dir(), reason="the #ubuntu logs are not beside the project")
def test_ubuntu_logs(tmp_path: Path) -> None:
    plain = Counts()
    for path in sorted(UBUNTU.glob("*.txt")):
        one = count(path.read_bytes(), context=15)
        corpus = build_corpus(tmp_path / path.name, [path])
        assert counts_of(corpus, 15) == one, path.name
        plain = Counts(**{key: value + asdict(one)[key] for key, value in asdict(plain).items()})
    assert counts_of(build_corpus(tmp_path / "all", [UBUNTU]), 15) == plain
    assert plain.documents == 10
    assert plain.messages == pytest.approx(11_612, rel=0.01)
    assert plain.addressed == pytest.approx(5_061, rel=0.01)
    assert plain.samples == pytest.approx(5_032, rel=0.01)
    assert plain.usable == pytest.approx(4_759, rel=0.01)
