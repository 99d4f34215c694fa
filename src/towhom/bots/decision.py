"""Decides whether a bot speaks, from the answers of a session and a policy.

All state is in the session, so that every way to run a bot makes the same decisions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from towhom.bots.context import RelatedMessages
from towhom.bots.policy import Policy
from towhom.bots.verdict import GateVerdict, ReplyTo
from towhom.bots.wishes import awaits, continues, objects, only_greets, wants
from towhom.chat import Kind, Message
from towhom.hearing.languages import languages_of
from towhom.hearing.manners import Manner
from towhom.hearing.names import COMMON
from towhom.hearing.utterance import CALLED, SPOKEN, Utterance
from towhom.hearing.words import normalized, words
from towhom.live import Observation, Session, Verdict
from towhom.live.channel import Turn

_SHOWN = 4
"""Number of possible addressees that are shown."""
_TELLING = 0.6
"""Minimum weight of a word that can be a topic; words with less are very common."""
_FEW_WORDS = 3
"""Maximum number of words in an acknowledgement that begins like an answer."""
_SHORTEST_NAME = 3
"""Minimum letters of a name that cannot be mistaken for an ordinary word."""
_SHORTEST_TOPIC = 4
"""Minimum letters of a word that can be a topic."""
_GOES_ON = 60.0
"""Seconds within which somebody who has called the bot may say more, while it has not answered."""
_COMMAND = re.compile(r"[!/][^\W\d_]\w*")


class Outcome(NamedTuple):
    """Whether a bot speaks, and why."""

    speak: bool
    reason: str


@dataclass(slots=True)
class _Case:
    """A message to decide on, and what is known about it."""

    session: Session
    me: str
    policy: Policy
    message: Message
    observation: Observation
    turn: Turn
    alone: bool
    """Whether the bot and the speaker are the only ones in the room."""
    steps: list[str] = field(default_factory=list)

    @property
    def speaker(self) -> str:
        return self.turn.utterance.speaker

    @property
    def called(self) -> bool:
        return self.me in self.turn.utterance.addressees

    @property
    def before(self) -> list[Turn]:
        """The earlier messages, the latest first."""
        return [turn for turn in reversed(self.session.turns) if turn.order < self.turn.order]

    def name(self, id: str) -> str:
        return self.session.people.name_of(id)

    def is_bot(self, id: str | None) -> bool:
        person = None if id is None else self.session.people.get(id)
        return person is not None and person.bot


def decide(
    session: Session,
    me: str,
    policy: Policy,
    message: Message,
    observation: Observation | None,
    turn: Turn | None,
    *,
    direct: bool | None = None,
) -> GateVerdict:
    """Whether a bot speaks after a message.

    Args:
        session: Session of the room; the message is its latest, or changes an earlier one.
        me: The bot's identifier.
        policy: When the bot speaks.
        message: The message as it was received.
        observation: The result of `session.observe` for the message.
        turn: The turn of the message in the session; None if it is not a spoken message.
        direct: Whether only the speaker and the bot are in the room; None to use what the session knows.
    """
    me = session.people.id_of(me)
    if turn is None or observation is None or message.kind not in (*SPOKEN, Kind.EDIT):
        reason = "it is not a message" if observation is None else observation.reason
        return GateVerdict(False, 0.0, reason, room=message.channel, message=message)
    alone = turn.only_other == me if direct is None else direct
    case = _Case(session, me, policy, message, observation, turn, alone)
    verdict = session.is_for(me, threshold=policy.threshold, observation=observation)
    _describe(case, verdict)
    outcome = _outcome(case, verdict)
    to = None if case.speaker == me else ReplyTo(case.speaker, case.name(case.speaker), turn.utterance.id)
    return GateVerdict(
        outcome.speak, verdict.probability, outcome.reason, verdict.everybody, message.channel, message,
        case.called, to, turn.thread, (message,), tuple(case.steps), RelatedMessages(session, turn, me),
    )  # fmt: skip


def _describe(case: _Case, verdict: Verdict) -> None:
    """Add the first steps of the explanation: what was observed."""
    turn, observation = case.turn, case.observation
    id = f" (message {turn.utterance.id})" if turn.utterance.id else ""
    case.steps.append(f"{case.name(case.speaker)} speaks{id}")
    shown = ", ".join(
        f"{each.name or 'nobody in particular'} {each.probability:.2f}"
        for each in observation.addressees[:_SHOWN]
    )
    case.steps.append(f"it is for: {shown} ({observation.how.value}: {observation.reason})")
    if turn.answered is None:
        case.steps.append(f"it starts conversation {turn.thread}")
    else:
        answered = turn.answered.id or f"number {turn.answers}"
        who = case.name(turn.answered.speaker)
        case.steps.append(
            f"it answers {who} (message {answered}, {turn.likely:.2f}), in conversation {turn.thread}"
        )
    called = "called outright" if case.called else "not called outright"
    case.steps.append(f"{case.name(case.me)} is meant with {verdict.probability:.2f}, {called}")


def _outcome(case: _Case, verdict: Verdict) -> Outcome:
    me, who, policy = case.name(case.me), case.name(case.speaker), case.policy
    settled = _settled(case, verdict) or (None if case.called else _settled_uncalled(case, verdict))
    if settled is not None:
        return settled
    if case.called and policy.when_called:
        return Outcome(True, verdict.reason)
    if case.called:
        return Outcome(bool(verdict), verdict.reason if verdict else _why_not(case, verdict))
    if not policy.only_called and _is_named_in_a_question(case):
        return Outcome(True, f"{who} asks something, and names {me}")
    if not verdict and not (_takes_turns(case) and verdict.probability >= policy.threshold / 2):
        return Outcome(False, _why_not(case, verdict))
    return _followed_up(case, verdict)


def _settled(case: _Case, verdict: Verdict) -> Outcome | None:
    """The outcome if it follows from who speaks and who is there, whatever the message says."""
    me, who, policy = case.name(case.me), case.name(case.speaker), case.policy
    if case.speaker == case.me:
        return Outcome(False, verdict.reason)
    if case.message.kind is Kind.EDIT and _has_answered(case):
        return Outcome(False, f"{me} has answered it before {who} changed it")
    if case.message.bot or case.is_bot(case.speaker):
        turns = _turns_with_bots(case)
        case.steps.append(
            f"{who} is a bot; {me} has answered bots {turns} times, {policy.bot_turns} are allowed"
        )
        if turns >= policy.bot_turns:
            return Outcome(
                False, f"{who} is a bot" if not turns else f"{who} is a bot, and {me} has said enough to bots"
            )
    return Outcome(True, f"{who} and {me} are the only ones there") if case.alone else None


def _settled_uncalled(case: _Case, verdict: Verdict) -> Outcome | None:
    """The outcome of clear cases without a call: a message for everybody, a command, or for another bot."""
    me, who, policy = case.name(case.me), case.name(case.speaker), case.policy
    if verdict.everybody:
        return Outcome(policy.everybody, verdict.reason)
    if (command := _command(case)) is not None:
        return command
    if policy.yield_to_bots and (other := _other_bot(case)) is not None:
        return Outcome(False, f"{who} talks to {case.name(other)}, which is another bot")
    if case.turn.only_other == case.me != case.turn.apart:
        return Outcome(False, f"{who} may not be alone with {me}, which is not called")
    return None


def _command(case: _Case) -> Outcome | None:
    """The outcome for a command (`/ask`, `!help`, `/ask@robo`); None if the message is not a command."""
    first, _, _ = case.message.text.partition(" ")
    word, _, whose = first.strip().partition("@")
    named = case.session.people.find(word[1:])
    mine = word.casefold() in map(str.casefold, case.policy.commands) or (
        named is not None and named.id == case.me
    )
    if not mine and _COMMAND.fullmatch(word) is None:
        return None
    owner = case.session.people.find(whose) if whose else None
    if (mine and not whose) or (owner is not None and owner.id == case.me):
        return Outcome(True, f"{word} is a command of {case.name(case.me)}")
    return Outcome(False, f"{word} is a command of another program")


def _takes_turns(case: _Case) -> bool:
    """Whether the bot has just answered the speaker, nobody has spoken since, and nobody is called."""
    said, before = case.turn.utterance, case.before
    if said.addressees or said.everybody or said.stranger or said.bearing.anybody or not before:
        return False
    return before[0].utterance.speaker == case.me and before[0].addressee == case.speaker


def _is_named_in_a_question(case: _Case) -> bool:
    """Whether a message wants something, names the bot, and calls nobody: `last question juno: is it on`.

    Questions about the bot do not count (`does juno sleep`), nor words that happen to be its name (`may I`).
    """
    said = case.turn.utterance
    manner = next((call.manner for call in said.calls if call.who == case.me), None)
    if manner is None or said.addressees or not wants(said) or _has_an_ordinary_name(case, said):
        return False
    return manner is Manner.INSIDE or _begins_with_name(case, said)


def _has_an_ordinary_name(case: _Case, said: Utterance) -> bool:
    """Whether all names of the bot in a message are also ordinary words."""
    person, weight = case.session.people.get(case.me), case.session.model.lexicon.weight
    there = set(words(said.text))
    named = [] if person is None else [name for name in map(normalized, person.names) if name in there]
    return bool(named) and all(weight(name) <= COMMON or len(name) < _SHORTEST_NAME for name in named)


def _begins_with_name(case: _Case, said: Utterance) -> bool:
    """Whether a question begins with the bot's name, unless a verb follows whose subject it may be."""
    person, plain = case.session.people.get(case.me), normalized(said.text)
    for name in () if person is None or not said.asks else map(normalized, person.names):
        if plain.startswith(f"{name} "):
            following = plain[len(name) :].lstrip()
            return not any(each.third.starting(following) for each in languages_of(following, said.language))
    return False


