"""Measures how well addressees are found in a running chat, against reply links annotated by people."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from towhom.chat import Message
from towhom.evaluation.calibration import reliability
from towhom.evaluation.reply_links import WARM_UP, LinkedLog
from towhom.evaluation.significance import bootstrap
from towhom.live import Addressee, Model

_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass
class Outcome:
    """The result for one annotated message."""

    document: int
    line: int
    named: bool
    """Whether the message names its addressee."""
    truth: frozenset[str | None]
    ranked: tuple[Addressee, ...]
    """The possible addressees, the likeliest first."""

    @property
    def probability(self) -> float:
        """The probability of the first addressee."""
        return self.ranked[0].probability

    @property
    def right(self) -> bool:
        """Whether the first addressee is one of the true ones."""
        return self.ranked[0].name in self.truth


Follow = Callable[[], Callable[[Message], tuple[Addressee, ...]]]
"""Starts a channel; returns a function from the next message to its possible addressees."""


def follow_model(model: Model) -> Follow:
    """Follow channels with sessions of a model."""

    def start() -> Callable[[Message], tuple[Addressee, ...]]:
        session = model.session()
        return lambda message: session.observe(message).addressees

    return start


@dataclass
class _Baseline:
    """A rule without a model. All baselines take a name in front as the addressee."""

    choose: Callable[[_Baseline, str], str | None]
    spoken: list[str] = field(default_factory=list)
    addressed: dict[str, str] = field(default_factory=dict)
    """By name, the last person who addressed them."""

    def __call__(self, message: Message) -> tuple[Addressee, ...]:
        chosen = message.addressee or self.choose(self, message.speaker)
        if message.addressee is not None:
            self.addressed[message.addressee] = message.speaker
        self.spoken.append(message.speaker)
        return (Addressee(chosen, 1.0),)

    def previous(self, me: str) -> str | None:
        """The last speaker other than `me`."""
        return next((name for name in reversed(self.spoken) if name != me), None)


BASELINES: dict[str, Callable[[_Baseline, str], str | None]] = {
    "nobody": lambda so_far, me: None,
    "previous-speaker": _Baseline.previous,
    "addressed-me-last": lambda so_far, me: so_far.addressed.get(me),
}


def follow_baseline(name: str) -> Follow:
    """Follow channels with a baseline, given its name."""
    return lambda: _Baseline(BASELINES[name])


def follow_logs(
    follow: Follow,
    logs: Iterable[LinkedLog],
    *,
    resolved: bool = False,
    warm_up: int = WARM_UP,
    progress: Callable[[str], None] = lambda name: None,
) -> list[Outcome]:
    """Collect the results for all annotated messages; each log is a new channel.

    Args:
        follow: The system to measure.
        logs: The chats.
        resolved: Whether names in front are passed as addressees; a session finds them itself.
        warm_up: Number of lines before the first annotated one that are shown as well.
        progress: Called with the name of each log when it is done.
    """
    outcomes = []
    for document, log in enumerate(logs):
        take = follow()
        for line, message in log.messages(warm_up):
            if resolved and line in log.named:
                message = Message(message.speaker, message.text, log.named[line], message.time, line=line)
            ranked = take(message)
            if line in log.truth:
                outcomes.append(Outcome(document, line, line in log.named, log.truth[line], ranked))
        progress(log.name)
    return outcomes


def describe_addressees(outcomes: list[Outcome]) -> dict[str, Any]:
    """Accuracy in percent over all messages and those that name nobody; `is_for` as a curve; calibration."""
    unnamed = [each for each in outcomes if not each.named]
    starts = [each for each in unnamed if each.truth == {None}]
    replies = [each for each in unnamed if None not in each.truth]
    return {
        "messages": len(outcomes),
        "accuracy": _accuracy(outcomes),
        "interval": _interval(outcomes),
        "names_nobody": {
            "messages": len(unnamed),
            "accuracy": _accuracy(unnamed),
            "interval": _interval(unnamed),
            "for_nobody": {"messages": len(starts), "accuracy": _accuracy(starts)},
            "for_somebody": {"messages": len(replies), "accuracy": _accuracy(replies)},
        },
        "is_for": _curve(outcomes),
        "is_for_names_nobody": _curve(unnamed),
        "calibration": _reliability(outcomes),
        "calibration_names_nobody": _reliability(unnamed),
    }


def _accuracy(outcomes: list[Outcome]) -> float:
    return round(100 * float(np.mean([each.right for each in outcomes])), 4) if outcomes else 0.0


def _interval(outcomes: list[Outcome]) -> list[float]:
    if not outcomes:
        return [0.0, 0.0]
    right = np.array([100.0 * each.right for each in outcomes])
    found = bootstrap(right, np.array([each.document for each in outcomes]))
    return [round(found.low, 4), round(found.high, 4)]


def _curve(outcomes: list[Outcome]) -> list[dict[str, float]]:
    """Precision and recall of "is this for me?", asked for every possible addressee."""
    asked = [
        (addressee.probability, addressee.name in each.truth)
        for each in outcomes
        for addressee in each.ranked
        if addressee.name is not None
    ]
    probability = np.array([p for p, _ in asked])
    right = np.array([r for _, r in asked], bool)
    all_true = sum(len(each.truth - {None}) for each in outcomes)
    curve = []
    for threshold in _THRESHOLDS:
        said_yes = probability >= threshold
        hits = int((said_yes & right).sum())
        curve.append(
            {
                "threshold": threshold,
                "precision": round(hits / max(int(said_yes.sum()), 1), 4),
                "recall": round(hits / max(all_true, 1), 4),
            }
        )
    return curve


def _reliability(outcomes: list[Outcome]) -> dict[str, Any]:
    return reliability(
        np.array([each.probability for each in outcomes]), np.array([each.right for each in outcomes], bool)
    )
