"""An index for banks of a million responses and more: nearest vectors without a look at all (faiss).

Vectors are put into cells of like ones, in 8 bits; a query looks into the cells that are nearest to it. How
many those are is found when the index is made: as many as it takes to find `RECALL` of what exact search
finds. The index is mapped into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.bank.store import INDEX, Bank, Segment, file_digest
from towhom.bank.tables import VECTORS
from towhom.bank.writing import write_manifest
from towhom.errors import BankError
from towhom.extras import require
from towhom.files import atomic_file

RECALL = 0.985
"""The share of what exact search finds that the index finds, for the questions by which it is tuned; for
others, it is a little less."""
_NEAREST = 300
"""Of so many."""
_CELLS = 4.0
"""Times the square root of the number of responses."""
_PER_CELL = 40
"""Responses of which a cell is learned."""
_BLOCK = 1 << 15


def write_index(bank: Bank, queries: NDArray[np.float32]) -> dict[str, float]:
    """Make an index for each segment of a bank; gives the recall of each, by name.

    Args:
        bank: It is to be opened anew afterwards.
        queries: (Q, D) What is asked, by which the index is tuned; see `heads.Head.heard`.

    Raises:
        BankError: The bank is empty.
        MissingExtraError: faiss is not installed.
    """
    faiss = _faiss()
    if not len(bank):
        raise BankError(f"{bank.folder}: the bank is empty; there is nothing to index")
    manifest = dict(bank.manifest)
    described = [dict(each) for each in manifest["segments"]]
    recalls = {}
    for segment, entry in zip(bank.segments, described, strict=True):
        if not len(segment.table):
            continue
        index = _trained(faiss, segment)
        probes, recall = _tuned(index, segment, queries)
        path = segment.folder / INDEX
        with atomic_file(path) as file:
            file.write(faiss.serialize_index(index).tobytes())
        entry["files"] = {**entry["files"], INDEX: [path.stat().st_size, file_digest(path)]}
        entry["probes"], entry["recall"] = probes, round(recall, 4)
        recalls[entry["name"]] = recall
    write_manifest(bank.folder, {**manifest, "segments": described})
    return recalls


def nearest_in(
    segment: Segment, vector: NDArray[np.float32], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Rows of a segment that fit a vector best, and how well, by its index.

    Raises:
        BankError: The index cannot be read.
        MissingExtraError: faiss is not installed.
    """
    faiss = _faiss()
    path = segment.folder / INDEX
    index = _opened(path, path.stat().st_mtime_ns)
    parameters = faiss.SearchParametersIVF(nprobe=segment.probes)
    scores, rows = index.search(vector[None], min(limit, len(segment.table)), params=parameters)
    there = rows[0] >= 0
    return rows[0][there].astype(np.int64), scores[0][there]


def _trained(faiss: Any, segment: Segment) -> Any:
    count, width = segment.table[VECTORS].shape
    cells = max(1, min(int(_CELLS * sqrt(count)), count // _PER_CELL))
    coarse = faiss.IndexFlatIP(width)
    index = faiss.IndexIVFScalarQuantizer(
        coarse, width, cells, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    rows = np.random.default_rng(0).choice(count, min(count, cells * _PER_CELL), replace=False)
    rows.sort()
    index.train(_vectors(segment, rows))
    for block in _blocks(segment):
        index.add(block)
    return index


def _vectors(segment: Segment, rows: NDArray[np.int64] | slice) -> NDArray[np.float32]:
    table = segment.table
    found: NDArray[np.float32] = table[VECTORS][rows].astype(np.float32) * table["scale"][rows][:, None]
    return found


def _blocks(segment: Segment) -> Iterator[NDArray[np.float32]]:
    for start in range(0, len(segment.table), _BLOCK):
        yield _vectors(segment, slice(start, start + _BLOCK))


def _tuned(index: Any, segment: Segment, queries: NDArray[np.float32]) -> tuple[int, float]:
    """How many cells a query must look into, and what share of the nearest it finds then."""
    faiss = _faiss()
    limit = min(_NEAREST, len(segment.table))
    scores = np.concatenate([block @ queries.T for block in _blocks(segment)])
    exact = np.argpartition(-scores, limit - 1, axis=0)[:limit].T
    probes = 1
    while True:
        parameters = faiss.SearchParametersIVF(nprobe=probes)
        _, found = index.search(np.ascontiguousarray(queries), limit, params=parameters)
        recall = (
            float(np.mean([len(np.intersect1d(a, b)) for a, b in zip(exact, found, strict=True)])) / limit
        )
        if recall >= RECALL or probes >= index.nlist:
            return probes, recall
        probes = min(max(probes + 1, int(probes * 1.3)), index.nlist)


@lru_cache(maxsize=16)
def _opened(path: Path, time: int) -> Any:
    """An index; `time` tells one from another that was at its place before."""
    faiss = _faiss()
    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
    except RuntimeError as error:
        raise BankError(f"{path}: the index cannot be read; make it anew with: towhom bank index") from error


@cache
def has_faiss() -> bool:
    """Whether the extra is installed; where it is not, all responses are compared: exact, and slower."""
    return find_spec("faiss") is not None


def _faiss() -> Any:
    return require("faiss", extra="bank", purpose="the index of a large response bank")
