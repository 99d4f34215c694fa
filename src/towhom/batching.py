"""Turns samples into arrays. Only this module pads; it also defines the shape letters used everywhere.

B samples of a batch, T messages of context, P participants (the responder first), C candidates,
U distinct utterances of the batch, W words of an utterance, N tokens of all utterances, H hidden units.

Questions and answers are two types: everything that scores takes `Questions`, which has no labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from towhom.corpus import Corpus

NOBODY = -1
"""Stands for no message, no addressee, or somebody who is not among the participants."""


@dataclass(frozen=True)
class Questions:
    """The input of a selector: who said what to whom, who speaks next, and the candidates.

    Participants are numbered within each sample: 0 is the responder, then the speakers of the context, the
    most recent first. The candidate addressees are 1 to P - 1.
    """

    tokens: NDArray[np.int32]
    """(N,) Word ids of the distinct utterances, one after the other."""
    offsets: NDArray[np.int64]
    """(U + 1,) Where each utterance begins."""
    context: NDArray[np.int32]
    """(B, T) The utterances of the context, the latest last; shorter contexts have `NOBODY` in front."""
    sender: NDArray[np.int32]
    """(B, T) The speaker of each."""
    addressee: NDArray[np.int32]
    """(B, T) The addressee of each; `NOBODY` if it is nobody in particular, not present, or the speaker."""
    participants: NDArray[np.int32]
    """(B,) Number of participants, including the responder."""
    candidates: NDArray[np.int32]
    """(B, C) The utterances to choose from."""
    speakers_so_far: NDArray[np.int32]
    """(B,) Number of people who have spoken in the document, including the responder."""

    def __len__(self) -> int:
        return len(self.participants)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(U,) Number of words of each utterance."""
        return np.diff(self.offsets)

    @property
    def present(self) -> NDArray[np.bool_]:
        """(B, P) Which participants exist; P is the largest number in any sample."""
        most = int(self.participants.max(initial=1))
        return np.arange(most)[None, :] < self.participants[:, None]


@dataclass(frozen=True)
class Answers:
    """The labels: for losses and metrics, never for scoring."""

    addressee: NDArray[np.int32]
    """(B,) The true addressee; `NOBODY` if they are not among the candidates."""
    response: NDArray[np.int32]
    """(B,) The true candidate."""


