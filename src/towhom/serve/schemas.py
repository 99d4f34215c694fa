"""The data types of requests and answers, which OpenAPI describes."""

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

from towhom.live.responding import LEAST

CHANNEL = r"^\.*[A-Za-z0-9_~#@:+-][A-Za-z0-9._~#@:+-]*$"
"""Pattern of channel ids. Dots alone are not allowed, because in an address they lead elsewhere."""


def _iso(value: object) -> object:
    if value is not None and not isinstance(value, str):
        raise PydanticCustomError("datetime_type", "Input should be a text")
    return value


def _whole(text: str) -> str:
    """A text, checked to be encodable as UTF-8; JSON can express lone surrogates, which are not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("string_unicode", "Input should be valid Unicode") from None
    return text


_LARGEST = 10**20
"""Limit of whole numbers as ids: includes all of 64 bits, and is never longer than a name may be."""
_IDENTIFIER = {"type": ["string", "integer"], "minimum": -_LARGEST, "maximum": _LARGEST}


def _identifier(value: object) -> object:
    """An id as a text; many platforms use numbers as ids, and in JSON, 3.0 is a whole number, too."""
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
    """A whole number; in JSON, 3.0 is one, too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _not_blank(name: str | None) -> str | None:
    """A name, or None if it has no visible characters, as some platforms send for deleted accounts."""
    return name if name and any(each.isprintable() and each != " " for each in name) else None


Count = Annotated[int, BeforeValidator(_count)]
Text = Annotated[str, AfterValidator(_whole)]
ShownName = Annotated[Text | None, AfterValidator(_not_blank)]
Name = Annotated[str, Field(min_length=1), AfterValidator(_whole)]
Identifier = Annotated[Text, BeforeValidator(_identifier), WithJsonSchema({**_IDENTIFIER})]
"""The platform's identifier of a message."""
Who = Annotated[Name, BeforeValidator(_identifier), WithJsonSchema({**_IDENTIFIER, "minLength": 1})]
"""A person: their name, or the platform's identifier for them."""
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
"""A line of a chat; its `kind` decides the type."""


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


class BankQuestion(_In):
    """Who speaks next; what they may say is in the server's response bank."""

    responder: Who
    top: Count = Field(5, ge=1, le=100, strict=True, description="How many responses to answer with at most.")
    least: float = Field(LEAST, ge=0, le=1, description="How likely a response must be of use.")


class AskedBefore(_In):
    """A question that may have been answered before: all that its speaker said about it."""

    question: list[Text] = Field(min_length=1, max_length=10)
    top: Count = Field(3, ge=1, le=100, strict=True, description="How many answers to give at most.")
    least: float = Field(LEAST, ge=0, le=1, description="How likely an answer must be of use.")


class ChatQuestion(ChatOfPeople, Question):
    """A chat, who speaks next in it, and what they may say."""


class ChatQuestions(_In):
    """Several of these at once."""

    requests: list[ChatQuestion] = Field(min_length=1)


class OneMessage(_In):
    """The next message of a channel."""

    message: Line


class NextMessages(_In):
    """The next messages of a channel."""

    messages: list[Line] = Field(min_length=1)


class GateBot(_In):
    """The bot that asks."""

    id: Who = Field(description="Its name, or the platform's identifier, as in `speaker`.")
    name: ShownName = Field(None, description="What people call it, if `id` is an identifier.")
    aliases: list[Name] = Field([], description="What else it is called.")


class GatePolicy(_In):
    """When the bot speaks."""

    threshold: float = Field(0.5, ge=0, le=1, strict=True, description="How likely a message must be for it.")
    when_called: bool = Field(True, strict=True, description="Always when it is called outright.")
    follow_up: float | None = Field(
        600, ge=0, le=1e9, strict=True,
        description="Seconds within which a message that does not call it is a follow-up; null for no limit.",
    )  # fmt: skip
    only_called: bool = Field(False, strict=True, description="Only when it is called outright.")
    remarks: bool = Field(False, strict=True, description="Also after what wants nothing of it: a mere `ok`.")
    commands: list[Name] = Field([], max_length=100, description="What messages for it begin with: `/ask`.")
    everybody: bool = Field(False, strict=True, description="Also after what is for everybody.")
    yield_to_bots: bool = Field(True, strict=True, description="Not where another bot is meant.")
    bot_turns: Count = Field(
        0, ge=0, le=1000, strict=True,
        description="How many messages of bots it answers before a person speaks to it again.",
    )  # fmt: skip


