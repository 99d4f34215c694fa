"""Read files of word vectors row by row: GloVe, word2vec (text and binary), wink-embeddings (JSON).

A published file has millions of rows, of which a chat needs some ten thousand. So every reader goes through
the file once, looks only at the word of each row, and parses the numbers of wanted rows. Other rows are not
checked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

import ijson
import numpy as np
from numpy.typing import NDArray

from towhom.errors import VectorsError

HEAD = 1 << 16
"""Number of bytes at the start of a file from which its format is recognized."""

_BLOCK = 1 << 22
_NUMBERS = re.compile(rb"[-+]?\.?[0-9][-+.0-9eE]*(?: +[-+]?\.?[0-9][-+.0-9eE]*)*")
_COUNTS = re.compile(rb"([0-9]{1,12})[ \t]+([0-9]{1,12})[ \t]*\r?\n")
_DIMENSIONS = re.compile(rb'"dimensions"\s*:\s*([0-9]{1,12})\b')

_GLOVE = "GloVe text"
_WORD2VEC = "word2vec text"
_BINARY = "word2vec binary"
_JSON = "wink-embeddings JSON"

Row = tuple[bytes, NDArray[np.float32]]
Wanted = Callable[[bytes], bool]


class Format(NamedTuple):
    """The format of a file of word vectors."""

    name: str
    dimensions: int
    rows: int | None = None
    """Number of rows according to the file's header; None if it has none."""


def find_format(head: bytes, file: str) -> Format:
    """Recognize the format of a file that starts with `head`. `file` is its name, for errors.

    Raises:
        VectorsError: The file is empty, or in none of the formats.
    """
    if not head.strip():
        raise VectorsError(f"{file}: the file is empty")
    if re.match(rb'\s*\{\s*"', head) and (found := _DIMENSIONS.search(head)):
        return Format(_JSON, _positive(found[1], file))
    if counts := _COUNTS.match(head):
        dimensions = _positive(counts[2], file)
        return Format(
            _WORD2VEC if _is_text(head[counts.end() :], dimensions) else _BINARY, dimensions, int(counts[1])
        )
    if dimensions := _fields(head):
        return Format(_GLOVE, dimensions)
    if head[257:262] == b"ustar":
        raise VectorsError(f"{file}: this is a tar archive; unpack it and give the file of vectors in it")
    raise VectorsError(
        f"{file}: no word vectors of a kind we know; expected GloVe text (a word and its numbers on each "
        "line), word2vec text or binary (two counts on the first line), or the JSON of wink-embeddings"
    )


def _positive(digits: bytes, file: str) -> int:
    if not 0 < int(digits) <= 1 << 20:
        raise VectorsError(f"{file}: the file says that its vectors have {int(digits)} dimensions")
    return int(digits)


def _is_text(rows: bytes, dimensions: int) -> bool:
    """Whether the first word is followed by the characters of numbers, for the length of the shortest row."""
    size = 2 * dimensions - 1
    values = rows.lstrip().partition(b" ")[2][:size]
    return bool(values) and len(values.translate(None, b"-+.0123456789eE ")) == 0


def _fields(head: bytes) -> int:
    """Numbers per line of a GloVe file, or 0 if the file is not in that format.

    The most common count in the first lines: a single line may be faulty, or its word may contain spaces.
    """
    lines = head.split(b"\n")
    complete = lines[:-1] if len(lines) > 1 and len(head) >= HEAD else lines
    counts: Counter[int] = Counter()
    for line in complete:
        word, _, numbers = line.strip().partition(b" ")
        if word and _NUMBERS.fullmatch(numbers):
            counts[len(numbers.split())] += 1
    return counts.most_common(1)[0][0] if counts else 0


def read_rows(stream: BinaryIO, format: Format, wanted: Wanted, file: str) -> Iterator[Row]:
    """Yield the wanted rows of a file in its order; a word that appears twice is yielded twice.

    Raises:
        VectorsError: A wanted row has too few or too many numbers, or the file ends early.
    """
    return _READERS[format.name](stream, format, wanted, file)


