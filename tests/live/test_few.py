"""Few people: what holds while a chat begins does not hold in a meeting."""

from __future__ import annotations

from typing import Any

import pytest

from towhom import Message
from towhom.crosstalk.readings import Reading, read
from towhom.live import Model
from towhom.live import channel as channels


@pytest.mark.parametrize("people", [3, 4, 5])
def test_only_at_the_beginning(model: Model, monkeypatch: pytest.MonkeyPatch, people: int) -> None:
    """Own lines for nobody lead to who has spoken since, in small rooms and for twenty messages."""
    told: list[bool] = []

    def spy(*given: Any, few: bool) -> Reading:
        told.append(few)
        return read(*given, few=few)

    monkeypatch.setattr(channels, "read", spy)
    session = model.session()
    for number in range(30):
        session.observe(Message("abcde"[number % people], f"line {number}"))
    assert told[people - 1 : 20] == [people <= 4] * (21 - people)
    assert not any(told[20:])
