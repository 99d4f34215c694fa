"""Limits on the content of requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from towhom.serve.problems import Problem
from towhom.serve.schemas import Chat, Line, Person, Question, Rename
from towhom.serve.settings import Settings

Found = TypeVar("Found")


class Limits:
    """Checks requests.

    Args:
        settings: The server's settings.
    """

    def __init__(self, settings: Settings) -> None:
        self._most = settings

    def batch(self, requests: Sequence[Chat]) -> None:
        """Refuse too many questions at once, and too many messages in all of them together."""
        _few(len(requests), self._most.max_batch, "questions", "body.requests")
        messages = sum(len(request.messages) for request in requests)
        _few(messages, self._most.max_messages, "messages", "body.requests")

    def chat(self, messages: Sequence[Line], where: str) -> None:
        """Refuse too many messages, and messages that are too long."""
        _few(len(messages), self._most.max_messages, "messages", where)
        for place, message in enumerate(messages):
            self.message(message, f"{where}[{place}]")

    def message(self, message: Line, where: str) -> None:
        """Refuse a message that is too long."""
        most = self._most.max_name if isinstance(message, Rename) else self._most.max_text
        _short(message.text, most, f"{where}.text")
        for field in ("speaker", "addressee", "id", "reply_to", "name"):
            self.name(getattr(message, field), f"{where}.{field}")
        self._names(message.mentions, self._most.max_mentions, "mentions", where)

    def people(self, people: Sequence[Person], where: str) -> None:
        """Refuse too many people, and names that are too long."""
        _few(len(people), self._most.max_people, "people", where)
        for place, person in enumerate(people):
            self.name(person.id, f"{where}[{place}].id")
            self.name(person.name, f"{where}[{place}].name")
            self._names(person.aliases, self._most.max_aliases, "aliases", f"{where}[{place}]")

    def question(self, question: Question, where: str) -> None:
        """Refuse too many candidates, and candidates that are too long."""
        self.name(question.responder, f"{where}.responder")
        _few(len(question.candidates), self._most.max_candidates, "candidates", f"{where}.candidates")
        self.texts(question.candidates, f"{where}.candidates")

    def texts(self, texts: Sequence[str], where: str) -> None:
        """Refuse texts that are too long."""
        for place, text in enumerate(texts):
            _short(text, self._most.max_text, f"{where}[{place}]")

    def answer(self, selected: Found | None) -> Found:
        """Return the answer, or refuse if it would be too large."""
        if selected is None:
            sentence = (
                f"The answer would have more than {self._most.max_answer} characters; ask with a smaller top."
            )
            raise Problem(422, "answer-too-large", sentence, "body.top")
        return selected

    def name(self, name: str | None, where: str) -> None:
        """Refuse a name that is too long."""
        if name is not None:
            _short(name, self._most.max_name, where)

    def _names(self, names: Sequence[str], most: int, field: str, where: str) -> None:
        _few(len(names), most, field, f"{where}.{field}")
        for place, name in enumerate(names):
            self.name(name, f"{where}.{field}[{place}]")


def _few(count: int, most: int, what: str, where: str) -> None:
    if count > most:
        raise Problem(422, f"too-many-{what}", f"There are {count} {what}; {most} are the most.", where)


def _short(text: str, most: int, where: str) -> None:
    if len(text) > most:
        raise Problem(422, "text-too-long", f"This has {len(text)} characters; {most} are the most.", where)
