"""`towhom evaluate --task threads`."""

from __future__ import annotations

import json
import subprocess
import sys
from math import log2
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
from tests.live.conftest import saved_model
from towhom import load
from towhom.crosstalk.folder import write_crosstalk
from towhom.evaluation.reply_links import read_linked_logs
from towhom.evaluation.threads import describe_threads, follow_logs
from towhom.threads.baselines import BASELINES

LOG = """\
[10:00] <ada> is the kettle on?
[10:01] <bob> ada: since noon
=== cyd [~c@example.org] has joined #room
[10:02] <cyd> who took the spoon?
[10:03] <ada> bob: thanks
[10:04] <dee> cyd: i did
"""
LINKS = "0 0 -\n0 1 -\n2 2 -\n3 3 -\n1 4 -\n3 5 -\n"
# Conversations {0 1 4} {2} {3 5}.
NUMBERS = ("links", "conversations")


@pytest.fixture
def links(tmp_path: Path) -> Path:
    return write_links(tmp_path / "links", LOG, LINKS)


def measured(run: Run, system: str | Path, data: Path, *options: str) -> dict[str, Any]:
    result = run("evaluate", system, "--task", "threads", "--data", data, "--json", *options)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


class TestJson:
    def test_of_the_default_model(self, run: Run, links: Path) -> None:
        """Everybody is named: there is nothing to get wrong."""
        found = measured(run, "default", links)
        assert (found["task"], found["model"], found["lines"]) == ("threads", "default", 6)
        everything = {"precision": 100, "recall": 100, "f1": 100}
        assert found["links"] == everything
        assert found["conversations"] == {
            "variation_of_information": 100,
            "one_to_one": 100,
            "exact_match": everything,
            "adjusted_rand_index": 100,
        }

    def test_what_nobody_says_is_not_calibrated(self, run: Run, links: Path) -> None:
        found = measured(run, "default", links)["calibration"]
        assert sum(each["samples"] for each in found["bins"]) == 5

    def test_as_it_is_measured_in_python(self, run: Run, links: Path) -> None:
        logs = list(read_linked_logs(links))
        expected = describe_threads(logs, follow_logs(load().threads, logs))
        assert measured(run, "default", links).items() >= expected.items()

    def test_the_baselines_beside_it(self, run: Run, links: Path) -> None:
        baselines = measured(run, "default", links)["baselines"]
        assert list(baselines) == list(BASELINES)
        assert all(list(each) == list(NUMBERS) for each in baselines.values())
        # Both name rules find everything.
        for name in ("addressee-else-own-last", "within-minutes"):
            assert baselines[name]["links"]["f1"] == 100
        # The previous message: 0-0, 1-0 and 2-2 are right, of 6. One conversation of 5 lines against 3 and 2:
        # H(both) = H(1/2, 1/6, 1/3), which is that of the true ones; H(5/6, 1/6) is that of the others.
        previous = baselines["previous-message"]
        assert previous["links"] == {"precision": 50, "recall": 50, "f1": 50}
        both = 1 / 2 + log2(6) / 6 + log2(3) / 3
        alone = 5 / 6 * log2(6 / 5) + log2(6) / 6
        assert previous["conversations"]["variation_of_information"] == pytest.approx(
            100 * (1 - (both - alone) / log2(6)), abs=1e-3
        )
        assert previous["conversations"]["one_to_one"] == pytest.approx(100 * 4 / 6, abs=1e-3)
        assert previous["conversations"]["exact_match"]["f1"] == 0

    @pytest.mark.parametrize("name", list(BASELINES))
    def test_of_a_baseline(self, name: str, run: Run, links: Path) -> None:
        found = measured(run, name, links)
        assert found["model"] == name
        assert found.items() >= found["baselines"][name].items()
        assert list(found["baselines"]) == list(BASELINES)

    def test_of_a_model_folder(self, run: Run, links: Path, tmp_path: Path) -> None:
        write_crosstalk(tmp_path / "model", saved_model(1), card="")
        found = measured(run, tmp_path / "model", links)
        assert (found["model"], found["lines"]) == (str(tmp_path / "model"), 6)
        assert found["calibration"] != measured(run, "default", links)["calibration"]

    def test_only_annotated_lines(self, run: Run, links: Path) -> None:
        """What comes before them is read all the same."""
        (links / "kitchen.links").write_text("1 4 -\n3 5 -\n")
        found = measured(run, "default", links)
        assert (found["lines"], found["links"]["f1"]) == (2, 100)

    def test_several_logs(self, run: Run, links: Path) -> None:
        (links / "other.txt").write_text(LOG)
        (links / "other.links").write_text("0 0 -\n0 1 -\n1 4 -\n4 5 -\n")
        found = measured(run, "addressee-else-own-last", links)
        assert (found["lines"], found["links"]["f1"]) == (10, 90)
        alone = measured(run, "addressee-else-own-last", links / "other.txt")
        assert (alone["lines"], alone["links"]["f1"]) == (4, 75)

    def test_the_same_without_torch(self, run: Run, links: Path) -> None:
        command = ("evaluate", "default", "--task", "threads", "--data", str(links), "--json")
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_TORCH, *command], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["links"] == measured(run, "default", links)["links"]