class _GateQuestion(_In):
    """What every question of a bot has."""

    bot: GateBot
    bots: list[Who] = Field([], description="Other bots that the platform does not mark as such.")
    policy: GatePolicy = Field(default_factory=GatePolicy)  # type: ignore[arg-type]
    max_tokens: Count = Field(
        1000, ge=0, le=1_000_000, strict=True, description="How long the context may be, roughly counted."
    )


class GateMessage(_GateQuestion):
    """A message of a room, and the bot that asks whether to speak."""

    room: str = Field(pattern=CHANNEL, max_length=128, description="The channel's id.")
    message: Line
    direct: bool = Field(False, strict=True, description="Whether only the speaker and the bot are there.")


class GateEvent(_GateQuestion):
    """An event as a platform sent it, and the bot that asks whether to speak."""

    event: dict[str, Any] = Field(
        description="Of Slack, Discord, Telegram, Matrix or Mattermost, as it came."
    )
    platform: Literal["slack", "telegram", "matrix", "mattermost", "discord"] | None = Field(
        None, description="Which; null to recognise it."
    )


def _tagged(choose: Callable[[Any], str | None]) -> Discriminator:
    return Discriminator(choose, custom_error_type="no_object", custom_error_message="no object")


_MANY = _tagged(lambda v: ("<many>" if "requests" in v else "<one>") if isinstance(v, dict) else None)
_SINGLE = _tagged(lambda v: ("<one>" if "message" in v else "<many>") if isinstance(v, dict) else None)

SelectBody = Annotated[Annotated[ChatQuestion, Tag("<one>")] | Annotated[ChatQuestions, Tag("<many>")], _MANY]
AddresseesBody = Annotated[Annotated[ChatOfPeople, Tag("<one>")] | Annotated[Chats, Tag("<many>")], _MANY]
GateBody = Annotated[
    Annotated[GateEvent, Tag("<event>")] | Annotated[GateMessage, Tag("<message>")],
    _tagged(lambda v: ("<event>" if "event" in v else "<message>") if isinstance(v, dict) else None),
]
NextBody = Annotated[Annotated[OneMessage, Tag("<one>")] | Annotated[NextMessages, Tag("<many>")], _SINGLE]


# Fields with a default are not there in what earlier versions kept.


class Addressee(BaseModel):
    """Somebody who may be meant; without a name, nobody in particular."""

    name: str | None = Field(description="What people call them.")
    probability: float
    id: str | None = Field(None, description="As in `speaker`.")


class MessageRecord(BaseModel):
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
    message: MessageRecord = Field(description="As it was sent, without the addressee's name in front.")
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


class Source(BaseModel):
    """Where a response comes from, and what it answered there."""

    number: int = Field(description="In the bank, as of now.")
    text: str = Field(description="With {addressee} and {responder} in the place of names.")
    question: str
    opening: str | None = Field(description="What its asker began with, if that is something else.")
    document: str
    channel: str | None
    line: int
    thread: int = Field(description="The line that began its conversation.")
    asked: int = Field(description="The line of the question.")
    id: str | None
    time: str | None
    link: str | None
    times: int = Field(description="How often it was said.")
    thanked: bool = Field(description="Whether its asker said that it helped.")


class Proposal(BaseModel):
    """A response, to whom, and where it comes from."""

    addressee: str | None
    id: str | None
    response: str
    probability: float
    answers: str = Field(description="What it would answer.")
    source: Source


class Proposals(BaseModel):
    """Responses from a bank, the best first; none where nothing fits."""

    responses: list[Proposal]


class PlacedMessage(BaseModel):
    """A line of a chat with its conversation."""

    number: int
    message: MessageRecord
    kind: str
    replies_to: list[int]
    thread: int
    probability: float


