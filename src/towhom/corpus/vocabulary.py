"""Count the words of a corpus, without the names of its speakers.

A model's vocabulary is distributed with the model, so it must not contain speakers' names. But people call
themselves "the", "i" and "ubuntu": leaving out every name would remove 15 % of all words of #ubuntu. So a
name is kept as a word only if people plainly use it as one: in at least a tenth of the documents in which
nobody has that name (and at least ten of them), and ten times as often as somebody is addressed by it. That
costs under 1 % of the words. Every other name is replaced by `<name>` in every document.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from towhom.corpus.document import DocumentColumns, numbering
from towhom.hearing.spelling import name_parts
from towhom.text.vocabulary import NAME, UNKNOWN

SPECIAL = (UNKNOWN, NAME)
"""The first words of every vocabulary, ids 0 and 1."""
NAME_ID = SPECIAL.index(NAME)

MAX_WORDS = 2_000_000
"""Most distinct words kept while counting, to bound memory; any later new words become unknown."""

_MIN_DOCUMENTS = 10
_MIN_SHARE = 0.1
_MIN_USES_PER_ADDRESS = 10


class WordCounter:
    """Numbers words in order of appearance, and counts what is needed to tell names from words."""

    def __init__(self) -> None:
        self._ids = numbering()
        self._ids[UNKNOWN] = 0
        self._counts = np.zeros(1 << 16, np.int64)
        self._documents = np.zeros(1 << 16, np.int64)
        self.total_documents = 0
        self.overflow = 0
        """Number of words left out because `MAX_WORDS` others came before them."""
        # By name: documents where somebody has it; how many of those contain it as a word, and how often.
        self._present: Counter[str] = Counter()
        self._present_documents: Counter[str] = Counter()
        self._present_counts: Counter[str] = Counter()
        self._addressed: Counter[str] = Counter()

    def add(self, columns: DocumentColumns) -> NDArray[np.int64]:
        """Count a document's words; return the number of each of its distinct words."""
        ids = self._ids
        if len(ids) + len(columns.words) <= MAX_WORDS:
            numbers = np.array([ids[word] for word in columns.words], np.int64)
        else:
            numbers = np.array([ids.get(word, 0) for word in columns.words], np.int64)
            self.overflow += int((numbers == 0).sum())
        self._grow(len(ids))
        counts = np.bincount(columns.tokens, minlength=len(columns.words))
        np.add.at(self._counts, numbers, counts)
        np.add.at(self._documents, numbers, 1)
        self.total_documents += 1
        self._add_names(columns, counts)
        return numbers

    def _add_names(self, columns: DocumentColumns, counts: NDArray[np.int64]) -> None:
        places = {word: place for place, word in enumerate(columns.words)}
        parts = [name_parts(name) for name in columns.speakers]
        for name in set().union(*parts):
            self._present[name] += 1
            if name in places:
                self._present_documents[name] += 1
                self._present_counts[name] += int(counts[places[name]])
        addressed = np.bincount(columns.addressee[columns.addressee >= 0], minlength=len(parts))
        for names, times in zip(parts, addressed.tolist(), strict=True):
            for name in names if times else ():
                self._addressed[name] += times

    def _grow(self, size: int) -> None:
        while len(self._counts) < size:
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
            self._documents = np.concatenate([self._documents, np.zeros_like(self._documents)])

    @property
    def words(self) -> list[str]:
        """All words, by number."""
        return list(self._ids)

    def names(self) -> set[str]:
        """The words that are somebody's name and are not plainly used as words as well."""
        return {name for name in self._present if name in self._ids and not self._is_word(name)}

    def _is_word(self, name: str) -> bool:
        number = self._ids[name]
        elsewhere = self._documents[number] - self._present_documents[name]
        uses = self._counts[number] - self._present_counts[name]
        without_bearer = self.total_documents - self._present[name]
        return bool(
            elsewhere >= max(_MIN_DOCUMENTS, _MIN_SHARE * without_bearer)
            and uses >= _MIN_USES_PER_ADDRESS * self._addressed[name]
        )


def final_vocabulary(
    words: list[str], counts: NDArray[np.int64], names: set[str]
) -> tuple[list[str], NDArray[np.int64], NDArray[np.uint32]]:
    """Put the vocabulary in its final order: special words, then the others by frequency.

    Args:
        words: Words by number, starting with the unknown word.
        counts: How often each word occurs in the training documents.
        names: The words to hide.

    Returns:
        The words, their counts, and the final id of every number.
    """
    names = names | {NAME}  # published files may contain it as a word, and it must not appear twice
    hidden = np.array([word in names for word in words], bool)
    alphabetical = np.array(sorted(range(1, len(words)), key=words.__getitem__), np.int64)
    alphabetical = alphabetical[~hidden[alphabetical]]
    kept = alphabetical[np.argsort(-counts[alphabetical], kind="stable")]
    ids = np.zeros(len(words), np.uint32)
    ids[hidden] = NAME_ID
    ids[kept] = np.arange(len(SPECIAL), len(SPECIAL) + len(kept), dtype=np.uint32)
    final_words = [*SPECIAL, *(words[number] for number in kept.tolist())]
    final_counts = np.concatenate([[counts[0], counts[hidden].sum()], counts[kept]]).astype(np.int64)
    return final_words, final_counts, ids
