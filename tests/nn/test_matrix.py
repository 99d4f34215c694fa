"""Products of whole matrices by the kernels, against torch's in double precision."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from towhom.nn.compiling import load_library
from towhom.nn.kernels import Kernels
from towhom.nn.matrix import multiply, multiply_back, project, sum_groups, sum_products

HIDDEN = 7
SIZES = [(0, 3, 1), (1, 1, 1), (2, 5, 3), (6, 64, 4), (13, 65, 5), (50, 200, 12), (7, 0, 2)]
"""Rows, what is added up, and vectors of columns."""


@pytest.fixture
def kernels(lanes: int) -> Kernels:
    return Kernels.of(load_library(HIDDEN, lanes).code)


def uniform(rows: int, columns: int, *, more: int = 0) -> Tensor:
    """Some columns of a matrix that has more."""
    generator = torch.Generator().manual_seed(rows * 1000 + columns)
    wide = torch.rand(rows, columns + more, generator=generator) - 0.5
    return wide[:, :columns]


@pytest.mark.parametrize("more", [0, 3])
@pytest.mark.parametrize(("rows", "inner", "vectors"), SIZES)
def test_products(kernels: Kernels, rows: int, inner: int, vectors: int, more: int) -> None:
    columns = vectors * kernels.lanes
    x, m, g = uniform(rows, inner, more=more), uniform(inner, columns, more=more), uniform(rows, columns)
    assert_close(multiply(kernels, x, m), (x.double() @ m.double()).float(), rtol=1e-5, atol=1e-5)
    summed = (x.double().T @ g.double()).float()
    assert_close(sum_products(kernels, x, g), summed, rtol=1e-5, atol=1e-5)
    into = torch.full((inner, columns + 5), 9.0)
    sum_products(kernels, x, g, out=into[:, :columns])
    assert_close(into[:, :columns], summed, rtol=1e-5, atol=1e-5)
    assert (into[:, columns:] == 9.0).all()
    back = (g.double() @ m.double().T).float()
    assert_close(multiply_back(kernels, g, m), back, rtol=1e-5, atol=1e-5)


def test_groups(kernels: Kernels) -> None:
    x = uniform(40, 3 * kernels.lanes)
    group = torch.arange(40) ** 2 % 7
    wanted = torch.zeros(9, x.shape[1]).index_add_(0, group, x)
    assert_close(sum_groups(kernels, x, group, 9), wanted)
    assert_close(sum_groups(kernels, x, group.to(torch.int32), 9), wanted)
    assert not sum_groups(kernels, x[:0], group[:0], 2).any()


def test_gradients(kernels: Kernels) -> None:
    x, weights = uniform(30, 12).requires_grad_(), uniform(12, 2 * kernels.lanes).requires_grad_()
    direction = uniform(30, 2 * kernels.lanes)
    found = torch.autograd.grad((project(kernels, x, weights) * direction).sum(), (x, weights))
    wanted = torch.autograd.grad(((x @ weights) * direction).sum(), (x, weights))
    for ours, theirs in zip(found, wanted, strict=True):
        assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_the_number_of_threads_changes_nothing(kernels: Kernels) -> None:
    x, m, g = uniform(53, 150), uniform(150, 5 * kernels.lanes), uniform(53, 5 * kernels.lanes)
    group = torch.arange(53) % 4

    def everything() -> list[Tensor]:
        return [multiply(kernels, x, m), sum_products(kernels, x, g), sum_groups(kernels, g, group, 4)]

    wanted = everything()
    for threads in (2, 3, 7, 64):
        torch.set_num_threads(threads)
        assert all(map(torch.equal, everything(), wanted))


def test_a_matrix_in_columns_is_refused(kernels: Kernels) -> None:
    with pytest.raises(ValueError, match="whose rows are not contiguous"):
        multiply(kernels, uniform(5, 4).T, uniform(5, kernels.lanes))
