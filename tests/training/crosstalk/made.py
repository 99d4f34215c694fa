"""Rooms made by hand, as if they had been heard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from towhom.crosstalk.columns import MENTIONS, NOBODY
from towhom.text.pieces import pieces_of
from towhom.training.crosstalk.rooms import UNKNOWN, HeardRoom, Source


def made_room(
    folder: Path,
    speaker: Sequence[int],
    *,
    named: dict[int, int] | None = None,
    mentions: dict[int, int] | None = None,
    topic: dict[int, int] | None = None,
    reply: dict[int, int] | None = None,
    meant: dict[int, int] | None = None,
    links: Sequence[tuple[int, int]] = (),
    said: dict[int, str] | None = None,
    nicks: Sequence[str] = (),
    parts: Sequence[tuple[str, int]] | None = None,
) -> HeardRoom:
    """A room.

    Args:
        folder: Where to.
        speaker: Of each message.
        named: By message, who is called; the others are like it.
        mentions: Who is mentioned.
        topic: Its topic.
        reply: How many messages before what it quotes was.
        meant: Whom it was for.
        links: Messages, and what they answer.
        said: What is said, words between spaces.
        nicks: What people are called.
        parts: Of each segment, the part and where it ends; one of train, by default.
    """
    count = len(speaker)
    parts = [("train", count)] if parts is None else parts
    numbers: dict[str, int] = {}
    texts = [(said or {}).get(place, "").split() for place in range(count)]
    for word in (word for text in texts for word in text):
        numbers.setdefault(word, len(numbers))
    pieces = [np.array(pieces_of(text), np.uint32) for text in texts]
    own = _own(speaker, [0, *(last for _, last in parts)])
    arrays: dict[str, Any] = {
        "speaker": np.array(speaker, np.int64),
        "named": _filled(count, named, NOBODY),
        "mentions": np.stack(
            [_filled(count, mentions, NOBODY), *[np.full(count, NOBODY)] * (MENTIONS - 1)], axis=1
        ),
        "time": np.arange(count) * 30.0,
        "own": own,
        "called": np.zeros(count, np.int64),
        **{name: np.zeros(count, bool) for name in ("asks", "command", "action", "everybody", "gone")},
        "bearing": np.zeros((count, 4), bool),
        "length": np.array([np.log1p(len(text)) / 3 for text in texts], np.float32),
        "pieces": np.concatenate([np.empty(0, np.uint32), *pieces]),
        "piece_count": np.array([len(each) for each in pieces]),
        "said": np.array([numbers[word] for text in texts for word in text], np.int32),
        "said_count": np.array([len(text) for text in texts]),
        "reply": _filled(count, reply, 0),
        "topic": _filled(count, topic, NOBODY),
        "meant": _filled(count, meant, UNKNOWN),
        "links": np.array(links, np.int64).reshape(-1, 2),
        "bounds": np.array([0, *(last for _, last in parts)]),
    }
    folder.mkdir(parents=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    about = {
        "source": asdict(Source(folder.name, "x", "none stated")), "parts": [part for part, _ in parts],
        "words": list(numbers), "nicks": list(nicks),
    }  # fmt: skip
    (folder / "room.json").write_text(json.dumps(about), "utf-8")
    return HeardRoom(folder)


def _filled(count: int, given: dict[int, int] | None, default: int) -> Any:
    found = np.full(count, default, np.int64)
    for place, value in (given or {}).items():
        found[place] = value
    return found


def _own(speaker: Sequence[int], bounds: Sequence[int]) -> Any:
    """How long ago each spoke."""
    found = np.zeros(len(speaker), np.int64)
    last: dict[int, int] = {}
    for place, who in enumerate(speaker):
        if place in bounds:
            last.clear()
        distance = place - last.get(who, place)
        found[place] = distance if distance <= 100 else 0
        last[who] = place
    return found


QUESTIONS = ("where", "when", "who", "how")
ANSWERS = {"where": "here", "when": "now", "who": "me", "how": "so"}
VOCABULARY = (*QUESTIONS, *ANSWERS.values(), "well", "tea")


def quiz(folder: Path, *, rounds: int = 100, seed: int = 0) -> HeardRoom:
    """Somebody asks, somebody else talks, and a third, who names who asked, answers the question."""
    random = Random(seed)
    speaker, named, said = list[int](), dict[int, int](), dict[int, str]()
    for _ in range(rounds):
        asks, talks, answers = random.sample(range(6), 3)
        question = random.choice(QUESTIONS)
        for who, text in ((asks, question), (talks, "well tea"), (answers, ANSWERS[question])):
            said[len(speaker)] = text
            speaker.append(who)
        named[len(speaker) - 1] = asks
    return made_room(folder, speaker, named=named, said=said)
