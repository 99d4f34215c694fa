"""What the messages of a context say about a pair of addressee and response, as far as it can be counted.

Nothing is learned here, so training and the NumPy runtime share it. All of it is about the context, the
candidates' own texts, and who has spoken so far: a candidate's place in the document, or whether somebody
said it there, is nowhere in sight.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.batching import ELSEWHERE, NOBODY, Letters, Questions, entries
from towhom.corpus import Corpus
from towhom.corpus.vocabulary import SPECIAL
from towhom.models.configs import CrosstalkConfig
from towhom.text.pieces import PIECE_WEIGHTS, pieces

Array = NDArray[np.float32]

EMBEDDING_SCALE = 0.3
"""Embeddings of utterances have this root mean square."""
LEAST = 0.3
"""To the weight of an utterance, before a share of it is taken: what says little has little in common."""
ADDED = 0.02
"""To sums of exponents, so that the logarithm of none at all is finite."""
LARGEST = 8.0
"""Exponents are cut off there."""

_QUESTION_MARK = pieces("?")[0]

# By whom and to whom a message is, seen from a candidate addressee: the sender is the responder, the
# candidate or another; so is whom it addresses, by name in front or, weaker, by a mention inside the text; or
# it is for nobody.
_RESPONDER, _CANDIDATE, _OTHER = range(3)
_TO_NOBODY, _MENTIONS = 3, 4
_TO = 7
ROLES = 3 * _TO

PAIR_FEATURES = ("log of common weight", "cosine", "share of the response", "rarest common piece", "same",
                 "common pieces", "the response names its sender")  # fmt: skip
MESSAGE_FEATURES = ("its sender speaks later", "its sender spoke before", "its sender is addressed later",
                    "the responder addresses its sender later", "asks", "length", "the responder speaks next",
                    "continues the sender's own", "names the responder", "names somebody")  # fmt: skip
_NAMING = MESSAGE_FEATURES.index("names the responder")
ADDRESSEE_FEATURES = ("order", "messages by", "messages to", "named in the response",
                      "another is named in the response", "somebody absent is named")  # fmt: skip
RESPONSE_FEATURES = ("length", "weight", "names")
LINK_FEATURES = ("cosine", "rarest common piece")
LINKS = ("the responder answers it", "it answers the responder", "another answers it", "it answers another")
"""Which other messages of the context are compared with a message, to find conversations that name nobody."""


class Evidence(NamedTuple):
    """What is known of B samples; T messages, C candidates, P participants."""

    pairs: Array
    """(B, T, C, F) Of a message and a response."""
    messages: Array
    """(B, T, F) Of a message, whatever is answered."""
    roles: NDArray[np.int64]
    """(B, T, 3) Its role for a candidate who has no part in it, for its sender, and for whom it addresses."""
    there: NDArray[np.bool_]
    """(B, T) Whether there is such a message."""
    by: Array
    """(B, P, T) 1 where a candidate addressee says the message."""
    to: Array
    """(B, P, T) 1 where they are the one it addresses or, if nobody, mentions."""
    addressees: Array
    """(B, P, C, F) Of a candidate addressee and a response."""
    responses: Array
    """(B, C, F) Of a response."""
    common: Array
    """(B, T, T, F) Of a message, and of another as if it answered it. Of one and itself, it means nothing."""
    links: Array
    """(B, T, T) 1 where the other is later, and somebody else's: it may be an answer."""
    own: Array
    """(B, T) 1 where the responder says the message."""


def sought(config: CrosstalkConfig) -> tuple[bool, ...]:
    """Which parts of the evidence a configuration wants."""
    return config.overlap, config.names, config.turns, config.links


