"""Sessions of one model in many threads, and one session in many."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from sys import getswitchinterval, setswitchinterval

import pytest

from towhom.chat import Message
from towhom.hearing.utterance import REACH
from towhom.live import Model, Observation, Selection, Session

Answers = tuple[list[Observation], list[list[Selection]]]


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = getswitchinterval()
    setswitchinterval(1e-6)
    yield
    setswitchinterval(before)


def follow(model: Model, seed: int) -> Answers:
    random = Random(seed)
    session = model.session()
    session.introduce("helper", "hb")
    observed, selected = [], []
    for _ in range(30):
        text = random.choice(("tea", "hb: milk", f"guest{random.randrange(9)}: the door", "is it open ?"))
        observed.append(session.observe(Message(f"guest{random.randrange(5)}", text)))
        selected.append(session.select("helper", ["tea", "guest1: milk"]))
    return observed, selected


def test_many_sessions(model: Model) -> None:
    alone = [follow(model, seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda seed: follow(model, seed), range(8)))
    assert together == alone
    assert len({str(each) for each in alone}) == 8


def test_one_session(model: Model, tmp_path: Path) -> None:
    session = model.session()

    def hammer(thread: int) -> int:
        for number in range(40):
            found = session.observe(Message(f"guest{thread}", f"guest{number % 9}: tea"))
            assert sum(each.probability for each in found.addressees) == pytest.approx(1, abs=0.02)
            pairs = session.select(f"guest{number}", ["tea", "milk"])
            assert sum(each.probability for each in pairs) == pytest.approx(1)
            ranked = session.rank_addressees("eve", "guest2: milk")
            assert sum(each.probability for each in ranked) == pytest.approx(1, abs=0.02)
            assert 0 <= session.is_for("guest2").probability <= 1
            session.introduce(f"bot{thread}", f"b{number}")
            session.closest_names("guest")
            if number % 20 == 0:
                session.save(tmp_path / f"{thread}.json")
        return thread

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(hammer, range(6))) == list(range(6))
    assert set(session.people.speakers) == {f"guest{number}" for number in range(6)}
    assert len(session.history) == REACH
    for path in tmp_path.iterdir():
        Session(model).restore(path)
