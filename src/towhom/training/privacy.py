"""No nick in a vocabulary that is given away.

The corpus hides the names of all who speak. What is left are people who are talked about but never speak.
They give themselves away: they come up in one or two conversations, they join and leave, or they stand in
front of a message with a colon after them. The commonest words are exempt; people call themselves those, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from towhom.chat import Kind
from towhom.corpus import Corpus, Split
from towhom.evaluation.reply_links import LinkedLog
from towhom.hearing.spelling import name_parts
from towhom.text.tokenizer import tokenize
from towhom.text.vocabulary import NAME, ModelVocabulary

_COMMON = 2000
"""So many of the most frequent words are words, whoever is called so."""
_MIN_DOCUMENTS = 3
_MAX_IN_FRONT = 0.2


def without_names(vocabulary: ModelVocabulary, corpus: Corpus, logs: Iterable[LinkedLog]) -> ModelVocabulary:
    """A vocabulary without the words that may be somebody's name; they become unknown words.

    Args:
        vocabulary: Its words are in the order of their frequency.
        corpus: What the model was trained on.
        logs: The same chats, with the lines that say who joins and leaves.
    """
    spread = _documents_by_word(corpus)
    nicks, in_front, uses = _names_in(logs)
    kept = []
    for place, word in enumerate(vocabulary.words):
        name_like = (
            spread.get(word, 0) < _MIN_DOCUMENTS
            or word in nicks
            or in_front[word] > _MAX_IN_FRONT * max(uses[word], 1)
        )
        if word == NAME or place < _COMMON or not name_like:
            kept.append(place)
    rows = np.concatenate([[0], np.array(kept, np.int64) + 1])
    return ModelVocabulary(tuple(vocabulary.words[place] for place in kept), vocabulary.matrix[rows])


def _documents_by_word(corpus: Corpus) -> dict[str, int]:
    """In how many training documents each word is said."""
    words = corpus.vocabulary.words
    counts = np.zeros(len(words), np.int64)
    for document in corpus.documents_of(Split.TRAIN).tolist():
        first, last = corpus.documents.messages[document : document + 2].tolist()
        start, stop = corpus.utterances.offsets[[first, last]].tolist()
        counts[np.unique(corpus.utterances.tokens[start:stop])] += 1
    return dict(zip(words, counts.tolist(), strict=True))


def _names_in(logs: Iterable[LinkedLog]) -> tuple[set[str], Counter[str], Counter[str]]:
    """Nicks of those who join, leave and change their name; how often words stand in front, and at all."""
    nicks: set[str] = set()
    in_front: Counter[str] = Counter()
    uses: Counter[str] = Counter()
    for log in logs:
        for message in log.lines:
            if message.kind is Kind.RENAME:
                nicks |= name_parts(message.speaker) | name_parts(message.text)
            elif message.kind is Kind.SYSTEM and message.text.strip():
                nicks |= name_parts(message.text.split()[0])
            elif message.kind is Kind.MESSAGE:
                words = tokenize(message.text)
                uses.update(words)
                if len(words) > 2 and words[1] in (":", ",", ";"):
                    in_front[words[0]] += 1
    return nicks, in_front, uses
