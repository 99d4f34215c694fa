"""Threads of NumPy's matrix products: one is enough for small ones.

OpenBLAS, which NumPy comes with, cuts products among as many threads as there are cores. Those of a chat are
too small to gain by it, and on a machine that is busy with something else the threads wait for each other.

threadpoolctl lets but one thread of a program set the number, the first that does; sessions run in any.
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
"""Where users say how many threads they want. Then it stays as they say."""
_NAMES = tuple(product(("scipy_", ""), ("64_", "_64", "")))
"""What stands before and behind the names of OpenBLAS's functions: NumPy's own copy has names of its own."""


class _Threads(NamedTuple):
    """OpenBLAS's functions. Their number is one for the whole process."""

    number: Callable[[], int]
    set_number: Callable[[int], None]


class _Inside:
    """How many are in `one_thread`, in any thread, and how many threads there were before the first came."""

    lock = Lock()
    count = 0
    before = 1


@contextmanager
def one_thread() -> Iterator[None]:
    """NumPy's products run in the thread that calls them, until the last one who wants that has left.

    Entering and leaving takes microseconds. Where NumPy has another BLAS, and where the user has said in
    the environment how many threads there are to be, nothing happens.
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
            # Somebody else may have set another number meanwhile; it stays.
            if not _Inside.count and threads.number() == 1:
                threads.set_number(_Inside.before)


@cache
def _threads() -> _Threads | None:
    """Of the OpenBLAS that NumPy has loaded; None if there is none, or if the user has said how many."""
    if any(name in os.environ for name in _TOLD):
        return None
    try:
        # What depends on OpenBLAS has its functions too.
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
