"""To whom a message is: what is known of everybody who may be meant, and how likely it makes them.

Most messages name nobody. What gives their addressee away is who spoke when, who addressed whom, what the
text has in common with what was said, and what the model makes of it all. These features go through a small
network, trained on reply links that people have drawn (`towhom.training.addressees`), and a softmax over
everybody who may be meant and nobody in particular.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import exp, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.hearing.manners import Manner
from towhom.hearing.utterance import Utterance

REACH = 50
"""How many messages back is looked for who may be meant."""

_FAR = 5.0
"""The logarithmic distance of what is out of reach."""
_TELLING = 0.4
"""Pieces with less weight than this are in every other message."""

Array = NDArray[np.float32]


@dataclass(slots=True)
class Turn:
    """A message as it was heard, and what a session makes of it."""

    utterance: Utterance
    embedding: Array | None = None
    """While it is in the model's context."""
    pieces: dict[int, float] = field(default_factory=dict)
    """What its words are made of, and how much each piece tells."""
    meant: dict[str | None, float] = field(default_factory=dict)
    """How likely it is for whom; only those who are likely."""

    @classmethod
    def of(cls, utterance: Utterance) -> Turn:
        """What was just heard."""
        return cls(
            utterance, pieces=dict(zip(utterance.pieces.tolist(), utterance.weights.tolist(), strict=True))
        )


class ModelScores(NamedTuple):
    """What the model makes of a candidate: P(a|C) and P(a|C,r), before the sigmoid."""

    before: float
    given: float


@dataclass(slots=True)
class Candidate:
    """What the messages within reach say of somebody who may be meant; distances in messages, 0 for never."""

    name: str
    distance: int = 0
    """Since they spoke."""
    order: int = 0
    """1 for who spoke last, 2 for the one before, and so on."""
    last: Turn | None = None
    """What they said last."""
    recent: int = 0
    """How many of the last ten messages are theirs."""
    to_me: int = 0
    """Since they named the speaker."""
    from_me: int = 0
    """Since the speaker named them."""
    meant_me: float = 0.0
    """How likely one of their messages was for the speaker, nearer ones counting more."""
    common: float = 0.0
    """What the message has in common with theirs, nearer ones counting more."""
    common_last: float = 0.0
    """What it has in common with their last one."""


@dataclass(slots=True)
class Situation:
    """A message that is about to be said, and what there was before it."""

    new: Utterance
    model: Mapping[str, ModelScores]
    """Of those in the model's context."""
    called: Collection[str]
    """Who is called outright."""
    mentioned: Collection[str]
    """Who is named, and not called."""
    talked_about: Collection[str]
    """Who of them is talked about."""
    people: dict[str, Candidate] = field(default_factory=dict)
    spoke: int = 0
    """How many of them have spoken."""
    my_last: Turn | None = None
    my_distance: int = 0
    """Since the speaker spoke."""
    addressed_me: str | None = None
    """Who named the speaker last."""
    total: float = 1.0
    """Of the model's odds."""


def _since(earlier: Turn | None, new: Utterance) -> float:
    """How long ago, in logarithmic seconds; 1 if it is not known. A clock may go backwards."""
    if earlier is None or earlier.utterance.time is None or new.time is None:
        return 1.0
    return log1p(max(new.time - earlier.utterance.time, 0.0)) / 5


def _names(turn: Turn | None, who: str) -> bool:
    """Whether a message calls somebody."""
    return turn is not None and who in turn.utterance.addressees


def _asks(turn: Turn | None) -> bool:
    return turn is not None and turn.utterance.asks


def _nearness(scale: float) -> list[float]:
    """By distance, from 1 down to 0; 0 for never."""
    return [0.0, *(exp(-distance / scale) for distance in range(1, REACH + 1))]


_NEAR_5, _NEAR_8, _NEAR_20 = map(_nearness, (5, 8, 20))


