"""Finds responses by rare words (error messages, package names, numbers) in an SQLite index (FTS5).

Words that occur in many responses are not informative and are left out of queries. A query uses its rarest
words until those occur `LOOKED_AT` times in all, so that it stays fast however large the bank is.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import regex

from towhom.errors import BankError
from towhom.hearing.words import words

PHRASES = ("question", "opening", "response")
"""The texts that are searched."""
_CATEGORIES = "L* N* Co M*"
_TERM = regex.compile(r"[\p{L}\p{N}\p{M}]+")
_CHUNK = regex.compile(r"[^\s,;!?()\"<>|]+")
_TERMS = 8
"""Maximum number of words that a query uses, the rarest first."""
_COMMON, _FEW = 0.02, 50
"""Words in more than this share of the responses, and in more than `_FEW`, are left out of queries."""
LOOKED_AT = 5000
"""Maximum occurrences of words that a query examines."""
_LONGEST = 64
"""Maximum characters of a word in the index."""
_AT_ONCE = 500
"""Words that are looked up in one SQL query."""


def terms_of(text: str) -> list[str]:
    """The words of a text in the form used by the index, for any script.

    >>> terms_of("Edit /etc/fstab, then restart")
    ['edit', 'etc', 'fstab', 'then', 'restart']
    """
    return [term for word in words(text) for term in _TERM.findall(word) if len(term) <= _LONGEST]


def write_phrases(path: Path, rows: Iterable[tuple[int, str, str, str]]) -> None:
    """Write the index of some responses; the same responses give the same bytes.

    Args:
        path: The file, which must not exist yet.
        rows: The row number and the `PHRASES` of each response.

    Raises:
        BankError: This Python's SQLite has no full-text search.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("PRAGMA journal_mode = OFF")
        base.execute("PRAGMA synchronous = OFF")
        try:
            base.execute(
                f"CREATE VIRTUAL TABLE words USING fts5({', '.join(PHRASES)}, content='', "
                f"tokenize=\"unicode61 remove_diacritics 0 categories '{_CATEGORIES}'\")"
            )
        except sqlite3.OperationalError as error:
            raise BankError(
                f"the SQLite of this Python has no full-text search, FTS5, which a bank needs ({error})"
            ) from error
        base.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row')")
        base.execute("BEGIN")
        base.executemany(
            f"INSERT INTO words (rowid, {', '.join(PHRASES)}) VALUES (?, ?, ?, ?)",  # noqa: S608
            ((row, *(" ".join(terms_of(text)) for text in texts)) for row, *texts in rows),
        )
        base.execute("INSERT INTO words (words) VALUES ('optimize')")
        # Counted in advance, because counting a frequent word takes longer than a query.
        base.execute("CREATE TABLE counts (term TEXT PRIMARY KEY, responses INTEGER) WITHOUT ROWID")
        base.execute(
            "INSERT INTO counts SELECT term, doc FROM vocabulary WHERE doc > ? ORDER BY term", (_FEW,)
        )
        base.execute("COMMIT")
        base.execute("VACUUM")


class Phrases:
    """The index of some responses.

    Args:
        path: The file that `write_phrases` made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[sqlite3.Connection] = []

    def __del__(self) -> None:
        for base in self._idle:
            base.close()

    def search(
        self, query: Sequence[str], limit: int, *, weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    ) -> list[tuple[float, int]]:
        """Scores (BM25) and rows of the responses that have any of some words, the best first.

        Args:
            query: The words, and phrases of words; see `chosen`.
            limit: Maximum number of results.
            weights: Weights of words in each of `PHRASES`; those with 0 are not searched.

        Raises:
            BankError: The index is damaged.
        """
        columns = " ".join(name for name, each in zip(PHRASES, weights, strict=True) if each)
        if not query or not columns:
            return []
        wanted = " OR ".join(f'"{each}"' for each in query)
        with self._opened() as base:
            found = base.execute(
                "SELECT bm25(words, ?, ?, ?) AS score, rowid FROM words WHERE words MATCH ? "
                "ORDER BY score, rowid LIMIT ?",
                (*weights, f"{{{columns}}} : ({wanted})", limit),
            )
            return [(-float(score), int(row)) for score, row in found]

    def counts(self, terms: Sequence[str]) -> Counter[str]:
        """The number of responses with each word, for words that occur in more than `_FEW`.

        Raises:
            BankError: The index is damaged.
        """
        counts = Counter[str]()
        with self._opened() as base:
            for part in _in_parts(terms, _AT_ONCE):
                marks = ", ".join("?" * len(part))
                query = f"SELECT term, responses FROM counts WHERE term IN ({marks})"  # noqa: S608
                counts.update({str(term): int(count) for term, count in base.execute(query, part)})
        return counts

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A connection for one search; it is reused, so that its cache helps the next search."""
        try:
            base = self._idle.pop()
        except IndexError:
            uri = f"file:{quote(str(self._path.resolve()))}?mode=ro&immutable=1"
            base = self._connected(uri)
        try:
            yield base
        except sqlite3.Error as error:
            raise BankError(
                f"{self._path}: the index of words cannot be read ({error}); build the bank again"
            ) from error
        self._idle.append(base)

    def _connected(self, uri: str) -> sqlite3.Connection:
        try:
            return sqlite3.connect(uri, uri=True, check_same_thread=False)
        except sqlite3.Error as error:
            raise BankError(f"{self._path}: cannot be opened ({error}); build the bank again") from error


def chosen(text: str, counts: Mapping[str, int], responses: int, most: int = LOOKED_AT) -> list[str]:
    """The rarest words of a text, and phrases of words written together.

    Args:
        text: The text.
        counts: The number of responses with each word; see `Phrases.counts`.
        responses: The number of responses.
        most: Maximum occurrences of words to examine, if there is more than one rare word.
    """
    terms = dict.fromkeys(terms_of(text))
    limit = max(_COMMON * responses, _FEW)
    found: list[str] = []
    looked_at = 0
    for count, term in sorted((counts.get(term, 1), term) for term in terms)[:_TERMS]:
        looked_at += count
        if count > limit or (found and looked_at > most):
            break
        found.append(term)
    known = set(found)
    together = []
    for chunk in _CHUNK.findall(text):
        parts = _TERM.findall(chunk.lower())  # /etc/fstab, libc6-dev: a match of the whole counts more
        if len(parts) > 1 and not known.isdisjoint(parts):
            together.append(" ".join(parts))
    return [*found, *together[:_TERMS]]


def _in_parts(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
