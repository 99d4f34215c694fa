"""A corpus pulled apart."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import LogWriter
from towhom import load
from towhom.corpus import Corpus, build_corpus
from towhom.errors import CorpusError
from towhom.live import disentangle as module
from towhom.live.disentangle import Done, disentangle


@pytest.fixture
def corpus(write_log: LogWriter, tmp_path: Path) -> Corpus:
    return build_corpus(tmp_path / "corpus", [write_log(days=6, lines=60)])


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PART", 100)


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


class TestRecords:
    def test_every_message_is_in_one_conversation(self, corpus: Corpus, tmp_path: Path) -> None:
        done = disentangle(corpus, tmp_path / "out.jsonl")
        found = records(tmp_path / "out.jsonl")
        numbers = [(each["document"], m["number"]) for each in found for m in each["messages"]]
        assert len(numbers) == len(set(numbers)) == len(corpus.messages.speaker) == done.messages
        assert done.conversations == len(found)

    def test_they_are_what_the_model_says(self, corpus: Corpus, tmp_path: Path) -> None:
        disentangle(corpus, tmp_path / "out.jsonl")
        chat = corpus.conversation(0)
        wanted = {placed.line: list(placed.replies_to) for placed in load().threads(chat.messages)}
        mine = [each for each in records(tmp_path / "out.jsonl") if each["document"] == chat.name]
        assert {m["number"]: m["replies_to"] for each in mine for m in each["messages"]} == wanted
        assert all(each["thread"] == each["messages"][0]["number"] for each in mine)

    def test_texts_speakers_and_addressees(self, corpus: Corpus, tmp_path: Path) -> None:
        disentangle(corpus, tmp_path / "out.jsonl")
        chat = corpus.conversation(0)
        for each in records(tmp_path / "out.jsonl"):
            assert each["speakers"] == list(dict.fromkeys(m["speaker"] for m in each["messages"]))
            if each["document"] == chat.name:
                for m in each["messages"]:
                    said = chat[m["number"]]
                    assert (m["speaker"], m["addressee"], m["text"]) == (
                        said.speaker,
                        said.addressee,
                        said.text,
                    )

    def test_least(self, corpus: Corpus, tmp_path: Path) -> None:
        disentangle(corpus, tmp_path / "all.jsonl")
        disentangle(corpus, tmp_path / "some.jsonl", least=3)
        wanted = [each for each in records(tmp_path / "all.jsonl") if len(each["messages"]) >= 3]
        assert records(tmp_path / "some.jsonl") == wanted


class TestRuns:
    def test_any_number_of_workers(self, corpus: Corpus, tmp_path: Path) -> None:
        disentangle(corpus, tmp_path / "one.jsonl")
        disentangle(corpus, tmp_path / "two.jsonl", workers=2)
        assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()

    def test_parts_are_gone_when_it_is_complete(self, corpus: Corpus, tmp_path: Path) -> None:
        disentangle(corpus, tmp_path / "out.jsonl")
        assert not (tmp_path / "out.jsonl.parts").exists()

    def test_what_is_there_is_not_replaced(self, corpus: Corpus, tmp_path: Path) -> None:
        (tmp_path / "out.jsonl").write_text("kept", "utf-8")
        with pytest.raises(CorpusError, match="replace it with --force"):
            disentangle(corpus, tmp_path / "out.jsonl")
        assert (tmp_path / "out.jsonl").read_text("utf-8") == "kept"
        disentangle(corpus, tmp_path / "out.jsonl", replace=True)
        assert records(tmp_path / "out.jsonl")

    def test_it_goes_on_where_it_was(self, corpus: Corpus, tmp_path: Path) -> None:
        out, steps = tmp_path / "out.jsonl", list[Done]()

        def stop(done: Done) -> None:
            steps.append(done)
            if len(steps) == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            disentangle(corpus, out, progress=stop)
        kept = sorted((tmp_path / "out.jsonl.parts").glob("*.jsonl"))
        times = [part.stat().st_mtime_ns for part in kept]
        assert len(kept) == 2
        later = []
        disentangle(corpus, out, progress=lambda done: later.append([p.stat().st_mtime_ns for p in kept]))
        assert later[0] == times
        disentangle(corpus, tmp_path / "whole.jsonl")
        assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()

    def test_parts_of_another_run(self, corpus: Corpus, tmp_path: Path) -> None:
        parts = tmp_path / "out.jsonl.parts"
        parts.mkdir()
        (parts / "settings.json").write_text('{"corpus": "other"}', "utf-8")
        with pytest.raises(CorpusError, match="--force starts again"):
            disentangle(corpus, tmp_path / "out.jsonl")
        disentangle(corpus, tmp_path / "out.jsonl", replace=True)
        assert not parts.exists()

    @pytest.mark.parametrize("left", [(), (".settings.json.x1y2z3",), (".00000000-00000002.jsonl.x1y2z3",)])
    def test_killed_before_it_began(self, corpus: Corpus, tmp_path: Path, left: tuple[str, ...]) -> None:
        parts = tmp_path / "out.jsonl.parts"
        parts.mkdir()
        for name in left:
            (parts / name).write_text('{"cor', "utf-8")
        disentangle(corpus, tmp_path / "out.jsonl")
        assert records(tmp_path / "out.jsonl")
        assert not parts.exists()

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (None, r"there are parts, and no settings\.json that says of which run; --force"),
            ("{", r"settings\.json cannot be read"),
            ("[" * 100_000, r"settings\.json cannot be read \(brackets"),
            ("[]", r"settings\.json is none of ours"),
        ],
    )
    def test_parts_of_nobody_knows_what(
        self, corpus: Corpus, tmp_path: Path, settings: str | None, message: str
    ) -> None:
        parts = tmp_path / "out.jsonl.parts"
        parts.mkdir()
        (parts / "00000000-00000002.jsonl").write_text("other\n", "utf-8")
        if settings is not None:
            (parts / "settings.json").write_text(settings, "utf-8")
        with pytest.raises(CorpusError, match=rf"out\.jsonl\.parts: {message}"):
            disentangle(corpus, tmp_path / "out.jsonl")
        disentangle(corpus, tmp_path / "out.jsonl", replace=True)
        assert records(tmp_path / "out.jsonl")

    def test_what_is_another(self, corpus: Corpus, tmp_path: Path) -> None:
        def stop(done: Done) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            disentangle(corpus, tmp_path / "out.jsonl", progress=stop)
        with pytest.raises(CorpusError, match=r"parts of a run with another --least; --force"):
            disentangle(corpus, tmp_path / "out.jsonl", least=3)
        path = tmp_path / "out.jsonl.parts" / "settings.json"
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "corpus": "x"}), "utf-8")
        with pytest.raises(CorpusError, match=r"with another corpus and another --least; --force"):
            disentangle(corpus, tmp_path / "out.jsonl", least=3)


KILLED = """
import os, sys
from pathlib import Path
from towhom import load
from towhom.corpus import Corpus
from towhom.live import disentangle as module