def _read_text(stream: BinaryIO, format: Format, wanted: Wanted, file: str) -> Iterator[Row]:
    """Read lines that consist of a word, a space and numbers."""
    header = 0
    if format.rows is not None:
        stream.readline()
        header = 1
    number = header
    for number, line in enumerate(stream, header + 1):
        word = line[: line.find(b" ")]
        if not wanted(word):
            continue
        fields = line.rstrip().rsplit(b" ", format.dimensions)
        # In glove.840B a few words contain spaces: the text left of the numbers must be exactly the word.
        if fields[0] != word and not _NUMBERS.fullmatch(fields[0][len(word) + 1 :]):
            continue
        if fields[0] != word or len(fields) <= format.dimensions:
            raise VectorsError(
                f"{file}:{number}: {len(line.split()) - 1} numbers after {_shown(word)}, "
                f"but the vectors of this file have {format.dimensions}"
            )
        try:
            yield word, _parsed(fields[1:])
        except ValueError as error:
            raise VectorsError(f"{file}:{number}: in the vector of {_shown(word)}: {error}") from error
    _check_rows(format, number - header, file)


def _read_binary(stream: BinaryIO, format: Format, wanted: Wanted, file: str) -> Iterator[Row]:
    """Read rows that consist of a word, a space, float32 numbers and, from some programs, a line break."""
    stream.readline()
    size = 4 * format.dimensions
    buffer, position = b"", 0
    for number in range(format.rows or 0):
        space = buffer.find(b" ", position)
        while space < 0 or space + 1 + size > len(buffer):
            more = stream.read(_BLOCK)
            if not more:
                _check_rows(format, number, file)
            buffer, position = buffer[position:] + more, 0
            space = buffer.find(b" ")
        word = buffer[position:space].lstrip(b"\n")
        if wanted(word):
            yield word, np.frombuffer(buffer, "<f4", format.dimensions, space + 1).astype(np.float32)
        position = space + 1 + size


def _read_json(stream: BinaryIO, format: Format, wanted: Wanted, file: str) -> Iterator[Row]:
    """Read `{"vectors": {word: [numbers, their norm, the word's index]}}` as a stream, never as a tree."""
    known = 0
    try:
        for name, values in ijson.kvitems(stream, "vectors", use_float=True, buf_size=1 << 18):
            known += 1
            word = name.encode("utf-8", "surrogatepass")
            if not wanted(word):
                continue
            if not isinstance(values, list) or len(values) != format.dimensions + 2:
                count = len(values) - 2 if isinstance(values, list) else "no"
                raise VectorsError(
                    f"{file}: {count} numbers for {_shown(word)}, "
                    f"but the vectors of this file have {format.dimensions}"
                )
            yield word, _parsed(values[:-2])
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise VectorsError(f"{file}: damaged or truncated after {known} words: {error}") from error
    except (TypeError, ValueError) as error:
        raise VectorsError(f"{file}: word {known} has something that is not a number: {error}") from error


def _parsed(numbers: list[Any]) -> NDArray[np.float32]:
    # A number too large for float32 becomes infinite, and infinite numbers are rejected.
    with np.errstate(over="ignore"):
        row = np.array(numbers, dtype=np.float32)
    if row.ndim != 1:
        raise ValueError(f"a list where a number should be: {numbers[0]}")
    return row


def _check_rows(format: Format, found: int, file: str) -> None:
    if format.rows is not None and found < format.rows:
        raise VectorsError(
            f"{file}: the file is truncated: its first line says {format.rows} words, there are {found}"
        )


def _shown(word: bytes) -> str:
    return repr(word.decode("utf-8", "replace"))


_READERS: dict[str, Callable[[BinaryIO, Format, Wanted, str], Iterator[Row]]] = {
    _GLOVE: _read_text,
    _WORD2VEC: _read_text,
    _BINARY: _read_binary,
    _JSON: _read_json,
}
