"""Who is named inside the messages of a corpus, looked up when a document is first needed.

Speakers' names are hidden from the words (see `towhom.corpus.vocabulary`), so they are found in the texts. A
mention is a whole word, in any case of letters; a name of one or two letters is none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from towhom.corpus.store import Corpus
from towhom.corpus.vocabulary import NAME, SPECIAL
from towhom.text.tokenizer import tokenize

MOST = 2
"""People named in one utterance who count: the first of those who have spoken by the time of the question."""
_KEPT = 4
SHORTEST = 3
"""Letters of a name that is recognised inside a text."""

_NAME_ID = SPECIAL.index(NAME)


class Mentions:
    """Speakers named inside utterances.

    Args:
        corpus: Where the utterances are.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        size = (len(corpus.utterances.offsets) - 1, _KEPT)
        self.speaker = np.full(size, -1, np.int32)
        """(U, 4) Numbers of speakers within the document, -1 for none."""
        self.word = np.full(size, -1, np.int32)
        """(U, 4) The corpus's word for the name."""
        self._known = np.zeros(len(corpus.documents.split), bool)

    def look_up(self, documents: NDArray[np.int64]) -> None:
        """Make sure that the columns are filled for some documents."""
        for document in np.unique(documents).tolist():
            if not self._known[document]:
                self._look_up(document)
                self._known[document] = True

    def _look_up(self, document: int) -> None:
        corpus = self._corpus
        first, last = corpus.documents.speakers[document : document + 2].tolist()
        numbers: dict[str, int] = {}
        for place, name in enumerate(corpus.speaker_names.slice(first, last)):
            if len(name) >= SHORTEST:
                numbers.setdefault(name.lower(), place)
        start, stop = corpus.documents.messages[document : document + 2].tolist()
        offsets = corpus.utterances.offsets[start : stop + 1]
        tokens = np.asarray(corpus.utterances.tokens[offsets[0] : offsets[-1]])
        # Names that are not hidden, because they are words as well.
        words_here = np.unique(tokens).tolist()
        named = {word: numbers.get(corpus.vocabulary.words[word]) for word in words_here if word != _NAME_ID}
        plain = np.array([word for word, number in named.items() if number is not None], tokens.dtype)
        places = np.flatnonzero((tokens == _NAME_ID) | np.isin(tokens, plain))
        utterances = np.searchsorted(offsets - offsets[0], places, side="right") - 1
        of = -1
        words: list[str] = []
        for place, utterance in zip(places.tolist(), utterances.tolist(), strict=True):
            word = int(tokens[place])
            number = named.get(word)
            if word == _NAME_ID:
                if utterance != of:
                    of, words = utterance, self._words(start + utterance)
                number = numbers.get(words[place - int(offsets[utterance] - offsets[0])])
            if number is not None:
                self._add(start + utterance, number, word)

    def _words(self, utterance: int) -> list[str]:
        text = self._corpus.utterances.text[utterance]
        words = tokenize(text)
        count = int(np.diff(self._corpus.utterances.offsets[utterance : utterance + 2])[0])
        return words if len(words) == count else text.lower().split()  # the published corpus comes tokenized

    def _add(self, utterance: int, number: int, word: int) -> None:
        row = self.speaker[utterance]
        for place in range(_KEPT):
            if row[place] == number:
                return
            if row[place] < 0:
                row[place], self.word[utterance, place] = number, word
                return
