"""Documents to splits."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towhom.corpus.splits import Split, SplitBy, split_documents

TRAIN, DEV, TEST = Split.TRAIN, Split.DEV, Split.TEST


def names(count: int) -> list[str]:
    return [f"room {day}" for day in range(count)]


@given(
    count=st.integers(0, 300),
    by=st.sampled_from(list(SplitBy)),
    seed=st.integers(0, 9),
    dev=st.floats(0, 0.4),
    test=st.floats(0, 0.4),
)
def test_shares(count: int, by: SplitBy, seed: int, dev: float, test: float) -> None:
    splits = split_documents(names(count), [0] * count, by=by, shares=(dev, test), seed=seed)
    counts = Counter(splits)
    assert len(splits) == count
    for split, share in ((DEV, dev), (TEST, test)):
        assert abs(counts[split] - share * count) <= 1
        if not share:
            assert counts[split] == 0
        elif count >= 3:
            assert counts[split] >= 1


@pytest.mark.parametrize("by", list(SplitBy))
@pytest.mark.parametrize(
    ("count", "dev", "test"), [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 1, 1), (10, 1, 1), (200, 10, 10)]
)
def test_the_usual_shares(by: SplitBy, count: int, dev: int, test: int) -> None:
    counts = Counter(split_documents(names(count), [0] * count, by=by))
    assert (counts[DEV], counts[TEST], counts[TRAIN]) == (dev, test, count - dev - test)


def test_by_time_the_last_of_each_log_are_for_test() -> None:
    splits = split_documents(names(9), [0] * 5 + [4] * 4, by=SplitBy.TIME)
    assert splits == [TRAIN, TRAIN, TRAIN, DEV, TEST, TRAIN, TRAIN, DEV, TEST]


def test_at_random_the_order_does_not_matter() -> None:
    forward = dict(zip(names(100), split_documents(names(100), [0] * 100), strict=True))
    backward = names(100)[::-1]
    assert dict(zip(backward, split_documents(backward, [0] * 100), strict=True)) == forward


def test_at_random_the_seed_decides() -> None:
    def for_test(seed: int) -> list[int]:
        splits = split_documents(names(100), [0] * 100, seed=seed)
        return [place for place, split in enumerate(splits) if split is TEST]

    assert for_test(1) == for_test(1)
    assert for_test(1) != for_test(2)
    assert for_test(1) != [95, 96, 97, 98, 99]


def test_each_document_is_equally_likely() -> None:
    counts = Counter(
        place
        for seed in range(400)
        for place, split in enumerate(split_documents(names(20), [0] * 20, seed=seed))
        if split is TEST
    )
    assert sum(counts.values()) == 400
    assert max(counts.values()) < 45
    assert min(counts[place] for place in range(20)) > 5
