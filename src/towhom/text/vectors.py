"""Word vectors for the words that are needed, read from a published file and stored in a folder."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from towhom.documents import read_json
from towhom.errors import VectorsError
from towhom.files import DAMAGED, atomic_folder, decompressed
from towhom.text.vector_formats import HEAD, Wanted, find_format, read_rows

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MATRIX = "vectors.safetensors"
DESCRIPTION = "vectors.json"
VERSION = 1


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Vectors of some words, with their source.

    Args:
        words: The words, each once.
        matrix: (N, d) float32, a row for each word.
        source: A record of their origin: name and hash of the file, or the settings of the training.

    >>> vectors = WordVectors(("yes", "no"), np.array([[1, 0], [0, 1]], dtype=np.float32))
    >>> vectors.lookup(["no", "perhaps"])
    array([[0. , 1. ],
           [0.5, 0.5]], dtype=float32)
    >>> vectors.coverage(["no", "perhaps"])
    0.5
    """

    words: tuple[str, ...]
    matrix: NDArray[np.float32]
    source: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.matrix.dtype != np.float32 or not self.matrix.shape[1]:
            raise VectorsError(
                f"expected a matrix of float32 with a row for each word, "
                f"found {self.matrix.dtype} of shape {self.matrix.shape}"
            )
        if len(self.words) != len(self.matrix):
            raise VectorsError(f"{len(self.words)} words, but {len(self.matrix)} vectors")
        if not self.words:
            raise VectorsError("no words: without any there is no mean for the unknown ones")
        if len(self._index) != len(self.words):
            raise VectorsError(f"{len(self.words) - len(self._index)} of the words are there more than once")

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector, d."""
        return int(self.matrix.shape[1])

    @cached_property
    def unknown(self) -> NDArray[np.float32]:
        """(d,) The vector used for all words without one: the mean of the known ones."""
        mean: NDArray[np.float64] = self.matrix.mean(axis=0, dtype=np.float64)
        return mean.astype(np.float32)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def lookup(self, words: Sequence[str]) -> NDArray[np.float32]:
        """(len(words), d) Vectors of the words; `unknown` for words that have none."""
        rows = np.fromiter((self._index.get(word, -1) for word in words), dtype=np.int64, count=len(words))
        found = self.matrix[rows]
        found[rows < 0] = self.unknown
        return found

    def coverage(self, words: Sequence[str]) -> float:
        """The share of the words that have a vector."""
        return sum(word in self._index for word in words) / max(1, len(words))

    def save(self, folder: str | Path) -> None:
        """Write a folder with `vectors.safetensors` and `vectors.json`, either both files or nothing."""
        description = {
            "version": VERSION,
            "dimensions": self.dimensions,
            "source": dict(self.source),
            "words": self.words,
        }
        with atomic_folder(Path(folder)) as temporary:
            save_file({"matrix": np.ascontiguousarray(self.matrix)}, temporary / MATRIX)
            (temporary / DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> WordVectors:
        """Load vectors from a folder written by `save`.

        Raises:
            VectorsError: The folder, or a part of it, is missing, damaged or of another version.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise VectorsError(f"{folder}: there is no such folder")
        missing = [name for name in (DESCRIPTION, MATRIX) if not (folder / name).is_file()]
        if missing:
            raise VectorsError(
                f"{folder}: this is not a folder of word vectors: no {' and no '.join(missing)} in it"
            )
        try:
            description = read_json(folder / DESCRIPTION)
            version, words, source = (description[key] for key in ("version", "words", "source"))
        except (ValueError, KeyError, TypeError) as error:
            raise VectorsError(
                f"{folder / DESCRIPTION}: damaged, or written by something else: {error}"
            ) from error
        if version != VERSION:
            raise VectorsError(
                f"{folder / DESCRIPTION}: version {version}; this towhom reads version {VERSION}"
            )
        try:
            matrix = load_file(folder / MATRIX)["matrix"]
        except (SafetensorError, KeyError) as error:
            raise VectorsError(
                f"{folder / MATRIX}: damaged, or written by something else: {error}"
            ) from error
        try:
            return cls(tuple(words), matrix, source)
        except VectorsError as error:
            raise VectorsError(f"{folder}: its two files do not belong together: {error}") from error


def concatenate(first: WordVectors, second: WordVectors, words: Sequence[str]) -> WordVectors:
    """Join two sets of vectors side by side, for those of `words` that are in either.

    A word that is in only one of them gets the other's vector for unknown words as its other half.

    >>> left = WordVectors(("yes", "no"), np.array([[1], [3]], dtype=np.float32))
    >>> right = WordVectors(("no",), np.array([[5]], dtype=np.float32))
    >>> concatenate(left, right, ["yes", "no", "perhaps"]).matrix
    array([[1., 5.],
           [3., 5.]], dtype=float32)
    """
    known = tuple(word for word in dict.fromkeys(words) if word in first or word in second)
    if not known:
        raise VectorsError(f"none of the {len(words)} words is in either set of vectors")
    matrix = np.hstack([first.lookup(known), second.lookup(known)])
    return WordVectors(known, matrix, {"concatenated": [dict(first.source), dict(second.source)]})


