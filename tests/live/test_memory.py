"""A session stays small, however long its channel lives."""

from __future__ import annotations

import gc
import json
import tracemalloc

import pytest

from tests.live.conftest import saved_model
from towhom.chat import Message
from towhom.hearing.people import REMEMBERED
from towhom.hearing.utterance import REACH
from towhom.live import Model, Session

IDS = 700


def messages(start: int, stop: int) -> list[Message]:
    """Everybody is new, calls somebody who is not there, and can be answered by an identifier."""
    return [
        Message(f"guest{number}", f"visitor{number % 5000}: tea", id=f"{number}")
        for number in range(start, stop)
    ]


def sizes(session: Session) -> dict[str, int]:
    """Of all that grows with what was said."""
    channel = session._channel
    room, ear = channel.room, channel.ear
    assert max(len(ear._spoke), len(ear._called)) <= 2 * (REMEMBERED + REACH)
    return {
        "names": len(session.people),
        "parts of names": len(session.people._parts),
        "messages": len(channel.turns),
        "messages of the room": len(room.messages),
        "conversations": len(room.state()["sights"]),
        "texts": len(room.said.heard),
        "columns": room.columns.size,
        "identifiers": len(channel._by_id),
        "authors": len(ear._authors),
        "saved, in kilobytes": round(len(json.dumps(session.state())) / 20_000) * 20,
    }


@pytest.fixture
def few_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("towhom.live.channel._IDS", IDS)
    monkeypatch.setattr("towhom.hearing.ear._IDS", IDS)


@pytest.mark.usefixtures("few_ids")
def test_thousands_of_messages(mixed: Model) -> None:
    session, seen = mixed.session(), []
    for start in range(0, 6000, 2000):
        session.observe_all(messages(start, start + 2000))
        seen.append(sizes(session))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0]["names"] == seen[0]["parts of names"] == REMEMBERED
    for name in ("messages", "messages of the room", "conversations", "texts", "columns"):
        assert seen[0][name] == REACH, name
    assert seen[0]["identifiers"] == seen[0]["authors"] == IDS
    assert seen[0]["saved, in kilobytes"] <= 400  # people and identifiers, mostly


@pytest.mark.usefixtures("few_ids")
def test_no_chunk_is_kept_alive(mixed: Model) -> None:
    """An array that looks into a larger one holds all of it."""
    session = mixed.session()
    session.observe_all(messages(0, 250))
    for part in session._channel.room.said:
        assert part.base is None or part.base.size == part.size


def test_as_the_interpreter_counts(mixed: Model) -> None:
    """After the first hundreds of messages, nothing is added."""
    session = mixed.session()

    def talk(start: int, stop: int) -> int:
        for number in range(start, stop):
            session.observe(Message(f"guest{number % 8}", "the tea is open ?"))
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        warm = talk(0, 250)
        later = talk(250, 500)
    finally:
        tracemalloc.stop()
    assert later - warm < 40_000


def test_asking_keeps_nothing() -> None:
    session = Model(saved_model(1)).session()
    session.observe_all(messages(0, 100))
    before = json.dumps(session.state())
    for number in range(1000, 1100):
        session.rank_addressees(f"guest{number}", f"visitor{number}: tea")
        session.select(f"guest{number}", ["tea", f"visitor{number}: milk"])
        session.is_for(f"guest{number}")
    assert json.dumps(session.state()) == before
    assert len(session._channel.room._numbers) < 500
