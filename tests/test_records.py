"""Records: what a number is traced back to."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import towhom
from towhom import records
from towhom.records import circumstances, describe_data, write_record

CHECKOUT = Path(towhom.__file__).parents[2]


class TestCircumstances:
    def test_what_they_are(self) -> None:
        before = datetime.now(UTC).replace(microsecond=0)
        found = circumstances()
        assert before <= datetime.fromisoformat(found["date"]) <= datetime.now(UTC)
        assert found["versions"]["numpy"] == np.__version__
        assert found["versions"]["towhom"] == towhom.__version__
        assert found["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
        assert found["cores"] >= 1
        assert json.loads(json.dumps(found)) == found

    @pytest.mark.parametrize(
        ("arguments", "command"),
        [
            (["/usr/bin/towhom", "train", "out"], "towhom train out"),
            (["bench.py", "a folder", "it's"], "bench.py 'a folder' 'it'\"'\"'s'"),
            (["/lib/python/towhom/__main__.py", "demo"], "towhom demo"),
        ],
    )
    def test_the_command_can_be_pasted(
        self, arguments: list[str], command: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "argv", arguments)
        assert circumstances()["command"] == command

    def test_settings_that_change_the_speed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        monkeypatch.delenv("CC", raising=False)
        monkeypatch.setenv("SOMETHING", "private")
        found = circumstances()["environment"]
        assert found["OMP_NUM_THREADS"] == "3"
        assert not {"CC", "SOMETHING"} & found.keys()

    @pytest.mark.skipif(not (CHECKOUT / ".git").exists(), reason="not a checkout")
    def test_the_commit(self) -> None:
        def head() -> str:
            command = ["git", "-C", str(CHECKOUT), "rev-parse", "HEAD"]
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

        around = {head()}
        found = circumstances()
        around.add(head())  # somebody may be committing
        assert found["commit"] in around
        assert re.fullmatch(r"[0-9a-f]{40}", found["commit"])
        assert isinstance(found["changed"], bool)

    def test_no_git_no_commit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(records, "which", lambda _: None)
        assert not {"commit", "changed"} & circumstances().keys()

    def test_somebody_elses_checkout_is_not_ours(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A package that is installed in a folder below some repository has no commit of it."""
        git = ["git", "-C", str(tmp_path), "-c", "user.name=somebody", "-c", "user.email=some@example.org"]
        for arguments in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "theirs"]):
            subprocess.run([*git, *arguments], check=True)
        (tmp_path / "records.py").touch()
        monkeypatch.setattr(records, "__file__", str(tmp_path / "records.py"))
        assert "commit" not in circumstances()


class TestData:
    def test_changes_with_content(self, tmp_path: Path) -> None:
        file = tmp_path / "log.txt"
        file.write_text("hello")
        (first,) = describe_data([file])
        assert first["name"] == str(file)
        file.write_text("hello!")
        assert describe_data([file])[0]["sha256"] != first["sha256"]
        file.write_text("hello")
        assert describe_data([str(file)]) == [first]

    def test_of_a_folder(self, tmp_path: Path) -> None:
        def digest() -> str:
            return describe_data([tmp_path])[0]["sha256"]

        seen = [digest()]
        (tmp_path / "below").mkdir()
        inner = tmp_path / "below" / "a"
        for change in (
            lambda: inner.write_text("x"),
            lambda: inner.write_text("y"),
            lambda: inner.rename(tmp_path / "below" / "b"),
            lambda: (tmp_path / "below").rename(tmp_path / "above"),
        ):
            change()
            seen.append(digest())
        assert len(set(seen)) == len(seen)
        assert digest() == seen[-1]


class TestWriting:
    def test_read_again(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "record.json"
        write_record(path, {"name": "ça", "values": [1, 2.5, None]})
        assert json.loads(path.read_text("utf-8")) == {"name": "ça", "values": [1, 2.5, None]}
        assert "ça" in path.read_text("utf-8")
        assert path.read_text("utf-8").endswith("}\n")

    def test_all_or_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "record.json"
        write_record(path, {"kept": True})
        with pytest.raises(TypeError):
            write_record(path, {"fine": 1, "not": object()})
        assert json.loads(path.read_text("utf-8")) == {"kept": True}
        assert [each.name for each in tmp_path.iterdir()] == ["record.json"]
