"""Chooses the next speaker in a group of agents: the one whom the last message is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from towhom.chat import Message
from towhom.live import Model
from towhom.loading import load

_LEAST = 0.5
"""Minimum probability of an addressee to be chosen."""
_READ = 100
"""Number of latest messages that are read: as many as a session remembers."""


def next_speaker(
    messages: Sequence[Message],
    participants: Iterable[str],
    *,
    least: float = _LEAST,
    model: Model | None = None,
) -> str | None:
    """Say which participant the last message is for; None if it is for none of them.

    Args:
        messages: The chat, the latest message last.
        participants: The names of those who may speak next.
        least: The least probability that the participant is meant.
        model: The model to use; None for the one that comes with towhom.

    >>> chat = [Message("user", "we need a plan"), Message("planner", "coder: please write the parser")]
    >>> next_speaker(chat, ["planner", "coder", "critic"])
    'coder'
    """
    if not messages:
        return None
    names = tuple(participants)
    session = (_bundled_model() if model is None else model).session()
    for name in names:
        session.introduce(name)
    last = session.observe_all(messages[-_READ:])[-1]
    for addressee in last.addressees:
        if addressee.id in names and addressee.id != last.message.speaker and addressee.probability >= least:
            return addressee.id
    return None


def selector(
    participants: Iterable[str], *, least: float = _LEAST, model: Model | None = None
) -> Callable[[Sequence[Any]], str | None]:
    """Make a `selector_func` for AutoGen's `SelectorGroupChat`; if it returns None, AutoGen asks its model.

    Args:
        participants: The names of the agents.
        least: The least probability that an agent is meant.
        model: The model to use; None for the one that comes with towhom.
    """
    names = tuple(participants)

    def select(messages: Sequence[Any]) -> str | None:
        said = [Message(each.source, _text_of(each)) for each in messages if _text_of(each)]
        return next_speaker(said, names, least=least, model=model)

    return select


def _text_of(message: Any) -> str:
    """The text of an agent framework's message; empty if it has none."""
    to_text = getattr(message, "to_text", None)
    text = to_text() if callable(to_text) else getattr(message, "content", "")
    return text if isinstance(text, str) else ""


@cache
def _bundled_model() -> Model:
    return load()
