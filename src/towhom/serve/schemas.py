"""Requests and answers as data: what OpenAPI describes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

CHANNEL = r"^[A-Za-z0-9._~#@:+-]{1,128}$"
"""What a channel may be called."""


def _iso(value: object) -> object:
    if value is not None and not isinstance(value, str):
        raise PydanticCustomError("datetime_type", "Input should be a text")
    return value


def _whole(text: str) -> str:
    """A text that can be written as UTF-8; JSON can say half a surrogate pair, which cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("string_unicode", "Input should be valid Unicode") from None
    return text


Text = Annotated[str, AfterValidator(_whole)]
Name = Annotated[str, Field(min_length=1), AfterValidator(_whole)]
Time = Annotated[
    datetime,
    BeforeValidator(_iso),
    WithJsonSchema({"type": "string", "format": "date-time"}),
    Field(description="ISO 8601; without a zone, that of the chat."),
]


class _In(BaseModel):
    """What a client sends: a field that is not known is an error, not ignored."""

    model_config = ConfigDict(extra="forbid")


class Message(_In):
    """Something that somebody says."""

    speaker: Name = Field(description="Who says it.")
    text: Text = Field(description="What is said.")
    addressee: Name | None = Field(None, description="To whom, if the platform says so.")
    time: Time | None = None
    id: Text | None = Field(None, description="The platform's identifier.")


class Chat(_In):
    """A chat, the oldest message first."""

    messages: list[Message]


class Chats(_In):
    """Several chats at once."""

    requests: list[Chat] = Field(min_length=1)


class Question(_In):
    """Who speaks next, and what they may say."""

    responder: Name
    candidates: list[Text] = Field(min_length=1)


class ChatQuestion(Question):
    """A chat, who speaks next in it, and what they may say."""

    messages: list[Message]


class ChatQuestions(_In):
    """Several of these at once."""

    requests: list[ChatQuestion] = Field(min_length=1)


class LogText(_In):
    """A log as a text, in any format that can be read."""

    log: Name
    name: Text | None = Field(None, description="The file's name; some formats have the date in it.")


class OneMessage(_In):
    """The next message of a channel."""

    message: Message


class NextMessages(_In):
    """The next messages of a channel."""

    messages: list[Message] = Field(min_length=1)


def _tagged(choose: Callable[[Any], str | None]) -> Discriminator:
    return Discriminator(choose, custom_error_type="no_object", custom_error_message="no object")


# Tags in angle brackets: they are not fields, so errors leave them out.
_MANY = _tagged(lambda v: ("<many>" if "requests" in v else "<one>") if isinstance(v, dict) else None)
_LOG = _tagged(lambda v: ("<log>" if "log" in v else "<messages>") if isinstance(v, dict) else None)
_SINGLE = _tagged(lambda v: ("<one>" if "message" in v else "<many>") if isinstance(v, dict) else None)

SelectBody = Annotated[Annotated[ChatQuestion, Tag("<one>")] | Annotated[ChatQuestions, Tag("<many>")], _MANY]
AddresseesBody = Annotated[Annotated[Chat, Tag("<one>")] | Annotated[Chats, Tag("<many>")], _MANY]
ThreadsBody = Annotated[Annotated[Chat, Tag("<messages>")] | Annotated[LogText, Tag("<log>")], _LOG]
NextBody = Annotated[Annotated[OneMessage, Tag("<one>")] | Annotated[NextMessages, Tag("<many>")], _SINGLE]


class Addressee(BaseModel):
    """Somebody who may be meant; without a name, nobody in particular."""

    name: str | None
    probability: float


class Said(BaseModel):
    """A message, as an answer has it."""

    speaker: str
    text: str
    addressee: str | None
    time: str | None
    id: str | None


class Observation(BaseModel):
    """A message, to whom it is, and what it answers."""

    number: int = Field(description="Its place in the chat, from 0 on.")
    message: Said = Field(description="As it was sent, but for a name in front that is its addressee's.")
    addressees: list[Addressee] = Field(description="The likeliest first, at most ten.")
    how: Literal["named", "inferred"]
    reason: str
    replies_to: list[int] = Field(description="Numbers of messages; its own if it starts a conversation.")
    thread: int = Field(description="The number of its conversation's first message.")
    thread_probability: float


class Observations(BaseModel):
    """Messages with their addressees."""

    observations: list[Observation]


class ManyObservations(BaseModel):
    """The same for each of several chats."""

    results: list[Observations]


class ObservationsPage(Observations):
    """Messages of a channel from some point on."""

    next: int | None = Field(description="What `after` has to be to get more; null if there is no more.")


class Selection(BaseModel):
    """A response, and to whom."""

    addressee: str | None
    response: str
    candidate: int = Field(description="Which of the candidates it is, from 0 on.")
    probability: float


class Selections(BaseModel):
    """All pairs of addressee and response, the likeliest first."""

    selections: list[Selection]


class ManySelections(BaseModel):
    """The same for each of several questions."""

    results: list[Selections]


class PlacedMessage(BaseModel):
    """A line of a chat with its conversation."""

    number: int
    message: Said
    kind: str
    line: int | None = Field(description="Where it stands in its log, from 0 on.")
    replies_to: list[int]
    thread: int
    probability: float


class Threads(BaseModel):
    """A chat, taken apart into conversations."""

    messages: list[PlacedMessage]


class ReadMessage(BaseModel):
    """A line of a log."""

    number: int
    speaker: str
    text: str
    addressee: str | None
    time: str | None
    kind: str


class ReadProblem(BaseModel):
    """A line that could not be read."""

    line: int = Field(description="From 1 on, as editors show it.")
    reason: str


class ReadLog(BaseModel):
    """A log as messages."""

    format: str
    messages: list[ReadMessage]
    problems: list[ReadProblem]


class Sample(BaseModel):
    """The chat that comes with towhom."""

    log: str
    name: str


class Channel(BaseModel):
    """A channel that is kept."""

    id: str
    messages: int
    updated: datetime


class Channels(BaseModel):
    """Channels in the order of their ids."""

    channels: list[Channel]
    next: str | None = Field(description="What `after` has to be to get more; null if there is no more.")


class Status(BaseModel):
    """Whether the server is well."""

    status: str


class ErrorBody(BaseModel):
    """What is wrong."""

    code: str = Field(description="For programs, in kebab case.")
    message: str = Field(description="For people.")
    where: str | None = Field(description="The field that is wrong, like body.messages[3].text.")


class Error(BaseModel):
    """What every answer from 400 on is."""

    error: ErrorBody
