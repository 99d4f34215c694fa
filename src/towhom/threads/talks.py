"""Gathers messages into conversations, with the people in them."""

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
    """A speaker, with one name or several."""

    number: int
    names: Counter[str] = field(default_factory=Counter)
    """Their names, with the number of messages under each."""
    colour: int = 0
    """The number of their colour on the page."""

    @property
    def name(self) -> str:
        """The name that they use most."""
        return self.names.most_common(1)[0][0]


@dataclass(slots=True, eq=False)
class TalkMessage:
    """A message, its speaker, and the messages that it answers, as far as they are known."""

    number: int
    placed: Placed
    who: Person
    answers: list[TalkMessage]

    @property
    def message(self) -> Message:
        """The message itself."""
        return self.placed.message

    def turn(self, least: float) -> Turn:
        """The message as a turn, which cannot answer if its link is less likely than `least`."""
        message = self.message
        answers = self.placed.probability >= least and not by_program(message)
        return Turn(self.who.number, message.text, asks(message.text), answers)


@dataclass(slots=True, eq=False)
class Talk:
    """A conversation."""

    said: list[TalkMessage] = field(default_factory=list)

    @property
    def first(self) -> TalkMessage:
        """The first message."""
        return self.said[0]

    @property
    def people(self) -> list[Person]:
        """The people who take part, in order of first appearance."""
        return list(dict.fromkeys(each.who for each in self.said))

    def asked(self, *, least: float = 0.0) -> Asked | None:
        """The question that it starts with; None if there is none, or the start is missing.

        Args:
            least: A message whose link is less likely than this is no answer.
        """
        return asked(each.turn(least) for each in self.said) if self.first.placed.starts else None

    @property
    def unanswered(self) -> bool:
        """Whether it starts with an open question."""
        found = self.asked()
        return found is not None and found.open

    @property
    def day(self) -> date | None:
        """The day of its start, if the log has times."""
        return None if self.first.message.time is None else self.first.message.time.date()


def gather(placed: Iterable[Placed]) -> list[Talk]:
    """The conversations in the order of their start; lines such as joins are left out.

    Lines are numbered by file, so a log of several files may have a number twice; then the last one counts.
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
    """The speakers, by each of their names; somebody who is renamed stays the same person."""
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