class Batcher:
    """Makes questions and answers from the samples of a corpus.

    Args:
        corpus: The corpus that has the samples.
        context: T, the number of messages before the response.
        candidates: C, the size of the set of candidates to use.
        max_words: Number of words of an utterance that are used; None for all.
        words: (V,) The model's id for every word of the corpus; None to leave them as they are.
        distinct: Whether an utterance that occurs several times in a batch is included once. The plain
            computation, which the fast one is tested against, includes it each time.
    """

    def __init__(
        self,
        corpus: Corpus,
        *,
        context: int,
        candidates: int,
        max_words: int | None = 20,
        words: NDArray[np.int32] | None = None,
        distinct: bool = True,
    ) -> None:
        self.corpus = corpus
        self.context = context
        self.candidates = candidates
        self._max_words = max_words
        self._words = words
        self._distinct = distinct
        samples, documents = corpus.samples, corpus.documents
        self._message = samples.message
        self._document = np.searchsorted(documents.messages, self._message, side="right") - 1
        self._start = documents.messages[self._document]
        self._so_far = _speakers_so_far(corpus)[self._message]
        self._candidates = samples.candidates[candidates]
        self._label = samples.labels[candidates]

    def questions(
        self,
        samples: NDArray[np.int64],
        *,
        candidates: NDArray[np.uint32] | None = None,
        context: int | None = None,
    ) -> Questions:
        """The questions of some samples.

        Args:
            samples: (B,) Numbers of samples in the corpus.
            candidates: (B, C) Utterances to choose from instead of those in the corpus, for training; from
                the sample's own document.
            context: T, if it differs from the default.
        """
        positions, sender, addressee, participants = self._participants(samples, context)[:4]
        chosen = self._candidates[samples] if candidates is None else candidates
        said = np.where(positions >= 0, positions, 0)
        everything = np.concatenate([said.ravel(), chosen.ravel().astype(np.int64)])
        if self._distinct:
            utterances, places = np.unique(everything, return_inverse=True)
        else:
            utterances, places = everything, np.arange(len(everything))
        tokens, offsets = self._tokens(utterances)
        heard = places[: said.size].reshape(said.shape)
        return Questions(
            tokens=tokens,
            offsets=offsets,
            context=np.where(positions >= 0, heard, NOBODY).astype(np.int32),
            sender=sender,
            addressee=addressee,
            participants=participants,
            candidates=places[said.size :].reshape(chosen.shape).astype(np.int32),
            speakers_so_far=self._so_far[samples],
        )

    def answers(self, samples: NDArray[np.int64], *, context: int | None = None) -> Answers:
        """The answers of some samples."""
        return Answers(self.addressees(samples, context=context), self._label[samples].astype(np.int32))

    def addressees(self, samples: NDArray[np.int64], *, context: int | None = None) -> NDArray[np.int32]:
        """(B,) The true addressee of each sample, as in `Answers`."""
        return self._participants(samples, context)[4]

    def _participants(
        self, samples: NDArray[np.int64], context: int | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """The context's messages, senders and addressees; the number of participants; the true addressee."""
        messages = self.corpus.messages
        message = self._message[samples].astype(np.int64)
        context = context or self.context
        # The latest first: the order in which participants are numbered.
        positions = message[:, None] - np.arange(1, context + 1)
        there = positions >= self._start[samples][:, None]
        safe = np.where(there, positions, 0)
        speaker = np.where(there, messages.speaker[safe], NOBODY)
        to = np.where(there, messages.addressee[safe], NOBODY)
        responder = messages.speaker[message][:, None]
        latest = (speaker[:, :, None] == speaker[:, None, :]).argmax(axis=2)  # (B, T) of the same speaker
        new = there & (latest == np.arange(context)) & (speaker != responder)
        numbers = np.cumsum(new, axis=1)
        sender = np.where(speaker == responder, 0, np.take_along_axis(numbers, latest, axis=1))

        def number(people: NDArray[np.int32]) -> NDArray[np.int32]:
            """The numbers of people among the participants; `NOBODY` for others."""
            match = people[:, :, None] == speaker[:, None, :]
            found = np.take_along_axis(sender, match.argmax(axis=2), axis=1)
            known = np.where(match.any(axis=2), found, np.where(people == responder, 0, NOBODY))
            return np.where(people == NOBODY, NOBODY, known).astype(np.int32)

        addressee = number(to)
        addressee[addressee == sender] = NOBODY
        true = number(messages.addressee[message][:, None])[:, 0]
        true[true == 0] = NOBODY
        sender = np.where(there, sender, NOBODY).astype(np.int32)
        participants = (1 + new.sum(axis=1)).astype(np.int32)
        positions = np.where(there, positions, NOBODY)
        # Copies, since torch takes no array with negative strides, not even of a single message.
        backwards = (each[:, ::-1].copy() for each in (positions, sender, addressee))
        return *backwards, participants, true

    def _tokens(self, utterances: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The first words of some utterances, and the offsets at which each utterance begins."""
        starts = self.corpus.utterances.offsets[utterances]
        lengths = self.corpus.utterances.offsets[utterances + 1] - starts
        if self._max_words is not None:
            lengths = np.minimum(lengths, self._max_words)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        tokens = self.corpus.utterances.tokens[places]
        return (tokens.astype(np.int32) if self._words is None else self._words[tokens]), offsets


def entries(
    offsets: NDArray[np.int64], utterances: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The indices of all entries of some utterances, and for each entry the place of its utterance.

    Args:
        offsets: (U + 1,) Where the entries of each utterance begin.
        utterances: The numbers of the utterances.
    """
    starts = offsets[utterances]
    lengths = offsets[utterances + 1] - starts
    owner = np.repeat(np.arange(len(utterances)), lengths)
    return np.arange(len(owner)) + (starts - (np.cumsum(lengths) - lengths))[owner], owner


def _speakers_so_far(corpus: Corpus) -> NDArray[np.int32]:
    """(M,) Number of speakers so far. They are numbered as they appear, so the highest number tells it."""
    result = np.empty(len(corpus.messages.speaker), np.int32)
    for start, stop in pairwise(corpus.documents.messages.tolist()):
        result[start:stop] = np.maximum.accumulate(corpus.messages.speaker[start:stop]) + 1
    return result
