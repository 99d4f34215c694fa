"""`towhom evaluate --task addressee`, and `default` as the model of `towhom evaluate`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, write_links
from tests.cli.test_demo import WITHOUT_TORCH
from tests.experiments.tiny import Folders
from tests.experiments.tiny import corpus as corpus
from tests.experiments.tiny import folders as folders
from tests.experiments.tiny import one_thread as one_thread
from tests.experiments.tiny import vectors as vectors
from tests.live.conftest import ruled_model
from towhom import load
from towhom.crosstalk.folder import write_crosstalk
from towhom.evaluation.addressees import BASELINES, describe_addressees, follow_logs, follow_model
from towhom.evaluation.reply_links import read_linked_logs

LOG = """\
[10:00] <ada> the kettle is on
[10:01] <bob> ada: thanks
[10:02] <cyd> who took the spoon
[10:03] <ada> it was bob
[10:04] <ada> cyd: ask him
[10:05] <bob> not me
[10:06] <cyd> then who
"""
LINKS = "0 0 -\n1 0 -\n2 2 -\n3 2 -\n4 2 -\n5 3 -\n6 4 -\n"
# Meant are: nobody; ada, named; nobody; cyd; cyd, named; ada; ada.


@pytest.fixture
def links(tmp_path: Path) -> Path:
    return write_links(tmp_path / "links", LOG, LINKS)


def measured(run: Run, system: str | Path, data: Path, *options: str) -> dict[str, Any]:
    result = run("evaluate", system, "--task", "addressee", "--data", data, "--json", *options)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


class TestJson:
    def test_of_the_default_model(self, run: Run, links: Path) -> None:
        found = measured(run, "default", links)
        assert (found["task"], found["model"], found["messages"]) == ("addressee", "default", 7)
        assert found["names_nobody"]["messages"] == 5
        assert found["names_nobody"]["for_somebody"]["messages"] == 3
        assert found["names_nobody"]["for_nobody"]["messages"] == 2
        low, high = found["interval"]
        assert low <= found["accuracy"] <= high
        assert found["accuracy"] >= 100 * 2 / 7 - 0.01  # names are believed
        for point in found["is_for"]:
            assert 0 <= point["precision"] <= 1
            assert 0 <= point["recall"] <= 1
        recalls = [point["recall"] for point in found["is_for"]]
        assert recalls == sorted(recalls, reverse=True)
        assert sum(each["samples"] for each in found["calibration"]["bins"]) == 7

    def test_as_it_is_measured_in_python(self, run: Run, links: Path) -> None:
        expected = describe_addressees(follow_logs(follow_model(load()), read_linked_logs(links)))
        assert measured(run, "default", links).items() >= expected.items()

    def test_the_baselines_beside_it(self, run: Run, links: Path) -> None:
        baselines = measured(run, "default", links)["baselines"]
        assert list(baselines) == list(BASELINES)
        # Both names are right, and the two messages that are for nobody.
        assert baselines["nobody"]["accuracy"] == pytest.approx(100 * 4 / 7, abs=1e-3)
        assert baselines["nobody"]["names_nobody"]["accuracy"] == 40
        # Right: the first, since nobody was there before; ada after cyd; bob after ada.
        assert baselines["previous-speaker"]["names_nobody"]["accuracy"] == 60
        # Right: the two that are for nobody; cyd, whom ada has addressed.
        assert baselines["addressed-me-last"]["names_nobody"]["accuracy"] == 60

    @pytest.mark.parametrize("name", list(BASELINES))
    def test_of_a_baseline(self, name: str, run: Run, links: Path) -> None:
        found = measured(run, name, links)
        assert found["model"] == name
        assert found.items() >= found["baselines"][name].items()

    def test_of_a_model_folder(self, run: Run, links: Path, tmp_path: Path) -> None:
        """One that follows plain rules."""
        write_crosstalk(tmp_path / "model", ruled_model(), card="")
        found = measured(run, tmp_path / "model", links)
        assert found["model"] == str(tmp_path / "model")
        assert found["names_nobody"]["for_nobody"]["accuracy"] == 100

    def test_one_log(self, run: Run, links: Path) -> None:
        """Of several, the one asked for."""
        (links / "other.txt").write_text(LOG)
        (links / "other.links").write_text("0 0 -\n")
        assert measured(run, "nobody", links)["messages"] == 8
        assert measured(run, "nobody", links / "other.txt")["messages"] == 1


def test_table(run: Run, links: Path) -> None:
    output = run("evaluate", "default", "--task", "addressee", "--data", links).stdout
    assert max(map(len, output.splitlines())) <= 80
    assert "…" not in output
    rows = [line.split()[0] for line in output.splitlines() if line.strip()]
    assert [row for row in rows if row in (*BASELINES, "default")] == [*BASELINES, "default"]
    assert "7 annotated messages, 5 of them name nobody" in output
    found = measured(run, "default", links)
    half = next(point for point in found["is_for"] if point["threshold"] == 0.5)
    assert f"is_for at 0.5: precision {half['precision']:.3f}, recall {half['recall']:.3f}; " in output


def test_a_baseline_is_not_asked_for_probabilities(run: Run, links: Path) -> None:
    output = run("evaluate", "nobody", "--task", "addressee", "--data", links).stdout
    assert "is_for" not in output


@pytest.mark.parametrize("option", [("--context", "5"), ("--candidates", "2"), ("--against", "nobody")])
def test_options_of_the_other_task(run: Run, links: Path, option: tuple[str, str]) -> None:
    result = run("evaluate", "nobody", "--task", "addressee", "--data", links, *option, code=2)
    assert f"the task addressee does not use {option[0]}" in result.stderr


def test_figures(run: Run, links: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "figures"
    command = ("evaluate", "default", "--task", "addressee", "--data", links, "--figures", folder)
    result = run(*command, "--json")
    assert sorted(path.name for path in folder.iterdir()) == ["addressees.svg"]
    assert "<svg" in (folder / "addressees.svg").read_text("utf-8")
    assert result.stderr.split() == [str(folder / "addressees.svg")]
    assert json.loads(result.stdout)["messages"] == 7
    before = [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]
    run(*command)
    assert [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())] == before


class TestErrors:
    def fails(self, run: Run, system: str | Path, data: Path, *, code: int = 1) -> str:
        return run("evaluate", system, "--task", "addressee", "--data", data, code=code).stderr

    def test_an_unknown_model(self, run: Run, links: Path) -> None:
        for name in ("defalt", "recent-tfidf"):
            assert self.fails(run, name, links) == (
                f"Error: {name}: there is no such model folder, nor anything of this name "
                "(nobody, previous-speaker, addressed-me-last, default, large)\n"
            )

    def test_a_folder_that_is_no_model(self, run: Run, links: Path) -> None:
        assert f"{links}: this is not a model" in self.fails(run, links, links)

    def test_no_links(self, run: Run, links: Path, tmp_path: Path) -> None:
        (links / "kitchen.links").unlink()
        for data in (links, links / "kitchen.txt"):
            assert self.fails(run, "default", data).startswith(f"Error: {data}: there are no reply links")
        nowhere = tmp_path / "nowhere"
        assert self.fails(run, "default", nowhere).startswith(f"Error: {nowhere}: there is no such file")

    def test_links_that_are_none(self, run: Run, links: Path) -> None:
        (links / "kitchen.links").write_text("0 0 -\none two -\n")
        message = f"Error: {links / 'kitchen.links'}:2: expected two line numbers"
        assert self.fails(run, "default", links).startswith(message)

    def test_links_that_say_nothing(self, run: Run, links: Path) -> None:
        (links / "kitchen.links").write_text("")
        message = f"Error: {links}: no link says who a message is for\n"
        assert self.fails(run, "default", links) == message

    def test_a_corpus(self, run: Run, folders: Folders) -> None:
        message = self.fails(run, "default", folders.corpus, code=2)
        assert "a corpus has no reply links; --data must be logs with .links files" in message


class TestDefaultOnACorpus:
    def test_selection(self, run: Run, folders: Folders) -> None:
        """It has never seen such a chat, but who asks is answered there, too."""
        result = run("evaluate", "default", "--data", f"{folders.corpus}:dev", "--json")
        found = json.loads(result.stdout)
        assert (found["samples"], found["candidates"]) == (120, 2)
        assert found["adr"] > 40  # by chance, one in four or five

    def test_the_same_without_torch(self, run: Run, folders: Folders) -> None:
        command = ("evaluate", "default", "--data", f"{folders.corpus}:dev", "--json")
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_TORCH, *command], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        ours, theirs = json.loads(done.stdout), json.loads(run(*command).stdout)
        for metric in ("adr", "res", "adr_res", "mrr"):
            assert ours[metric] == pytest.approx(theirs[metric], abs=1)

    def test_against_a_baseline(self, run: Run, folders: Folders) -> None:
        data = ("--data", f"{folders.corpus}:dev", "--json")
        found = json.loads(run("evaluate", "chance", *data, "--against", "default").stdout)
        assert found["against"]["model"] == "default"
        alone = json.loads(run("evaluate", "default", *data).stdout)
        assert found["against"]["adr"] == alone["adr"]


def test_a_record(run: Run, links: Path, tmp_path: Path) -> None:
    run("evaluate", "nobody", "--task", "addressee", "--data", links, "--out", tmp_path / "record.json")
    record = json.loads((tmp_path / "record.json").read_text("utf-8"))
    assert record["accuracy"] == measured(run, "nobody", links)["accuracy"]
    assert {"command", "date", "versions", "data"} < record.keys()
