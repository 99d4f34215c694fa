"""`towhom package`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tests.cli.conftest import CHAT, Run
from tests.experiments.tiny import OPTIONS, Folders
from tests.experiments.tiny import corpus as corpus
from tests.experiments.tiny import folders as folders
from tests.experiments.tiny import one_thread as one_thread
from tests.experiments.tiny import vectors as vectors
from tests.models.chats import write_corpus
from tests.training.conftest import quiz, weights
from towhom import Message, load
from towhom.cli import main
from towhom.persistence import CARD, TRAINING


class Given(NamedTuple):
    """What a package is made of."""

    model: Path
    corpus: Path
    links: Path
    dev_links: Path

    def command(self, out: Path) -> tuple[str | Path, ...]:
        return (
            "package", self.model, out, "--corpus", self.corpus, "--links", self.links,
            "--dev-links", self.dev_links,
        )  # fmt: skip


def write_links(folder: Path, seed: int) -> Path:
    """Two logs in which everybody answers who spoke last."""
    folder.mkdir()
    for name in ("a", "b"):
        random = Random(f"{seed} {name}")
        speakers = [random.choice(("ada", "bob"))]
        for _ in range(49):
            speakers.append(random.choice([each for each in ("ada", "bob", "cyd") if each != speakers[-1]]))
        lines = [
            f"[10:{line:02}] <{who}> {random.choice(('here', 'now'))}" for line, who in enumerate(speakers)
        ]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
        (folder / f"{name}.links").write_text("".join(f"{max(line - 1, 0)} {line} -\n" for line in range(50)))
    return folder


@pytest.fixture(scope="module")
def given(folders: Folders, tmp_path_factory: pytest.TempPathFactory) -> Given:
    folder = tmp_path_factory.mktemp("given")
    main(["train", str(folder / "model"), *folders.options, *OPTIONS], standalone_mode=False)
    links = write_links(folder / "train", 1), write_links(folder / "dev", 2)
    return Given(folder / "model", folders.corpus, *links)


def test_makes_a_model_to_run_live(run: Run, given: Given, tmp_path: Path) -> None:
    out = tmp_path / "new" / "model[red]"
    result = run(*given.command(out))
    training = json.loads((out / TRAINING).read_text("utf-8"))
    assert training["dev"] == json.loads((given.model / TRAINING).read_text("utf-8"))["dev"]
    package = training["package"]
    select, found = package["select"]["2"], package["addressees"]
    assert result.stdout == ""
    *_, first, second, third, last = result.stderr.splitlines()
    assert first.startswith(
        f"2 candidates: ADR {select['adr']:.2f}, RES {select['res']:.2f}, ADR-RES {select['adr_res']:.2f}; "
    )
    assert second.startswith(f"addressees: {found['accuracy']:.2f} % of 100 messages, ")
    assert third.startswith("threads: links F1 ")
    assert last == str(out)
    assert f"{found['accuracy']:.1f} % of 100 are right" in (out / CARD).read_text("utf-8")
    assert package["links"] == [{"messages": 100}] * 2
    session = load(out).session()
    session.observe(Message("ada", "where"))
    assert session.observe(Message("bob", "here")).addressee == "ada"
    assert len(json.loads(run("evaluate", out, "--data", f"{given.corpus}:dev", "--json").stdout)) > 3


def test_the_seed_decides(run: Run, given: Given, tmp_path: Path) -> None:
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        run(*given.command(tmp_path / name), "--seed", seed)
    assert weights(tmp_path / "a") == weights(tmp_path / "b") != weights(tmp_path / "c")
    record = json.loads((tmp_path / "a" / TRAINING).read_text("utf-8"))["package"]
    assert record["ranker"]["seed"] == 5


def test_without_torch_there_is_a_command(
    run: Run, given: Given, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    result = run(*given.command(tmp_path / "out"), code=1)
    assert "pip install 'towhom[train]'" in result.stderr


class TestErrors:
    def fails(self, run: Run, given: Given, tmp_path: Path, *, code: int = 1) -> str:
        """What it says; and nothing is written."""
        error = run(*given.command(tmp_path / "out"), code=code).stderr
        assert not (tmp_path / "out").exists()
        return error

    def test_no_model(self, run: Run, given: Given, tmp_path: Path) -> None:
        error = self.fails(run, given._replace(model=tmp_path), tmp_path)
        assert f"Error: {tmp_path}: this is no model" in error
        error = self.fails(run, given._replace(model=tmp_path / "nowhere"), tmp_path, code=2)
        assert "does not exist" in error

    def test_no_corpus(self, run: Run, given: Given, tmp_path: Path) -> None:
        error = self.fails(run, given._replace(corpus=tmp_path), tmp_path)
        assert f"Error: {tmp_path}: this is no corpus" in error

    def test_a_corpus_without_dev(self, run: Run, given: Given, tmp_path: Path) -> None:
        corpus = write_corpus(tmp_path / "other", [quiz(Random(1), rounds=5)])
        error = self.fails(run, given._replace(corpus=corpus.folder), tmp_path)
        assert f"Error: {corpus.folder}: there are no samples in dev" in error

    @pytest.mark.parametrize("which", ["links", "dev_links"])
    def test_no_links(self, which: str, run: Run, given: Given, tmp_path: Path) -> None:
        folder = tmp_path / "logs"
        folder.mkdir()
        (folder / "chat.txt").write_text(CHAT)
        error = self.fails(run, given._replace(**{which: folder}), tmp_path)
        assert f"Error: {folder}: there are no reply links" in error


class TestWhatIsThere:
    def test_no_model(self, run: Run, given: Given, tmp_path: Path) -> None:
        (tmp_path / "photos").mkdir()
        (tmp_path / "photos" / "a.jpg").write_bytes(b"x")
        result = run(*given.command(tmp_path / "photos"), code=1)
        assert "photos: is there already and is no model; choose another folder" in result.stderr
        assert (tmp_path / "photos" / "a.jpg").read_bytes() == b"x"

    def test_a_model(self, run: Run, given: Given, tmp_path: Path) -> None:
        run(*given.command(tmp_path / "model"))
        before = weights(tmp_path / "model")
        assert "--force replaces it" in run(*given.command(tmp_path / "model"), "--seed", "3", code=1).stderr
        assert weights(tmp_path / "model") == before
        run(*given.command(tmp_path / "model"), "--seed", "3", "--force")
        assert weights(tmp_path / "model") != before


@pytest.mark.parametrize(("which", "message"), [("--links", "to learn from"), ("--dev-links", "to measure")])
def test_links_that_say_nothing(run: Run, given: Given, tmp_path: Path, which: str, message: str) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "a.txt").write_text("[10:00] <ada> tea\n")
    (tmp_path / "links" / "a.links").write_text("")
    result = run(*given.command(tmp_path / "out"), which, tmp_path / "links", code=1)
    assert message in result.stderr
    assert not (tmp_path / "out").exists()
