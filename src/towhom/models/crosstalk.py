"""Crosstalk as a selector on a corpus, for comparison with the paper's systems on the paper's task.

It works as in a live session: a document is analysed once, and candidates are drafts at the place of the
response. Only the speaker of the response itself is visible.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from towhom.batching import Batcher, Questions
from towhom.chat import Message
from towhom.corpus import Corpus
from towhom.crosstalk.columns import NOBODY, OF_TEXT, Columns, Numbers, columns_of, joined
from towhom.crosstalk.mind import Answerable, Mind, Texts
from towhom.hearing.ear import Ear
from towhom.hearing.lexicon import Lexicon
from towhom.hearing.utterance import REACH, Utterance
from towhom.models.base import Selector
from towhom.selection import Rule, Scores

_DOCUMENTS = 8
"""Number of analysed documents that are kept in memory."""
_SOMEBODY = "somebody"
"""The speaker of drafts."""
_ROWS = 512
"""Number of drafts per pass."""


class _Document(NamedTuple):
    """An analysed document."""

    columns: Columns
    said: Answerable
    drafts: Columns
    """The same texts as drafts, without their addressees."""
    drafted: Texts
    ear: Ear
    people: Numbers


@dataclass(frozen=True)
class _DraftQuestions(Questions):
    """Questions whose candidates are drafts at places of a document."""

    parts: tuple[tuple[_Document, NDArray[np.int64], NDArray[np.int64]], ...] = ()
    """For each document: the document, the places of the responses, and (B, C) those of the candidates."""


class _Documents(Batcher):
    """Makes questions from analysed documents."""

    def __init__(self, mind: Mind, lexicon: Lexicon, corpus: Corpus, **options: Any) -> None:
        super().__init__(corpus, **options)
        self._mind, self._lexicon = mind, lexicon
        self._heard: OrderedDict[int, _Document] = OrderedDict()

    def questions(
        self,
        samples: NDArray[np.int64],
        *,
        candidates: NDArray[np.uint32] | None = None,
        context: int | None = None,
    ) -> Questions:
        """The questions of some samples, in the order of their documents."""
        questions = super().questions(samples, candidates=candidates, context=context)
        chosen = self._candidates[samples] if candidates is None else candidates
        document = self._document[samples]
        parts = []
        for part in np.split(np.arange(len(samples)), np.flatnonzero(np.diff(document)) + 1):
            if len(part):
                start = int(self._start[samples[part[0]]])
                places = self._message[samples[part]].astype(np.int64) - start
                heard, drafts = self._with_drafts(int(document[part[0]]), chosen[part].astype(np.int64))
                parts.append((heard, places, drafts))
        return _DraftQuestions(**vars(questions), parts=tuple(parts))

    def _with_drafts(self, document: int, drafts: NDArray[np.int64]) -> tuple[_Document, NDArray[np.int64]]:
        """A document and the places of its candidates; texts from other documents are appended at the end."""
        heard = self._hear(document)
        start, stop = self.corpus.documents.messages[document : document + 2].tolist()
        loose, which = np.unique(drafts[(drafts < start) | (drafts >= stop)], return_inverse=True)
        places = drafts - start
        if len(loose):
            places[(drafts < start) | (drafts >= stop)] = stop - start + which
            texts = (self.corpus.utterances.text.slice(each, each + 1)[0] for each in loose.tolist())
            utterances = [heard.ear.imagine(Message(_SOMEBODY, text)) for text in texts]
            columns = joined([heard.drafts, columns_of(utterances, heard.people)])
            heard = heard._replace(drafts=columns, drafted=self._mind.read(utterances).after(heard.drafted))
        return heard, places

    def _hear(self, document: int) -> _Document:
        found = self._heard.pop(document, None)
        if found is None:
            ear, people = Ear(self._lexicon), Numbers()
            utterances, drafts = list[Utterance](), list[Utterance]()
            for message in self.corpus.conversation(document).messages:
                drafts.append(ear.imagine(Message(_SOMEBODY, message.text)))
                utterances.append(ear.hear(message))
            found = _Document(
                columns_of(utterances, people), self._mind.read(utterances).said,
                columns_of(drafts, people), self._mind.read(drafts), ear, people,
            )  # fmt: skip
        self._heard[document] = found
        if len(self._heard) > _DOCUMENTS:
            self._heard.popitem(last=False)
        return found


class Crosstalk(Selector):
    """Crosstalk, towhom's own model.

    Args:
        mind: The model.
        lexicon: The model's lexicon.
    """

    name = "crosstalk"
    rule = Rule.JOINT

    def __init__(self, mind: Mind, lexicon: Lexicon) -> None:
        self._mind, self._lexicon = mind, lexicon

    def batcher(
        self, corpus: Corpus, *, context: int, candidates: int, words: NDArray[np.int32] | None
    ) -> Batcher:
        """Make a batcher for a corpus; `words` is ignored, since the model has its own vocabulary."""
        return _Documents(self._mind, self._lexicon, corpus, context=context, candidates=candidates)

    def score_many(self, questions: Questions) -> Scores:
        """Probabilities for a batch of questions."""
        if not isinstance(questions, _DraftQuestions):
            raise TypeError("these questions are of no documents; ask the batcher of this selector for them")
        context, (size, candidates) = questions.context.shape[1], questions.candidates.shape
        energies = np.concatenate([self._energies(*part, context) for part in questions.parts])
        energies = energies.reshape(size, candidates, -1).astype(np.float64)
        odds = np.exp(energies - energies.max(axis=(1, 2), keepdims=True))
        people = questions.present.shape[1]
        # An own message of the responder leads to its addressee.
        leads = np.where(questions.sender == 0, questions.addressee, questions.sender)[:, ::-1]
        reach = min(context, REACH)
        to = (leads[:, :reach, None] == np.arange(people)).astype(np.float64)
        by_person = np.einsum("bct,btp->bpc", odds[:, :, :reach], to)
        by_person[:, 0] = np.where(questions.participants == 1, odds.sum(axis=2).T, 0.0).T
        with np.errstate(divide="ignore"):
            return Scores.of_pairs(np.log(by_person))

    def _energies(
        self, document: _Document, places: NDArray[np.int64], drafts: NDArray[np.int64], context: int
    ) -> NDArray[np.float32]:
        """(B x C, `REACH` + 1) Energies of each draft with each message it may answer; last, a start."""
        past, said = document.columns, document.said
        at, drafted = np.repeat(places, drafts.shape[1]), drafts.ravel()
        found = []
        for first in range(0, len(at), _ROWS):
            place, draft = at[first : first + _ROWS], drafted[first : first + _ROWS]
            texts = document.drafts.at(draft)
            new = past.at(place)._replace(
                **{name: getattr(texts, name) for name in OF_TEXT}, named=np.full(len(place), NOBODY)
            )
            looked = self._mind.first_look(
                past, new, place, said, document.drafted.at(draft),
                reach=np.full(len(place), context), timed=np.zeros(len(place), bool), weigh=True,
            )  # fmt: skip
            found.append(looked.energies)
        return np.concatenate(found)