def _followed_up(case: _Case, verdict: Verdict) -> Outcome:
    """The outcome for a message that is for the bot, but does not call it."""
    me, policy = case.name(case.me), case.policy
    if policy.only_called:
        return Outcome(False, f"{me} is not called, and answers nothing else")
    if not policy.remarks and _is_remark(case):
        return Outcome(False, f"{case.name(case.speaker)} asks {me} for nothing")
    if policy.follow_up is None:
        return Outcome(True, verdict.reason)
    ago = _last_exchange(case)
    if ago is None:
        return Outcome(False, f"{me} has not spoken here, and is not called")
    case.steps.append(f"{me} and {case.name(case.speaker)} had to do with each other {ago:.0f} s ago")
    if ago > policy.follow_up:
        return Outcome(False, f"{me} spoke too long ago for a follow-up ({ago:.0f} s), and is not called")
    return Outcome(True, verdict.reason)


def _is_remark(case: _Case) -> bool:
    """Whether a message that does not call the bot wants nothing from it."""
    said = case.turn.utterance
    thanks = said.bearing.greets and not said.asks and only_greets(said)
    if (wants(said) and not thanks) or _goes_on(case):
        return False
    last = _last_word(case)
    if last is None:
        return True
    to_speaker = last.addressee in (case.speaker, None)
    at_once = to_speaker and last is case.before[0]
    if (to_speaker and last.utterance.asks) or (at_once and continues(said)):
        return False
    if _acknowledges(said):
        return True
    # Only the person who was asked a question answers it; a request may be followed by others, too.
    awaited = awaits(last.utterance) and (to_speaker or not last.utterance.asks)
    return not (objects(said) or awaited or (at_once and said.bearing.you))


