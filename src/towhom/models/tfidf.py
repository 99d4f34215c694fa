"""Scores responses by tf-idf: by the cosine of the candidate's vector with the context's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from towhom.batching import Questions, entries
from towhom.corpus import Corpus, Split


def inverse_document_frequency(corpus: Corpus) -> NDArray[np.float64]:
    """(V,) log(N / n) for each word, which occurs in n of the N messages of the training documents.

    A corpus without training documents, like a published test file, is counted as a whole, without labels.
    """
    words = len(corpus.vocabulary.words)
    documents = corpus.documents_of(Split.TRAIN)
    if not len(documents):
        documents = corpus.documents_of(None)
    seen = np.zeros(words, np.int64)
    total = 0
    for document in documents:
        start, stop = corpus.documents.messages[document : document + 2].tolist()
        offsets = corpus.utterances.offsets[start : stop + 1]
        tokens = corpus.utterances.tokens[offsets[0] : offsets[-1]].astype(np.int64)
        message = np.repeat(np.arange(stop - start), np.diff(offsets))
        seen += np.bincount(np.unique(message * words + tokens) % words, minlength=words)
        total += stop - start
    return np.log(max(total, 1) / np.maximum(seen, 1))


def cosine_with_context(questions: Questions, idf: NDArray[np.float64]) -> NDArray[np.float64]:
    """(B, C) How similar each candidate is to the whole context.

    Args:
        questions: A batch, with all words of its utterances.
        idf: (V,) The weight of each word.
    """
    words, tokens = np.unique(questions.tokens, return_inverse=True)
    utterances = len(questions.offsets) - 1
    # The vectors are sparse: one entry per distinct word of an utterance, utterance by utterance.
    pairs, counts = np.unique(
        np.repeat(np.arange(utterances), questions.lengths) * len(words) + tokens, return_counts=True
    )
    utterance, word = np.divmod(pairs, max(len(words), 1))
    values = counts * idf[words[word]]
    starts = np.searchsorted(utterance, np.arange(utterances + 1))
    squares = np.bincount(utterance, values**2, minlength=utterances)

    context = np.zeros((len(questions), len(words)))
    sample, place = np.nonzero(questions.context >= 0)
    places, owner = entries(starts, questions.context[sample, place])
    np.add.at(context, (sample[owner], word[places]), values[places])

    candidates = questions.candidates.ravel()
    places, owner = entries(starts, candidates)
    asked = owner // questions.candidates.shape[1]
    products = np.bincount(owner, values[places] * context[asked, word[places]], minlength=len(candidates))
    shape = questions.candidates.shape
    norms = np.linalg.norm(context, axis=1)[:, None] * np.sqrt(squares[candidates]).reshape(shape)
    similar: NDArray[np.float64] = np.divide(
        products.reshape(shape), norms, out=np.zeros(shape), where=norms > 0
    )
    return similar
