"""An index for banks of a million responses and more: finds nearest vectors without comparing all (faiss).

Similar vectors are grouped into cells, with 4 bits for every two numbers of the difference from the cell's
center. A query searches the cells nearest to it, and compares the best of their vectors again, exactly. The
number of cells to search is determined when the index is built: as many as it takes to find `RECALL` of what
exact search finds.
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
_NEAREST = 500
"""Number of nearest responses by which recall is measured."""
_LOOKED_AT, _FEWEST_LOOKED_AT = 7.0, 4000
"""Number of responses that are compared exactly, as a multiple of the square root of their number, and the
minimum."""
_CELLS = 2.0
"""Number of cells, as a multiple of the square root of the number of responses."""
_PER_CELL = 40
"""Number of training vectors per cell."""
_FEWEST = 1024
"""Minimum number of training vectors; if there are fewer, they are repeated."""
_BLOCK = 1 << 15


def write_index(bank: Bank, queries: NDArray[np.float32]) -> dict[str, float]:
    """Build an index for each segment of a bank; returns the recall of each, by name.

    Args:
        bank: The bank, which has to be reopened afterwards.
        queries: (Q, D) Vectors of questions by which the index is tuned; see `heads.Head.heard`.

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
    """Rows of a segment that fit a vector best, with their scores, found by the index.

    Raises:
        BankError: The index cannot be read.
        MissingExtraError: faiss is not installed.
    """
    faiss = _faiss()
    path = segment.folder / INDEX
    index = _opened(path, path.stat().st_mtime_ns)
    (rows,) = _looked_up(faiss, index, vector[None], segment.probes, len(segment.table))
    rows = rows[rows >= 0]
    scores = _vectors(segment, rows) @ vector
    best = np.argpartition(-scores, limit - 1)[:limit] if len(rows) > limit else slice(None)
    return rows[best], scores[best]


def _looked_up(
    faiss: Any, index: Any, queries: NDArray[np.float32], probes: int, count: int
) -> NDArray[np.int64]:
    """(Q, K) Candidate rows for exact comparison; -1 where there are no more."""
    parameters = faiss.SearchParametersIVF(nprobe=probes)
    most = min(max(int(_LOOKED_AT * sqrt(count)), _FEWEST_LOOKED_AT), count)
    _, rows = index.search(np.ascontiguousarray(queries), most, params=parameters)
    found: NDArray[np.int64] = rows
    return found


def _trained(faiss: Any, segment: Segment) -> Any:
    count, width = segment.table[VECTORS].shape
    cells = max(1, min(int(_CELLS * sqrt(count)), count // _PER_CELL))
    coarse = faiss.IndexFlatIP(width)
    index = faiss.IndexIVFPQFastScan(coarse, width, cells, width // 2, 4, faiss.METRIC_INNER_PRODUCT)
    index.by_residual = True
    rows = np.random.default_rng(0).choice(count, min(count, cells * _PER_CELL), replace=False)
    rows.sort()
    index.train(_vectors(segment, np.resize(rows, max(len(rows), _FEWEST))))
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
    """The number of cells that a query must search, and the recall that this gives."""
    faiss = _faiss()
    limit = min(_NEAREST, len(segment.table))
    exact = _exact(segment, queries, limit)
    probes = 1
    while True:
        # Every true neighbour among the candidates is found, because these are compared exactly.
        found = _looked_up(faiss, index, queries, probes, len(segment.table))
        recall = (
            float(np.mean([len(np.intersect1d(a, b)) for a, b in zip(exact, found, strict=True)])) / limit
        )
        if recall >= RECALL or probes >= index.nlist:
            return probes, recall
        probes = min(max(probes + 1, int(probes * 1.3)), index.nlist)


def _exact(segment: Segment, queries: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
    """(Q, limit) The rows nearest to each query, in any order, found block by block."""
    scores: NDArray[np.float32] = np.empty((len(queries), 0), np.float32)
    rows: NDArray[np.int64] = np.empty((len(queries), 0), np.int64)
    start = 0
    for block in _blocks(segment):
        new = np.arange(start, start + len(block))
        start += len(block)
        scores = np.concatenate([scores, queries @ block.T], axis=1)
        rows = np.concatenate([rows, np.broadcast_to(new, (len(queries), len(new)))], axis=1)
        if scores.shape[1] > limit:
            best = np.argpartition(-scores, limit - 1, axis=1)[:, :limit]
            scores = np.take_along_axis(scores, best, axis=1)
            rows = np.take_along_axis(rows, best, axis=1)
    return rows


@lru_cache(maxsize=16)
def _opened(path: Path, time: int) -> Any:
    """Open an index; `time` distinguishes it from an earlier one at the same path."""
    faiss = _faiss()
    try:
        return faiss.read_index(str(path))
    except RuntimeError as error:
        raise BankError(f"{path}: the index cannot be read; make it again with: towhom bank index") from error


@cache
def has_faiss() -> bool:
    """Whether faiss is installed; if not, all responses are compared, which is exact but slower."""
    return find_spec("faiss") is not None


def _faiss() -> Any:
    return require("faiss", extra="bank", purpose="the index of a large response bank")
