"""Responses by tf-idf: the candidate whose vector has the highest cosine with the context's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from towhom.batching import Questions
from towhom.corpus import Corpus, Split


def inverse_document_frequency(corpus: Corpus) -> NDArray[np.float64]:
    """(V,) log(N / n) for each word: in n of the N messages of the training documents.

    A corpus without training documents, like a published test file, is counted as a whole: it is text alone.
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
    """(B, C) How similar each candidate is to everything said in the context.

    Args:
        questions: A batch, with all words of its utterances.
        idf: (V,) The weight of each word.
    """
    words, tokens = np.unique(questions.tokens, return_inverse=True)
    utterances = len(questions.offsets) - 1
    vectors = np.zeros((utterances, len(words)))
    np.add.at(vectors, (np.repeat(np.arange(utterances), questions.lengths), tokens), 1.0)
    vectors *= idf[words]
    said = np.zeros((len(questions), utterances))
    there = questions.context >= 0
    np.add.at(said, (np.nonzero(there)[0], questions.context[there]), 1.0)
    context = said @ vectors
    candidates = vectors[questions.candidates]  # (B, C, words)
    products = np.einsum("bw,bcw->bc", context, candidates)
    norms = np.linalg.norm(context, axis=1)[:, None] * np.linalg.norm(candidates, axis=2)
    similar: NDArray[np.float64] = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    return similar
