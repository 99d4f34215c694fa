"""A session stays small, however long its channel lives."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.live.conftest import HIDDEN, random_ranker, saved_model
from tests.models.systems import SIZES
from towhom.chat import Message
from towhom.hearing.people import REMEMBERED
from towhom.live import Model, Session
from towhom.live.addressees import CANDIDATE_FEATURES, MESSAGE_FEATURES, REACH, Features, Turn


def message(number: int) -> Message:
    """Everybody is new, and calls somebody who is not there."""
    return Message(f"guest{number}", f"visitor{number % 5000}: tea")


def sizes(session: Session, folder: Path) -> dict[str, int]:
    """Of all that grows with what was said."""
    session.save(folder / "state.json")
    past = session._past
    return {
        "names": len(session.people),
        "parts of names": len(session.people._parts),
        "messages": len(past),
        "embeddings": sum(each.embedding is not None for each in past),
        "with words": sum(len(each.utterance.tokens) > 0 or each.utterance.names != () for each in past),
        "with pieces": sum(0 < len(each.utterance.pieces) < 10 for each in past),
        "meant": max(len(each.meant) for each in past),
        "saved, in kilobytes": round((folder / "state.json").stat().st_size / 20_000) * 20,
    }


@pytest.fixture(params=["dynamic-rnn", "crosstalk"])
def model(request: pytest.FixtureRequest) -> Model:
    says = 2 * SIZES["crosstalk"]["content"] if request.param == "crosstalk" else HIDDEN
    return Model(saved_model(request.param, context=2, ranker=random_ranker(hidden=says)))


def test_a_hundred_thousand_messages(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the computing, which keeps nothing and would take a minute."""

    def unranked(session: Session, turn: Turn, past: list[Turn]) -> tuple[Features, NDArray[np.float64]]:
        turn.embedding = np.zeros(HIDDEN, np.float32)
        nothing = np.zeros((0, len(CANDIDATE_FEATURES)), np.float32)
        return Features((), nothing, np.zeros(len(MESSAGE_FEATURES), np.float32)), np.ones(1)

    monkeypatch.setattr(Session, "_addressees", unranked)
    session = model.session()
    seen = []
    for number in range(100_000):
        session.observe(message(number))
        if number in (20_000, 60_000, 99_999):
            seen.append(sizes(session, tmp_path))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0]["names"] == REMEMBERED
    assert seen[0]["parts of names"] == REMEMBERED
    assert seen[0]["messages"] == REACH
    assert seen[0]["embeddings"] == 2
    assert seen[0]["with words"] == 2
    assert seen[0]["with pieces"] == REACH
    assert seen[0]["saved, in kilobytes"] <= 200  # people, mostly


def test_with_the_scoring(model: Model) -> None:
    """As the interpreter counts it; after the first few messages, nothing is added."""
    session = model.session()

    def talk(start: int, stop: int) -> int:
        for number in range(start, stop):
            session.observe(Message(f"guest{number % 8}", "the tea is open ?"))
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        warm = talk(0, 150)
        later = talk(150, 600)
    finally:
        tracemalloc.stop()
    assert later - warm < 20_000


def test_asking_keeps_nothing(model: Model, tmp_path: Path) -> None:
    session = model.session()
    for number in range(100):
        session.observe(message(number))
    before = sizes(session, tmp_path)
    for number in range(1000, 1200):
        session.rank_addressees(f"guest{number}", f"visitor{number}: tea")
        session.select(f"guest{number}", ["tea", f"visitor{number}: milk"])
        session.is_for(f"guest{number}")
    assert sizes(session, tmp_path) == before
