"""SI-RNN, forward only; `towhom.models.sirnn` has the equations, and the names used here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from towhom.batching import NOBODY, Questions
from towhom.runtime.base import NumpySelector, max_pool
from towhom.runtime.gru import Array


class SIRNN(NumpySelector):
    """The speaker interaction RNN, one sample at a time.

    A step is a few dozen small operations, and calling them takes longer than computing them. So sender and
    addressee are two rows of one array; all that is multiplied with their states is one matrix; and as
    s(x) = (1 + tanh(x / 2)) / 2, the halves of the gates are in the weights.
    """

    name = "sirnn"

    def __init__(self, weights: Mapping[str, Array], vectors: Array, settings: Any) -> None:
        super().__init__(weights, vectors, settings)
        h = self.hidden
        gates = 3 * h
        s_w, s_u, s_v = (weights[f"sender.{name}"] for name in "wuv")
        if settings.shared:
            a_w, a_u, a_v = s_w, s_u, s_v
            # r, z and the proposal of the shared unit; its p has nobody to let in.
            o_w, o_u = (np.concatenate([m[:, :h], m[:, 2 * h :]], axis=1) for m in (s_w, s_u))
        else:
            a_w, a_u, a_v = (weights[f"addressee.{name}"] for name in "wuv")
            o_w, o_u = weights["observer.w"], weights["observer.u"]
        # Columns: the sender's r, p, z, c; the addressee's; the observers' r, z, c.
        half = np.repeat(np.array([0.5, 1, 0.5, 1, 0.5, 1], np.float32), [gates, h, gates, h, 2 * h, h])
        self._from_utterance = np.concatenate([s_w[h:], a_w[h:], o_w[h:]], axis=1) * half
        from_sender = np.concatenate([s_w[:h], a_w[:h], o_w[:h]], axis=1)
        from_sender[:, :gates] += s_u[:, :gates]
        from_sender[:, 4 * h : 4 * h + gates] += a_v[:, :gates]
        from_addressee = np.zeros_like(from_sender)
        from_addressee[:, :gates] = s_v[:, :gates]
        from_addressee[:, 4 * h : 4 * h + gates] = a_u[:, :gates]
        self._from_both = np.concatenate([from_sender, from_addressee]) * half
        # The proposals: from [r own; p other], sender and addressee; from r own, observers.
        self._proposals = np.float32(0.5) * np.stack(
            [np.concatenate([u[:, gates:], v[:, gates:]]) for u, v in ((s_u, s_v), (a_u, a_v))]
        )
        self._observers: Array = np.float32(0.5) * np.ascontiguousarray(o_u[:, : 2 * h])
        self._observers_c: Array = np.float32(0.5) * np.ascontiguousarray(o_u[:, 2 * h :])

    @classmethod
    def shapes(cls, settings: Any) -> dict[str, tuple[int, ...]]:
        """The weights that there must be."""
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
        """Algorithm 1, then Eq. 1."""
        present = questions.present
        seen = utterances @ self._from_utterance
        speakers = np.zeros((*present.shape, self.hidden), np.float32)
        columns = (questions.context, questions.sender, questions.addressee, questions.participants)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for sample, (context, sender, addressee, count) in enumerate(rows):
            speakers[sample, :count] = self._algorithm_1(seen, context, sender, addressee, count)
        return speakers, max_pool(speakers, present)

    def _algorithm_1(
        self, seen: Array, context: list[int], sender: list[int], addressee: list[int], participants: int
    ) -> Array:
        """(P, H) Everybody's state after the last message."""
        h = self.hidden
        nobody = participants  # a row that stays zero
        states = np.zeros((participants + 1, h), np.float32)
        for message, sdr, to in zip(context, sender, addressee, strict=True):
            if sdr == NOBODY:
                continue
            adr = nobody if to == NOBODY else to
            both = states[[sdr, adr, adr, sdr]].reshape(2, 2 * h)  # [own; other] of sender and addressee
            x = both[0] @ self._from_both
            x += seen[message]
            pair = x[: 8 * h].reshape(2, 4 * h)
            gates = pair[:, : 3 * h]
            np.tanh(gates, out=gates)
            gates += 1.0
            c = ((gates[:, : 2 * h] * both)[:, None] @ self._proposals)[:, 0]
            c += pair[:, 3 * h :]
            np.tanh(c, out=c)
            own = _mixed(both[:, :h], c, gates[:, 2 * h :])

            gates = states @ self._observers
            gates += x[8 * h : 10 * h]
            np.tanh(gates, out=gates)
            gates += 1.0
            c = np.matmul(gates[:, :h] * states, self._observers_c)
            c += x[10 * h :]
            np.tanh(c, out=c)
            states = _mixed(states, c, gates[:, h:])

            states[adr] = own[1]
            states[nobody] = 0.0
            states[sdr] = own[0]
        return states[:participants]


def _mixed(old: Array, new: Array, twice_z: Array) -> Array:
    """The old state and the proposal: z a + (1 - z) c."""
    result = old - new
    result *= twice_z
    result *= 0.5
    result += new
    return result
