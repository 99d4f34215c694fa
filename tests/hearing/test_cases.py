"""Small chats and who their last message is for: a table that people can add to, in `cases`."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import pytest

import towhom
from tests.hearing.case_files import FOLDER, mistakes_in, read_cases
from towhom.live import Model

LEAST = 0.95
LEAST_OF_A_KIND = 0.9
CASES = read_cases()


@cache
def model() -> Model:
    return towhom.load()  # once: it is the same for all cases


@cache
def mistakes(number: int) -> tuple[str, ...]:
    return tuple(mistakes_in(CASES[number], model()))


def wrong(cases: list[int]) -> list[str]:
    return [f"{CASES[n]}: {', '.join(mistakes(n))}" for n in cases if mistakes(n)]


def by(attribute: str) -> dict[str, list[int]]:
    found = defaultdict[str, list[int]](list)
    for number, case in enumerate(CASES):
        found[getattr(case, attribute)].append(number)
    return found


def test_cases_that_were_kept_aside() -> None:
    cases = read_cases(FOLDER.parent / "kept_aside")
    found = [str(case) for case in cases if mistakes_in(case, model())]
    assert len(cases) == 150
    assert len(found) <= (1 - LEAST) * len(cases), found


def test_there_are_many() -> None:
    assert len(CASES) >= 200
    assert len({case.language for case in CASES}) >= 10
    assert all(case.messages for case in CASES)
    assert all(case.wanted or case.unwanted or case.audience for case in CASES)


def test_nearly_all_are_right() -> None:
    found = wrong(list(range(len(CASES))))
    assert len(found) <= (1 - LEAST) * len(CASES), "\n".join(found)


@pytest.mark.parametrize("kind", sorted(by("kind")))
def test_of_each_kind(kind: str) -> None:
    cases = by("kind")[kind]
    found = wrong(cases)
    assert len(found) <= (1 - LEAST_OF_A_KIND) * len(cases), "\n".join(found)


@pytest.mark.parametrize("language", sorted(by("language")))
def test_in_each_language(language: str) -> None:
    cases = by("language")[language]
    found = wrong(cases)
    assert len(found) <= (1 - LEAST_OF_A_KIND) * len(cases), "\n".join(found)
