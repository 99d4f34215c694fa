"""Cases: the selection of each system for a sample, together with the truth, as in the paper's Table 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from towhom.batching import NOBODY, Batcher
from towhom.chat import Conversation, Message
from towhom.corpus import Corpus
from towhom.models.base import Selector
from towhom.selection import Choice, choose

_BATCH = 512


@dataclass(frozen=True)
class System:
    """A system to show: its selector, and its ids for the corpus's words."""

    selector: Selector
    words: NDArray[np.int32] | None = None


@dataclass(frozen=True)
class Selected:
    """The addressee and response that a system selected, and whether they are right."""

    addressee: str | None
    response: str
    right_addressee: bool
    right_response: bool


@dataclass(frozen=True)
class Case:
    """A sample in readable form."""

    sample: int
    context: tuple[Message, ...]
    responder: str
    addressee: str
    response: str
    candidates: tuple[str, ...]
    selected: dict[str, Selected]


def find_cases(
    systems: Mapping[str, System],
    corpus: Corpus,
    samples: Sequence[int] | NDArray[np.int64],
    *,
    context: int,
    candidates: int,
    telling: int | None = None,
) -> list[Case]:
    """Collect the selections of systems for some samples.

    Args:
        systems: The systems by the names to show; the one of interest last.
        corpus: The corpus with the samples.
        samples: The numbers of the samples.
        context: T, the number of context messages.
        candidates: C, the number of candidates.
        telling: Select this many of the most telling samples: the last system is right, many others are
            wrong, the addressee last spoke long ago, and there are many speakers. None for all samples.
    """
    numbers = np.asarray(samples, np.int64)
    choices = {
        name: _choices(system, corpus, numbers, context, candidates) for name, system in systems.items()
    }
    batcher = Batcher(corpus, context=context, candidates=candidates)
    answers = batcher.answers(numbers)
    places = np.arange(len(numbers))
    if telling is not None:
        right = {
            name: (choice.addressee == answers.addressee)
            & (answers.addressee != NOBODY)  # an absent addressee cannot be found, nor by choosing nobody
            & (choice.response == answers.response)
            for name, choice in choices.items()
        }
        *others, last = right.values()
        wrong = sum((~each for each in others), np.zeros(len(numbers), np.int64))
        far = np.minimum(corpus.samples.distance[numbers], context)
        score = np.where(last, wrong * 100 + far * 2 + _speakers(batcher, numbers), -1)
        places = np.argsort(-score, kind="stable")[:telling]
        places = places[score[places] >= 0]
    cases = []
    for place in places.tolist():
        chosen = {name: (choice, place) for name, choice in choices.items()}
        cases.append(_case(corpus, int(numbers[place]), chosen, context, candidates))
    return cases


def _choices(
    system: System, corpus: Corpus, samples: NDArray[np.int64], context: int, candidates: int
) -> Choice:
    selector = system.selector
    batcher = selector.batcher(corpus, context=context, candidates=candidates, words=system.words)
    parts = [
        choose(selector.score_many(batcher.questions(samples[start : start + _BATCH])), selector.rule)
        for start in range(0, len(samples), _BATCH)
    ]
    return Choice(
        np.concatenate([part.addressee for part in parts]), np.concatenate([part.response for part in parts])
    )


def _speakers(batcher: Batcher, samples: NDArray[np.int64]) -> NDArray[np.int64]:
    parts = [
        batcher.questions(samples[start : start + _BATCH]).participants
        for start in range(0, len(samples), _BATCH)
    ]
    return np.concatenate(parts).astype(np.int64)


def _case(
    corpus: Corpus, sample: int, choices: Mapping[str, tuple[Choice, int]], context: int, candidates: int
) -> Case:
    message = int(corpus.samples.message[sample])
    document = int(np.searchsorted(corpus.documents.messages, message, side="right")) - 1
    start = int(corpus.documents.messages[document])
    conversation = corpus.conversation(document)
    place = message - start
    said = conversation[place]
    before = Conversation(conversation.messages[max(0, place - context) : place])
    # Participants in the batcher's order: the responder, then the others, the most recent first.
    others = dict.fromkeys(m.speaker for m in reversed(before.messages) if m.speaker != said.speaker)
    participants = [said.speaker, *others]
    texts = [corpus.utterances.text[int(u)] for u in corpus.samples.candidates[candidates][sample]]
    label = int(corpus.samples.labels[candidates][sample])
    selected = {}
    for name, (choice, row) in choices.items():
        chosen, response = int(choice.addressee[row]), int(choice.response[row])
        addressee = None if chosen == NOBODY else participants[chosen]
        right = addressee is not None and addressee == said.addressee
        selected[name] = Selected(addressee, texts[response], right, response == label)
    return Case(
        sample, before.messages, said.speaker, said.addressee or "", texts[label], tuple(texts), selected
    )
