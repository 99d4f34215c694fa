"""Who is named inside the messages of a corpus, looked up when a document is first needed.

Speakers' names are hidden from the words (see `towhom.corpus.vocabulary`), so they are found in the texts. A
mention is a whole word, in any case of letters; a name of one or two letters is none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from towhom.corpus.store import Corpus
from towhom.corpus.vocabulary import NAME_ID
from towhom.hearing.lexicon import SHORTEST
from towhom.text.tokenizer import tokenize

MOST = 2
"""People named in one utterance who count: the first of those who have spoken by the time of the question."""
_KEPT = 4


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
        utterances = self._utterances(document)
        starts = corpus.utterances.offsets[utterances]
        lengths = corpus.utterances.offsets[utterances + 1] - starts
        first_tokens = np.cumsum(lengths) - lengths
        tokens = corpus.utterances.tokens[
            np.arange(lengths.sum()) + np.repeat(starts - first_tokens, lengths)
        ]
        # Names that are not hidden, because they are words as well.
        words_here = np.unique(tokens).tolist()
        named = {word: numbers.get(corpus.vocabulary.words[word]) for word in words_here if word != NAME_ID}
        plain = np.array([word for word, number in named.items() if number is not None], tokens.dtype)
        places = np.flatnonzero((tokens == NAME_ID) | np.isin(tokens, plain))
        owners = np.repeat(np.arange(len(utterances)), lengths)[places]
        of = -1
        words: list[str] = []
        for place, owner in zip(places.tolist(), owners.tolist(), strict=True):
            word, utterance = int(tokens[place]), int(utterances[owner])
            number = named.get(word)
            if word == NAME_ID:
                if utterance != of:
                    of, words = utterance, self._words(utterance, int(lengths[owner]))
                number = numbers.get(words[place - int(first_tokens[owner])])
            if number is not None:
                self._add(utterance, number, word)

    def _utterances(self, document: int) -> NDArray[np.int64]:
        """A document's messages, and those of its candidates that no message says."""
        documents, samples = self._corpus.documents, self._corpus.samples
        first, last = documents.samples[document : document + 2].tolist()
        candidates = [table[first:last].ravel() for table in samples.candidates.values()]
        loose = np.unique(np.concatenate([np.empty(0, np.int64), *candidates]))
        start, stop = documents.messages[document : document + 2].tolist()
        return np.concatenate([np.arange(start, stop), loose[loose >= documents.messages[-1]]])

    def _words(self, utterance: int, count: int) -> list[str]:
        text = self._corpus.utterances.text[utterance]
        # The published corpus comes tokenized. What cannot be stored as UTF-8 is not the text that was read.
        for words in (tokenize(text), text.lower().split()):
            if len(words) == count:
                return words
        return [""] * count

    def _add(self, utterance: int, number: int, word: int) -> None:
        row, words = self.speaker[utterance], self.word[utterance]
        if number in row:
            return
        kept = [pair for pair in zip(row.tolist(), words.tolist(), strict=True) if pair[0] >= 0]
        kept.append((number, word))
        if len(kept) > _KEPT:  # those stay who spoke first: it must not matter who will speak later
            kept.remove(max(kept))
        row[: len(kept)], words[: len(kept)] = zip(*kept, strict=True)
