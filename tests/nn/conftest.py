"""Threads and kernels."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small tensors gain nothing from more, and other tests may run at the same time."""
    if find_spec("torch") is None:  # tests of what needs no torch run without it, too
        yield
        return
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(params=[4, 8, 16])
def lanes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Kernels are used, with vectors of any width: a compiler makes do with what the processor has."""
    from towhom.nn import dialog, gru
    from towhom.nn.compiling import NoLibraryError, load_library
    from towhom.nn.kernels import Kernels

    width: int = request.param
    try:
        load_library(7, width)
    except NoLibraryError as error:
        pytest.skip(str(error))

    def load_kernels(hidden: int) -> Kernels:
        return Kernels.of(load_library(hidden, width).code)

    for module in (gru, dialog):
        monkeypatch.setattr(module, "load_kernels", load_kernels)
    return width