corpus, root, model = Corpus(Path(sys.argv[1])), Path(sys.argv[2]), load()
module._PART = 60
module.load_live = lambda folder: model
EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "shutil.rmtree"}

def run(out, last):
    count = 0
    def hook(event, arguments):
        nonlocal count
        if event in EVENTS and str(out) in str(arguments[0]):
            if count == last:
                os._exit(9)
            count += 1
    sys.addaudithook(hook)
    module.disentangle(corpus, out)

for last in range(1000):
    (root / str(last)).mkdir()
    child = os.fork()
    if not child:
        run(root / str(last) / "out.jsonl", last)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        break
print(last)
"""
"""Pulls a corpus apart again and again, killed each time before one more call that touches its files."""


def test_killed_at_any_moment(write_log: LogWriter, tmp_path: Path) -> None:
    """Given again, the same command goes on, or says that the file is there."""
    corpus, runs = build_corpus(tmp_path / "corpus", [write_log(days=3, lines=30)]), tmp_path / "runs"
    runs.mkdir()
    command = [sys.executable, "-c", KILLED, str(corpus.folder), str(runs)]
    last = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert last > 10
    whole = (runs / str(last) / "out.jsonl").read_bytes()
    for step in range(last):
        out = runs / str(step) / "out.jsonl"
        if out.exists():
            with pytest.raises(CorpusError, match="already exists"):
                disentangle(corpus, out)
        else:
            disentangle(corpus, out)
            assert [path.name for path in out.parent.iterdir()] == ["out.jsonl"]
        assert out.read_bytes() == whole, f"killed at step {step}"


class TestCommand:
    def test_killed_and_given_again(self, write_log: LogWriter, tmp_path: Path) -> None:
        folder, out = tmp_path / "corpus", tmp_path / "out.jsonl"
        corpus = build_corpus(folder, [write_log(days=30, lines=60)])
        script = (
            "from towhom.live import disentangle as m; m._PART = 60\n"
            "from towhom.cli import main\n"
            f"main(['corpus', 'disentangle', {str(folder)!r}, {str(out)!r}])"
        )
        command = [sys.executable, "-c", script]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            limit = time.monotonic() + 60
            while not list(tmp_path.glob("out.jsonl.parts/*-*.jsonl")) and time.monotonic() < limit:
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
        assert not out.exists()
        again = subprocess.run(command, check=True, capture_output=True, text=True)
        assert f"{len(corpus.messages.speaker):,} messages" in again.stderr
        disentangle(corpus, tmp_path / "whole.jsonl")
        assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
