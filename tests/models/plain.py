"""The systems once more, as plainly as the paper puts them: what the fast ones are measured against.

NumPy and loops, one sample at a time, people by name; nothing of towhom but the numbers of its weights. A
weight is stored as (inputs, gates side by side); here every gate has a matrix of its own, (outputs, inputs),
so that the equations read as in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Words = Sequence[int]


class Message(NamedTuple):
    sender: str
    addressee: str | None
    words: Words


@dataclass(frozen=True)
class Chat:
    """What is asked: the latest message last."""

    context: Sequence[Message]
    responder: str
    candidates: Sequence[Words]

    @property
    def people(self) -> list[str]:
        """The responder, then who spoke last, who before them, and so on."""
        found = [self.responder]
        for message in reversed(self.context):
            if message.sender not in found:
                found.append(message.sender)
        return found

    def heard_by(self, message: Message) -> str | None:
        """Whom a message addresses: somebody who is there, and not its sender."""
        addressee = message.addressee
        return addressee if addressee in self.people and addressee != message.sender else None


@dataclass(frozen=True)
class Result:
    """Embeddings and probabilities, people in the order of `Chat.people`."""

    speakers: Array
    context: Array
    addressee: Array
    response: Array
    addressee_given: Array | None
    """(C, P)"""
    response_given: Array | None
    """(P, C)"""


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


class PlainModel:
    """Weights by name, as a model's state has them."""

    def __init__(self, weights: Mapping[str, Array], vectors: Array) -> None:
        self.weights = weights
        self.vectors = vectors
        self.hidden = weights["w_a"].shape[1]

    def gates(self, name: str) -> list[Array]:
        """The matrices of a weight's gates."""
        stored = self.weights[name]
        return [stored[:, i : i + self.hidden].T for i in range(0, stored.shape[1], self.hidden)]

    def gru(self, name: str, h: Array, x: Array, *, w: str | None = None) -> Array:
        w_r, w_z, w_c = self.gates(w or f"{name}.w")
        u_r, u_z, u_c = self.gates(f"{name}.u")
        r = sigmoid(w_r @ x + u_r @ h)
        z = sigmoid(w_z @ x + u_z @ h)
        proposal = np.tanh(w_c @ x + u_c @ (r * h))
        return np.asarray(z * h + (1 - z) * proposal)

    def igru(self, name: str, own: Array, other: Array, u: Array) -> Array:
        w_r, w_p, w_z, w_c = self.gates(f"{name}.w")
        u_r, u_p, u_z, u_c = self.gates(f"{name}.u")
        v_r, v_p, v_z, v_c = self.gates(f"{name}.v")
        r = sigmoid(w_r @ u + u_r @ own + v_r @ other)
        p = sigmoid(w_p @ u + u_p @ own + v_p @ other)
        z = sigmoid(w_z @ u + u_z @ own + v_z @ other)
        proposal = np.tanh(w_c @ u + u_c @ (r * own) + v_c @ (p * other))
        return np.asarray(z * own + (1 - z) * proposal)

    def utterance(self, words: Words) -> Array:
        h = np.zeros(self.hidden)
        for word in words:
            h = self.gru("utterance", h, self.vectors[word])
        return h

    def position(self, person: str, chat: Chat) -> Array:
        table = self.weights["positions"]
        return np.asarray(table[min(chat.people.index(person), len(table) - 1)])

    def sirnn(self, chat: Chat) -> tuple[Array, Array]:
        """Algorithm 1."""
        a = {person: np.zeros(self.hidden) for person in chat.people}
        for message in chat.context:
            sdr, adr = message.sender, chat.heard_by(message)
            before = dict(a)
            u = np.concatenate([before[sdr], self.utterance(message.words)])
            nobody = np.zeros(self.hidden)
            a[sdr] = self.igru("sender", before[sdr], nobody if adr is None else before[adr], u)
            if adr is not None:
                a[adr] = self.igru("addressee", before[adr], before[sdr], u)
            for obr in chat.people:
                if obr not in (sdr, adr):
                    a[obr] = (
                        self.gru("observer", before[obr], u)
                        if "observer.w" in self.weights
                        else self.igru("sender", before[obr], nobody, u)
                    )
        return self.pooled(chat, a)

    def dynamic(self, chat: Chat) -> tuple[Array, Array]:
        a = {person: np.zeros(self.hidden) for person in chat.people}
        for message in chat.context:
            for person in chat.people:
                spoke = person == message.sender
                x = self.utterance(message.words) if spoke else np.zeros(self.hidden)
                a[person] = self.gru("speaker", a[person], x)
        return self.pooled(chat, a)

    def pooled(self, chat: Chat, a: Mapping[str, Array]) -> tuple[Array, Array]:
        speakers = np.array([a[person] for person in chat.people])
        return speakers, speakers.max(axis=0)

    def static(self, chat: Chat) -> tuple[Array, Array]:
        h = np.zeros(self.hidden)
        for message in chat.context:
            h = self.gru("context", h, self.position(message.sender, chat), w="w_position")
            for word in message.words:
                h = self.gru("context", h, self.vectors[word])
        return np.array([self.position(person, chat) for person in chat.people]), h

    def static_hier(self, chat: Chat) -> tuple[Array, Array]:
        h = np.zeros(self.hidden)
        for message in chat.context:
            said = self.utterance(message.words)
            h = self.gru("context", h, np.concatenate([self.position(message.sender, chat), said]))
        return np.array([self.position(person, chat) for person in chat.people]), h

    def run(self, system: str, chat: Chat) -> Result:
        """Everything about one sample: Eq. 1 to 5."""
        encoders = {
            "static-rnn": self.static,
            "static-hier-rnn": self.static_hier,
            "dynamic-rnn": self.dynamic,
        }
        speakers, context = encoders.get(system, self.sirnn)(chat)
        responses = [self.utterance(words) for words in chat.candidates]
        seen = np.concatenate([speakers[0], context])
        weights = self.weights
        addressee = np.array([sigmoid(seen @ weights["w_a"] @ a) for a in speakers])
        response = np.array([sigmoid(seen @ weights["w_r"] @ r) for r in responses])
        if "w_ar" not in weights:
            return Result(speakers, context, addressee, response, None, None)
        given_response = [
            [sigmoid(np.concatenate([seen, r]) @ weights["w_ar"] @ a) for a in speakers] for r in responses
        ]
        given_addressee = [
            [sigmoid(np.concatenate([seen, a]) @ weights["w_ra"] @ r) for r in responses] for a in speakers
        ]
        return Result(
            speakers, context, addressee, response, np.array(given_response), np.array(given_addressee)
        )
