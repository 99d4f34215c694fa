"""The data table, worked out by hand on two small documents."""

from __future__ import annotations

from pathlib import Path

from towhom.corpus import CorpusSettings, DocumentSettings, Split, build_corpus
from towhom.corpus.stats import PUBLISHED, split_statistics

FIRST = [
    "<ada> one two three",
    "<bob> ada: four",
    "<cyd> bob: five six",
    "<cyd> dee: nobody of this name",
    "<ada> ada: seven",
    "<ada> bob: eight nine.",
    *["<cyd> ten"] * 6,
    "<cyd> ada: eleven",
]
SECOND = ["<eve> hello", "<fay> eve: hello"]


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"[10:00] {line}\n" for line in lines))
    return path


def test_exact_numbers(tmp_path: Path) -> None:
    corpus = build_corpus(
        tmp_path / "corpus",
        splits={Split.TRAIN: [write(tmp_path / "a", FIRST)], Split.TEST: [write(tmp_path / "b", SECOND)]},
        settings=CorpusSettings(document=DocumentSettings(min_addressed=0, candidates=(2,))),
    )
    statistics = split_statistics(corpus)
    assert list(statistics) == ["train", "test", "total"]
    assert statistics["train"] == {
        "documents": 1,
        "messages": 13,
        "addressed": 5,
        "samples": 4,
        # "eight nine.", four messages after bob's, has a context of 5; "eleven", seven after ada's, of 12.
        "training_samples": {"5": 1, "10": 1, "15": 0},
        "addressed_share": 0.3846,
        "speakers_per_document": 3.0,
        "messages_per_document": 13.0,
        "words_per_message": 1.77,
    }
    assert statistics["test"] == {
        "documents": 1,
        "messages": 2,
        "addressed": 1,
        "samples": 1,
        "training_samples": {"5": 0, "10": 0, "15": 0},
        "addressed_share": 0.5,
        "speakers_per_document": 2.0,
        "messages_per_document": 2.0,
        "words_per_message": 1.0,
    }
    assert statistics["total"] == {
        "documents": 2,
        "messages": 15,
        "addressed": 6,
        "samples": 5,
        "training_samples": {"5": 1, "10": 1, "15": 0},
        "addressed_share": 0.4,
        "speakers_per_document": 2.5,
        "messages_per_document": 7.5,
        "words_per_message": 1.67,
    }
    assert corpus.manifest["statistics"] == statistics


def test_what_no_message_says_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "dev.cand-2"
    path.write_text(
        "[10:00]\t<ada>\t-\tone two three\t-\t-\n[10:01]\t<bob>\tada\tfour\ta long thing nobody says\t0\n"
    )
    statistics = split_statistics(build_corpus(tmp_path / "corpus", splits={Split.DEV: [path]}))
    assert statistics["dev"]["words_per_message"] == 2.0
    assert statistics["dev"]["samples"] == 1


def test_published_figures_add_up() -> None:
    for key in ("documents", "messages"):
        parts = sum(PUBLISHED[split.value][key] for split in Split)
        assert abs(parts / PUBLISHED["total"][key] - 1) < 0.01
