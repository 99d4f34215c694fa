"""Responses by rare words: error messages, names of packages, numbers; an inverted index in SQLite (FTS5).

Words that are in many responses tell little and are left out of queries, and a query looks at the rarest of
its words until those have been said `LOOKED_AT` times, so that it stays fast however large the bank is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
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
"""Of a query: the rarest of its words."""
_COMMON, _FEW = 0.02, 50
"""Words in a larger share of the responses tell nothing, unless those are few."""
LOOKED_AT = 5000
"""Places of words that a query looks at."""
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


def write_phrases(path: Path, rows: Iterable[tuple[int, str, str, str]]) -> None:
    """Make the index of some responses; the same ones give the same bytes.

    Args:
        path: The file, which is not there yet.
        rows: Of each response its row, and its `PHRASES`.

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
        # Counted once: to count how many have a frequent word takes longer than a query.
        base.execute("CREATE TABLE counts (term TEXT PRIMARY KEY, responses INTEGER) WITHOUT ROWID")
        base.execute(
            "INSERT INTO counts SELECT term, doc FROM vocabulary WHERE doc > ? ORDER BY term", (_FEW,)
        )
        base.execute("INSERT INTO counts SELECT '', count(*) FROM words_docsize")
        base.execute("COMMIT")
        base.execute("VACUUM")


class Phrases:
    """The index of some responses.

    Args:
        path: What `write_phrases` made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[sqlite3.Connection] = []

    def __del__(self) -> None:
        for base in self._idle:
            base.close()

    def search(
        self,
        text: str,
        limit: int,
        *,
        weights: tuple[float, float, float] = (1.0, 1.0, 1.0),
        rare: bool = True,
        most: int = LOOKED_AT,
    ) -> list[tuple[float, int]]:
        """Rows of the responses that have rare words of a text, each with its score, the best first.

        Args:
            text: What is asked.
            limit: How many at most.
            weights: Of words in each of `PHRASES`; where one is 0, those are not looked at.
            rare: Whether only the rarest words count; all of them take time in proportion to the bank.
            most: How many places of words are looked at, if there is more than one rare word.

        Raises:
            BankError: The index is damaged.
        """
        try:
            with self._opened() as base:
                every = [f'"{term}"' for term in dict.fromkeys(terms_of(text))]
                query = " OR ".join(_rarest(base, text, most) if rare else every)
                columns = " ".join(name for name, each in zip(PHRASES, weights, strict=True) if each)
                if not query or not columns:
                    return []
                found = base.execute(
                    "SELECT bm25(words, ?, ?, ?) AS score, rowid FROM words WHERE words MATCH ? "
                    "ORDER BY score, rowid LIMIT ?",
                    (*weights, f"{{{columns}}} : ({query})", limit),
                )
                return [(-float(score), int(row)) for score, row in found]
        except sqlite3.Error as error:
            raise BankError(
                f"{self._path}: the index of words cannot be read ({error}); build the bank again"
            ) from error

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The index, for one search at a time; what a search has read stays in memory for the next."""
        try:
            base = self._idle.pop()
        except IndexError:
            uri = f"file:{quote(str(self._path.resolve()))}?mode=ro&immutable=1"
            base = sqlite3.connect(uri, uri=True, check_same_thread=False)
        yield base
        self._idle.append(base)


def _rarest(base: sqlite3.Connection, text: str, looks: int) -> list[str]:
    """The rarest words of a text, and what belongs together, quoted."""
    terms = list(dict.fromkeys(terms_of(text)))
    counts = _counts(base, ["", *terms])
    most = max(_COMMON * counts.pop("", 0), _FEW)
    chosen: list[str] = []
    looked_at = 0
    for count, term in sorted((counts.get(term, 1), term) for term in terms)[:_TERMS]:
        looked_at += count
        if count > most or (chosen and looked_at > looks):
            break
        chosen.append(term)
    known = set(chosen)
    together = []
    for chunk in _CHUNK.findall(text):
        parts = _TERM.findall(chunk.lower())  # /etc/fstab, libc6-dev, 0x80070057: all of it counts more
        if len(parts) > 1 and not known.isdisjoint(parts):
            together.append(" ".join(parts))
    return [f'"{each}"' for each in (*chosen, *together[:_TERMS])]


def _counts(base: sqlite3.Connection, terms: Sequence[str]) -> dict[str, int]:
    """How many responses have each word, of those that more than `_FEW` have."""
    counts = {}
    for part in _in_parts(terms, _AT_ONCE):
        marks = ", ".join("?" * len(part))
        query = f"SELECT term, responses FROM counts WHERE term IN ({marks})"  # noqa: S608
        counts.update({str(term): int(count) for term, count in base.execute(query, part)})
    return counts


def _in_parts(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