def gather(questions: Questions, weights: Array, config: CrosstalkConfig) -> Evidence:
    """The evidence of a batch. What a configuration leaves out is as if it were never so.

    Args:
        questions: With letters.
        weights: (`PIECE_WEIGHTS`,) How much it tells to have a piece in common.
        config: Which parts are wanted.
    """
    letters = questions.letters
    if letters is None:
        raise ValueError("the questions have no letters; ask the batcher for them")
    sender, addressee = questions.sender, questions.addressee
    size, context = sender.shape
    there = sender != NOBODY
    people = np.arange(questions.present.shape[1], dtype=np.int32)
    mentions = letters.mentions if config.names else np.full_like(letters.mentions, NOBODY)
    named, drafts = mentions[:, :context], mentions[:, context:]
    mentioned = np.where((addressee == NOBODY) & (named[..., 0] != sender), named[..., 0], NOBODY)
    reached = np.where(addressee != NOBODY, addressee, np.maximum(mentioned, NOBODY))
    by = (sender[:, None] == people[:, None]).astype(np.float32)
    to = (reached[:, None] == people[:, None]).astype(np.float32)
    by[:, 0] = to[:, 0] = 0.0
    piece_weights = weights[letters.pieces & np.uint32(PIECE_WEIGHTS - 1)] * np.float32(config.overlap)
    totals = summed(piece_weights, letters.offsets)
    pairs = np.empty((size, context, questions.candidates.shape[1], len(PAIR_FEATURES)), np.float32)
    pairs[..., -1] = (drafts[:, None] == sender[:, :, None, None]).any(axis=3) & there[:, :, None]
    common = np.empty((size, context, context, len(LINK_FEATURES)), np.float32)
    for sample in range(size):
        said, drafted = questions.context[sample], questions.candidates[sample]
        pairs[sample, ..., :-1], common[sample] = _overlap(letters, piece_weights, totals, said, drafted)
    messages = _messages(questions, letters, named, reached)
    messages[..., :_NAMING] *= config.turns
    return Evidence(
        pairs=pairs,
        messages=messages,
        roles=_roles(sender, addressee, mentioned),
        there=there,
        by=by,
        to=to,
        addressees=_addressees(drafts, by, to),
        responses=_responses(questions, drafts, totals),
        common=common,
        links=_links(sender) * np.float32(config.links),
        own=(sender == 0).astype(np.float32),
    )


class Sizes(NamedTuple):
    """How many numbers of each kind the network reads."""

    matches: int
    """Of a message and a response."""
    turns: int
    """Of a message."""
    sums: tuple[int, ...]
    """Of a pair, part by part: summed over the messages that a candidate says, that are for them, and all
    others; the strongest of the first two; what is known of the candidate; what the response says."""


def sizes(config: CrosstalkConfig) -> Sizes:
    """Those of a configuration."""
    similar = config.towers + 1
    return Sizes(
        similar + len(PAIR_FEATURES),
        len(MESSAGE_FEATURES) + len(LINKS) * (similar + len(LINK_FEATURES)),
        (*[config.evidence] * 3, *[config.strongest] * 2, len(ADDRESSEE_FEATURES), config.content),
    )


def summed(values: Array, offsets: NDArray[np.int64]) -> Array:
    """(N, ...) -> (U, ...) The sum over each utterance, where theirs begin at `offsets`; 0 if it has none."""
    result = np.zeros((len(offsets) - 1, *values.shape[1:]), np.float32)
    some = np.flatnonzero(np.diff(offsets))
    if len(some):
        result[some] = np.add.reduceat(values, offsets[:-1][some], axis=0)
    return result


