"""Chat as data: messages, conversations, and presence. Immutable, standard library only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum


class Kind(StrEnum):
    """The kind of a line in a log. Only `MESSAGE` is an ordinary message to the room."""

    MESSAGE = "message"
    ACTION = "action"
    """`/me`: the speaker does something; `text` describes it."""
    NOTICE = "notice"
    """A notice, or a post by a bot or an integration."""
    SYSTEM = "system"
    """Joins, parts, topics, calls, pinned messages; `text` is what the log says."""
    RENAME = "rename"
    """`speaker` has the name `text` from now on."""
    DAY = "day"
    """A new day begins, at `time`: where one document ends and the next starts."""
    EDIT = "edit"
    """The message `id` is edited; `text` is its new text."""
    DELETE = "delete"
    """The message `id` is deleted."""


CHANGES = frozenset({Kind.RENAME, Kind.EDIT, Kind.DELETE})
"""Kinds of lines that change earlier messages or names, and are no messages themselves."""
_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)


def seconds_since_1970(time: datetime) -> float:
    """Seconds since 1970. A time without a zone counts as UTC, since only differences matter."""
    return (time - (_EPOCH if time.tzinfo is None else _EPOCH_UTC)).total_seconds()


@dataclass(frozen=True, slots=True)
class Message:
    """One line of a chat: the speaker, the text, and the addressee if it is known.

    Args:
        speaker: The person who wrote it: their name as the log shows it, or their identifier on the
            platform, which may be a whole number.
        text: The text, without the name of the addressee in front of it.
        addressee: The person addressed, as in `speaker`, or None for nobody in particular.
        time: The time; naive if the log does not name a time zone.
        id: The platform's identifier, if it has one.
        reply_to: The identifier of the message that this one answers, if the platform says so; its own, if
            the platform says that it starts a thread.
        kind: The kind of the line.
        channel: The room, if the log has several.
        line: Its place in the file (line or record, counted from 0). Not part of equality.
        name: The name that people use for the speaker, if `speaker` is an identifier.
        mentions: The people whom the platform marks as mentioned, as in `speaker`.
        bot: Whether the platform marks the speaker as a bot.

    >>> Message("ada", "the tests are green", addressee="grace")
    Message('ada', 'the tests are green', addressee='grace')
    """

    speaker: str
    text: str
    addressee: str | None = None
    time: datetime | None = None
    id: str | None = None
    reply_to: str | None = None
    kind: Kind = Kind.MESSAGE
    channel: str | None = None
    line: int | None = field(default=None, compare=False)
    name: str | None = None
    mentions: tuple[str, ...] = ()
    bot: bool = False

    def __post_init__(self) -> None:
        # Many platforms number people and messages. Not a loop: this runs for every message of a log.
        if isinstance(self.speaker, int):
            object.__setattr__(self, "speaker", str(self.speaker))
        if isinstance(self.addressee, int):
            object.__setattr__(self, "addressee", str(self.addressee))
        if isinstance(self.id, int):
            object.__setattr__(self, "id", str(self.id))
        if isinstance(self.reply_to, int):
            object.__setattr__(self, "reply_to", str(self.reply_to))
        if self.mentions:
            object.__setattr__(self, "mentions", tuple(map(str, self.mentions)))

    def __repr__(self) -> str:
        shown = [repr(self.speaker), repr(self.text)]
        for name in ("addressee", "time", "id", "reply_to", "channel", "line", "name"):
            value = getattr(self, name)
            if value is not None:
                shown.append(f"{name}={value!r}")
        if self.mentions:
            shown.append(f"mentions={self.mentions!r}")
        if self.bot:
            shown.append("bot=True")
        if self.kind is not Kind.MESSAGE:
            shown.append(f"kind={self.kind.value!r}")
        return f"Message({', '.join(shown)})"


@dataclass(frozen=True, slots=True)
class Presence:
    """Somebody is in a room or has left it, whether or not they have spoken.

    Args:
        speaker: The person, as `speaker` in their messages.
        channel: The room.
        name: The name that people use, if `speaker` is an identifier.
        aliases: Their other names.
        bot: Whether the platform marks them as a bot.
        here: Whether they are in the room from now on.
    """

    speaker: str
    channel: str | None = None
    name: str | None = None
    aliases: tuple[str, ...] = ()
    bot: bool = False
    here: bool = True


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages in the order they were sent: a channel's day, an export, a context.

    >>> chat = Conversation((Message("ada", "hi"), Message("bob", "hello", addressee="ada")))
    >>> chat.speakers
    ('ada', 'bob')
    >>> [message.text for message in chat if message.addressee]
    ['hello']
    """

    messages: tuple[Message, ...]
    name: str = ""

    @property
    def speakers(self) -> tuple[str, ...]:
        """Everybody who speaks, in order of first appearance."""
        return tuple(dict.fromkeys(message.speaker for message in self.messages))

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __getitem__(self, index: int) -> Message:
        return self.messages[index]
