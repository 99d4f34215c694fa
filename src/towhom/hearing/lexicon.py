"""The words that a model knows, with the model's input for a text and the weights of words."""

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
"""The least number of letters of a name that is recognised inside a text."""
COMMON_WORDS = 2000
"""A name that is one of so many most frequent words is not recognised inside a text."""
FUNCTION_WORD = 0.25
"""The weight of a word that every text of its language has."""


class Lexicon:
    """The vocabulary of a model, and the weights of its words.

    Args:
        vocabulary: All words that the model knows, the most frequent first.
        limit: How many words of a message the model reads; None for all.
        language: The code of the language whose endings are removed; English by default.
    """

    def __init__(self, vocabulary: ModelVocabulary, limit: int | None, language: str = "") -> None:
        words = vocabulary.words
        self.ids = vocabulary.places
        self._limit = limit
        self._language = language
        self._foreign: dict[str, Lexicon] = {}
        self._name = self.ids.get(NAME, UNKNOWN_ID)
        # The words are in the order of their frequency; rare ones are more informative.
        weights = np.log1p(np.arange(1, len(words) + 1)) / np.log1p(len(words) + 1)
        self.weights: dict[str, float] = dict(zip(words, weights.tolist(), strict=True))

    def weight(self, word: str) -> float:
        """How informative a lower-cased word is; 1 if it is neither known nor a function word."""
        known = self.weights.get(word)
        if known is not None:
            return known
        return FUNCTION_WORD if word in function_words() else 1.0

    def tokens(self, words: Sequence[str], is_name: IsName) -> NDArray[np.int32]:
        """The word ids of a text. Names share one id, unless they are words as well."""
        ids, name = self.ids, self._name
        return np.array(
            [ids.get(word) or (name if is_name(word) else UNKNOWN_ID) for word in words[: self._limit]],
            np.int32,
        )

    def pieces(self, words: Sequence[str], is_name: IsName) -> NDArray[np.uint32]:
        """The pieces of a text's words, without names that are not words as well."""
        seen: Iterable[str] = (word for word in words[: self._limit] if word in self.ids or not is_name(word))
        return np.array(pieces_of(seen, self._language), np.uint32)

    def foreign(self, language: str = "") -> Lexicon:
        """A lexicon for a language that the model does not know.

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
        """Whether it has no words, since it is for a language that the model does not know."""
        return not self.ids

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the words. Two models with the same hash have the same token ids."""
        words = "\n".join(self.weights).encode("utf-8", "replace")
        return blake2b(words, digest_size=8).hexdigest()

    @cached_property
    def piece_weights(self) -> NDArray[np.float32]:
        """(`PIECE_WEIGHTS`,) How informative a piece is: as much as the most frequent word that has it.

        Pieces of function words that the model does not know have the weight `FUNCTION_WORD`.
        """
        weights = np.ones(PIECE_WEIGHTS, np.float32)
        for word in function_words():
            for piece in pieces(word, self._language):
                weights[piece & (PIECE_WEIGHTS - 1)] = FUNCTION_WORD
        for word, weight in reversed(self.weights.items()):
            for piece in pieces(word):
                weights[piece & (PIECE_WEIGHTS - 1)] = weight
        return weights