def _last_word(case: _Case) -> Turn | None:
    """The bot's message that this one answers, else its last one to the speaker since they last spoke."""
    for turn in case.before:
        if turn.utterance is case.turn.answered and turn.utterance.speaker == case.me:
            return turn
    for turn in case.before:
        if turn.utterance.speaker == case.speaker:
            return None
        if turn.utterance.speaker == case.me and turn.addressee in (case.speaker, None):
            return turn
    return None


def _goes_on(case: _Case) -> bool:
    """Whether the speaker continues a message to the bot, which has not spoken since."""
    now, spoken = case.turn.utterance.time, False
    if not any(character.isalnum() for character in case.turn.utterance.text):
        return False
    for turn in case.before:
        said, likely = turn.utterance, turn.people.get(case.me, 0.0)
        if said.speaker == case.me:
            return spoken and said.asks and turn.addressee == case.speaker  # they are answering it
        if said.speaker != case.speaker:
            continue
        if now is not None and said.time is not None and now - said.time > _GOES_ON:
            return False
        if case.me in said.addressees or (likely >= case.policy.threshold and wants(said)):
            return True
        if said.addressees:
            return False
        spoken = likely >= case.policy.threshold
    return False


def _acknowledges(said: Utterance) -> bool:
    """Whether a message only acknowledges what the bot said: `ok`, `haha`, `thank you so much!`."""
    few = len(said.text.split()) <= _FEW_WORDS
    short = few and (said.bearing.answers or said.bearing.greets)
    return said.telling == 0 or short or only_greets(said)


