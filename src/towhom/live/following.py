"""Following channels: each asks what is made of its messages; what several ask is answered in one pass."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from towhom.blas import one_thread
from towhom.crosstalk.mind import Heard, Question, hear

T = TypeVar("T")

Following = Generator[Question, Heard, list[T]]
"""Asks, is sent the answer, and so on; in the end, there is something for each message."""


def follow_together(channels: Sequence[Following[T]]) -> list[list[T]]:
    """What becomes of the messages of several channels; the same as channel by channel, only faster."""
    results: list[list[T]] = [[] for _ in channels]
    asking: dict[int, Question] = {}
    answers: dict[int, Heard | None] = dict.fromkeys(range(len(channels)))
    with one_thread():
        while answers:
            for place, answer in answers.items():
                try:
                    asking[place] = next(channels[place]) if answer is None else channels[place].send(answer)
                except StopIteration as stop:
                    results[place] = stop.value
            answers = dict(zip(asking, hear([*asking.values()]), strict=True))
            asking = {}
    return results
