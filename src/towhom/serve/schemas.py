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

CHANNEL = r"^\.*[A-Za-z0-9_~#@:+-][A-Za-z0-9._~#@:+-]*$"
"""What a channel may be called. Not dots alone: in an address, those lead elsewhere."""


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


_LARGEST = 10**20
"""Of whole numbers that are identifiers: all of 64 bits, and no longer than every limit on names allows."""
_IDENTIFIER = {"type": ["string", "integer"], "minimum": -_LARGEST, "maximum": _LARGEST}


def _identifier(value: object) -> object:
    """Many platforms number people and messages; to JSON, 3.0 is a whole number as well."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is int:
        if abs(value) > _LARGEST:
            raise PydanticCustomError("identifier_size", "Input should have at most 20 digits")
        return str(value)
    if not isinstance(value, str):
        raise PydanticCustomError("identifier_type", "Input should be a text or a whole number")
    return value


def _count(value: object) -> object:
    """To JSON, 3.0 is a whole number as well."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _not_blank(name: str | None) -> str | None:
    """A name that can be seen; some platforms have empty ones, of people who are gone, say."""
    return name if name and any(each.isprintable() and each != " " for each in name) else None


Count = Annotated[int, BeforeValidator(_count)]
Text = Annotated[str, AfterValidator(_whole)]
ShownName = Annotated[Text | None, AfterValidator(_not_blank)]
Name = Annotated[str, Field(min_length=1), AfterValidator(_whole)]
Identifier = Annotated[Text, BeforeValidator(_identifier), WithJsonSchema({**_IDENTIFIER})]
"""Of a message, as its platform has it."""
Who = Annotated[Name, BeforeValidator(_identifier), WithJsonSchema({**_IDENTIFIER, "minLength": 1})]
"""Somebody: their name, or the platform's identifier of them."""
Time = Annotated[
    datetime,
    BeforeValidator(_iso),
    WithJsonSchema({"type": "string", "format": "date-time"}),
    Field(description="ISO 8601; without a zone, that of the chat."),
]


class _In(BaseModel):
    """What a client sends: a field that is not known is an error, not ignored."""

    model_config = ConfigDict(extra="forbid")


class _Line(_In):
    """What every line of a chat may have."""

    speaker: Who = Field(description="Who says or does it: a name, or the platform's identifier.")
    text: Text = Field(description="What is said.")
    addressee: Who | None = Field(None, description="Who it is for, if the platform says so.")
    time: Time | None = None
    id: Identifier | None = Field(None, description="The platform's identifier.")
    reply_to: Identifier | None = Field(None, description="The `id` of the message that it answers.")
    name: ShownName = Field(None, description="What people call the speaker, if `speaker` is an identifier.")
    mentions: list[Who] = Field([], description="Those whom the platform marks as mentioned.")
    bot: bool = Field(False, strict=True, description="Whether the speaker is a program.")


class Message(_Line):
    """Something that somebody says, or that the platform says of them."""

    kind: Literal["message", "action", "notice", "system"] = Field(
        "message", description="`system` is a line that nobody says: somebody joins."
    )


class Rename(_Line):
    """Somebody is called differently from now on."""

    text: Name = Field(description="The new name of `speaker`.")
    kind: Literal["rename"]


class Edit(_Line):
    """A message says something else from now on."""

    text: Text = Field(description="What it says now.")
    id: Identifier = Field(description="Of the message that is changed.")
    kind: Literal["edit"]


class Deletion(_Line):
    """A message is taken back."""

    text: Text = Field("", description="Not needed.")
    id: Identifier = Field(description="Of the message that is taken back.")
    kind: Literal["delete"]


_TAGS = {"rename": "<rename>", "edit": "<edit>", "delete": "<delete>"}


