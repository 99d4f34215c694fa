"""Open questions of a room, and what a bank has that answered the like before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from towhom.bank.filters import is_bot
from towhom.bank.store import Bank
from towhom.blas import one_thread
from towhom.chat import Kind, Message
from towhom.live.channel import Channel
from towhom.live.following import follow_together
from towhom.live.model import Model
from towhom.live.responding import LEAST, Proposal, propose
from towhom.threads import Placed
from towhom.threads.talks import Talk, gather

_HELPER = "towhom"
"""Who would answer; no name of a person has a space before it."""
_LINES = 10
"""Of a question that goes on over several messages."""
_SURE = 0.5
"""What answers a question less likely than this does not count as an answer."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question that nobody took up, and earlier answers.

    Args:
        asked: What was asked, and where it belongs.
        text: All that its speaker said about it.
        answers: Of the bank, the best first; none where nothing fits.
    """

    asked: Placed
    text: str
    answers: tuple[Proposal, ...]


def open_questions(
    model: Model, messages: Iterable[Message], bank: Bank, k: int = 3, *, least: float = LEAST
) -> Iterator[OpenQuestion]:
    """The open questions of some messages, in the order of their conversations.

    `towhom.threads.questions` says what they are; what only may belong to a conversation is no answer.

    Args:
        model: That of the bank.
        messages: Of one channel or several.
        bank: Where answers come from.
        k: How many for each, at most.
        least: How likely an answer must fit.

    Raises:
        BankError: The bank was built with another model, or is damaged.
    """
    bank.require_model(model.fingerprint)
    for talk in gather(model.threads(messages)):
        if _open(talk):
            yield _asked(model, talk, bank, k, least)


def _open(talk: Talk) -> bool:
    first = talk.first
    if first.message.kind is not Kind.MESSAGE or is_bot(first.message):
        return False
    found = talk.asked(least=_SURE)
    return found is not None and found.open


def _asked(model: Model, talk: Talk, bank: Bank, k: int, least: float) -> OpenQuestion:
    said = [each.message for each in talk.said if each.who is talk.first.who][:_LINES]
    answers = answers_to(model, said, bank, k, least=least)
    return OpenQuestion(talk.first.placed, " ".join(message.text for message in said), tuple(answers))


def answers_to(
    model: Model, question: Sequence[Message], bank: Bank, k: int = 3, *, least: float = LEAST
) -> list[Proposal]:
    """What a bank has that answered the like of a question, the best first; nothing where nothing fits.

    Args:
        model: That of the bank.
        question: What its speaker said, in one message or several.
        bank: Where answers come from.
        k: How many at most.
        least: How likely an answer must be of use.

    Raises:
        BankError: The bank was built with another model, or is damaged.
    """
    # In a room of its own, as if it had just been asked.
    channel = Channel(model.mind, model.lexicon)
    follow_together([channel.follow(question, lambda line: None)])
    with one_thread():
        return propose(channel, model, f" {_HELPER}", bank, k, least=least, whole=True)
