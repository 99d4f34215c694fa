"""Products of whole matrices with the kernels; `matrix.c` has the formulas.

A matrix may consist of some columns of a wider one. Results are padded to the kernels' row width.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from towhom.nn.kernels import Kernels, pointer


def project(kernels: Kernels, x: Tensor, weights: Tensor) -> Tensor:
    """(N, D), (D, K) -> (N, K), with its gradient."""
    result: Tensor = _Projection.apply(kernels, x, weights)  # type: ignore[no-untyped-call]
    return result


def multiply(kernels: Kernels, x: Tensor, matrix: Tensor) -> Tensor:
    """(N, D), (D, K) -> (N, K)."""
    out = torch.empty(len(x), matrix.shape[1])
    _run(kernels.code.multiply, x.shape[1], x, matrix, out)
    return out


def multiply_back(kernels: Kernels, gradient: Tensor, weights: Tensor) -> Tensor:
    """(N, K), (D, K) -> (N, D) The gradient of the matrix that was multiplied with weights."""
    wanted = len(weights)
    turned = pad(weights.T, (0, -wanted % kernels.lanes)).contiguous()
    return multiply(kernels, gradient, turned)[:, :wanted]


def sum_products(kernels: Kernels, x: Tensor, gradient: Tensor, out: Tensor | None = None) -> Tensor:
    """(N, D), (N, K) -> (D, K) The gradient of weights: a sum over rows."""
    out = torch.empty(x.shape[1], gradient.shape[1]) if out is None else out
    _run(kernels.code.sum_products, len(x), x, gradient, out)
    return out


def sum_groups(kernels: Kernels, x: Tensor, group: Tensor, groups: int) -> Tensor:
    """(N, K), (N,) -> (groups, K) The sum of the rows of each group."""
    out = torch.empty(groups, x.shape[1])
    rows, columns, count = map(ctypes.c_int64, (*x.shape, groups))
    places = group.to(torch.int64)
    kernels.code.sum_groups(
        torch.get_num_threads(), rows, columns, pointer(x), pointer(places), count, pointer(out)
    )
    return out


def _run(function: Callable[..., object], inner: int, x: Tensor, matrix: Tensor, out: Tensor) -> None:
    rows, columns = out.shape
    if any(each.numel() and each.shape[1] > 1 and each.stride(1) != 1 for each in (x, matrix, out)):
        raise ValueError("a kernel was given a matrix whose rows are not contiguous")
    function(
        torch.get_num_threads(),
        *map(ctypes.c_int64, (rows, inner, columns)),
        *(argument for each in (x, matrix, out) for argument in _columns(each)),
    )


def _columns(matrix: Tensor) -> tuple[ctypes.c_void_p, ctypes.c_int64]:
    """The address of a matrix and the stride of its rows."""
    return ctypes.c_void_p(matrix.data_ptr()), ctypes.c_int64(matrix.stride(0))


class _Projection(torch.autograd.Function):
    """The product x W, with its gradient."""

    @staticmethod
    def forward(ctx: Any, kernels: Kernels, x: Tensor, weights: Tensor) -> Tensor:
        x = x.contiguous()
        ctx.kernels = kernels
        ctx.save_for_backward(x, weights)
        return multiply(kernels, x, weights)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weights = ctx.saved_tensors
        gradient = grads[0].contiguous()
        d_x = multiply_back(ctx.kernels, gradient, weights) if ctx.needs_input_grad[1] else None
        return None, d_x, sum_products(ctx.kernels, x, gradient)
