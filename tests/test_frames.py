"""Frames, through Arrow's interchange; and conversations as other tools load them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

import towhom
from tests.cli.conftest import Run, run
from towhom.chat import Message

__all__ = ["run"]

pyarrow = pytest.importorskip("pyarrow")

LINES = [
    {"speaker": "ada", "text": "is it on?", "id": "1", "time": "2025-03-03T10:00:00+01:00", "channel": "x"},
    {"speaker": "bob", "text": "half \ud83d", "id": "2", "reply_to": "1", "channel": "x"},
    {"speaker": "cyd", "text": "hello", "id": "3", "channel": "y"},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), "utf-8")
    return path


def test_a_frame_through_the_capsule(log: Path) -> None:
    table = pyarrow.table(towhom.frame(log))
    assert table["id"].to_pylist() == ["1", "2", "3"]
    assert table["room"].to_pylist() == ["x", "x", "y"]
    assert table["day"].to_pylist() == [date(2025, 3, 3), None, None]
    assert table["time"].to_pylist()[0] == datetime(2025, 3, 3, 9, tzinfo=UTC)
    assert table["thread"].to_pylist() == ["1", "1", "3"]
    assert table["addressee"].to_pylist()[1] == "ada"


def test_other_libraries_take_it(log: Path) -> None:
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(towhom.frame(log)).shape == (3, len(towhom.frame(log).columns))


def test_filters_and_messages() -> None:
    said = [Message("ada", "is it on?", channel="x"), Message("bob", "yes", channel="x")]
    found = pyarrow.table(towhom.frame(said, speaker="bob"))
    assert (found["id"].to_pylist(), found["name"].to_pylist()) == (["messages:2"], ["bob"])


def test_parquet(run: Run, log: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    for command in ("who", "threads", "read"):
        out = tmp_path / f"{command}.parquet"
        run(command, log, "--parquet", "-o", out)
        assert parquet.read_table(out)["id"].to_pylist() == ["1", "2", "3"]
    assert "-o FILE" in run("who", log, "--parquet", code=1).stderr


class TestExports:
    def test_convokit(self, run: Run, log: Path, tmp_path: Path) -> None:
        """As https://convokit.cornell.edu/documentation/data_format.html has it."""
        out = tmp_path / "corpus"
        run("threads", log, "--to", "convokit", "-o", out)
        names = {"utterances.jsonl", "speakers.json", "conversations.json", "corpus.json", "index.json"}
        assert {path.name for path in out.iterdir()} == names
        lines = [json.loads(line) for line in (out / "utterances.jsonl").read_text("utf-8").splitlines()]
        assert [(line["id"], line["conversation_id"], line["reply-to"]) for line in lines] == [
            ("1", "1", None),
            ("2", "1", "1"),
            ("3", "3", None),
        ]
        assert lines[0]["timestamp"] == datetime(2025, 3, 3, 9, tzinfo=UTC).timestamp()
        assert json.loads((out / "conversations.json").read_text()).keys() == {"1", "3"}
        assert json.loads((out / "speakers.json").read_text()).keys() == {"ada", "bob", "cyd"}

    def test_convokit_of_a_part_has_whole_conversations(self, run: Run, log: Path, tmp_path: Path) -> None:
        out = tmp_path / "corpus"
        run("threads", log, "--to", "convokit", "--speaker", "bob", "-o", out)
        (line,) = map(json.loads, (out / "utterances.jsonl").read_text("utf-8").splitlines())
        assert (line["id"], line["reply-to"]) == ("2", None)

    def test_datasets(self, run: Run, log: Path, tmp_path: Path) -> None:
        out = tmp_path / "dataset"
        run("threads", log, "--to", "datasets", "-o", out)
        assert "path: messages.jsonl" in (out / "README.md").read_text("utf-8")
        lines = [json.loads(line) for line in (out / "messages.jsonl").read_text("utf-8").splitlines()]
        assert [line["replies_to"] for line in lines] == ["1", "1", "3"]

    def test_what_is_there_is_kept(self, run: Run, log: Path, tmp_path: Path) -> None:
        assert "already exists" in run("threads", log, "--to", "convokit", "-o", log, code=1).stderr
        assert "-o FOLDER" in run("threads", log, "--to", "convokit", code=1).stderr
