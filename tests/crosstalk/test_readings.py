"""Whom a message is for, and what it answers: the two agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from towhom.crosstalk.readings import Lead, Reading, likeliest, read
from towhom.hearing.calls import Call
from towhom.hearing.manners import Manner
from towhom.hearing.utterance import REACH, Utterance

PEOPLE = ("ada", "bob", "cyd", "dee")


class Earlier(NamedTuple):
    """A message, and who it was for."""

    utterance: Utterance
    addressee: str | None


def said(speakers: Sequence[str], meant: Sequence[str | None]) -> list[Earlier]:
    """Messages, and who each was for."""
    return [Earlier(Utterance(by, ""), to) for by, to in zip(speakers, meant, strict=True)]


def likely(random: np.random.Generator, before: int) -> NDArray[np.float32]:
    """Random probabilities; some of them are nothing."""
    found = np.zeros(REACH + 1)
    some = min(before, REACH)
    found[:some] = random.exponential(size=some) ** 3 * (random.random(some) < 0.3)
    found[REACH] = random.exponential() * random.random() * 3 + 1e-3
    result: NDArray[np.float32] = (found / found.sum()).astype(np.float32)
    return result


def cells(**given: float) -> NDArray[np.float32]:
    """By how far back; `start` is a start."""
    found = np.zeros(REACH + 1, np.float32)
    for name, value in given.items():
        found[REACH if name == "start" else int(name.removeprefix("back")) - 1] = value
    return found


@pytest.mark.parametrize("seed", range(10))
def test_link_and_addressee_agree(seed: int) -> None:
    random = np.random.default_rng(seed)
    speakers, meant, links = list[str](), list[str | None](), list[int]()
    for place in range(200):
        speaker = str(random.choice(PEOPLE))
        found = read(likely(random, place), speaker, said(speakers, meant))
        who = likeliest(found.people)
        back, probability = found.best_link(who)
        assert 0 < probability <= 1
        speakers.append(speaker)
        meant.append(who)
        links.append(back)
        assert follow(place, speakers, links) == who
        assert who != speaker
    assert {None, *PEOPLE} == set(meant)
    assert any(
        back and speakers[place - back] == speakers[place] and meant[place] is not None
        for place, back in enumerate(links)
    )


def follow(place: int, speakers: list[str], links: list[int]) -> str | None:
    """Through own lines, who said what a message answers."""
    speaker = speakers[place]
    while links[place]:
        place -= links[place]
        if speakers[place] != speaker:
            return speakers[place]
    return None


@pytest.mark.parametrize("seed", range(3))
def test_people_add_up(seed: int) -> None:
    random = np.random.default_rng(seed)
    earlier = [str(random.choice(PEOPLE)) for _ in range(150)]
    found = read(likely(random, 150), "ada", said(earlier, ["bob"] * 150))
    assert sum(found.people.values()) == pytest.approx(1, abs=REACH * 1e-4)
    assert "ada" not in found.people


def test_all_that_somebody_said_counts() -> None:
    before = said(["cyd", "cyd", "bob"], [None] * 3)
    found = read(cells(back1=0.4, back2=0.3, back3=0.25, start=0.05), "ada", before)
    assert found.people == pytest.approx({None: 0.05, "bob": 0.4, "cyd": 0.55})
    assert likeliest(found.people) == "cyd"
    assert found.best_link("cyd") == pytest.approx((2, 0.3))


def test_an_own_line_leads_to_whom_it_was_for() -> None:
    found = read(cells(back1=0.6, back2=0.3, start=0.1), "ada", said(["bob", "ada"], [None, "cyd"]))
    assert found.people == pytest.approx({None: 0.1, "bob": 0.3, "cyd": 0.6})
    assert found.best_link("cyd") == pytest.approx((1, 0.6))


def test_an_own_line_for_nobody() -> None:
    found = read(cells(back1=0.5, back2=0.3, start=0.2), "ada", said(["bob", "ada"], [None, None]))
    assert found.people == pytest.approx({None: 0.7, "bob": 0.3})
    assert found.best_link(None) == pytest.approx((1, 0.5))


def test_a_start() -> None:
    found = read(cells(back1=0.3, start=0.7), "ada", said(["bob"], [None]))
    assert likeliest(found.people) is None
    assert found.best_link(None) == pytest.approx((0, 0.7))


def test_nobody_leads_there() -> None:
    found = read(cells(back1=0.8, start=0.2), "ada", said(["bob"], [None]))
    assert found.best_link("zoe") == pytest.approx((0, 0.2))


def test_the_first_message() -> None:
    assert read(cells(start=1.0), "ada", []) == Reading({None: 1.0}, [Lead(0, None, (), 1.0)])


def test_who_calls_somebody_may_take_up_what_another_said_to_them() -> None:
    """As a bot that is told to tell somebody something."""
    told = Utterance("ann", "", (Call("bob", Manner.INSIDE, 0.3),))
    before = [*said(["bob"], [None]), Earlier(told, None)]
    found = read(cells(back1=0.7, back2=0.2, start=0.1), "bot", before)
    assert found.best_link("bob") == pytest.approx((2, 0.2))
    assert found.best_link("bob", called=True) == pytest.approx((1, 0.7))