def _sort_of_line(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return _TAGS.get(kind, "<message>") if isinstance(kind, str) else "<message>"


# Tags in angle brackets: they are not fields, so errors leave them out.
Line = Annotated[
    Annotated[Message, Tag("<message>")]
    | Annotated[Rename, Tag("<rename>")]
    | Annotated[Edit, Tag("<edit>")]
    | Annotated[Deletion, Tag("<delete>")],
    Discriminator(_sort_of_line),
]
"""A line of a chat, by its `kind`."""


class Person(_In):
    """Somebody who is there, whether or not they have spoken."""

    id: Who = Field(description="Their name, or the platform's identifier, as in `speaker`.")
    name: ShownName = Field(None, description="What people call them, if `id` is an identifier.")
    aliases: list[Name] = Field([], description="What else they are called.")
    bot: bool = Field(False, strict=True, description="Whether they are a program.")


class People(_In):
    """Those who are made known to a channel."""

    people: list[Person]


class Chat(_In):
    """A chat, the oldest message first."""

    messages: list[Line]


class ChatOfPeople(Chat):
    """A chat, and who is there besides those who speak in it."""

    people: list[Person] = Field([], description="Those who may be meant though they have not spoken: a bot.")


class Chats(_In):
    """Several chats at once."""

    requests: list[ChatOfPeople] = Field(min_length=1)


class Question(_In):
    """Who speaks next, and what they may say."""

    responder: Who
    candidates: list[Text] = Field(min_length=1)
    top: Count = Field(100, ge=1, strict=True, description="How many pairs to answer with at most.")


class ChatQuestion(ChatOfPeople, Question):
    """A chat, who speaks next in it, and what they may say."""


class ChatQuestions(_In):
    """Several of these at once."""

    requests: list[ChatQuestion] = Field(min_length=1)


class LogText(_In):
    """A log as a text, in any format that can be read."""

    log: Name
    name: Text | None = Field(None, description="The file's name; some formats have the date in it.")


class OneMessage(_In):
    """The next message of a channel."""

    message: Line


class NextMessages(_In):
    """The next messages of a channel."""

    messages: list[Line] = Field(min_length=1)


def _tagged(choose: Callable[[Any], str | None]) -> Discriminator:
    return Discriminator(choose, custom_error_type="no_object", custom_error_message="no object")


_MANY = _tagged(lambda v: ("<many>" if "requests" in v else "<one>") if isinstance(v, dict) else None)
_LOG = _tagged(lambda v: ("<log>" if "log" in v else "<messages>") if isinstance(v, dict) else None)
_SINGLE = _tagged(lambda v: ("<one>" if "message" in v else "<many>") if isinstance(v, dict) else None)

SelectBody = Annotated[Annotated[ChatQuestion, Tag("<one>")] | Annotated[ChatQuestions, Tag("<many>")], _MANY]
AddresseesBody = Annotated[Annotated[ChatOfPeople, Tag("<one>")] | Annotated[Chats, Tag("<many>")], _MANY]
ThreadsBody = Annotated[Annotated[Chat, Tag("<messages>")] | Annotated[LogText, Tag("<log>")], _LOG]
NextBody = Annotated[Annotated[OneMessage, Tag("<one>")] | Annotated[NextMessages, Tag("<many>")], _SINGLE]


# Fields with a default are not there in what earlier versions kept.


class Addressee(BaseModel):
    """Somebody who may be meant; without a name, nobody in particular."""

    name: str | None = Field(description="What people call them.")
    probability: float
    id: str | None = Field(None, description="As in `speaker`.")


class Said(BaseModel):
    """A message, as an answer has it."""

    speaker: str
    text: str
    addressee: str | None
    time: str | None
    id: str | None
    reply_to: str | None = None
    kind: str = "message"
    name: str | None = None
    mentions: list[str] = []
    bot: bool = False


class Observation(BaseModel):
    """A message, who it is for, and what it answers."""

    number: int = Field(description="Its place in the chat, from 0 on.")
    message: Said = Field(description="As it was sent, but for a name in front that is its addressee's.")
    addressees: list[Addressee] = Field(description="The likeliest first, at most ten.")
    how: Literal["named", "inferred"]
    reason: str
    audience: Literal["somebody", "everybody", "nobody", "unknown"] = "unknown"
    asks: bool = Field(False, description="Whether it is a question.")
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
    """Pairs of addressee and response, the likeliest first."""

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


class ReadMessage(Said):
    """A line of a log."""

    number: int


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


class KnownPerson(BaseModel):
    """Somebody who was made known to a channel."""

    id: str
    name: str | None
    aliases: list[str]
    bot: bool


class KnownPeople(BaseModel):
    """Those who were made known to a channel."""

    people: list[KnownPerson]


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
