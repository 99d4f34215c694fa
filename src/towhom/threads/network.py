"""What the signals are worth: a small network, forward only; `towhom.training.threads` trains it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from towhom.runtime import NumpySelector
from towhom.threads.signals import MESSAGE, MESSAGE_TIME, STRUCTURE, Array, Signals, pair_names

STAGES = ("first", "second")
"""The first sees messages, the second also the conversations that the first found."""


class Network:
    """How likely a message answers each of those before it, or none.

    Args:
        weights: Those of a stage, by the names in `shapes`.
    """

    def __init__(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        self._w = {name: np.ascontiguousarray(weights[name]) for name in self.shapes(1, 1, 1, 1)}

    @staticmethod
    def shapes(pairs: int, messages: int, hidden: int, second: int) -> dict[str, tuple[int, ...]]:
        """The weights that there are, given how many signals and units."""
        return {
            "pair.w": (pairs, hidden),
            "message.w": (messages, hidden),
            "pair.b": (hidden,),
            "second.w": (hidden, second),
            "second.b": (second,),
            "out": (second,),
            "start.w": (messages + pairs, hidden),
            "start.b": (hidden,),
            "start.out": (hidden,),
        }

    def __call__(self, signals: Signals) -> Array:
        """(R, `REACH` + 1) Probabilities; the last column is that it starts a conversation."""
        w, (rows, reach, width) = self._w, signals.pairs.shape
        hidden = (signals.pairs.reshape(-1, width) @ w["pair.w"]).reshape(rows, reach, -1)
        hidden += (signals.messages @ w["message.w"] + w["pair.b"])[:, None]
        np.maximum(hidden, 0.0, out=hidden)
        second = hidden.reshape(rows * reach, -1) @ w["second.w"]
        second += w["second.b"]
        np.maximum(second, 0.0, out=second)
        scores = np.empty((rows, reach + 1), np.float32)
        scores[:, :reach] = np.where(signals.there, (second @ w["out"]).reshape(rows, reach), -np.inf)
        known = np.concatenate([signals.messages, signals.pairs.max(axis=1)], axis=1)
        scores[:, reach] = np.maximum(known @ w["start.w"] + w["start.b"], 0.0) @ w["start.out"]
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores


def load_networks(
    weights: Mapping[str, Mapping[str, NDArray[np.float32]]], runtime: NumpySelector
) -> dict[str, Network]:
    """The networks of all stages, if there are any, for what a selector says of utterances.

    Raises:
        ValueError: One is missing, or does not fit the signals.
    """
    if not weights:
        return {}
    if set(weights) != set(STAGES):
        raise ValueError(
            f"threads need the stages {' and '.join(STAGES)}, found {', '.join(sorted(weights))}"
        )
    utterance = runtime.encode_utterances(np.zeros(1, np.int32), np.array([0, 1]))
    pairs = len(pair_names(runtime.sides(utterance)[0].shape[1]))
    messages = len(MESSAGE) + len(MESSAGE_TIME) + runtime.embedding(utterance).shape[1]
    networks = {}
    for stage, own in weights.items():
        more = len(STRUCTURE) if stage == "second" else 0
        hidden, second = own["second.w"].shape
        found = {name: value.shape for name, value in own.items()}
        if found != Network.shapes(pairs + more, messages, hidden, second):
            raise ValueError(f"the weights of the {stage} stage of threads do not fit its signals")
        networks[stage] = Network(own)
    return networks