CANDIDATE_FEATURES: dict[str, Callable[[Candidate, Situation], float]] = {
    "called": lambda who, now: who.name in now.called,
    "mentioned": lambda who, now: who.name in now.mentioned,
    "talked about": lambda who, now: who.name in now.talked_about,
    "in the context": lambda who, now: who.name in now.model,
    "model": lambda who, now: now.model[who.name].before if who.name in now.model else 0.0,
    "model, given the text": lambda who, now: now.model[who.name].given if who.name in now.model else 0.0,
    "model, among all": lambda who, now: (
        exp(now.model[who.name].given) / now.total if who.name in now.model else 0.0
    ),
    "distance": lambda who, now: log1p(who.distance) if who.distance else _FAR,
    "previous speaker": lambda who, now: who.distance == 1,
    "order": lambda who, now: who.order / 10 if who.order else 2.0,
    "named me": lambda who, now: who.to_me > 0,
    "named me, nearness": lambda who, now: _NEAR_5[who.to_me],
    "named me last of all": lambda who, now: who.name == now.addressed_me,
    "last message names me": lambda who, now: _names(who.last, now.new.speaker),
    "last message names another": lambda who, now: (
        who.last is not None
        and who.last.utterance.addressee is not None
        and not _names(who.last, now.new.speaker)
    ),
    "I named them": lambda who, now: who.from_me > 0,
    "I named them, nearness": lambda who, now: _NEAR_5[who.from_me],
    "my last message names them": lambda who, now: _names(now.my_last, who.name),
    "my last message meant them": lambda who, now: (
        now.my_last.meant.get(who.name, 0.0) * _NEAR_20[now.my_distance] if now.my_last else 0.0
    ),
    "last message meant me": lambda who, now: who.last.meant.get(now.new.speaker, 0.0) if who.last else 0.0,
    "meant me, nearness": lambda who, now: who.meant_me,
    "last message asks": lambda who, now: _asks(who.last),
    "last message asks the room": lambda who, now: (
        who.last is not None and _asks(who.last) and who.last.utterance.addressee is None
    ),
    "last message asks anybody": lambda who, now: who.last is not None and who.last.utterance.bearing.anybody,
    "in common": lambda who, now: who.common,
    "in common, last message": lambda who, now: who.common_last,
    "time since": lambda who, now: _since(who.last, now.new),
    "I spoke since": lambda who, now: 0 < now.my_distance < who.distance,
    "spoke since I did": lambda who, now: 0 < who.distance < now.my_distance,
    "recent messages": lambda who, now: who.recent / 5,
}
"""What is known of somebody who may be meant, as numbers of the order of 1."""

MESSAGE_FEATURES: dict[str, Callable[[Situation], float]] = {
    "asks": lambda now: now.new.asks,
    "telling words": lambda now: log1p(now.new.telling),
    "I have spoken": lambda now: now.my_last is not None,
    "distance of my last": lambda now: log1p(now.my_distance) if now.my_distance else _FAR,
    "my last asks": lambda now: _asks(now.my_last),
    "my last meant nobody": lambda now: (
        now.my_last.meant.get(None, 0.0) * _NEAR_20[now.my_distance] if now.my_last else 0.0
    ),
    "somebody is called": lambda now: bool(now.called),
    "somebody is mentioned": lambda now: bool(now.mentioned),
    "everybody is called": lambda now: now.new.everybody,
    "asks anybody": lambda now: now.new.bearing.anybody,
    "greets": lambda now: now.new.bearing.greets,
    "begins like an answer": lambda now: now.new.bearing.answers,
    "says you": lambda now: now.new.bearing.you,
    "time since my last": lambda now: _since(now.my_last, now.new),
    "the time is known": lambda now: now.new.time is not None,
    "candidates": lambda now: len(now.people) / 10,
    "I am the previous speaker": lambda now: now.my_distance == 1,
    "somebody named me": lambda now: now.addressed_me is not None,
    "most in common": lambda now: max((who.common for who in now.people.values()), default=0.0),
    "best of the model": lambda now: max((each.given for each in now.model.values()), default=0.0),
}
"""What is known of the message, whoever may be meant."""


class Features(NamedTuple):
    """What is known about a message and about everybody who may be meant."""

    names: tuple[str, ...]
    candidates: Array
    """(N, features of a candidate)"""
    message: Array
    """(features of a message,)"""


