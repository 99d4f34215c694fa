"""Responses by rare words: error messages, names of packages, numbers; an inverted index in SQLite (FTS5).

Words that are in many responses tell little and are left out of queries, so that a query stays fast however
large the bank is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import regex

from towhom.errors import BankError
from towhom.hearing.words import words

_COLUMNS = ("question", "response")
_CATEGORIES = "L* N* Co M*"
_TERM = regex.compile(r"[\p{L}\p{N}\p{M}]+")
_CHUNK = regex.compile(r"[^\s,;!?()\"<>|]+")
_TERMS = 8
"""Of a query: the rarest of its words."""
_COMMON, _FEW = 0.02, 50
"""Words in a larger share of the responses tell nothing, unless those are few."""
_LONGEST = 64
"""Characters of a word that is looked for."""
_AT_ONCE = 500
"""Words that are looked up in one query."""


def terms_of(text: str) -> list[str]:
    """The words of a text as the index has them, in any script.

    >>> terms_of("Edit /etc/fstab, then restart")
    ['edit', 'etc', 'fstab', 'then', 'restart']
    """
    return [term for word in words(text) for term in _TERM.findall(word) if len(term) <= _LONGEST]


def write_phrases(path: Path, rows: Iterable[tuple[int, str, str]]) -> None:
    """Make the index of some responses; the same ones give the same bytes.

    Args:
        path: The file, which is not there yet.
        rows: Of each response its row, what it answered, and what it says.

    Raises:
        BankError: This Python's SQLite has no full-text search.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("PRAGMA journal_mode = OFF")
        base.execute("PRAGMA synchronous = OFF")
        try:
            base.execute(
                f"CREATE VIRTUAL TABLE words USING fts5({', '.join(_COLUMNS)}, content='', "
                f"tokenize=\"unicode61 remove_diacritics 0 categories '{_CATEGORIES}'\")"
            )
        except sqlite3.OperationalError as error:
            raise BankError(
                f"the SQLite of this Python has no full-text search, FTS5, which a bank needs ({error})"
            ) from error
        base.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row')")
        base.execute("BEGIN")
        base.executemany(
            "INSERT INTO words (rowid, question, response) VALUES (?, ?, ?)",
            ((row, " ".join(terms_of(asked)), " ".join(terms_of(said))) for row, asked, said in rows),
        )
        base.execute("INSERT INTO words (words) VALUES ('optimize')")
        base.execute("COMMIT")
        base.execute("VACUUM")


class Phrases:
    """The index of some responses.

    Args:
        path: What `write_phrases` made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def search(
        self, text: str, limit: int, *, weights: tuple[float, float] = (1.0, 1.0), rare: bool = True
    ) -> list[tuple[float, int]]:
        """Rows of the responses that have rare words of a text, each with its score, the best first.

        Args:
            text: What is asked.
            limit: How many at most.
            weights: Of words in what was asked before, and of words in the response; where one is 0, those
                are not looked at.
            rare: Whether only the rarest words count; all of them take time in proportion to the bank.

        Raises:
            BankError: The index is damaged.
        """
        uri = f"file:{quote(str(self._path.resolve()))}?mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(uri, uri=True)) as base:  # one a search: threads may not share one
                every = [f'"{term}"' for term in dict.fromkeys(terms_of(text))]
                query = " OR ".join(_rarest(base, text) if rare else every)
                columns = " ".join(name for name, each in zip(_COLUMNS, weights, strict=True) if each)
                if not query or not columns:
                    return []
                found = base.execute(
                    "SELECT bm25(words, ?, ?) AS score, rowid FROM words WHERE words MATCH ? "
                    "ORDER BY score, rowid LIMIT ?",
                    (*weights, f"{{{columns}}} : ({query})", limit),
                )
                return [(-float(score), int(row)) for score, row in found]
        except sqlite3.Error as error:
            raise BankError(
                f"{self._path}: the index of words cannot be read ({error}); build the bank anew"
            ) from error


def _rarest(base: sqlite3.Connection, text: str) -> list[str]:
    """The rarest words of a text that are in the index at all, and what belongs together, quoted."""
    counts = _counts(base, dict.fromkeys(terms_of(text)))
    (total,) = base.execute("SELECT count(*) FROM words_docsize").fetchone()
    most = max(_COMMON * total, _FEW)
    rare = sorted((count, term) for term, count in counts.items() if count <= most)
    chosen = [f'"{term}"' for _, term in rare[:_TERMS]]
    known = {term for _, term in rare[:_TERMS]}
    for chunk in _CHUNK.findall(text):
        parts = _TERM.findall(chunk.lower())  # /etc/fstab, libc6-dev, 0x80070057: all of it counts more
        if len(parts) > 1 and not known.isdisjoint(parts) and len(chosen) < 2 * _TERMS:
            chosen.append(f'"{" ".join(parts)}"')
    return chosen


def _counts(base: sqlite3.Connection, terms: Iterable[str]) -> dict[str, int]:
    """How many responses have each word, of those that are in the index."""
    counts = {}
    for part in _in_parts(list(terms), _AT_ONCE):
        marks = ", ".join("?" * len(part))
        query = f"SELECT term, doc FROM vocabulary WHERE term IN ({marks})"  # noqa: S608
        counts.update({str(term): int(count) for term, count in base.execute(query, part)})
    return counts


def _in_parts(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
