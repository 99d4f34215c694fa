"""A channel followed message by message."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from towhom.batching import Questions
from towhom.chat import Kind, Message
from towhom.errors import SessionError
from towhom.files import atomic_file
from towhom.hearing.ear import Ear
from towhom.hearing.manners import REASONS, Manner
from towhom.hearing.people import People
from towhom.hearing.spelling import shown_name
from towhom.hearing.utterance import CALLED, LONGEST, NO_TOKENS, SPOKEN, Utterance
from towhom.live.addressees import REACH, Features, ModelScores, Turn, features
from towhom.live.answers import Addressee, Audience, How, Observation, Selection, Verdict
from towhom.live.questions import (
    allowed_pairs,
    embeddings_of,
    likeness_by_letters,
    make_question,
    offsets_of,
)
from towhom.live.reasons import reason_for

if TYPE_CHECKING:
    from towhom.live.model import Model

FORMAT, VERSION = "towhom-session", 2
_UNREADABLE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError
)  # fmt: skip
"""What comes of reading a damaged state."""
_KEPT = 0.05
"""Probabilities below this are not remembered."""
_SILENT = 20
"""Of more people than this who were introduced and are silent, nobody is meant unless they are named."""
_LARGEST = 50.0
"""Scores are cut off there, within what `exp` can take; those of a trained model are far from it."""


class Session:
    """What has been said in one channel, as far as a model needs it: the last messages, and who there is.

    Memory is bounded however long the channel lives. Sessions of one model may run in many threads; calls
    on one session wait for each other.

    Args:
        model: What answers.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._ear = Ear(model.lexicon)
        self._past: deque[Turn] = deque(maxlen=max(REACH, model.context))
        self._last: Observation | None = None
        self._lock = RLock()

    @property
    def people(self) -> People:
        """Who is there."""
        return self._ear.people

    @property
    def history(self) -> list[Message]:
        """The messages that are remembered, the latest last, with names, and whom each is most likely for."""
        with self._lock:
            return [self._remembered(turn) for turn in self._past]

    def introduce(
        self,
        id: str | int,
        *aliases: str,
        name: str | None = None,
        bot: bool = False,
        here: bool = True,
    ) -> None:
        """Make somebody known who may not have spoken yet: a bot, with all the names that it listens to.

        Args:
            id: Their name, or their identifier on the platform.
            aliases: What else they are called.
            name: What people see, if `id` is an identifier.
            bot: Whether they are a program.
            here: Whether they are known to be in the room. What the only other one there says is for them.
        """
        with self._lock:
            self.people.introduce(str(id), name=name, aliases=aliases, bot=bot, here=here)

    def observe(self, message: Message) -> Observation:
        """Take the next message; says who it is for.

        `Kind.RENAME`, `Kind.EDIT` and `Kind.DELETE` change what is known. Other lines that are no message
        (somebody joins) change nothing, and are for nobody.
        """
        with self._lock:
            if message.kind is Kind.RENAME:
                if not self._ear.rename(message.speaker, message.text):
                    return _no_message(message, "nobody of that name is known, or the new name is none")
                old, new = shown_name(message.speaker), shown_name(message.text)
                return _no_message(message, f"{old} is called {new} from now on")
            if message.kind is Kind.EDIT:
                return self._edit(message)
            if message.kind is Kind.DELETE:
                return self._delete(message)
            if message.kind not in SPOKEN:
                return _no_message(message, "it is not a message")
            known = self.people.get(message.speaker)
            turn = Turn.of(self._ear.hear(message))
            if known is None or not known.spoken:
                self._meet(turn.utterance.speaker)
            self._last = self._judge(message, turn, list(self._past))
            self._remember(turn)
            return self._last

    def rank_addressees(self, speaker: str, text: str) -> tuple[Addressee, ...]:
        """Whom it would be for if somebody said it now, the likeliest first. Nothing is remembered."""
        with self._lock:
            turn = Turn.of(self._ear.imagine(Message(self._id(speaker), text)))
            return self._ranked(turn, *self._addressees(turn, list(self._past)))

    def is_for(self, name: str | int, *, threshold: float = 0.5) -> Verdict:
        """Whether the last message is for somebody. Several people may be meant at once.

        Args:
            name: Who, by a name or an identifier; introduced, if they may not have spoken.
            threshold: How likely it must be. Probabilities are calibrated: of the messages for which this
                says 0.8, about eight in ten are.
        """
        with self._lock:
            if self._last is None:
                reason = "the last message was taken back" if self._past else "nothing has been said yet"
                return Verdict(False, 0.0, reason)
            person = self.people.find(str(name))
            id = str(name) if person is None else person.id
            last = self._last
            if self.people.id_of(last.message.speaker) == id:
                return Verdict(False, 0.0, f"{self.people.name_of(id)} said it")
            probability = max((each.probability for each in last.addressees if each.id == id), default=0.0)
            everybody = last.audience is Audience.EVERYBODY
            return Verdict(probability >= threshold, probability, self._reason(id, last), everybody)

    def select(self, responder: str, candidates: Sequence[str]) -> list[Selection]:
        """All pairs of addressee and response, the likeliest first.

        Args:
            responder: Who speaks next.
            candidates: What they may say. One that calls somebody is for them.

        Raises:
            SessionError: There are no candidates.
        """
        if isinstance(candidates, str) or not candidates:
            raise SessionError("there is no candidate to select from; give a list of one or more")
        with self._lock:
            questions, turns, ids, to = self.question(responder, candidates)
            allowed = allowed_pairs(turns[: -len(candidates)], ids, to)
            letters = likeness_by_letters(turns[: -len(candidates)], turns[-len(candidates) :], ids)
            names = [self.people.name_of(id) for id in ids]
            # Before another thread goes on, and they leave the context.
            embeddings = embeddings_of(turns)
        scores = self.model.runtime.score_encoded(questions, embeddings)
        pairs = self.model.pair_probabilities(scores, allowed, letters)
        found = [
            Selection(
                name if row else None, candidates[place], place, float(pairs[row, place]), id if row else None
            )
            for row, (id, name) in enumerate(zip(ids, names, strict=True))
            for place in range(len(candidates))
            if pairs[row, place] >= 0
        ]
        # Sorted by probability; what is said first breaks ties, so that the same question has one answer.
        return sorted(found, key=lambda each: -each.probability)

    def question(
        self, responder: str, candidates: Sequence[str]
    ) -> tuple[Questions, list[Turn], list[str], list[str | None]]:
        """What `select` asks the model; the messages in it, the people, and whom each candidate calls."""
        with self._lock:
            id = self._id(responder)
            drafts = [Turn.of(self._ear.imagine(Message(id, text))) for text in candidates]
            self._encode(drafts)
            to = [draft.utterance.addressee for draft in drafts]
            return *self._ask(id, drafts, self._past, to), to

    def closest_names(self, name: str) -> list[str]:
        """Names of the channel that are like a given one, for error messages."""
        with self._lock:
            known = {name.lower(): name for person in self.people for name in person.names}
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
            self._ear, self._past, self._last = fresh._ear, fresh._past, fresh._last

    # -- inside

    def _id(self, name: str) -> str:
        """The identifier of whoever has a name, known or not."""
        person = self.people.find(str(name))
        return str(name) if person is None else person.id

    def _remembered(self, turn: Turn) -> Message:
        """A message as it is remembered, with names."""
        said = turn.utterance
        likeliest = max(turn.meant, key=turn.meant.__getitem__, default=None)
        to = likeliest if said.addressee is None else said.addressee
        time = None if said.time is None else datetime.fromtimestamp(said.time, UTC)
        return Message(
            self.people.name_of(said.speaker), said.text, None if to is None else self.people.name_of(to),
            time, said.id, said.reply_to, said.kind,
        )  # fmt: skip

    def _reason(self, id: str, last: Observation) -> str:
        """Why the last message is for somebody, or is not."""
        said = self._past[-1].utterance
        call = next((call for call in said.calls if call.who == id), None)
        if call is not None and call.manner is not Manner.INSIDE:
            return REASONS[call.manner].format(
                me=self.people.name_of(said.speaker), who=self.people.name_of(id)
            )
        return last.reason

    def _encode(self, turns: list[Turn]) -> None:
        """Give messages their embeddings, all at once; those that have one keep it."""
        new = [turn for turn in turns if turn.embedding is None]
        if new:
            tokens = np.concatenate([turn.utterance.tokens for turn in new])
            embeddings = self.model.runtime.encode_utterances(tokens, offsets_of(new))
            for turn, embedding in zip(new, embeddings, strict=True):
                turn.embedding = embedding.copy()  # not a view: it would keep all the others alive

    def _judge(self, message: Message, turn: Turn, past: list[Turn]) -> Observation:
        """Who a message is for, given those before it."""
        found, probabilities = self._addressees(turn, past)
        turn.meant = {
            id: float(p) for id, p in zip((*found.names, None), probabilities, strict=True) if p >= _KEPT
        }
        said, text = turn.utterance, message.text
        if text.endswith(said.text) or len(text) > len(said.text):
            # What was cut off in front; a long message is kept in part, and shown in whole.
            text = text[max(len(text[:LONGEST]) - len(said.text), 0) :]
        message = replace(
            message, text=text, addressee=message.addressee if said.addressee is None else said.addressee
        )
        ranked = self._ranked(turn, found, probabilities)
        how = How.NAMED if said.addressee is not None else How.INFERRED
        reason = reason_for(said, ranked[0], found, self.people.name_of)
        return Observation(message, ranked, how, reason, _audience(said, ranked))

    def _remember(self, turn: Turn) -> None:
        self._past.append(turn)
        if len(self._past) > self.model.context:  # it has left the context
            left = self._past[-1 - self.model.context]
            left.embedding = None
            left.utterance.tokens, left.utterance.names = NO_TOKENS, ()

    def _meet(self, newcomer: str) -> None:
        """Somebody speaks for the first time: those who called them before they did addressed them."""
        changed = self._ear.meet(newcomer, [turn.utterance for turn in self._past])
        self._refresh(changed)

    def _refresh(self, changed: list[Utterance]) -> None:
        for turn in self._past:
            if any(turn.utterance is each for each in changed):
                turn.embedding, turn.pieces = None, Turn.of(turn.utterance).pieces

    def _find(self, id: str | None) -> int | None:
        """Where a message is that is remembered."""
        places = (place for place in range(len(self._past) - 1, -1, -1))
        return next((at for at in places if id is not None and self._past[at].utterance.id == id), None)

    def _edit(self, message: Message) -> Observation:
        """A message says something else from now on; who it is for is judged anew."""
        at = self._find(message.id)
        if at is None:
            return _no_message(message, "the message that it changes is not remembered")
        turn = self._past[at]
        said = turn.utterance
        self._ear.rehear(said, message.text, message.mentions)
        self._refresh([said])
        past = list(self._past)[:at]
        changed = replace(message, speaker=said.speaker, addressee=None, reply_to=said.reply_to)
        observation = self._judge(changed, turn, past)
        if at == len(self._past) - 1:
            self._last = observation
        return observation

    def _delete(self, message: Message) -> Observation:
        """A message was taken back: nothing can answer it, or go on with it."""
        at = self._find(message.id)
        if at is None:
            return _no_message(message, "the message that it takes back is not remembered")
        if at == len(self._past) - 1:
            self._last = None
        del self._past[at]
        return _no_message(message, "a message was taken back")

    def _ask(
        self, responder: str, drafts: list[Turn], past: Iterable[Turn], others: Sequence[str | None] = ()
    ) -> tuple[Questions, list[Turn], list[str]]:
        context, letters = self._context(past), self.model.runtime.letters
        return make_question(responder, drafts, context, self.people, letters=letters, others=others)

    def _context(self, past: Iterable[Turn]) -> list[Turn]:
        """The messages that the model sees, the latest last."""
        context = list(past)[-self.model.context :]
        for turn in context:
            if turn.embedding is None and not len(turn.utterance.tokens):
                # It had left the context, and is back: a later one was taken back, or it was changed.
                self._ear.read(turn.utterance)
        self._encode(context)
        return context

    def _addressees(self, turn: Turn, past: list[Turn]) -> tuple[Features, NDArray[np.float64]]:
        """Everybody who may be meant by a message, given those before it, and how likely each is."""
        self._encode([turn])
        speaker = turn.utterance.speaker
        questions, turns, ids = self._ask(speaker, [turn], past)
        before, given = self.model.runtime.addressee_scores(questions, embeddings_of(turns))
        before, given = before.clip(-_LARGEST, _LARGEST), given.clip(-_LARGEST, _LARGEST)
        model = dict(zip(ids[1:], map(ModelScores, before[1:].tolist(), given[1:].tolist()), strict=True))
        introduced = [person.id for person in self.people.introduced]
        silent = introduced if len(introduced) <= _SILENT else ()
        found = features(past, turn, model=model, others=silent)
        return found, self.model.rank(found, turn, model, only_other=self.people.only_other(speaker))

    def _ranked(
        self, turn: Turn, found: Features, probabilities: NDArray[np.float64]
    ) -> tuple[Addressee, ...]:
        """Everybody who may be meant, the likeliest first; who is called comes before all others."""
        called = turn.utterance.addressees
        every = [
            Addressee(None if id is None else self.people.name_of(id), float(p), id)
            for id, p in zip((*found.names, None), probabilities, strict=True)
        ]
        order: dict[str | None, int] = {id: place for place, id in enumerate(called)}
        every.sort(key=lambda each: (order.get(each.id, len(order)), -each.probability))
        return tuple(every)

    def _state(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "vocabulary": self.model.lexicon.fingerprint,
            "ear": self._ear.state(),
            "messages": [
                {**turn.utterance.state(), "meant": list(turn.meant.items())} for turn in self._past
            ],
            "last": None
            if self._last is None
            else {
                "addressees": [[each.name, each.probability, each.id] for each in self._last.addressees],
                "how": self._last.how.value,
                "reason": self._last.reason,
                "audience": self._last.audience.value,
            },
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._ear.resume(state["ear"])
        same_words = state["vocabulary"] == self.model.lexicon.fingerprint
        first = len(state["messages"]) - self.model.context
        for place, each in enumerate(state["messages"]):
            said = Utterance.of(each)
            if not same_words:
                self._ear.read(said)
            turn = Turn.of(said)
            if place < first:
                said.tokens, said.names = NO_TOKENS, ()
            turn.meant = {_text_or_none(id): float(p) for id, p in each["meant"]}
            self._past.append(turn)
        self._encode(list(self._past)[max(first, 0) :])
        if state["last"] is not None:
            last, said = state["last"], self._past[-1].utterance
            self._last = Observation(
                Message(said.speaker, said.text, said.addressee, id=said.id, reply_to=said.reply_to),
                tuple(Addressee(name, float(p), id) for name, p, id in last["addressees"]),
                How(last["how"]),
                str(last["reason"]),
                Audience(last["audience"]),
            )


def _no_message(message: Message, reason: str) -> Observation:
    return Observation(message, (Addressee(None, 1.0),), How.INFERRED, reason, Audience.NOBODY)


def _audience(said: Utterance, ranked: tuple[Addressee, ...]) -> Audience:
    if said.addressee is not None:
        return Audience.SOMEBODY
    if said.everybody:
        return Audience.EVERYBODY
    if ranked[0].probability < CALLED:
        return Audience.UNKNOWN
    return Audience.NOBODY if ranked[0].id is None else Audience.SOMEBODY


def _text_or_none(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"expected a text, found {value!r}")
    return value
