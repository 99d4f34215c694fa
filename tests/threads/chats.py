"""Busy channels, made up: several conversations at once, and all that happens besides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from towhom.chat import Kind, Message

PEOPLE = (
    "ada", "bob", "cyd", "dee", "Eve_", "fay|afk", "gus`", "hal9", "Grace Hopper", "hélène", "李雷", "🫖",
)  # fmt: skip
TOPICS = (
    ("kettle", "tea", "water", "boiling", "cup", "milk"),
    ("driver", "installing", "/etc/X11/xorg.conf", "reboot", "nvidia", "screen"),
    ("solder", "iron", "flux", "tip", "board", "wires"),
    ("lock", "door", "key", "lost", "spare", "doorbell"),
    ("cat", "food", "vet", "sleeping", "sofa", "purrs"),
)
SMALL = ("the", "is", "it", "a", "my", "not", "and", "then", "i", "think", "try", "with", "again", "thanks")
START = datetime(2024, 5, 31, 10, 0)


def busy_chat(seed: int, messages: int, *, timed: bool = True, replies: bool = False) -> list[Message]:
    """Lines of a channel, some of which nobody says.

    Args:
        seed: Of everything.
        messages: How many lines there are.
        timed: Whether the log has times.
        replies: Whether lines have identifiers, and some say what they answer.
    """
    random = Random(seed)
    names = list(PEOPLE)
    talks: list[tuple[list[int], tuple[str, ...], list[int]]] = []
    lines: list[Message] = []
    now = START
    for line in range(messages):
        now += timedelta(seconds=random.choice((0, 2, 10, 30, 60, 200)))
        kind = random.choices(list(_KINDS), weights=list(_KINDS.values()))[0]
        who = random.randrange(len(names))
        reply_to = None
        if kind in (Kind.SYSTEM, Kind.DAY):
            speaker, text = "", f"{names[who]} has joined #room"
        elif kind is Kind.RENAME:
            speaker, text = names[who], f"{PEOPLE[who]}_{line}"
            names[who] = text
        else:
            if len(talks) < 2 or random.random() < 0.08:
                talks = [*talks[-3:], (random.sample(range(len(names)), 3), random.choice(TOPICS), [])]
            people, topic, said = random.choice(talks)
            who = random.choice(people)
            speaker, text = names[who], _text(random, topic, [names[each] for each in people])
            if replies and said and random.random() < 0.3:
                reply_to = f"m{random.choice(said)}"
            said.append(line)
        lines.append(
            Message(
                speaker,
                text,
                time=now if timed else None,
                id=f"m{line}" if replies else None,
                reply_to=reply_to,
                kind=kind,
                line=line,
            )
        )
    return lines


_KINDS = {Kind.MESSAGE: 88, Kind.ACTION: 3, Kind.NOTICE: 1, Kind.SYSTEM: 5, Kind.RENAME: 2, Kind.DAY: 1}


def _text(random: Random, topic: tuple[str, ...], people: list[str]) -> str:
    words = random.choices(SMALL, k=random.randint(0, 6)) + random.choices(topic, k=random.randint(0, 3))
    random.shuffle(words)
    other = random.choice(people)
    if random.random() < 0.1:
        words.insert(len(words) // 2, other)
    text = " ".join(words) + random.choice(("", "", "", "?", "."))
    front = random.choices(("{}: {}", "{}, {}", "{} {}", "@{} {}", "{1}", "!{1}"), (25, 5, 5, 2, 60, 3))[0]
    return front.format(random.choice((other, other, other.upper(), "somebody")), text)


def unnumbered(messages: Iterable[Message]) -> list[Message]:
    """The same without their places in a log."""
    return [replace(message, line=None) for message in messages]


def talk(*lines: str) -> list[Message]:
    """Lines like `ada> hello`, or `* joins` for what nobody says, with their places."""
    result = []
    for line, text in enumerate(lines):
        speaker, mark, words = text.partition("> ")
        kind = Kind.MESSAGE if mark else Kind.SYSTEM
        result.append(Message(speaker if mark else "", words or text, kind=kind, line=line))
    return result
