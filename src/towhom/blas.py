"""Limits NumPy's matrix products to one thread, which is enough for small ones.

OpenBLAS, which comes with NumPy, divides products among as many threads as there are cores. The products of a
chat are too small to gain by this, and on a busy machine the threads wait for each other.

threadpoolctl cannot be used: it lets only the first thread set the number, but sessions run in any thread.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import product
from threading import Lock
from typing import NamedTuple

_TOLD = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
"""Environment variables by which users set the number of threads; if one is set, it is respected."""
_NAMES = tuple(product(("scipy_", ""), ("64_", "_64", "")))
"""Prefixes and suffixes of the names of OpenBLAS's functions; NumPy's own copy uses some."""


class _Threads(NamedTuple):
    """OpenBLAS's functions. The number of threads is the same for the whole process."""

    number: Callable[[], int]
    set_number: Callable[[int], None]


class _Inside:
    """The number of callers inside `one_thread`, and OpenBLAS's number of threads before the first one."""

    lock = Lock()
    count = 0
    before = 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Run NumPy's products in the calling thread, until the last caller has left this context.

    Entering and leaving takes microseconds. Nothing happens if NumPy has another BLAS, or if the user has set
    the number of threads in the environment.
    """
    threads = _threads()
    if threads is None:
        yield
        return
    with _Inside.lock:
        if not _Inside.count:
            _Inside.before = threads.number()
            threads.set_number(1)
        _Inside.count += 1
    try:
        yield
    finally:
        with _Inside.lock:
            _Inside.count -= 1
            # If other code has set another number meanwhile, keep it.
            if not _Inside.count and threads.number() == 1:
                threads.set_number(_Inside.before)


@cache
def _threads() -> _Threads | None:
    """The functions of NumPy's OpenBLAS; None if there is none, or if the user has set a number."""
    if any(name in os.environ for name in _TOLD):
        return None
    try:
        # A library that depends on OpenBLAS gives access to its functions.
        numpy = ctypes.CDLL(import_module("numpy.linalg._umath_linalg").__file__)
    except (ImportError, OSError):
        return None
    for before, behind in _NAMES:
        try:
            number = getattr(numpy, f"{before}openblas_get_num_threads{behind}")
            set_number = getattr(numpy, f"{before}openblas_set_num_threads{behind}")
        except AttributeError:
            continue
        number.argtypes, number.restype = (), ctypes.c_int
        set_number.argtypes, set_number.restype = (ctypes.c_int,), None
        return _Threads(number, set_number)
    return None
