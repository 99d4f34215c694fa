"""Open questions of a room, and responses from a bank that answered similar questions before."""

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
"""The responder's name. No person's name begins with a space."""
_LINES = 10
"""The largest number of messages that make up one question."""
_SURE = 0.5
"""The least probability at which a message counts as an answer to a question."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question that nobody answered, and responses from a bank.

    Args:
        asked: The message that asks, with its place in the conversations.
        text: Everything that its speaker said about it.
        answers: Responses from the bank, the best first; empty if none fits.
    """

    asked: Placed
    text: str
    answers: tuple[Proposal, ...]


def open_questions(
    model: Model, messages: Iterable[Message], bank: Bank, k: int = 3, *, least: float = LEAST
) -> Iterator[OpenQuestion]:
    """The open questions of some messages, in the order of their conversations.

    `towhom.threads.questions` defines them. A message whose link is uncertain does not count as an answer.

    Args:
        model: The model of the bank.
        messages: Messages of one channel or several.
        bank: The bank to search.
        k: The largest number of answers per question.
        least: The least probability that an answer is useful.

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
    """Responses from a bank that answered similar questions, the best first; empty if none fits.

    Args:
        model: The model of the bank.
        question: The question, in one message of its speaker or several.
        bank: The bank to search.
        k: The largest number of answers.
        least: The least probability that an answer is useful.

    Raises:
        BankError: The bank was built with another model, or is damaged.
    """
    # The question gets a room of its own, as if it had just been asked.
    channel = Channel(model.mind, model.lexicon)
    follow_together([channel.follow(question, lambda line: None)])
    with one_thread():
        return propose(channel, model, f" {_HELPER}", bank, k, least=least, whole=True)
