"""The compiled kernels: built with the machine's C compiler when they are first needed, and kept.

They are optional. Without a compiler, or with `TOWHOM_KERNELS=off`, torch does the same computation, slower.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path

import torch
from torch import Tensor

from towhom.files import atomic_file

LANES = 16
_SOURCES = ("vector.h", "gru.c", "dialog.c")
_FLAGS = ("-O3", "-march=native", "-shared", "-fPIC", "-std=gnu11", "-w")


def padded(size: int) -> int:
    """A row of so many values is padded to whole vectors."""
    return -(-size // LANES) * LANES


@cache
def load_kernels(hidden: int) -> ctypes.CDLL | None:
    """The kernels for so many hidden units, or None if there is no compiler for them."""
    if os.environ.get("TOWHOM_KERNELS", "").lower() in ("off", "0", "no"):
        return None
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    if compiler is None:
        return None
    sources = {name: (files("towhom.nn") / name).read_bytes() for name in _SOURCES}
    machine = f"{platform.machine()} {_processor()} {compiler} {_FLAGS} {hidden}"
    name = hashlib.sha256(b"".join(sources.values()) + machine.encode()).hexdigest()[:16]
    library = _cache() / f"kernels-{name}.so"
    if not library.exists() and not _compile(compiler, sources, hidden, library):
        return None
    try:
        return ctypes.CDLL(str(library))
    except OSError:
        return None


def _processor() -> str:
    """What `-march=native` means here: a home folder may be shared by different machines."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return platform.processor()
    return next((line for line in text.splitlines() if line.startswith("flags")), "")


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "towhom"


def _compile(compiler: str, sources: dict[str, bytes], hidden: int, library: Path) -> bool:
    """Compile the kernels into the cache; whether it worked."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in sources.items():
            (Path(folder) / name).write_bytes(content)
        code = [str(Path(folder) / name) for name in sources if name.endswith(".c")]
        built = Path(folder) / "kernels.so"
        command = [compiler, *_FLAGS, f"-DHIDDEN={hidden}", "-o", str(built), *code, *_threads()]
        try:
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603
            with atomic_file(library) as file:
                file.write(built.read_bytes())
        except (OSError, subprocess.CalledProcessError):
            return False
    return True


def _threads() -> list[str]:
    """Flags for the threads that torch has already: a second set of them would fight over the cores."""
    folder = Path(torch.__file__).parent
    found = sorted([*folder.glob("lib/libgomp*"), *folder.parent.glob("torch.libs/libgomp*")])
    return ["-fopenmp", str(found[0])] if found else []


@contextmanager
def tiny_values_flushed() -> Iterator[None]:
    """Count values too small for a float's full precision as zero: computing with them is very slow.

    That is a state of the processor, and of the whole process; it is left as it was found.
    """
    before = float(torch.tensor(2.0**-130) * 0.5) == 0.0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def keep_memory() -> None:
    """Have the C library keep what is freed: batches need the same large blocks again and again.

    Otherwise each is fetched from the system anew, and cleared, which takes a tenth of the time.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not the GNU C library
        return
    mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
    mallopt(-1, (1 << 31) - 1)  # M_TRIM_THRESHOLD


def pointer(tensor: Tensor) -> ctypes.c_void_p:
    """The address of a contiguous tensor's values."""
    if not tensor.is_contiguous():
        raise ValueError("a kernel was given a tensor that is not contiguous")
    return ctypes.c_void_p(tensor.data_ptr())


def cuts(weights: Tensor) -> Tensor:
    """(parts + 1,) Cuts things of some weights into parts of the same weight, one for each thread."""
    parts = max(1, min(torch.get_num_threads(), len(weights)))
    sums = weights.cumsum(0)
    wanted = torch.arange(1, parts) * (int(sums[-1]) if len(sums) else 0) // parts
    inner = torch.searchsorted(sums, wanted)
    return torch.tensor([0, *inner.tolist(), len(weights)])
