"""Small rooms out of a busy one: the same links, other names in front."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

from towhom import Message
from towhom.evaluation.reply_links import LinkedLog
from towhom.training.dressing import small_rooms

START = datetime(2024, 5, 31, 10)


def busy(conversations: int = 40) -> LinkedLog:
    """Conversations of four messages each, two at a time; every reply names whom it answers."""
    lines, links = list[Message](), dict[int, frozenset[int]]()
    for number in range(0, conversations, 2):
        last: dict[int, int] = {}
        for turn in range(4):
            for which in (number, number + 1):
                line = len(lines)
                me, you = f"a{which}", f"b{which}"
                speaker, other = (me, you) if turn % 2 == 0 else (you, me)
                text = f"{other}: reply {turn}" if turn else "who knows?"
                lines.append(Message(speaker, text, time=START + timedelta(minutes=line), line=line))
                links[line] = frozenset({last.get(which, line)})
                last[which] = line
    return LinkedLog("busy", tuple(lines), links)


def test_links_stay_within_a_room() -> None:
    log = busy()
    rooms = list(small_rooms(log))
    assert 10 < len(rooms) < 40
    for room in rooms:
        lines = {message.line for message in room.lines}
        assert room.links
        assert all(line in lines and parents <= lines for line, parents in room.links.items())


def test_every_message_is_in_one_room() -> None:
    log = busy()
    said = sorted(
        message.line % 1_000_000
        for room in small_rooms(log)
        for message in room.lines
        if message.line is not None
    )
    assert said == [message.line for message in log.lines]


def test_who_is_meant_stays() -> None:
    log = busy()
    for room in small_rooms(log):
        for line, meant in room.truth.items():
            assert meant == log.truth[line % 1_000_000]


def test_names_are_dressed_anew_or_left_out() -> None:
    log = busy(200)
    texts = [message.text for room in small_rooms(log) for message in room.lines]
    replies = [text for text in texts if "reply" in text]
    assert any(text.startswith("@") for text in replies)
    assert any(text.startswith("hey ") for text in replies)
    nameless = [
        text
        for text in replies
        if text.startswith("reply") and not text.rstrip("0123456789").endswith(("a", "b"))
    ]
    assert 0.3 < len(nameless) / len(replies) < 0.7


def test_hours_go_by_in_some() -> None:
    pauses = []
    for room in small_rooms(busy(200)):
        times = [message.time for message in room.lines if message.time is not None]
        assert times == sorted(times)
        pauses.append(
            max(
                (later - earlier for earlier, later in itertools.pairwise(times)),
                default=timedelta(),
            )
        )
    long = [pause for pause in pauses if pause >= timedelta(minutes=30)]
    assert 0.1 < len(long) / len(pauses) < 0.5


def test_the_same_seed_gives_the_same_rooms() -> None:
    log = busy()
    assert list(small_rooms(log, seed=3)) == list(small_rooms(log, seed=3))
    assert list(small_rooms(log, seed=3)) != list(small_rooms(log, seed=4))