def features(
    past: Sequence[Turn],
    new: Turn,
    *,
    model: Mapping[str, ModelScores],
    others: Iterable[str] = (),
) -> Features:
    """What is known about a new message.

    Args:
        past: The messages before it, the latest last.
        new: The message.
        model: What the model makes of those in its context.
        others: Who else may be meant, though they have not spoken.
    """
    utterance = new.utterance
    about = {call.who for call in utterance.calls if call.manner is Manner.ABOUT}
    now = Situation(utterance, model, utterance.addressees, utterance.mentions, about)
    for distance, turn in enumerate(islice(reversed(past), REACH), 1):
        if turn.utterance.speaker == utterance.speaker:
            _look_at_mine(now, distance, turn)
        else:
            _look_at_theirs(now, distance, turn, _shared(new, turn))
    for name in (*others, *now.mentioned, *now.called):
        if name != utterance.speaker:
            now.people.setdefault(name, Candidate(name))
    now.total = sum(exp(each.given) for each in model.values())
    rows = [[each(who, now) for each in CANDIDATE_FEATURES.values()] for who in now.people.values()]
    return Features(
        tuple(now.people),
        np.array(rows, np.float32).reshape(len(rows), len(CANDIDATE_FEATURES)),
        np.array([each(now) for each in MESSAGE_FEATURES.values()], np.float32),
    )


def _shared(one: Turn, other: Turn) -> float:
    """How much it tells what two messages have in common."""
    if one.pieces.keys().isdisjoint(other.pieces):
        return 0.0
    weights = (one.pieces[piece] for piece in one.pieces.keys() & other.pieces.keys())
    return sum(weight for weight in weights if weight > _TELLING)


def _look_at_mine(now: Situation, distance: int, turn: Turn) -> None:
    if now.my_last is None:
        now.my_last, now.my_distance = turn, distance
    for addressee in turn.utterance.addressees:
        who = now.people.setdefault(addressee, Candidate(addressee))
        who.from_me = who.from_me or distance


def _look_at_theirs(now: Situation, distance: int, turn: Turn, shared: float) -> None:
    said = turn.utterance
    who = now.people.get(said.speaker)
    if who is None:
        who = now.people[said.speaker] = Candidate(said.speaker)
    common = 1.0 - exp(-shared) if shared else 0.0
    if common:
        who.common = max(who.common, common * _NEAR_20[distance])
    meant = turn.meant.get(now.new.speaker)
    if meant is not None:
        who.meant_me = max(who.meant_me, meant * _NEAR_8[distance])
    who.recent += distance <= 10
    if who.last is None:
        now.spoke += 1
        who.last, who.distance, who.order, who.common_last = turn, distance, now.spoke, common
    if now.new.speaker in said.addressees:
        who.to_me = who.to_me or distance
        now.addressed_me = now.addressed_me or who.name


class AddresseeRanker:
    """A network with one hidden layer for candidates, one for nobody in particular.

    Args:
        weights: Matrices, biases and outputs of the two.
    """

    def __init__(self, weights: Mapping[str, Array]) -> None:
        hidden = len(weights["candidate.out"])
        embedding = len(weights["nobody.w"]) - len(MESSAGE_FEATURES)
        for name, shape in self.shapes(hidden, embedding).items():
            if weights[name].shape != shape:
                raise ValueError(f"{name} is {weights[name].shape}, expected {shape}")
        split = len(CANDIDATE_FEATURES)
        self._w_own, self._w_message = weights["candidate.w"][:split], weights["candidate.w"][split:]
        self._bias, self._out = weights["candidate.b"], weights["candidate.out"]
        self._w_nobody, self._bias_nobody = weights["nobody.w"], weights["nobody.b"]
        self._out_nobody = weights["nobody.out"]

    @staticmethod
    def shapes(hidden: int, embedding: int) -> dict[str, tuple[int, ...]]:
        """The weights that there must be."""
        own, message = len(CANDIDATE_FEATURES), len(MESSAGE_FEATURES)
        return {
            "candidate.w": (own + message, hidden),
            "candidate.b": (hidden,),
            "candidate.out": (hidden,),
            "nobody.w": (message + embedding, hidden),
            "nobody.b": (hidden,),
            "nobody.out": (hidden,),
        }

    def __call__(self, found: Features, state: Array) -> NDArray[np.float64]:
        """(N + 1,) Scores of the candidates, logarithmic; the last is of nobody in particular.

        Args:
            found: What is known.
            state: (H,) The message's embedding.
        """
        hidden = found.candidates @ self._w_own
        hidden += found.message @ self._w_message + self._bias
        scores = np.empty(len(found.names) + 1)
        scores[:-1] = np.maximum(hidden, 0.0) @ self._out
        alone = np.concatenate([found.message, state]) @ self._w_nobody + self._bias_nobody
        scores[-1] = np.maximum(alone, 0.0) @ self._out_nobody
        return scores