def read_vectors(
    path: str | Path,
    words: Iterable[str],
    *,
    ignore_case: bool = False,
    progress: Callable[[int], None] | None = None,
) -> WordVectors:
    """Read the vectors of `words` from a file of GloVe, word2vec (text or binary) or wink-embeddings (JSON).

    The file may be compressed with gzip, xz or bzip2, or be the only one in a zip archive. Its format is
    recognized by its first bytes, not by its name. It is read once, and only the rows needed are kept.

    Args:
        path: The file.
        words: The words to look for. Words that are not in the file are left out of the result.
        ignore_case: Whether a word that is not in the file as written gets the vector of the first row that
            differs only in case: `ubuntu` that of `Ubuntu`. An exact match always wins.
        progress: Called with the number of bytes of the file read so far, before decompression.

    Returns:
        The vectors found, in the order of `words`. `source` has the name of the file, its format, and the
        SHA-256 of its decompressed content, so that the same vectors have the same hash however they are
        packed.

    Raises:
        VectorsError: The file is missing, damaged or in no known format, or has none of the words.
    """
    path = Path(path)
    keys = {word.encode("utf-8", "surrogatepass"): word for word in words}
    exact: dict[str, NDArray[np.float32]] = {}
    similar: dict[str, NDArray[np.float32]] = {}
    with _open(path, progress) as content:
        kind = find_format(content.start(), str(path))
        stream = cast(BinaryIO, io.BufferedReader(content, 1 << 18))
        for key, row in read_rows(stream, kind, _wanted(keys, ignore_case), str(path)):
            if key in keys:
                exact.setdefault(keys[key], row)
            else:
                similar.setdefault(keys[_lower(key)], row)
        while stream.read(1 << 20):
            # Read to the end for the hash, and for the checksums at the end of archives.
            pass
    found = {word: exact.get(word, similar.get(word)) for word in keys.values()}
    rows = {word: row for word, row in found.items() if row is not None}
    if not rows:
        raise VectorsError(f"{path}: none of the {len(keys)} words has a vector in this file ({kind.name})")
    matrix = np.stack(list(rows.values()))
    if not (finite := np.isfinite(matrix).all(axis=1)).all():
        word = list(rows)[int(np.argmin(finite))]
        raise VectorsError(f"{path}: the vector of {word!r} has numbers that are not finite")
    source = {"name": path.name, "format": kind.name, "sha256": content.digest.hexdigest()}
    return WordVectors(tuple(rows), matrix, source)


def _wanted(keys: Mapping[bytes, str], ignore_case: bool) -> Wanted:
    if ignore_case:
        return lambda key: key in keys or _lower(key) in keys
    return keys.__contains__  # Called for every row of the file, so it must not run Python code.


def _lower(key: bytes) -> bytes:
    return key.decode("utf-8", "replace").lower().encode("utf-8", "replace")


class _Counted(io.RawIOBase):
    """A file that reports how many bytes of it have been read."""

    def __init__(self, file: io.FileIO, progress: Callable[[int], None]) -> None:
        self._file = file
        self._progress = progress
        self._count = 0

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = self._file.readinto(buffer) or 0
        self._count += count
        self._progress(self._count)
        return count

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)


class _Content(io.RawIOBase):
    """The decompressed bytes of a file, hashed while they are read; the first can be inspected in advance."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._start = b""
        self.digest = hashlib.sha256()

    def start(self) -> bytes:
        """The first `HEAD` bytes, which later reads return again."""
        while len(self._start) < HEAD and (more := self._stream.read(HEAD - len(self._start))):
            self._start += more
        return self._start

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer)
        block = self._start[: len(target)] or self._stream.read(len(target))
        self._start = self._start[len(block) :]
        target[: len(block)] = block
        self.digest.update(block)
        return len(block)


@contextmanager
def _open(path: Path, progress: Callable[[int], None] | None) -> Iterator[_Content]:
    """Open the content of a file, compressed or not; errors while reading it name the file."""
    with ExitStack() as stack:
        try:
            raw = stack.enter_context(path.open("rb", buffering=0))
            counted = _Counted(raw, progress or (lambda _: None))
            buffered = stack.enter_context(io.BufferedReader(counted, 1 << 18))
            if buffered.peek(4).startswith(b"PK\x03\x04"):
                stream = stack.enter_context(
                    _only_member(stack.enter_context(zipfile.ZipFile(buffered)), path)
                )
            else:
                stream = decompressed(buffered)
            yield _Content(stream)
        except FileNotFoundError as error:
            raise VectorsError(f"{path}: there is no such file") from error
        except (*DAMAGED, OSError, NotImplementedError) as error:
            raise VectorsError(f"{path}: cannot be read; damaged or truncated? {error}") from error


def _only_member(archive: zipfile.ZipFile, path: Path) -> BinaryIO:
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) != 1:
        names = ", ".join(member.filename for member in members[:8]) or "nothing"
        raise VectorsError(
            f"{path}: expected one file in the archive, found {names}; unpack the one you want"
        )
    if members[0].flag_bits & 1:
        raise VectorsError(f"{path}: the archive is encrypted; unpack it first")
    return cast(BinaryIO, archive.open(members[0]))