def _overlap(
    letters: Letters,
    weights: Array,
    totals: Array,
    context: NDArray[np.int32],
    candidates: NDArray[np.int32],
) -> tuple[Array, Array]:
    """(T, C, 6), (T, T, 2) What messages have in common with responses, and with each other.

    Rare pieces count more.
    """
    pairs = np.zeros((len(context), len(candidates), len(PAIR_FEATURES) - 1), np.float32)
    links = np.zeros((len(context), len(context), len(LINK_FEATURES)), np.float32)
    messages = int(np.count_nonzero(context != NOBODY))
    start = len(context) - messages  # what there is, is last
    utterances = np.concatenate([context[start:], candidates])
    where, which, first = _shared(letters, utterances)
    if not messages or not len(where):
        return pairs, links
    weight = weights[where[first]]
    # The rarest pieces come first, so that the first in common is the rarest.
    order = np.argsort(-weight)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    has = np.zeros((len(utterances), len(order)), np.float32)
    has[which, rank[np.cumsum(first) - 1]] = 1.0
    weight = weight[order]
    weighed = has[:messages] * weight
    raw, count = weighed @ has.T, (weighed > 0).astype(np.float32) @ has.T
    bits = np.packbits(has > 0, axis=1)
    rarest = 2.0 * _first_in_common(bits[:messages], bits, weight)
    total = totals[utterances]
    cosine = raw / np.sqrt((total[:messages, None] + np.float32(LEAST)) * (total + np.float32(LEAST)))
    links[start:, start:, 0], links[start:, start:, 1] = cosine[:, :messages], rarest[:, :messages]
    raw, of_message, of_response = raw[:, messages:], total[:messages, None], total[messages:]
    known = (
        np.log1p(raw),
        cosine[:, messages:],
        raw / (of_response + np.float32(LEAST)),
        rarest[:, messages:],
        (raw > 0.999 * of_response) & (raw > 0.999 * of_message) & (raw > 0),
        count[:, messages:] / np.float32(10),
    )
    for column, values in enumerate(known):
        pairs[start:, :, column] = values
    return pairs, links


