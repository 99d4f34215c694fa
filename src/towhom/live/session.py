"""A channel followed message by message."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from itertools import accumulate, islice
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from towhom.batching import COMMON_WORDS, ELSEWHERE, NOBODY, Letters, Questions
from towhom.chat import Kind, Message, seconds_since_1970
from towhom.corpus.mentions import MOST, SHORTEST
from towhom.errors import SessionError
from towhom.files import atomic_file
from towhom.live.addressees import NO_PIECES, NO_TOKENS, REACH, Features, ModelScores, Said, features
from towhom.live.answers import Addressee, How, Observation, Selection, Verdict
from towhom.live.reasons import reason_for
from towhom.people import NAME_LIKE, People
from towhom.text.tokenizer import tokenize

if TYPE_CHECKING:
    from towhom.live.model import Model

FORMAT, VERSION = "towhom-session", 1
_SPOKEN = (Kind.MESSAGE, Kind.ACTION, Kind.NOTICE)
_UNREADABLE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError
)  # fmt: skip
"""What comes of reading a damaged state."""
_KEPT = 0.05
"""Probabilities below this are not remembered."""
_LONGEST = 4000
"""Characters of a message that are kept: far more than the words that a model reads."""
_LARGEST = 50.0
"""Scores are cut off there, within what `exp` can take; those of a trained model are far from it."""
_TELLING = 0.4
"""Words with less weight than this are in every other message."""


class Session:
    """What has been said in one channel, as far as a model needs it: the last messages, and who there is.

    Memory is bounded however long the channel lives. Sessions of one model may run in many threads; calls
    on one session wait for each other.

    Args:
        model: What answers.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.people = People()
        self._past: deque[Said] = deque(maxlen=max(REACH, model.context))
        self._last: Observation | None = None
        self._lock = RLock()

    def introduce(self, name: str, *aliases: str) -> None:
        """Make somebody known who may not have spoken yet: a bot, with all the names that it listens to."""
        with self._lock:
            self.people.introduce(name, aliases)

    def observe(self, message: Message) -> Observation:
        """Take the next message; returns to whom it is addressed.

        A line that is no message (somebody joins) changes nothing, and is for nobody.
        """
        if message.kind not in _SPOKEN:
            nobody = (Addressee(None, 1.0),)
            return Observation(message, nobody, How.INFERRED, "it is not a message")
        with self._lock:
            said = self._said(message.speaker, message.text, message.addressee, message.time)
            found, probabilities = self._addressees(said)
            self._hear(said)
            said.meant = {
                name: float(p)
                for name, p in zip((*found.names, None), probabilities, strict=True)
                if p >= _KEPT
            }
            if said.addressee != message.addressee:
                # What was cut off in front; a long message is kept in part, and shown in whole.
                text = message.text[len(message.text[:_LONGEST]) - len(said.text) :]
                message = Message(
                    message.speaker, text, said.addressee, message.time, message.id,
                    message.reply_to, message.kind, message.channel, message.line,
                )  # fmt: skip
            self._last = self._observation(message, said, found, probabilities)
            return self._last

    def rank_addressees(self, speaker: str, text: str) -> tuple[Addressee, ...]:
        """Whom it would be for if somebody said it now, the likeliest first. Nothing is remembered."""
        with self._lock:
            said = self._said(speaker, text, None, None)
            return _ranked(said, *self._addressees(said))

    def is_for(self, name: str, *, threshold: float = 0.5) -> Verdict:
        """Whether the last message is for somebody.

        Args:
            name: Who; introduced, if they may not have spoken.
            threshold: How likely it must be. Probabilities are calibrated: of the messages for which this
                says 0.8, about eight in ten are.
        """
        with self._lock:
            if self._last is None:
                return Verdict(False, 0.0, "nothing has been said yet")
            who = self.people.known_as(name) or name
            last = self._last
            if last.message.speaker == who:
                return Verdict(False, 0.0, f"{who} said it")
            probability = sum(each.probability for each in last.addressees if each.name == who)
            return Verdict(probability >= threshold, probability, last.reason)

    def select(self, responder: str, candidates: Sequence[str]) -> list[Selection]:
        """All pairs of addressee and response, the likeliest first.

        Args:
            responder: Who speaks next.
            candidates: What they may say. One that begins with somebody's name is for them.

        Raises:
            SessionError: There are no candidates.
        """
        if isinstance(candidates, str) or not candidates:
            raise SessionError("there is no candidate to select from; give a list of one or more")
        with self._lock:
            drafts = [self._said(responder, candidate, None, None) for candidate in candidates]
            self._encode(drafts)
            to = [None if draft.addressee == responder else draft.addressee for draft in drafts]
            questions, utterances, names = self._questions(responder, drafts, others=to)
            allowed, states = _allowed(utterances[: -len(drafts)], names, to), _states(utterances)
        scores = self.model.runtime.score_encoded(questions, states)
        pairs = self.model.pair_probabilities(scores, allowed)
        found = [
            Selection(name if row else None, candidates[place], place, float(pairs[row, place]))
            for row, name in enumerate(names)
            for place in range(len(candidates))
            if pairs[row, place] >= 0
        ]
        # Sorted by probability; what is said first breaks ties, so that the same question has one answer.
        return sorted(found, key=lambda each: -each.probability)

    def closest_names(self, name: str) -> list[str]:
        """Names of the channel that are like a given one, for error messages."""
        with self._lock:
            known = {each.lower(): each for each in (*self.people.names, *self.people.introduced)}
        return [known[each] for each in get_close_matches(name.lower(), known, n=3, cutoff=0.5)]

    def state(self) -> dict[str, Any]:
        """What the session knows, as JSON can hold it: the last messages, and the names."""
        with self._lock:
            return self._state()

    def save(self, path: str | Path) -> None:
        """Write what the session knows to a small file."""
        with atomic_file(Path(path), "w") as file:
            json.dump(self.state(), file)

    def restore(self, path: str | Path) -> None:
        """Go on where `save` was; what the session knew is replaced.

        Raises:
            SessionError: The file is not what `save` writes.
        """
        path = Path(path)
        try:
            state = json.loads(path.read_text("utf-8"))
        except _UNREADABLE as error:
            raise SessionError(f"{path}: the state cannot be read ({error!r})") from error
        try:
            self.resume(state)
        except SessionError as error:
            raise SessionError(f"{path}: {error}") from error

    def resume(self, state: Any) -> None:
        """Go on where `state` was; what the session knew is replaced.

        Raises:
            SessionError: It is not what `state` gave.
        """
        if not isinstance(state, dict) or state.get("format") != FORMAT:
            raise SessionError("this is not the state of a session")
        if state.get("version") != VERSION:
            raise SessionError(f"the session has format version {state.get('version')}, expected {VERSION}")
        fresh = Session(self.model)
        try:
            fresh._restore(state)
        except _UNREADABLE as error:
            raise SessionError(f"the state cannot be read ({error!r})") from error
        with self._lock:
            self.people, self._past, self._last = fresh.people, fresh._past, fresh._last

    # -- inside

    def _said(self, speaker: str, text: str, addressee: str | None, time: datetime | None) -> Said:
        """A message with what is said outright in it, and its words."""
        text = text[:_LONGEST]
        if addressee is not None:
            addressee = self.people.known_as(addressee) or addressee
        else:
            addressee, text = self.people.named_in_front(text) or (None, text)
        said = Said(speaker, text, addressee, None if time is None else seconds_since_1970(time))
        self._tokenize(said)
        return said

    def _tokenize(self, said: Said) -> None:
        lexicon, is_name, words = self.model.lexicon, self.people.is_name, tokenize(said.text)
        said.tokens = lexicon.tokens(words, is_name)
        if self.model.runtime.letters:
            said.pieces = lexicon.pieces(words, is_name)
            said.names = tuple(
                word
                for word in dict.fromkeys(words)
                if len(word) >= SHORTEST and not 0 < lexicon.ids.get(word, 0) <= COMMON_WORDS
            )
        said.words = tuple(dict.fromkeys(word for word in words if lexicon.weight(word) > _TELLING))
        said.question = "?" in words

    def _encode(self, messages: list[Said]) -> None:
        """Give messages their embeddings, all at once; those that have one keep it."""
        new = [said for said in messages if said.state is None]
        if new:
            tokens = np.concatenate([said.tokens for said in new])
            states = self.model.runtime.encode_utterances(tokens, _offsets(new))
            for said, state in zip(new, states, strict=True):
                said.state = state.copy()  # not a view: it would keep all the others alive

    def _hear(self, said: Said) -> None:
        """Remember a message."""
        if self.people.heard(said.speaker):
            self._resolve_calls(said.speaker)
        self._past.append(said)
        if len(self._past) > self.model.context:  # it has left the context
            left = self._past[-1 - self.model.context]
            left.state, left.tokens, left.pieces, left.names = None, NO_TOKENS, NO_PIECES, ()

    def _resolve_calls(self, newcomer: str) -> None:
        """Somebody speaks for the first time: those who called them before they did addressed them."""
        for said in self._past:
            named = self.people.named_in_front(said.text) if said.addressee is None else None
            if named is not None and named[0] == newcomer:
                said.addressee, said.text = named
                said.state = None
                self._tokenize(said)

    def _context(self) -> list[Said]:
        """The messages that the model sees, the latest last."""
        start = max(len(self._past) - self.model.context, 0)
        context = list(islice(self._past, start, None))
        self._encode(context)
        return context

    def _questions(
        self, responder: str, drafts: list[Said], others: Sequence[str | None] = ()
    ) -> tuple[Questions, list[Said], list[str]]:
        """One question for the model, as `Batcher` makes them; its utterances; names, the responder first."""
        context = self._context()
        numbers: dict[str | None, int] = {responder: 0}
        for said in reversed(context):
            numbers.setdefault(said.speaker, len(numbers))
        for other in others:  # who is named but has not spoken of late has only listened
            if other is not None:
                numbers.setdefault(other, len(numbers))
        sender = [numbers[said.speaker] for said in context]
        named = [numbers.get(said.addressee, NOBODY) for said in context]
        addressee = [NOBODY if to == sdr else to for to, sdr in zip(named, sender, strict=True)]
        utterances = context + drafts
        questions = Questions(
            tokens=np.concatenate([said.tokens for said in utterances]),
            offsets=_offsets(utterances),
            context=np.arange(len(context), dtype=np.int32)[None],
            sender=np.array([sender], np.int32),
            addressee=np.array([addressee], np.int32),
            participants=np.array([len(numbers)], np.int32),
            candidates=np.arange(len(context), len(utterances), dtype=np.int32)[None],
            speakers_so_far=np.array([max(len(self.people.names), 1)], np.int32),
            letters=self._letters(responder, utterances, numbers) if self.model.runtime.letters else None,
        )
        return questions, utterances, [name for name in numbers if name is not None]

    def _letters(self, responder: str, utterances: list[Said], numbers: Mapping[str | None, int]) -> Letters:
        """What the words are made of, and who is named of those who have spoken, or are about to."""
        mentions = np.full((1, len(utterances), MOST), NOBODY, np.int32)
        spoken, about_to = self.people.spoken, responder.lower()
        for place, said in enumerate(utterances):
            names = [word for word in said.names if word in spoken or word == about_to][:MOST]
            for column, word in enumerate(names):
                mentions[0, place, column] = numbers.get(spoken.get(word, responder), ELSEWHERE)
        return Letters(
            np.concatenate([said.pieces for said in utterances]),
            np.array([0, *accumulate(len(said.pieces) for said in utterances)], np.int64),
            mentions,
        )

    def _addressees(self, said: Said) -> tuple[Features, NDArray[np.float64]]:
        """Everybody who may be meant by a message that is about to be said, and how likely each is."""
        self._encode([said])
        questions, utterances, names = self._questions(said.speaker, [said])
        before, given = self.model.runtime.addressee_scores(questions, _states(utterances))
        before, given = before.clip(-_LARGEST, _LARGEST), given.clip(-_LARGEST, _LARGEST)
        model = dict(zip(names[1:], map(ModelScores, before[1:].tolist(), given[1:].tolist()), strict=True))
        lexicon = self.model.lexicon
        rare = [word for word in said.words if lexicon.weight(word) > NAME_LIKE]
        mentioned = self.people.mentioned(said.words, rare) - {said.speaker}
        found = features(
            self._past,
            said,
            model=model,
            mentioned=mentioned,
            others=tuple(self.people.introduced),
            weight=lexicon.weights,
        )
        return found, self.model.rank(found, said, model)

    def _observation(
        self, message: Message, said: Said, found: Features, probabilities: NDArray[np.float64]
    ) -> Observation:
        ranked = _ranked(said, found, probabilities)
        how = How.INFERRED if said.addressee is None or said.addressee == said.speaker else How.NAMED
        return Observation(message, ranked, how, reason_for(said, ranked[0], found))

    def _state(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "vocabulary": self.model.lexicon.fingerprint,
            "names": list(self.people.names),
            "introduced": {name: list(aliases) for name, aliases in self.people.introduced.items()},
            "messages": [
                {
                    "speaker": said.speaker,
                    "text": said.text,
                    "addressee": said.addressee,
                    "time": said.time,
                    "meant": list(said.meant.items()),
                    "tokens": said.tokens.tolist(),
                    **({"pieces": said.pieces.tolist()} if self.model.runtime.letters else {}),
                }
                for said in self._past
            ],
            "last": None
            if self._last is None
            else {
                "addressees": [[each.name, each.probability] for each in self._last.addressees],
                "how": self._last.how.value,
                "reason": self._last.reason,
            },
        }

    def _restore(self, state: dict[str, Any]) -> None:
        for name, aliases in state["introduced"].items():
            self.people.introduce(name, aliases)
        for name in state["names"]:
            self.people.heard(name)
        same_words = state["vocabulary"] == self.model.lexicon.fingerprint
        first = len(state["messages"]) - self.model.context
        for place, each in enumerate(state["messages"]):
            said = Said(
                _text(each["speaker"]), _text(each["text"]), _text_or_none(each["addressee"]),
                None if each["time"] is None else float(each["time"]),
            )  # fmt: skip
            said.meant = {_text_or_none(name): float(p) for name, p in each["meant"]}
            self._tokenize(said)
            self._past.append(said)
            if place < first:
                said.tokens, said.pieces, said.names = NO_TOKENS, NO_PIECES, ()
            else:
                # Names that were not known yet when it was said were unknown words, and had letters.
                if same_words:
                    said.tokens = np.array(each["tokens"], np.int32)
                    said.pieces = np.array(each.get("pieces", said.pieces), np.uint32)
                self._encode([said])
        if state["last"] is not None:
            last, said = state["last"], self._past[-1]
            self._last = Observation(
                Message(said.speaker, said.text, said.addressee),
                tuple(Addressee(name, float(p)) for name, p in last["addressees"]),
                How(last["how"]),
                str(last["reason"]),
            )


