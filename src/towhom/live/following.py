"""Following several channels together: their questions to the network are answered in one pass."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from towhom.blas import one_thread
from towhom.crosstalk.mind import Heard, Question, hear

T = TypeVar("T")

Following = Generator[Question, Heard, list[T]]
"""A generator that yields questions, is sent the answers, and returns one result per message."""


def follow_together(channels: Sequence[Following[T]]) -> list[list[T]]:
    """The results for the messages of several channels: the same as channel by channel, but faster."""
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