class Threads(BaseModel):
    """A chat, taken apart into conversations."""

    messages: list[PlacedMessage]


class LogRoom(BaseModel):
    """A room of a log."""

    room: int = Field(description="Its number, from 0 on.")
    name: str
    format: str
    options: str = Field(description="What the format was told or found out: a pattern, columns; or empty.")
    messages: int = Field(description="How many somebody says.")
    lines: int = Field(description="How many there are with those that nobody says, and changes.")


class LeftOut(BaseModel):
    """How much of a log could not be read."""

    lines: int
    files: int


class RoomsLine(BaseModel):
    """What a log holds."""

    type: Literal["rooms"]
    rooms: list[LogRoom]
    lines: int
    left_out: LeftOut
    problems: list[str] = Field(description="The first things that could not be read: where, and why.")
    assumed: list[str] = Field(description="What was taken for granted of files, and how sure that is.")


class Format(BaseModel):
    """A format of logs."""

    name: str
    title: str = Field(description="What it is, for people.")


class Formats(BaseModel):
    """The formats of logs that are read."""

    formats: list[Format]


class MessageLine(Observation):
    """A line of a log, as an observation; its numbers count the lines of its room."""

    type: Literal["message"]
    room: int
    line: int | None = Field(description="Where it stands in its file, from 0 on.")


class ProgressLine(BaseModel):
    """How far it is."""

    type: Literal["progress"]
    read: int = Field(description="Lines that were read.")
    done: int = Field(description="Lines that were answered.")
    of: int | None = Field(description="How many there are; null as long as that is not known.")
    seconds_left: float | None


class CompleteLine(BaseModel):
    """The last line, if all went well."""

    type: Literal["complete"]
    lines: int


class Sample(BaseModel):
    """The chat that comes with towhom."""

    log: str
    name: str


class Channel(BaseModel):
    """A channel that is kept."""

    id: str
    messages: int = Field(description="How many there are.")
    first: int = Field(0, description="The number of the first; older ones were deleted.")
    updated: datetime


class Channels(BaseModel):
    """Channels in the order of their ids."""

    channels: list[Channel]
    next: str | None = Field(description="What `after` has to be to get more; null if there is no more.")


class Forgotten(BaseModel):
    """What was deleted of somebody."""

    channels: int = Field(description="In how many channels they were named, or spoke.")
    messages: int = Field(description="How many lines were theirs.")


class GateTo(BaseModel):
    """Whom to answer."""

    id: str = Field(description="As in `speaker`.")
    name: str
    message: str | None = Field(description="The `id` of the message.")


class ContextMessage(BaseModel):
    """A message that matters for an answer."""

    speaker: str
    addressee: str | None = Field(description="Whom it is most likely for.")
    text: str
    time: str | None
    id: str | None


class GateVerdict(BaseModel):
    """Whether a bot speaks."""

    speak: bool
    probability: float = Field(description="How likely the message is for the bot.")
    reason: str = Field(description="Why it speaks or keeps quiet, for people.")
    room: str | None = Field(description="The channel's id; null if the event is no message.")
    called: bool = Field(description="Whether the bot is called outright.")
    everybody: bool = Field(description="Whether the message is for everybody who is there.")
    reply_to: GateTo | None
    thread: int | None = Field(description="The number of its conversation's first message.")
    context: list[ContextMessage] = Field(
        description="If it speaks: the conversation that the message is part of, the latest last."
    )
    tokens: int = Field(description="How many there are in the context, roughly.")
    steps: list[str] = Field(description="How the verdict came about.")


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


class FailureLine(BaseModel):
    """The last line, if something went wrong after the first."""

    type: Literal["error"]
    error: ErrorBody


class ReportLine(BaseModel):
    """A piece of a report."""

    type: Literal["report"]
    page: str = Field(description="HTML. The pieces together are the page.")


LogLine = RoomsLine | MessageLine | ProgressLine | ReportLine | CompleteLine | FailureLine
"""A line of the answer of `/v1/logs`; its `type` decides which."""
