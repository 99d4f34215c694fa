"""Lines by room, cut into segments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from towhom.batch import segments
from towhom.batch.segments import Gathered, Line, Room, Segment, cut, decoded
from towhom.chat import Kind, Message
from towhom.readers.identity import Located


def gathered(counts: dict[str, int]) -> Gathered:
    """Rooms with so many lines each, which take turns."""
    found = Gathered()
    number = 0
    for turn in range(max(counts.values())):
        for name, count in counts.items():
            if turn < count:
                found.add(Room("log", name), line(Message("ada", f"{name} {turn}"), number, name).encoded())
                number += 1
    return found


def line(message: Message, number: int, room: str = "log") -> Line:
    message = replace(message, line=number)
    return Line(Located(message, f"log:{number}", room, "log"), number)


def texts(segment: Segment) -> list[list[str]]:
    return [[decoded(line, run.room).located.message.text for line in run.lines] for run in segment.runs]


def test_short_rooms_are_together() -> None:
    found = list(cut(gathered({"a": 4, "b": 3, "c": 4}), 8, 2))
    assert [[run.room.name for run in segment.runs] for segment in found] == [["a", "b"], ["c"]]
    assert not any(segment.cut for segment in found)
    assert texts(found[0])[0] == ["a 0", "a 1", "a 2", "a 3"]


def test_a_long_room_is_cut_and_warmed_up() -> None:
    found = list(cut(gathered({"a": 9, "b": 1}), 4, 2))
    assert [segment.size for segment in found] == [3, 3, 3, 1]
    assert texts(found[1]) == [["a 1", "a 2", "a 3", "a 4", "a 5"]]
    assert [segment.runs[0].before for segment in found] == [0, 2, 2, 0]
    assert [segment.runs[0].goes_on for segment in found] == [True, True, False, False]


def test_lines_that_change_nothing_warm_nothing_up() -> None:
    room = Gathered()
    for number, kind in enumerate((Kind.MESSAGE, Kind.SYSTEM, Kind.SYSTEM, Kind.MESSAGE)):
        room.add(Room("log", "log"), line(Message("ada", str(number), kind=kind), number).encoded())
    assert texts(list(cut(room, 3, 1))[1]) == [["0", "2", "3"]]


@pytest.mark.parametrize("part", [3, 1000])
def test_what_does_not_fit_into_memory(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rooms = {"a": 20, "b": 7, "c": 1}
    usual = [segment.encoded() for segment in cut(gathered(rooms), part, 2)]
    monkeypatch.setattr(segments, "_IN_MEMORY", 300)
    spilled = gathered(rooms)
    assert [segment.encoded() for segment in cut(spilled, part, 2)] == usual
    spilled.close()


def test_lines_survive() -> None:
    text = "half a pair \ud800, a \r\n line\u2028"
    message = Message("7", text, "8", id="x", reply_to="y", channel="#a", line=12)
    for located in (
        Located(message, "x", "#a", "f]", "y", None),
        Located(message, "#a/x", "#a", "f]", None, "z"),
    ):
        encoded = Line(located, 5).encoded()
        assert encoded.count(b"\n") == 1
        assert decoded(encoded, Room("log", "#a")) == Line(located, 5)
    segment = next(cut(gathered({"a": 5}), 9, 0))
    assert Segment.of(segment.encoded()) == segment


def test_lines_of_another() -> None:
    found = gathered({"a": 2})
    found.take(gathered({"b": 1, "a": 1}))
    assert [(room.name, count) for room, count, _ in found.rooms()] == [("a", 3), ("b", 1)]
