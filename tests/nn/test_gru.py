"""The GRU: its three ways of running agree, in values and in gradients."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.testing import assert_close

from towhom.nn.gru import GRU
from towhom.nn.kernels import load_kernels

SIZES = (7, 16, 33, 50, 64)
LENGTHS = {
    "none": [],
    "one of one word": [1],
    "all empty": [0, 0, 0],
    "empty ones between": [0, 3, 1, 0, 0, 2, 1],
    "many": torch.randint(0, 12, (37,), generator=torch.Generator().manual_seed(1)).tolist(),
    "as long as each other": [4] * 9,
}


class Case(NamedTuple):
    """Words of two kinds, each through weights of its own."""

    gru: GRU
    tokens: Tensor
    offsets: Tensor
    words: Tensor
    others: Tensor
    w_other: Tensor

    def states(self, *, plain: bool = False) -> Tensor:
        inputs = ((self.words, self.gru.w), (self.others, self.w_other))
        return self.gru.last_states(self.tokens, self.offsets, *inputs, plain=plain)

    def gradients(self, *, plain: bool = False) -> tuple[Tensor, ...]:
        """Of something that depends on every state differently."""
        states = self.states(plain=plain)
        weights = torch.linspace(-1, 2, states.numel(), dtype=states.dtype).reshape(states.shape)
        leaves = (self.gru.w, self.gru.u, self.words, self.others, self.w_other)
        return torch.autograd.grad((weights * states).sum(), leaves)


def case(hidden: int, lengths: list[int], dtype: torch.dtype = torch.float32) -> Case:
    generator = torch.Generator().manual_seed(hidden)

    def uniform(*shape: int) -> Tensor:
        # The same numbers in both precisions.
        return ((torch.rand(shape, generator=generator) - 0.5).to(dtype)).requires_grad_()

    gru = GRU(5, hidden).to(dtype)
    w, u = uniform(5, 3 * hidden), uniform(hidden, 3 * hidden)
    with torch.no_grad():
        gru.w.copy_(w)
        gru.u.copy_(u)
    words, others, w_other = uniform(8, 5), uniform(3, 4), uniform(4, 3 * hidden)
    index = torch.randint(0, 11, (sum(lengths),), generator=generator)
    return Case(gru, index, torch.tensor([0, *lengths], dtype=torch.int64).cumsum(0), words, others, w_other)


@pytest.mark.usefixtures("lanes")
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
@pytest.mark.parametrize("hidden", SIZES)
def test_kernel_packed_and_padded_agree(hidden: int, lengths: list[int]) -> None:
    kernel, exact = case(hidden, lengths), case(hidden, lengths, torch.float64)
    expected = exact.states(plain=True)
    assert expected.shape == (len(lengths), hidden)
    assert_close(exact.states(), expected, rtol=0, atol=1e-12)
    assert_close(kernel.states().double(), expected, rtol=0, atol=2e-6)
    assert_close(kernel.states(plain=True).double(), expected, rtol=0, atol=2e-6)
    assert not expected[torch.tensor(lengths, dtype=torch.int64) == 0].any()
    if not any(lengths):
        return  # nothing depends on anything
    wanted = exact.gradients(plain=True)
    for gradients, tolerance in ((exact.gradients(), 1e-11), (kernel.gradients(), 1e-4)):
        for found, want in zip(gradients, wanted, strict=True):
            assert_close(found.double(), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("hidden", [7, 50])
def test_the_number_of_threads_changes_nothing(hidden: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In what the kernel computes; torch's own products keep to one thread, which they are cut by."""
    if load_kernels(hidden) is None:
        pytest.skip("there are no kernels")
    one = case(hidden, LENGTHS["many"] * 10)
    states, gradients = one.states(), one.gradients()
    for threads in (2, 3, 5, 64):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        assert torch.equal(one.states(), states)
        for ours, theirs in zip(one.gradients(), gradients, strict=True):
            assert torch.equal(ours, theirs)


def test_backward_twice_gives_the_same() -> None:
    one = case(7, [3, 0, 5])
    states = one.states()
    first, second = (torch.autograd.grad(states.sum(), one.gru.u, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)


def test_gradients_of_a_step() -> None:
    exact = case(4, [], torch.float64)
    generator = torch.Generator().manual_seed(0)
    projected, state = (
        torch.rand(2, size, dtype=torch.float64, generator=generator).requires_grad_() for size in (12, 4)
    )
    assert gradcheck(lambda x, h, u: step(exact.gru, x, h, u), (projected, state, exact.gru.u))


def step(gru: GRU, projected: Tensor, state: Tensor, u: Tensor) -> Tensor:
    assert u is gru.u
    return gru.step(projected, state)


def test_a_step_by_hand() -> None:
    """One unit: r = s(1), z = s(0) = 1/2, c = tanh(r), h' = (1 + c) / 2 for h = 1, u = (1, 0, 1), x = 0."""
    gru = GRU(1, 1)
    with torch.no_grad():
        gru.u.copy_(torch.tensor([[1.0, 0.0, 1.0]]))
    new = gru.step(torch.zeros(1, 3), torch.ones(1, 1))
    assert new.item() == pytest.approx((1 + torch.tanh(torch.sigmoid(torch.tensor(1.0))).item()) / 2)


def test_large_values_saturate() -> None:
    """The kernel's own exponential has limits; beyond them gates are open or shut, never not a number."""
    one = case(7, [2, 3])
    with torch.no_grad():
        one.words.mul_(1e4)
        one.others.mul_(1e4)
    states = one.states()
    assert torch.isfinite(states).all()
    assert_close(states, one.states(plain=True), rtol=0, atol=1e-5)
