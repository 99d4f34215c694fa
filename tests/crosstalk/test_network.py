"""The formulas, in NumPy and in torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from torch import Tensor

from tests.crosstalk.chats import SIZES, Weights, random_weights
from towhom.crosstalk import network, words
from towhom.crosstalk.signals import ALONE, PAIRS
from towhom.crosstalk.structure import ALONE_AFTER, STRUCTURE
from towhom.crosstalk.words import TOWERS
from towhom.training.crosstalk.arrays import Torch

ROWS, REACH, COUNT, SAYS = 4, 9, 6, 5
KNOWN = len(random_weights()["words.weight"])


def tensors(weights: Weights) -> dict[str, Tensor]:
    return {name: torch.from_numpy(value) for name, value in weights.items()}


def tensor(values: NDArray[np.float32]) -> Tensor:
    return torch.from_numpy(values.copy())


def drawn(seed: int, *shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def assert_alike(ours: Sequence[Any], theirs: Sequence[Tensor]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert isinstance(one, np.ndarray)
        assert one.dtype == np.float32
        assert one.shape == tuple(other.shape)
        assert_allclose(one, other.numpy(), atol=1e-4)


class TestWords:
    @pytest.mark.parametrize(
        "lengths",
        [[3, 0, 1, 7, 2, 0], [0, 0, 4], [4, 0, 0], [1, 1, 1], [0, 0], [5]],
    )
    def test_encode(self, lengths: list[int]) -> None:
        w = random_weights(1)
        tokens = np.random.default_rng(2).integers(0, KNOWN, sum(lengths)).astype(np.int32)
        offsets = np.cumsum([0, *lengths])
        ours = words.encode(w, tokens, offsets)
        assert_alike(ours, words.encode(tensors(w), tokens, offsets, Torch()))
        assert ours.state.shape == (len(lengths), SIZES["state"])
        assert ours.answers.shape == ours.heard.shape == (len(lengths), TOWERS, SIZES["tower"])
        assert all(np.isfinite(each).all() for each in ours)

    def test_each_for_itself(self) -> None:
        w, tokens = random_weights(1), np.array([4, 5, 6, 2, 7, 7], np.int32)
        together = words.encode(w, tokens, np.array([0, 3, 3, 4, 6]))
        for place, said in enumerate(([4, 5, 6], [], [2], [7, 7])):
            alone = words.encode(w, np.array(said, np.int32), np.array([0, len(said)]))
            for one, other in zip(alone, together, strict=True):
                assert_allclose(one[0], other[place], atol=1e-5)

    def test_where_no_word_is_known_length_does_not_matter(self) -> None:
        w, tokens = random_weights(1), np.array([0, 0, 0, 4, 0, 0, 0, 0, 4], np.int32)
        found = words.encode(w, tokens, np.array([0, 3, 6, 7, 7, 9]))
        for part in found:
            assert_allclose(part[0], part[2], atol=1e-5)
            for one, other in ((0, 1), (0, 3), (1, 4)):
                assert not np.allclose(part[one], part[other], atol=1e-2)

    def test_first_and_last_words_tell(self) -> None:
        w = random_weights(1)
        one, other = (
            words.encode(w, np.array(said, np.int32), np.array([0, 4]))
            for said in ([1, 2, 3, 4], [4, 3, 2, 1])
        )
        assert not np.allclose(one.state, other.state)

    def test_unit_length(self) -> None:
        w = random_weights(1)
        found = words.encode(w, np.array([3, 2], np.int32), np.array([0, 2]))
        assert_allclose(np.linalg.norm(found.heard, axis=2), 1, atol=1e-4)
        assert_allclose(np.linalg.norm(found.answers, axis=2), abs(w["words.scale"]).T, atol=1e-4)

    def test_torch_leaves_out_a_share(self) -> None:
        torch.manual_seed(1)
        assert float((Torch(0.5).thin(torch.ones(1000)) == 0).float().mean()) == pytest.approx(0.5, abs=0.1)
        assert bool((Torch().thin(torch.ones(1000)) == 1).all())


class TestLooks:
    def test_says(self) -> None:
        w, state = random_weights(2), drawn(1, COUNT, SIZES["state"])
        ours = network.says(w, state)
        assert_alike(ours, network.says(tensors(w), torch.from_numpy(state), Torch()))
        assert ours[0].shape == ours[1].shape == (COUNT, SAYS)

    def test_cells(self) -> None:
        w, pairs, fits = random_weights(3), drawn(1, ROWS, REACH, len(PAIRS)), drawn(2, ROWS, REACH, TOWERS)
        own = PAIRS.index("same speaker")
        pairs[..., own] = pairs[..., own] > 0
        found = network.cells_of(w, pairs, fits)
        theirs = network.cells_of(tensors(w), torch.from_numpy(pairs), torch.from_numpy(fits), Torch())
        assert_alike([found], [theirs])
        mine = pairs[..., own, None] > 0
        weighed = fits * w["fit"]
        assert_allclose(found[..., : len(PAIRS)], pairs)
        assert_allclose(found[..., len(PAIRS) :], np.concatenate([weighed * ~mine, weighed * mine], 2))

    def test_first(self) -> None:
        w = random_weights(4)
        cells = drawn(1, ROWS, REACH, len(PAIRS) + 2 * TOWERS)
        messages, answer, heard = drawn(2, ROWS, len(ALONE)), drawn(3, ROWS, SAYS), drawn(4, COUNT, SAYS)
        places = np.random.default_rng(5).integers(0, COUNT, (ROWS, REACH))
        ours = network.first_look(w, cells, messages, answer, heard, places)
        theirs = network.first_look(
            tensors(w), tensor(cells), tensor(messages), tensor(answer), tensor(heard), places, Torch()
        )
        assert_alike(ours, theirs)
        assert [each.shape for each in ours] == [(ROWS, REACH), (ROWS,), (ROWS, REACH, 16)]

    def test_drafts(self) -> None:
        w, units = random_weights(4), drawn(1, ROWS, REACH, 16)
        there = (drawn(6, ROWS, REACH) > 0).astype(np.float32)
        messages, says = drawn(2, ROWS, len(ALONE)), (drawn(7, ROWS, SIZES["state"]), drawn(3, ROWS, SAYS))
        ours = network.draft_energies(w, units, there, messages, says)
        theirs = network.draft_energies(
            tensors(w), tensor(units), tensor(there), tensor(messages), (tensor(says[0]), tensor(says[1])),
            Torch(),
        )  # fmt: skip
        assert_alike([ours], [theirs])
        assert ours.shape == (ROWS,)

    def test_a_draft_is_not_judged_by_what_is_not_there(self) -> None:
        """The energy of a draft sums over messages; those that are not there do not count."""
        w, units = random_weights(4), drawn(1, ROWS, REACH, 16)
        there = np.ones((ROWS, REACH), np.float32)
        there[:, 3] = 0
        other = units.copy()
        other[:, 3] += 5
        messages, says = drawn(2, ROWS, len(ALONE)), (drawn(7, ROWS, SIZES["state"]), drawn(3, ROWS, SAYS))
        one, two = (network.draft_energies(w, each, there, messages, says) for each in (units, other))
        assert_allclose(one, two, atol=1e-5)
        there[:, 3] = 1
        assert not np.allclose(network.draft_energies(w, units, there, messages, says), one)

    def test_what_a_draft_says_counts(self) -> None:
        """Beside what it may answer."""
        w, units, there = random_weights(4), drawn(1, ROWS, REACH, 16), np.ones((ROWS, REACH), np.float32)
        messages, answer = drawn(2, ROWS, len(ALONE)), drawn(3, ROWS, SAYS)
        one, two = (
            network.draft_energies(w, units, there, messages, (drawn(seed, ROWS, SIZES["state"]), answer))
            for seed in (7, 8)
        )
        assert not np.allclose(one, two)

    def test_second(self) -> None:
        w = random_weights(5)
        cells = drawn(1, ROWS, REACH, len(PAIRS) + 2 * TOWERS + len(STRUCTURE))
        messages = drawn(2, ROWS, len(ALONE) + len(ALONE_AFTER))
        there = (drawn(3, ROWS, REACH) > 0).astype(np.float32)
        there[0] = 0
        ours = network.second_look(w, cells, messages, there)
        theirs = network.second_look(tensors(w), tensor(cells), tensor(messages), tensor(there), Torch())
        assert_alike(ours, theirs)
        assert [each.shape for each in ours] == [(ROWS, REACH), (ROWS,)]

    def test_second_does_not_see_what_is_not_there(self) -> None:
        w = random_weights(5)
        cells = drawn(1, ROWS, REACH, len(PAIRS) + 2 * TOWERS + len(STRUCTURE))
        messages = drawn(2, ROWS, len(ALONE) + len(ALONE_AFTER))
        there = np.ones((ROWS, REACH), np.float32)
        there[:, 3] = 0
        other = cells.copy()
        other[:, 3] += 5
        (one, start), (two, again) = (
            network.second_look(w, each, messages, there) for each in (cells, other)
        )
        assert_allclose(one, two, atol=1e-6)
        assert_allclose(start, again, atol=1e-6)

    def test_what_is_given_stays_as_it_is(self) -> None:
        """NumPy's twin writes over what it has made itself, and nothing else."""
        w = random_weights(6)
        kept = {name: value.copy() for name, value in w.items()}
        cells, messages = drawn(1, ROWS, REACH, len(PAIRS) + 2 * TOWERS), drawn(2, ROWS, len(ALONE))
        answer, heard = drawn(3, ROWS, SAYS), drawn(4, COUNT, SAYS)
        there, state = np.ones((ROWS, REACH), np.float32), drawn(5, ROWS, SIZES["state"])
        units = drawn(8, ROWS, REACH, 16)
        given = [cells, there, messages, state, answer, heard, units]
        copies = [each.copy() for each in given]
        places = np.zeros((ROWS, REACH), np.int64)
        network.first_look(w, cells, messages, answer, heard, places)
        network.draft_energies(w, units, there, messages, (state, answer))
        words.encode(w, np.array([1, 2], np.int32), np.array([0, 2]))
        for one, other in zip(given, copies, strict=True):
            assert_allclose(one, other)
        for name, value in w.items():
            assert_allclose(value, kept[name])