def _ranked(said: Said, found: Features, probabilities: NDArray[np.float64]) -> tuple[Addressee, ...]:
    every = [Addressee(n, float(p)) for n, p in zip((*found.names, None), probabilities, strict=True)]
    # Who is named outright comes first, whatever else speaks for somebody.
    named = None if said.addressee == said.speaker else said.addressee
    every.sort(key=lambda each: (named is None or each.name != named, -each.probability))
    return tuple(every)


def _allowed(context: list[Said], names: list[str], to: list[str | None]) -> NDArray[np.bool_]:
    """(P, C) Which pairs there may be: a candidate that names somebody is for them.

    The responder's row, the first, stands for nobody: where nobody else is there.
    """
    spoke = {said.speaker for said in context}
    # Who has not spoken is there only because a candidate names them.
    others = [name in spoke for name in names[1:]]
    allowed = np.repeat(np.array([[not any(others)], *([each] for each in others)]), len(to), axis=1)
    for place, who in enumerate(to):
        if who is not None:
            allowed[:, place] = [name == who for name in names]
    return allowed


def _states(utterances: list[Said]) -> NDArray[np.float32]:
    """(U, H) Embeddings of messages that have been encoded."""
    states = np.concatenate([said.state for said in utterances if said.state is not None])
    return states.reshape(len(utterances), -1)


def _offsets(messages: list[Said]) -> NDArray[np.int64]:
    """Where each of some messages begins, if their tokens stand one after the other."""
    return np.array([0, *accumulate(len(said.tokens) for said in messages)], np.int64)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, found {value!r}")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)
