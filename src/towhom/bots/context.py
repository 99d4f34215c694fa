"""The context for a language model before it answers: the conversation, not the last lines of the room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from towhom.chat import Message
from towhom.live import Session
from towhom.live.channel import Turn

Count = Callable[[str], int]
_BYTES = 3
"""Assumed bytes of UTF-8 per token; most tokens have more, so the estimate is rather too high."""
_MARKS = 4
"""Tokens that separate one message from the next."""
_CUT = "…"
_CALLED_WITHIN = 600.0
"""Seconds within which a call of the bot is related to what its caller was talking about before."""


def rough_tokens(text: str) -> int:
    """Estimate how many tokens a text has for a language model; rather too many than too few.

    >>> rough_tokens("is the site up?")
    9
    """
    return -(-len(text.encode("utf-8", "replace")) // _BYTES) + _MARKS


def line_of(message: Message) -> str:
    """A message as a line of a prompt: who says what to whom.

    >>> line_of(Message("noor", "it says broadcom", "helper"))
    'noor -> helper: it says broadcom'
    """
    to = "" if message.addressee is None else f" -> {message.addressee}"
    return f"{message.speaker}{to}: {message.text}"


@dataclass(frozen=True, slots=True)
class Context:
    """Messages of one conversation, in the order in which they were said; `str` makes lines for a prompt.

    Args:
        messages: The messages, with the names that people see, and the likeliest addressee of each.
        tokens: The number of tokens in the lines, by the count that was used.
    """

    messages: tuple[Message, ...]
    tokens: int

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)

    def __str__(self) -> str:
        return "\n".join(map(line_of, self.messages))


class RelatedMessages:
    """The messages that help to understand a message, the most useful first.

    First the message and the chain of messages that it answers; then its conversation; then other messages
    between its speaker and the bot; then the conversations of people whom it names (`what ann said`), and the
    one that its speaker was in before calling the bot (`robo: how do I fix that?`). Later messages come
    before earlier ones.

    Args:
        session: Session of the room.
        turn: The message.
        me: The identifier of the bot.
    """

    __slots__ = ("_me", "_session", "_turns", "turn")

    def __init__(self, session: Session, turn: Turn, me: str) -> None:
        self._session, self.turn, self._me = session, turn, me
        self._turns = [each for each in session.turns if each.order <= turn.order]

    def context(self, max_tokens: int, count: Count) -> Context:
        """As many of the messages as fit into `max_tokens`."""
        chosen: dict[int, tuple[Message, int]] = {}
        left = max_tokens
        for turn in self._by_relevance():
            message, order = self._session.message_of(turn), turn.order
            tokens = count(line_of(message))
            if not chosen and tokens > left:  # the message itself
                message = _shortened(message, left, count)
                tokens = count(line_of(message))
                if tokens > left:
                    return Context((), 0)
            if tokens <= left:
                chosen[order] = message, tokens
                left -= tokens
        found = [chosen[order] for order in sorted(chosen)]
        return Context(tuple(message for message, _ in found), sum(tokens for _, tokens in found))

    def _by_relevance(self) -> list[Turn]:
        """The messages by relevance, each once, without deleted ones."""
        turns = [each for each in self._turns if not each.utterance.gone]
        by_line = {each.line: each for each in turns}
        chain = [self.turn]
        while (before := by_line.get(chain[-1].answers)) is not None and before.order < chain[-1].order:
            chain.append(before)
        threads = {each.thread for each in chain}
        pair = {self.turn.utterance.speaker, self._me}
        latest_first = turns[::-1]
        conversation = [each for each in latest_first if each.thread in threads]
        between = [each for each in latest_first if {each.utterance.speaker, each.addressee} == pair]
        called_from = {each.thread for each in self._called_from(chain[-1], latest_first)}
        around = [each for each in latest_first if each.thread in called_from]
        every = {each.order: each for each in (*chain, *conversation, *between, *around)}
        return [each for each in every.values() if not each.utterance.gone]

    def _called_from(self, first: Turn, latest_first: list[Turn]) -> Iterator[Turn]:
        """The last message by or to each person it names, and by or to its first speaker, before it began."""
        if first.utterance.speaker == self._me:
            return
        named = (call.who for each in (self.turn, first) for call in each.utterance.calls)
        for person in dict.fromkeys((*named, first.utterance.speaker)):
            before = (
                each for each in latest_first
                if each.order < first.order and person in (each.utterance.speaker, each.addressee)
            )  # fmt: skip
            last = next(before, None)
            if last is not None and person != self._me and _is_soon_after(first, last):
                yield last


def _is_soon_after(turn: Turn, before: Turn) -> bool:
    now, then = turn.utterance.time, before.utterance.time
    return now is None or then is None or now - then <= _CALLED_WITHIN


def _shortened(message: Message, tokens: int, count: Count) -> Message:
    """The longest beginning of a message that fits."""
    low, high = 0, len(message.text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(line_of(replace(message, text=message.text[:middle] + _CUT))) <= tokens:
            low = middle
        else:
            high = middle - 1
    return replace(message, text=message.text[:low] + _CUT)