def _last_exchange(case: _Case) -> float | None:
    """Seconds since the bot spoke, or the speaker spoke to it; 0 if times are unknown, None if never."""
    now = case.turn.utterance.time
    for turn in case.before:
        to_me = turn.utterance.speaker == case.speaker and turn.people.get(case.me, 0.0) >= CALLED
        if turn.utterance.speaker == case.me or to_me:
            then = turn.utterance.time
            return 0.0 if now is None or then is None else max(now - then, 0.0)
    return None


def _turns_with_bots(case: _Case) -> int:
    """Number of messages from the bot to other bots since a person last spoke to it."""
    count = 0
    for turn in case.before:
        speaker = turn.utterance.speaker
        if speaker == case.me:
            count += case.is_bot(turn.addressee)
        elif not case.is_bot(speaker) and turn.people.get(case.me, 0.0) >= CALLED:
            break
    return count


def _other_bot(case: _Case) -> str | None:
    """The likeliest addressee if it is another bot, else None."""
    likeliest = case.observation.addressees[0].id
    return likeliest if likeliest != case.me and case.is_bot(likeliest) else None


def _has_answered(case: _Case) -> bool:
    """Whether the bot has answered the speaker since they sent the message that they now edit."""
    for turn in case.session.turns:
        said = turn.utterance
        if turn.order > case.turn.order and said.speaker == case.me:
            if said.reply_to is not None and said.reply_to == case.turn.utterance.id:
                return True
            if turn.addressee == case.speaker:
                return True
    return False


def _why_not(case: _Case, verdict: Verdict) -> str:
    """The reason why a message is not for the bot."""
    likeliest = case.observation.addressees[0]
    if any(call.who == case.me for call in case.turn.utterance.calls):
        return verdict.reason
    if likeliest.id is None:
        return case.observation.reason
    if likeliest.id == case.me:
        threshold = case.policy.threshold
        return f"{verdict.reason}, which is not sure enough ({verdict.probability:.2f} of {threshold:.2f})"
    topic = _topic(case)
    about = "" if topic is None else f" about {topic!r}"
    return f"{case.name(case.speaker)} talks to {likeliest.name}{about} ({case.observation.reason})"


def _topic(case: _Case) -> str | None:
    """A distinctive word that a message has in common with the message it answers."""
    if case.turn.answered is None:
        return None
    lexicon, people = case.session.model.lexicon, case.session.people
    there = set(words(case.turn.answered.text))
    common = [
        word
        for word in words(case.turn.utterance.text)
        if word in there and len(word) >= _SHORTEST_TOPIC and word.isalpha() and not people.is_name(word)
    ]
    telling = [word for word in common if lexicon.weight(word) >= _TELLING]
    return max(telling, key=lexicon.weight, default=None)
