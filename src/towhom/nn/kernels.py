"""The compiled kernels, used where they are faster than torch.

They are optional. Without a compiler, where torch is faster, or with `TOWHOM_KERNELS=off`, torch does the
same computation. A trial once per machine decides which is faster; its result is stored beside the library.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from towhom.files import atomic_file
from towhom.nn.compiling import Library, NoLibraryError, load_library, private

_WIDEST = 16
"""Number of values in an AVX-512 vector. Some processors are faster with half of it, so both are tried."""


@dataclass(frozen=True)
class Kernels:
    """The library and its row format."""

    code: ctypes.CDLL
    width: int
    """Number of values in a row: the hidden units, padded to whole vectors."""
    lanes: int
    """Number of values in a vector: 16 with AVX-512, 8 with AVX2, 4 with NEON or SSE."""

    @classmethod
    def of(cls, code: ctypes.CDLL) -> Kernels:
        """The kernels of a loaded library."""
        width, lanes = (ctypes.c_int32.in_dll(code, name).value for name in ("row_width", "vector_width"))
        return cls(code, width, lanes)


@dataclass(frozen=True)
class Choice:
    """Whether kernels are used, and why."""

    kernels: Kernels | None
    why: str
    compiler: str | None = None

    def record(self) -> dict[str, Any]:
        """The choice as values for records."""
        if self.kernels is None:
            return {"used": False, "why": self.why}
        return {"used": True, "lanes": self.kernels.lanes, "compiler": self.compiler, "why": self.why}


@cache
def choose_kernels(hidden: int) -> Choice:
    """Choose kernels or torch for a number of hidden units on this machine."""
    wanted = os.environ.get("TOWHOM_KERNELS", "").lower()
    if wanted in ("off", "0", "no"):
        return Choice(None, f"TOWHOM_KERNELS={wanted}")
    try:
        library = load_library(hidden)
    except NoLibraryError as error:
        return Choice(None, str(error))
    if wanted in ("on", "1", "yes"):
        return Choice(Kernels.of(library.code), f"TOWHOM_KERNELS={wanted}", library.compiler)
    trials = [_trial(library, hidden)]
    if trials[0].kernels.lanes == _WIDEST:
        with suppress(NoLibraryError):
            trials.append(_trial(load_library(hidden, _WIDEST // 2), hidden))
    best = min(trials, key=lambda trial: trial.seconds)
    times = best.torch_seconds / best.seconds
    why = f"{times:.2g} times as fast as torch in a trial on this machine"
    return Choice(best.kernels if times > 1 else None, why, library.compiler)


def load_kernels(hidden: int) -> Kernels | None:
    """The kernels for a number of hidden units, or None if torch is to be used."""
    return choose_kernels(hidden).kernels


class _Trial(NamedTuple):
    """The times that kernels and torch took for the same computation."""

    kernels: Kernels
    seconds: float
    torch_seconds: float


def _trial(library: Library, hidden: int) -> _Trial:
    """The result of a trial, from the library's notes or run now."""
    kernels = Kernels.of(library.code)
    if library.notes is not None and private(library.notes):
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(library.notes.read_text("utf-8"))
            return _Trial(kernels, float(found["seconds"]), float(found["torch_seconds"]))
    from towhom.nn.trial import compare  # imported here, since it imports this module indirectly

    seconds, torch_seconds = compare(kernels, hidden)
    if library.notes is not None:
        with suppress(OSError), atomic_file(library.notes, "w", private=True) as file:
            json.dump({"seconds": seconds, "torch_seconds": torch_seconds, "lanes": kernels.lanes}, file)
    return _Trial(kernels, seconds, torch_seconds)


@contextmanager
def tiny_values_flushed() -> Iterator[None]:
    """Treat denormal floats as zero, since computing with them is very slow.

    This is a state of the processor for the whole process; it is restored afterwards.
    """
    before = float(torch.tensor(2.0**-130) * 0.5) == 0.0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def keep_memory() -> None:
    """Make the C library keep freed memory, since all batches need the same large blocks.

    Otherwise each block is requested from the system and cleared again, which takes a tenth of the time.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not the GNU C library
        return
    mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
    mallopt(-1, (1 << 31) - 1)  # M_TRIM_THRESHOLD


def pointer(tensor: Tensor) -> ctypes.c_void_p:
    """The address of the values of a contiguous tensor."""
    if not tensor.is_contiguous():
        raise ValueError("a kernel was given a tensor that is not contiguous")
    return ctypes.c_void_p(tensor.data_ptr())


def cuts(weights: Tensor) -> Tensor:
    """(parts + 1,) Bounds of parts of about equal total weight, one for each thread."""
    parts = max(1, min(torch.get_num_threads(), len(weights)))
    sums = weights.cumsum(0)
    wanted = torch.arange(1, parts) * (int(sums[-1]) if len(sums) else 0) // parts
    inner = torch.searchsorted(sums, wanted)
    return torch.tensor([0, *inner.tolist(), len(weights)])
