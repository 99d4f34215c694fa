"""The words that a model knows: what it is given of a text, and how much a word tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from towhom.hearing.languages import function_words
from towhom.text.pieces import PIECE_WEIGHTS, pieces, pieces_of
from towhom.text.vocabulary import NAME, UNKNOWN_ID, ModelVocabulary

IsName = Callable[[str], bool]
SHORTEST = 3
"""Letters of a name that is recognised inside a text."""
COMMON_WORDS = 2000
"""Whoever is called like one of a model's most frequent words is not recognised inside a text."""
FUNCTION_WORD = 0.25
"""How much a word tells that every text of its language has."""


class Lexicon:
    """The vocabulary of a model, and the weights of its words.

    Args:
        vocabulary: All words that it knows, the most frequent first.
        limit: How many of a message it reads; None for all.
        language: The code of the language whose endings are cut off; by default, those of English.
    """

    def __init__(self, vocabulary: ModelVocabulary, limit: int | None, language: str = "") -> None:
        words = vocabulary.words
        self.ids = vocabulary.places
        self._limit = limit
        self._language = language
        self._foreign: dict[str, Lexicon] = {}
        self._name = self.ids.get(NAME, UNKNOWN_ID)
        # The words come in the order of their frequency: what is rare tells more.
        weights = np.log1p(np.arange(1, len(words) + 1)) / np.log1p(len(words) + 1)
        self.weights: dict[str, float] = dict(zip(words, weights.tolist(), strict=True))

    def weight(self, word: str) -> float:
        """How much a lower-cased word tells: 1 for one that is not known and no function word."""
        known = self.weights.get(word)
        if known is not None:
            return known
        return FUNCTION_WORD if word in function_words() else 1.0

    def tokens(self, words: Sequence[str], is_name: IsName) -> NDArray[np.int32]:
        """Word ids of a text. Names are hidden, unless they are words as well."""
        ids, name = self.ids, self._name
        return np.array(
            [ids.get(word) or (name if is_name(word) else UNKNOWN_ID) for word in words[: self._limit]],
            np.int32,
        )

    def pieces(self, words: Sequence[str], is_name: IsName) -> NDArray[np.uint32]:
        """What the words of a text are made of, names that are no words left out."""
        seen: Iterable[str] = (word for word in words[: self._limit] if word in self.ids or not is_name(word))
        return np.array(pieces_of(seen, self._language), np.uint32)

    def foreign(self, language: str = "") -> Lexicon:
        """A lexicon for a language of which the model knows no word.

        Args:
            language: Its code.
        """
        if language not in self._foreign:
            limit = None if self._limit is None else 2 * self._limit  # words may be short
            nothing = ModelVocabulary((), np.zeros((1, 0), np.float32))
            self._foreign[language] = Lexicon(nothing, limit, language)
        return self._foreign[language]

    @property
    def knows_nothing(self) -> bool:
        """Whether it is for a language of which the model knows no word."""
        return not self.ids

    @cached_property
    def fingerprint(self) -> str:
        """Of the words: token ids mean the same in two models that have the same."""
        words = "\n".join(self.weights).encode("utf-8", "replace")
        return blake2b(words, digest_size=8).hexdigest()

    @cached_property
    def piece_weights(self) -> NDArray[np.float32]:
        """(`PIECE_WEIGHTS`,) How much a piece tells: as much as the most frequent word that has it.

        Of words that the model does not know, those that every text of their language has tell little.
        """
        weights = np.ones(PIECE_WEIGHTS, np.float32)
        for word in function_words():
            for piece in pieces(word, self._language):
                weights[piece & (PIECE_WEIGHTS - 1)] = FUNCTION_WORD
        for word, weight in reversed(self.weights.items()):
            for piece in pieces(word):
                weights[piece & (PIECE_WEIGHTS - 1)] = weight
        return weights