def _shared(
    letters: Letters, utterances: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Where pieces are that occur more than once in some utterances, sorted; in which; if it is the first.

    Most occur once, and nothing can have them in common.
    """
    where, which = entries(letters.offsets, utterances)
    found = letters.pieces[where]
    order = np.argsort(found)
    first = np.ones(len(order), bool)
    first[1:] = found[order[1:]] != found[order[:-1]]
    shared = ~first
    shared[:-1] |= shared[1:]
    order = order[shared]
    return where[order], which[order], first[shared]


_HIGHEST_BIT = np.array([0] + [8 - number.bit_length() for number in range(1, 256)], np.int64)


def _first_in_common(ours: NDArray[np.uint8], theirs: NDArray[np.uint8], weight: Array) -> Array:
    """(M, U) The weight of the first piece that two utterances have, given as bits; 0 if there is none."""
    both = ours[:, None] & theirs
    byte = (both != 0).argmax(axis=2)
    value = np.take_along_axis(both, byte[..., None], axis=2)[..., 0]
    found: Array = np.where(value, weight[np.minimum(8 * byte + _HIGHEST_BIT[value], len(weight) - 1)], 0)
    return found


@cache
def _later(context: int) -> NDArray[np.bool_]:
    """(T, T) Whether the second message is later than the first."""
    return np.triu(np.ones((context, context), bool), 1)


def _roles(
    sender: NDArray[np.int32], addressee: NDArray[np.int32], mentioned: NDArray[np.int32]
) -> NDArray[np.int64]:
    is_mention = (addressee == NOBODY) & (mentioned >= 0)
    who = np.where(is_mention, mentioned, addressee)
    others = np.where(who == 0, _RESPONDER, _OTHER) + np.where(is_mention, _MENTIONS, 0)
    to = np.where(who < 0, _TO_NOBODY, others)
    to_candidate = np.where(who > 0, _CANDIDATE + np.where(is_mention, _MENTIONS, 0), to)
    said_by = np.where(sender == 0, _RESPONDER, _OTHER)
    roles = [said_by * _TO + to, _CANDIDATE * _TO + to, said_by * _TO + to_candidate]
    return np.stack(roles, axis=2).astype(np.int64)


def _messages(
    questions: Questions, letters: Letters, named: NDArray[np.int32], reached: NDArray[np.int32]
) -> Array:
    sender = questions.sender
    there = sender != NOBODY
    context = sender.shape[1]
    later = _later(context)
    same = (sender[:, :, None] == sender[:, None, :]) & there[:, :, None]
    answers = (sender[:, :, None] == reached[:, None, :]) & there[:, :, None] & later
    lengths = questions.lengths
    asks = np.zeros(len(lengths), bool)
    marks = np.flatnonzero(letters.pieces == _QUESTION_MARK)
    asks[np.searchsorted(letters.offsets, marks, side="right") - 1] = True
    responder_next, continues = np.zeros_like(there), np.zeros_like(there)
    responder_next[:, :-1] = sender[:, 1:] == 0
    continues[:, 1:] = same[:, np.arange(1, context), np.arange(context - 1)]
    columns = [
        (same & later).any(axis=2),
        (same & later.T).any(axis=2),
        answers.any(axis=2),
        (answers & (sender == 0)[:, None]).any(axis=2),
        asks[questions.context],
        lengths[questions.context] / 10,
        responder_next,
        continues,
        (named == 0).any(axis=2),
        (named != NOBODY).any(axis=2),
    ]
    result: Array = np.stack(columns, axis=2).astype(np.float32)
    result *= there[:, :, None]
    return result


def _links(sender: NDArray[np.int32]) -> Array:
    there, different = sender != NOBODY, sender[:, :, None] != sender[:, None, :]
    links = there[:, :, None] & there[:, None, :] & different & _later(sender.shape[1])
    result: Array = links.astype(np.float32)
    return result


def _addressees(drafts: NDArray[np.int32], by: Array, to: Array) -> Array:
    size, people, _ = by.shape
    candidates = drafts.shape[1]
    result = np.zeros((size, people, candidates, len(ADDRESSEE_FEATURES)), np.float32)
    result[..., 0] = (np.arange(people) / 10)[None, :, None]
    result[..., 1] = by.sum(axis=2)[:, :, None] / 5
    result[..., 2] = to.sum(axis=2)[:, :, None] / 5
    named = (drafts[:, None] == np.arange(people)[:, None, None]).any(axis=3)  # (B, P, C)
    named[:, 0] = False
    result[..., 3] = named
    result[..., 4] = (named.sum(axis=1, keepdims=True) - named) > 0
    result[..., 5] = (drafts == ELSEWHERE).any(axis=2)[:, None]
    return result


def _responses(questions: Questions, drafts: NDArray[np.int32], totals: Array) -> Array:
    candidates = questions.candidates
    columns = [
        questions.lengths[candidates] / 10,
        totals[candidates] / 5,
        (drafts != NOBODY).sum(axis=2),
    ]
    return np.stack(columns, axis=2).astype(np.float32)


def choices(questions: Questions) -> NDArray[np.bool_]:
    """(B, P) Who can be addressed; the responder stands for nobody, where there is nobody else."""
    result = questions.present.copy()
    result[:, 0] = questions.participants == 1
    return result


def count(
    corpus: Corpus, words: NDArray[np.int32], size: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How rare words and pieces are in the training documents, from 0 to 1.

    Args:
        corpus: Where they are counted.
        words: (V,) The model's id for every word of it.
        size: How many words the model has.
    """
    counts = corpus.vocabulary.counts.astype(np.float64)
    by_word, by_piece = np.zeros(size), np.zeros(PIECE_WEIGHTS)
    np.add.at(by_word, words, counts)
    for number, (word, times) in enumerate(zip(corpus.vocabulary.words, counts.tolist(), strict=True)):
        if number >= len(SPECIAL):
            for piece in pieces(word):
                by_piece[piece & (PIECE_WEIGHTS - 1)] += times
    weights = _rarity(by_word)
    weights[words[: len(SPECIAL)]] *= 0.1  # what is not known, and names, tell little
    return weights.astype(np.float32), _rarity(by_piece).astype(np.float32)


def _rarity(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    total = max(counts.sum(), 2.0)
    rarity: NDArray[np.float64] = np.log(total / np.maximum(counts, 1.0)) / np.log(total)
    return rarity
