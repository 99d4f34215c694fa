"""Channels in which everything happens that may happen on a platform."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from tests.crosstalk.chats import OTHERS, WORDS
from towhom.chat import Kind, Message
from towhom.hearing.utterance import SPOKEN

NAMES = (
    "ada", "bob", "cyd", "dee", "Eve_", "fay|afk", "gus", "hal9", "ida", "jon", "Grace Hopper", "hélène",
    "李雷", "🫖", "kim", "lou", "mo", "nan", "oz", "pam", "quin", "rob", "sue", "tom", "una", "vic", "wes",
)  # fmt: skip
START = datetime(2024, 5, 31, 10)
FORMS = {
    "{text}": 40, "{other}: {text}": 25, "{other}, {text}": 5, "{text} {other}": 5, "@{other} {text}": 5,
    "{text}, {other}?": 4, "ask {other}": 3, "thanks {other}": 3, "zoe: {text}": 3, "!{text}": 2,
    "hi all, {text}": 2, "{other}, {third}: {text}": 3,
}  # fmt: skip
KINDS = {
    Kind.MESSAGE: 82, Kind.ACTION: 3, Kind.NOTICE: 3, Kind.SYSTEM: 3, Kind.DAY: 3, Kind.RENAME: 3,
    Kind.EDIT: 4, Kind.DELETE: 3,
}  # fmt: skip


class Platform:
    """A channel; people are numbers where `numbered`, and have names that may change.

    Args:
        seed: Of everything.
        numbered: Whether people have identifiers that are no names.
        timed: Whether it is known when something is said.
        replies: Share of the messages that say what they answer.
    """

    def __init__(
        self, seed: int, *, numbered: bool = False, timed: bool = True, replies: float = 0.15
    ) -> None:
        self.random = Random(seed)
        self.numbered, self.timed, self.replies = numbered, timed, replies
        self.names = dict(enumerate(NAMES))
        self.here = 3
        """So many have come; the others are known to those who are there."""
        self.said: list[str] = []
        """Identifiers of what was said."""
        self.now = START

    def lines(self, count: int) -> list[Message]:
        """The next lines."""
        return [self._line() for _ in range(count)]

    def _line(self) -> Message:
        random = self.random
        if random.random() < 0.05:
            self.here = min(self.here + 1, len(NAMES))
        self.now += timedelta(seconds=random.choice((0, 2, 10, 30, 60, 200)))
        kind = random.choices(list(KINDS), list(KINDS.values()))[0]
        if kind in (Kind.EDIT, Kind.DELETE):
            return self._changed(kind)
        who = random.randrange(self.here)
        key, name = self._key(who), self.names[who]
        if kind is Kind.RENAME:
            self.names[who] = f"{NAMES[who]}{random.randrange(100)}"
            return Message(key, self.names[who], kind=kind)
        if kind in (Kind.SYSTEM, Kind.DAY):
            return Message("", f"{name} has joined", kind=kind)
        if self.numbered and random.random() < 0.03:
            name = self.names[who] = f"{NAMES[who]} {random.randrange(100)}"
        message = Message(
            key, self._text(), time=self.now if self.timed and random.random() < 0.95 else None, kind=kind,
            name=name if self.numbered else None, bot=who == 2,
        )  # fmt: skip
        return self._with_links(message)

    def _with_links(self, message: Message) -> Message:
        """What the platform says besides."""
        random = self.random
        if random.random() < self.replies and self.said:
            recent = self.said[-30:] if random.random() < 0.6 else self.said
            message = replace(message, reply_to=random.choice((*recent, "unknown")))
        if random.random() < 0.05:
            message = replace(message, mentions=(self._key(self._somebody()), self._key(self._somebody())))
        if random.random() < 0.05:
            message = replace(message, addressee=self._key(self._somebody()))
        if random.random() < 0.9:
            id = f"m{len(self.said)}" if random.random() < 0.98 or not self.said else random.choice(self.said)
            self.said.append(id)
            message = replace(message, id=id)
        return message

    def _changed(self, kind: Kind) -> Message:
        random = self.random
        recent = self.said[-20:] if random.random() < 0.8 else self.said
        id = random.choice((*recent, "unknown"))
        return Message("", self._text() if kind is Kind.EDIT else "", id=id, kind=kind)

    def _somebody(self) -> int:
        """Anybody, some of whom have not come yet."""
        return self.random.randrange(min(self.here + 2, len(NAMES)))

    def _key(self, who: int) -> str:
        return str(100 + who) if self.numbered else self.names[who]

    def _text(self) -> str:
        random = self.random
        text = " ".join(random.choices(WORDS[1:] + OTHERS, k=random.randint(0, 7)))
        form = random.choices(list(FORMS), list(FORMS.values()))[0]
        return form.format(text=text, other=self.names[self._somebody()], third=self.names[self._somebody()])


def channels(seed: int, count: int, names: tuple[str | None, ...] = ("tea", "cats", None)) -> list[Message]:
    """Several channels at once; their messages have the same identifiers."""
    random = Random(seed)
    rooms: dict[str | None, Iterator[Message]] = {
        name: iter(Platform(seed + place, numbered=place % 2 == 0).lines(count))
        for place, name in enumerate(names)
    }
    return [replace(next(rooms[name]), channel=name) for name in (random.choice(names) for _ in range(count))]


def spoken(messages: list[Message]) -> list[Message]:
    """Those that somebody says."""
    return [message for message in messages if message.kind in SPOKEN]
