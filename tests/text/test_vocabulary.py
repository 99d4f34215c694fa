"""The words of a model."""

from __future__ import annotations

import numpy as np

from towhom.text.vectors import WordVectors
from towhom.text.vocabulary import UNKNOWN_ID, ModelVocabulary

VECTORS = WordVectors(("yes", "no", "maybe"), np.array([[1, 0], [3, 4], [9, 9]], dtype=np.float32))


def test_words_that_have_a_vector_in_the_order_they_are_given() -> None:
    vocabulary = ModelVocabulary.of(VECTORS, ("no", "<name>", "yes"))
    assert vocabulary.words == ("no", "yes")
    assert vocabulary.matrix.dtype == np.float32
    assert vocabulary.matrix.tolist() == [[2, 2], [3, 4], [1, 0]]  # first the mean of those that are known


def test_ids() -> None:
    vocabulary = ModelVocabulary.of(VECTORS, ("no", "yes"))
    ids = vocabulary.ids(["yes", "maybe", "no", "No", "yes"])
    assert ids.dtype == np.int32
    assert ids.tolist() == [2, UNKNOWN_ID, 1, UNKNOWN_ID, 2]
    assert vocabulary.matrix[ids[0]].tolist() == [1, 0]
    assert vocabulary.ids([]).tolist() == []


def test_no_word_is_known() -> None:
    vocabulary = ModelVocabulary.of(VECTORS, ("perhaps",))
    assert vocabulary.words == ()
    assert vocabulary.matrix.tolist() == [[0, 0]]
    assert vocabulary.ids(["perhaps", "yes"]).tolist() == [UNKNOWN_ID] * 2
