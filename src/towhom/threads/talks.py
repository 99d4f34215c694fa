"""Messages gathered into the conversations that they belong to, and the people in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from towhom.chat import Kind, Message, seconds_since_1970
from towhom.hearing.utterance import SPOKEN
from towhom.hearing.words import asks
from towhom.threads.placed import Placed
from towhom.threads.questions import Asked, Turn, asked, by_program


@dataclass(slots=True, eq=False)
class Person:
    """Somebody who speaks, under one name or several."""

    number: int
    names: Counter[str] = field(default_factory=Counter)
    """With how often they speak under each."""
    colour: int = 0
    """Which of those that a page has."""

    @property
    def name(self) -> str:
        """The one that is used most."""
        return self.names.most_common(1)[0][0]


@dataclass(slots=True, eq=False)
class TalkMessage:
    """A message, who says it, and what it answers of those that are there."""

    number: int
    placed: Placed
    who: Person
    answers: list[TalkMessage]

    @property
    def message(self) -> Message:
        """What was said."""
        return self.placed.message

    def turn(self, least: float) -> Turn:
        """It as part of a conversation to which it belongs that likely, at least."""
        message = self.message
        answers = self.placed.probability >= least and not by_program(message)
        return Turn(self.who.number, message.text, asks(message.text), answers)


@dataclass(slots=True, eq=False)
class Talk:
    """A conversation."""

    said: list[TalkMessage] = field(default_factory=list)

    @property
    def first(self) -> TalkMessage:
        """Where it starts."""
        return self.said[0]

    @property
    def people(self) -> list[Person]:
        """Who takes part, in order of first appearance."""
        return list(dict.fromkeys(each.who for each in self.said))

    def asked(self, *, least: float = 0.0) -> Asked | None:
        """The question that it starts with, if it does and its start is there.

        Args:
            least: What belongs here less likely than this is no answer.
        """
        return asked(each.turn(least) for each in self.said) if self.first.placed.starts else None

    @property
    def unanswered(self) -> bool:
        """Whether it starts with a question that is open."""
        found = self.asked()
        return found is not None and found.open

    @property
    def day(self) -> date | None:
        """When it starts, if the log says so."""
        return None if self.first.message.time is None else self.first.message.time.date()


def gather(placed: Iterable[Placed]) -> list[Talk]:
    """Conversations in the order of their start; lines that nobody said are left out.

    Lines are numbered by file, so that a log of several may have a number twice: the last one counts.
    """
    everything = list(placed)
    people = _people(everything)
    talks: list[Talk] = []
    current: dict[tuple[str | None, int], Talk] = {}
    known: dict[tuple[str | None, int, int], tuple[Talk, TalkMessage]] = {}
    for number, each in enumerate(each for each in everything if each.message.kind in SPOKEN):
        channel, thread = each.message.channel, each.thread
        answered = [
            known[channel, thread, line]
            for line in each.replies_to
            if not each.starts and (channel, thread, line) in known
        ]
        if answered:
            talk = answered[0][0]
        elif each.starts or (channel, thread) not in current:
            talk = current[channel, thread] = Talk()
            talks.append(talk)
        else:
            talk = current[channel, thread]
        said = TalkMessage(number, each, people[each.message.speaker], [parent for _, parent in answered])
        talk.said.append(said)
        known[channel, thread, each.line] = talk, said
    starts = [talk.first.message.time for talk in talks]
    if None in starts:
        return talks
    return sorted(talks, key=_start)


def _people(placed: Iterable[Placed]) -> dict[str, Person]:
    """Who speaks, by each of their names: who is renamed stays the same person."""
    earlier: dict[str, str] = {}

    def first_name(name: str) -> str:
        while name in earlier:
            name = earlier[name]
        return name

    spoken = []
    for each in placed:
        message = each.message
        if message.kind in SPOKEN:
            spoken.append(message.speaker)
        elif message.kind is Kind.RENAME:
            old, new = first_name(message.speaker), first_name(message.text)
            if old != new:
                earlier[new] = old
    known: dict[str, Person] = {}
    for name in spoken:
        person = known.setdefault(first_name(name), Person(len(known)))
        person.names[name] += 1
    return {name: known[first_name(name)] for name in spoken}


def _start(talk: Talk) -> float:
    time = talk.first.message.time
    return 0.0 if time is None else seconds_since_1970(time)
