"""What a session asks its model: messages and drafts as arrays, and which answers there may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from towhom.batching import ELSEWHERE, NOBODY, Letters, Questions
from towhom.corpus.mentions import MOST
from towhom.hearing.people import People
from towhom.hearing.words import normalized
from towhom.live.addressees import Turn

_LITTLE = 0.5
"""What letters in common are worth at most, in logarithmic probability."""


def make_question(
    responder: str,
    drafts: list[Turn],
    context: list[Turn],
    people: People,
    *,
    letters: bool,
    others: Sequence[str | None] = (),
) -> tuple[Questions, list[Turn], list[str]]:
    """One question for a model, as `Batcher` makes them; its messages; people, the responder first.

    Args:
        responder: Who speaks next.
        drafts: What they may say.
        context: What was said before, the latest last.
        people: Who is there.
        letters: Whether the model wants to know what words are made of.
        others: Who else may be meant.
    """
    numbers: dict[str | None, int] = {responder: 0}
    for turn in reversed(context):
        numbers.setdefault(turn.utterance.speaker, len(numbers))
    for other in others:  # who is named but has not spoken of late has only listened
        if other is not None:
            numbers.setdefault(other, len(numbers))
    sender = [numbers[turn.utterance.speaker] for turn in context]
    addressee = [numbers.get(turn.utterance.addressee, NOBODY) for turn in context]
    turns = context + drafts
    questions = Questions(
        tokens=np.concatenate([turn.utterance.tokens for turn in turns]),
        offsets=offsets_of(turns),
        context=np.arange(len(context), dtype=np.int32)[None],
        sender=np.array([sender], np.int32),
        addressee=np.array([addressee], np.int32),
        participants=np.array([len(numbers)], np.int32),
        candidates=np.arange(len(context), len(turns), dtype=np.int32)[None],
        speakers_so_far=np.array([max(people.spoken, 1)], np.int32),
        letters=_letters_of(responder, turns, numbers, people) if letters else None,
    )
    return questions, turns, [id for id in numbers if id is not None]


def _letters_of(
    responder: str, turns: list[Turn], numbers: Mapping[str | None, int], people: People
) -> Letters:
    """What the words are made of, and who is named of those who have spoken, or are about to."""
    mentions = np.full((1, len(turns), MOST), NOBODY, np.int32)
    about_to = responder.lower()
    for place, turn in enumerate(turns):
        column = 0
        for word in turn.utterance.names:
            who = people.spoken_as(word) or (responder if word == about_to else None)
            if who is not None and column < MOST:
                mentions[0, place, column] = numbers.get(who, ELSEWHERE)
                column += 1
    return Letters(
        np.concatenate([turn.utterance.pieces for turn in turns]),
        np.array([0, *accumulate(len(turn.utterance.pieces) for turn in turns)], np.int64),
        mentions,
    )


def allowed_pairs(context: list[Turn], ids: list[str], to: list[str | None]) -> NDArray[np.bool_]:
    """(P, C) Which pairs there may be: a candidate that calls somebody is for them.

    The responder's row, the first, stands for nobody: where nobody else is there.
    """
    spoke = {turn.utterance.speaker for turn in context}
    # Who has not spoken is there only because a candidate names them.
    others = [id in spoke for id in ids[1:]]
    allowed = np.repeat(np.array([[not any(others)], *([each] for each in others)]), len(to), axis=1)
    for place, who in enumerate(to):
        if who is not None:
            allowed[:, place] = [id == who for id in ids]
    return allowed


def likeness_by_letters(context: list[Turn], drafts: list[Turn], ids: list[str]) -> NDArray[np.float64]:
    """(P, C) What a draft has in common with what somebody said, letter by letter.

    It is little, and counts only where the model knows no word of a draft: drafts of any script differ.
    """
    likeness = np.zeros((len(ids), len(drafts)))
    foreign = [place for place, draft in enumerate(drafts) if not draft.utterance.tokens.any()]
    if not foreign:
        return likeness
    said = {id: Counter[str]() for id in ids}
    for turn in context:
        if turn.utterance.speaker in said:
            said[turn.utterance.speaker].update(_pairs_of_letters(turn.utterance.text))
    everything = sum(said.values(), Counter[str]())
    for place in foreign:
        draft = _pairs_of_letters(drafts[place].utterance.text)
        length = max(len(draft), 1)
        whole = sum(pair in everything for pair in draft) / length
        for row, id in enumerate(ids):
            own = sum(pair in said[id] for pair in draft) / length
            # The length parts drafts that have nothing in common with anything.
            likeness[row, place] = _LITTLE * (own + whole / 4 + 1 / (8 + 8 * length))
    return likeness


def _pairs_of_letters(text: str) -> list[str]:
    plain = normalized(text)
    return [plain[at : at + 2] for at in range(len(plain) - 1) if not plain[at : at + 2].isspace()]


def embeddings_of(turns: list[Turn]) -> NDArray[np.float32]:
    """(U, H) Of messages that have been encoded."""
    found = np.concatenate([turn.embedding for turn in turns if turn.embedding is not None])
    return found.reshape(len(turns), -1)


def offsets_of(turns: list[Turn]) -> NDArray[np.int64]:
    """Where each of some messages begins, if their tokens stand one after the other."""
    return np.array([0, *accumulate(len(turn.utterance.tokens) for turn in turns)], np.int64)
