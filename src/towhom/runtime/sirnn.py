"""SI-RNN, forward only; `towhom.models.sirnn` has the equations, and the names used here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from towhom.batching import NOBODY, Questions
from towhom.runtime.gru import Array, mixed
from towhom.runtime.recurrent import RecurrentSelector, max_pool


class SIRNN(RecurrentSelector):
    """The speaker interaction RNN, one sample at a time.

    A step is a few dozen small operations, and calling them takes longer than computing them. So operations
    that all participants need are done for all at once, after sender and addressee are inserted; weights of
    the same state are joined in one matrix; and the factors of 1/2 of the gates are in the weights, as in
    `GRU`.
    """

    name = "sirnn"

    def __init__(self, weights: Mapping[str, Array], vectors: Array, settings: Any) -> None:
        super().__init__(weights, vectors, settings)
        h = self.hidden
        units = [_blocks(weights, "sender", h)]
        units.append(units[0] if settings.shared else _blocks(weights, "addressee", h))
        (s_w, s_u, s_v), (a_w, a_u, a_v) = units
        if settings.shared:
            o_w, o_u = s_w, s_u  # without p, as there is no other speaker
        else:
            o_w, o_u = ({k: weights[f"observer.{m}"][:, c] for k, c in _columns("rzc", h)} for m in "wu")
        # Weights of the utterance and of the sender's state, in the order of their use: r and z of sender and
        # addressee, p of both, the proposals of both, and the observers' r, z and proposal.
        read = [s_w["r"], s_w["z"], a_w["r"], a_w["z"], s_w["p"], a_w["p"], s_w["c"], a_w["c"]]
        read += [o_w["r"], o_w["z"], o_w["c"]]
        halves = np.repeat(np.array([0.5, 1, 0.5, 1], np.float32), [6 * h, 2 * h, 2 * h, h])
        both = np.concatenate(read, axis=1) * halves
        own = [s_u["r"], s_u["z"], a_v["r"], a_v["z"], s_u["p"], a_v["p"]]
        self._from_utterance = np.ascontiguousarray(both[h:])
        self._from_sender = np.ascontiguousarray(both[:h])
        self._from_sender[:, : 6 * h] += np.concatenate(own, axis=1) * np.float32(0.5)
        # Weights of the addressee's state in the gates.
        self._from_addressee = np.float32(0.5) * np.concatenate(
            [s_v["r"], s_v["z"], a_u["r"], a_u["z"], s_v["p"], a_u["p"]], axis=1
        )
        # Weights of both proposals, for r times the own state and p times the other's.
        zero = np.zeros((h, h), np.float32)
        self._proposals = np.float32(0.5) * np.block(
            [[s_u["c"], zero], [zero, a_u["c"]], [s_v["c"], zero], [zero, a_v["c"]]]
        )
        self._sender_c = np.float32(0.5) * s_u["c"]
        self._observers = np.float32(0.5) * np.concatenate([o_u["r"], o_u["z"]], axis=1)
        self._observers_c = np.float32(0.5) * o_u["c"]

    @classmethod
    def shapes(cls, settings: Any) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the weights."""
        h = settings.hidden
        shapes = super().shapes(settings)
        if settings.joint:
            shapes |= {"w_ar": (3 * h, h), "w_ra": (3 * h, h)}
        for role in ("sender", "addressee"):  # shared units are stored twice
            shapes |= {f"{role}.w": (2 * h, 4 * h), f"{role}.u": (h, 4 * h), f"{role}.v": (h, 4 * h)}
        if not settings.shared:
            shapes |= {"observer.w": (2 * h, 3 * h), "observer.u": (h, 3 * h)}
        return shapes

    def encode(self, questions: Questions, utterances: Array) -> tuple[Array, Array]:
        """Run Algorithm 1, then Eq. 1."""
        present = questions.present
        seen = utterances @ self._from_utterance
        speakers = np.zeros((*present.shape, self.hidden), np.float32)
        columns = (questions.context, questions.sender, questions.addressee, questions.participants)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for sample, (context, sender, addressee, count) in enumerate(rows):
            states = np.zeros((count, self.hidden), np.float32)
            for message, sdr, adr in zip(context, sender, addressee, strict=True):
                if sdr != NOBODY:
                    states = self._step(states, seen[message], sdr, adr)
            speakers[sample, :count] = states
        return speakers, max_pool(speakers, present)

    def _step(self, states: Array, heard: Array, sdr: int, adr: int) -> Array:
        """(P, H) -> (P, H) Process one message: update everybody's state according to their role."""
        h, h2 = self.hidden, 2 * self.hidden
        a_sdr = states[sdr]
        x = a_sdr.dot(self._from_sender)
        x += heard
        gates = states.dot(self._observers)
        gates += x[-3 * h : -h]
        if adr != NOBODY:
            a_adr = states[adr]
            x[: 3 * h2] += a_adr.dot(self._from_addressee)
            gates[adr] = x[h2 : 2 * h2]
        gates[sdr] = x[:h2]
        np.tanh(gates, out=gates)
        gates += 1.0
        remembered = gates[:, :h] * states
        c: Array = remembered.dot(self._observers_c)
        c += x[-h:]
        if adr == NOBODY:
            c[sdr] = remembered[sdr].dot(self._sender_c) + x[3 * h2 : 3 * h2 + h]
        else:
            p = x[2 * h2 : 3 * h2]
            np.tanh(p, out=p)
            p += 1.0
            p *= np.concatenate((a_adr, a_sdr))
            proposals = np.concatenate((remembered[sdr], remembered[adr], p)).dot(self._proposals)
            proposals += x[3 * h2 : 4 * h2]
            c[sdr] = proposals[:h]
            c[adr] = proposals[h:]
        np.tanh(c, out=c)
        return mixed(states, c, gates[:, h:])


def _columns(names: str, h: int) -> list[tuple[str, slice]]:
    return [(name, slice(place * h, (place + 1) * h)) for place, name in enumerate(names)]


def _blocks(weights: Mapping[str, Array], unit: str, h: int) -> list[dict[str, Array]]:
    """W, U and V of an IGRU, each split into r, p, z and the proposal."""
    return [
        {name: weights[f"{unit}.{matrix}"][:, columns] for name, columns in _columns("rpzc", h)}
        for matrix in "wuv"
    ]