class TestTable:
    @pytest.fixture(autouse=True)
    def wide(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "120")

    def table(self, run: Run, system: str, data: Path) -> list[str]:
        output = run("evaluate", system, "--task", "threads", "--data", data).stdout
        return [line for line in output.splitlines() if line.strip()]

    def test_of_a_model(self, run: Run, links: Path) -> None:
        _, _, *rows, last = self.table(run, "default", links)
        assert [row.split()[0] for row in rows] == [*BASELINES, "default"]
        assert rows[-1].split()[1:] == ["100.0"] * 9
        assert last == "6 annotated lines"

    def test_numbers_are_in_the_columns_of_their_names(self, run: Run, links: Path) -> None:
        groups, titles, row, *_ = self.table(run, "previous-message", links)
        found = measured(run, "previous-message", links)
        talks = found["conversations"]
        expected = [
            *(found["links"][key] for key in ("precision", "recall", "f1")),
            talks["variation_of_information"],
            talks["one_to_one"],
            *(talks["exact_match"][key] for key in ("precision", "recall", "f1")),
            talks["adjusted_rand_index"],
        ]
        assert row.split() == ["previous-message", *(f"{number:.1f}" for number in expected)]
        assert groups.split() == ["links", "exact"]
        assert titles.split() == ["P", "R", "F1", "VI", "1-1", "P", "R", "F1", "ARI"]

    def test_of_a_baseline_it_is_there_once(self, run: Run, links: Path) -> None:
        rows = self.table(run, "within-minutes", links)
        assert sum(row.startswith("within-minutes ") for row in rows) == 1

    def test_in_a_window_of_the_usual_width(
        self, run: Run, links: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        rows = self.table(run, "default", links)
        assert "…" not in "".join(rows)
        assert max(map(len, rows)) <= 80


def test_a_record(run: Run, links: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "record.json"
    result = run("evaluate", "default", "--task", "threads", "--data", links, "--out", out, "--json")
    record, shown = json.loads(out.read_text("utf-8")), json.loads(result.stdout)
    assert record.items() >= shown.items()
    assert {"command", "date", "versions", "data"} < record.keys()


class TestErrors:
    def fails(self, run: Run, system: str | Path, data: Path, *options: str, code: int = 1) -> str:
        return run("evaluate", system, "--task", "threads", "--data", data, *options, code=code).stderr

    def test_an_unknown_model(self, run: Run, links: Path) -> None:
        assert self.fails(run, "defalt", links) == (
            "Error: defalt: there is no such model folder, nor anything of this name "
            "(previous-message, addressee-else-own-last, within-minutes, default, large)\n"
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
        assert self.fails(run, "default", links).startswith(f"Error: {links}: ")

    def test_a_corpus(self, run: Run, folders: Folders) -> None:
        message = self.fails(run, "default", folders.corpus, code=2)
        assert "a corpus has no reply links; --data must be logs with .links files" in message

    @pytest.mark.parametrize(
        "option",
        [("--context", "5"), ("--candidates", "2"), ("--rule", "joint"), ("--against", "within-minutes")],
    )
    def test_options_of_another_task(self, run: Run, links: Path, option: tuple[str, str]) -> None:
        message = self.fails(run, "within-minutes", links, *option, code=2)
        assert f"the task threads does not use {option[0]}" in message

    def test_figures(self, run: Run, links: Path, tmp_path: Path) -> None:
        message = self.fails(run, "default", links, "--figures", str(tmp_path / "figures"), code=2)
        assert "--figures are of the task addressee" in message
        assert not (tmp_path / "figures").exists()

    @pytest.mark.parametrize("system", ["nobody", "recent-tfidf"])
    def test_a_baseline_of_another_task(self, run: Run, links: Path, system: str) -> None:
        assert f"Error: {system}: there is no such model folder" in self.fails(run, system, links)
