"""Reply links: whom a message addresses, as a small log and the lines drawn into it have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from towhom.chat import Kind, Message
from towhom.errors import LogError
from towhom.evaluation.reply_links import LinkedLog, read_linked_logs

LOG = """\
[10:00] <ada> the kettle is on
[10:01] <bob> who wants tea?
[10:02] <cyd> bob: me please
=== dee has joined #kitchen
[10:03] <cyd> with milk
[10:04]  * ada waves
[10:05] <ada> and sugar
[10:06] <bob> cyd: coming
[10:07] <dee> hello
[10:08] <cyd> and a spoon
"""
# Lines: 0 ada, 1 bob, 2 cyd to bob, 3 system, 4 cyd, 5 ada acts, 6 ada, 7 bob to cyd, 8 dee, 9 cyd.


def write(folder: Path, links: str, *, name: str = "kitchen", log: str = LOG) -> Path:
    (folder / f"{name}.txt").write_text(log, "utf-8")
    (folder / f"{name}.links").write_text(links, "utf-8")
    return folder


def read(folder: Path, *links: str) -> LinkedLog:
    """The small log with some links."""
    (log,) = read_linked_logs(write(folder, "".join(f"{link} -\n" for link in links)))
    return log


class TestTruth:
    def test_an_answer_to_somebody(self, tmp_path: Path) -> None:
        assert read(tmp_path, "1 6").truth == {6: {"bob"}}

    def test_the_beginning_of_a_conversation(self, tmp_path: Path) -> None:
        assert read(tmp_path, "8 8").truth == {8: {None}}

    def test_several_answered(self, tmp_path: Path) -> None:
        assert read(tmp_path, "0 8", "1 8", "6 8").truth == {8: {"ada", "bob"}}

    def test_a_beginning_that_answers_somebody_is_none(self, tmp_path: Path) -> None:
        assert read(tmp_path, "8 8", "0 8").truth == {8: {"ada"}}

    def test_a_chain_of_own_lines(self, tmp_path: Path) -> None:
        """The last goes on with the second, which goes on with the first, which answers bob."""
        assert read(tmp_path, "4 9", "2 4", "1 2").truth == {2: {"bob"}, 4: {"bob"}, 9: {"bob"}}

    def test_going_on_with_what_is_for_nobody(self, tmp_path: Path) -> None:
        assert read(tmp_path, "4 4", "4 9").truth == {4: {None}, 9: {None}}

    def test_going_on_and_answering_somebody(self, tmp_path: Path) -> None:
        assert read(tmp_path, "1 4", "4 9", "8 9").truth == {4: {"bob"}, 9: {"bob", "dee"}}

    def test_going_on_with_a_line_of_which_nothing_was_drawn(self, tmp_path: Path) -> None:
        """The name in front of it says whom it addresses."""
        assert read(tmp_path, "2 4").truth == {4: {"bob"}}

    def test_nothing_was_drawn_and_nobody_named(self, tmp_path: Path) -> None:
        assert read(tmp_path, "0 6", "1 8").truth == {8: {"bob"}}

    def test_what_was_drawn_counts_more_than_the_name(self, tmp_path: Path) -> None:
        assert read(tmp_path, "0 2", "2 4").truth == {2: {"ada"}, 4: {"ada"}}

    def test_an_answer_to_what_nobody_said(self, tmp_path: Path) -> None:
        assert read(tmp_path, "3 4").truth == {}
        assert read(tmp_path, "3 4", "1 4").truth == {4: {"bob"}}

    def test_a_platform_that_says_who_joined(self) -> None:
        joined = Message("dee", "dee joined", kind=Kind.SYSTEM, line=0)
        log = LinkedLog("kitchen", (joined, Message("ada", "welcome", line=1)), {1: frozenset({0})})
        assert log.truth == {}

    def test_an_answer_to_what_somebody_does(self, tmp_path: Path) -> None:
        assert read(tmp_path, "5 8").truth == {8: {"ada"}}

    def test_only_messages_have_addressees(self, tmp_path: Path) -> None:
        """Nor do lines that are not there."""
        assert read(tmp_path, "2 3", "1 5", "1 100").truth == {}

    def test_an_answer_to_a_line_that_is_not_there(self, tmp_path: Path) -> None:
        assert read(tmp_path, "-1 4").truth == {}

    def test_either_line_first(self, tmp_path: Path) -> None:
        assert read(tmp_path, "6 1").links == read(tmp_path, "1 6").links == {6: {1}}


class TestReading:
    def test_all_lines_as_they_were_written(self, tmp_path: Path) -> None:
        log = read(tmp_path, "1 2")
        assert log.name == "kitchen"
        assert [message.line for message in log.lines] == list(range(10))
        assert (log.lines[2].text, log.lines[2].addressee) == ("bob: me please", None)
        assert [log.lines[place].kind for place in (3, 5)] == [Kind.SYSTEM, Kind.ACTION]

    def test_who_is_named(self, tmp_path: Path) -> None:
        assert read(tmp_path).named == {2: "bob", 7: "cyd"}

    def test_links(self, tmp_path: Path) -> None:
        write(tmp_path, "0 0 -\n\n1 6 -\n 0\t6   -\r\n")
        (log,) = read_linked_logs(tmp_path)
        assert log.links == {0: {0}, 6: {0, 1}}

    def test_a_folder(self, tmp_path: Path) -> None:
        """In the order of their names; what has no links is left alone."""
        for name in ("b", "a", "c"):
            write(tmp_path, "1 6 -\n", name=name)
        (tmp_path / "c.links").unlink()
        (tmp_path / "notes.md").write_text("nothing")
        assert [log.name for log in read_linked_logs(tmp_path)] == ["a", "b"]

    @pytest.mark.parametrize("kind", [str, Path])
    def test_a_file(self, tmp_path: Path, kind: type[str] | type[Path]) -> None:
        write(tmp_path, "1 6 -\n", name="a")
        write(tmp_path, "1 8 -\n", name="b")
        (log,) = read_linked_logs(kind(tmp_path / "b.txt"))
        assert log.name == "b"
        assert log.truth == {8: {"bob"}}

    def test_no_links_in_the_file(self, tmp_path: Path) -> None:
        (log,) = read_linked_logs(write(tmp_path, ""))
        assert (log.links, log.truth) == ({}, {})


class TestWrong:
    def test_nowhere(self, tmp_path: Path) -> None:
        with pytest.raises(LogError, match="nowhere: there is no such file or folder"):
            list(read_linked_logs(tmp_path / "nowhere"))

    @pytest.mark.parametrize("path", ["", "kitchen.txt"])
    def test_no_links(self, tmp_path: Path, path: str) -> None:
        write(tmp_path, "")
        (tmp_path / "kitchen.links").unlink()
        with pytest.raises(
            LogError, match=r"there are no reply links: a log NAME\.txt needs NAME\.links beside it"
        ) as error:
            list(read_linked_logs(tmp_path / path))
        assert error.value.file == str(tmp_path / path)

    @pytest.mark.parametrize("line", ["3", "3 x -", "x 3 -", "- 3", "3.5 4 -"])
    def test_a_line_that_cannot_be_read(self, tmp_path: Path, line: str) -> None:
        write(tmp_path, f"0 0 -\n\n{line}\n1 6 -\n")
        with pytest.raises(LogError, match="expected two line numbers and a hyphen") as error:
            list(read_linked_logs(tmp_path))
        assert (error.value.file, error.value.line) == (str(tmp_path / "kitchen.links"), 3)

    def test_links_without_a_log(self, tmp_path: Path) -> None:
        write(tmp_path, "1 6 -\n")
        (tmp_path / "kitchen.txt").unlink()
        with pytest.raises(LogError, match=r"kitchen\.txt: there is no such file or folder"):
            list(read_linked_logs(tmp_path))
