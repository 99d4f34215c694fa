"""Tools of the Model Context Protocol that answer questions about rooms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from towhom.chat import Kind
from towhom.errors import TowhomError
from towhom.live.reading import answers
from towhom.loading import load
from towhom.mcp.sources import Record, Source
from towhom.readers import locate_messages
from towhom.report import gather, measure
from towhom.report.tables import markdown
from towhom.threads.questions import Turn, asked
from towhom.version import __version__
from towhom.wire import message_from

_MOST = 500
"""Maximum number of messages in one answer, because a language model has to read them."""
_INSTRUCTIONS = (
    "Looks at group chats: who each message is for, which conversations there are, which questions are open, "
    "who helps whom. "
    "Use it to analyse a chat. It is not meant to decide, message by message, whether to speak."
)


def create_server(source: Source) -> MCPServer[Any]:
    """Create the server, with its tools.

    Args:
        source: The source of the rooms.
    """
    server: MCPServer[Any] = MCPServer(
        "towhom", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING"
    )

    @server.tool()
    def rooms() -> list[str]:
        """The rooms that can be asked about."""
        with _told():
            return source.rooms()

    @server.tool()
    def who(room: str | None = None, person: str | None = None, last: int = 50) -> list[Record]:
        """Who the last messages of a room are for, with how likely that is, and why.

        Args:
            room: Its name; not needed if there is but one.
            person: Only messages that this person says, or that are for them.
            last: How many messages, at most 500.
        """
        messages = [_shown(each) for each in _messages(source, room)]
        if person is not None:
            messages = [each for each in messages if person in (each["speaker"], each["for"])]
        return messages[-_at_most(last) :]

    @server.tool()
    def threads(room: str | None = None, last: int = 20) -> list[Record]:
        """The last conversations of a room, pulled apart: who took part, and what was said.

        Args:
            room: Its name; not needed if there is but one.
            last: How many conversations; at most 500 messages are shown.
        """
        return conversations(_messages(source, room))[-_at_most(last) :]

    @server.tool()
    def open_questions(room: str | None = None, last: int = 20) -> list[Record]:
        """Questions of a room that are open, the latest last: nobody has answered, or since they asked again.

        Args:
            room: Its name; not needed if there is but one.
            last: How many questions, at most 500.
        """
        return unanswered(_messages(source, room))[-_at_most(last) :]

    @server.tool()
    def report(room: str | None = None) -> str:
        """A report of a room: who helps whom, how long people wait for an answer, what stayed open.

        Args:
            room: Its name; not needed if there is but one.
        """
        lines = locate_messages(message_from(each["message"]) for each in _messages(source, room))
        columns = gather(answers(load(), lines))
        with _told():
            if not len(columns):
                raise TowhomError("nobody has said anything yet")
        return markdown(measure(columns, room or "the chat"))

    return server


def conversations(messages: Sequence[Record]) -> list[Record]:
    """The latest 500 messages by conversation; conversations are in the order of their last messages."""
    by_thread: dict[int, list[Record]] = {}
    for message in messages[-_MOST:]:
        thread = message["thread"]
        by_thread[thread] = [*by_thread.pop(thread, []), message]
    return [
        {
            "thread": thread,
            "people": list(dict.fromkeys(_speaker(each) for each in said)),
            "messages": [_shown(each) for each in said],
        }
        for thread, said in by_thread.items()
    ]


def unanswered(messages: Sequence[Record]) -> list[Record]:
    """Questions that are open, in the order in which they were asked."""
    by_thread: dict[int, list[Record]] = {}
    for message in messages:
        by_thread.setdefault(message["thread"], []).append(message)
    still = []
    for thread, said in by_thread.items():
        if said[0]["number"] == thread:
            found = asked(Turn(_speaker(m), m["message"]["text"], m["asks"], not _program(m)) for m in said)
            if found is not None and found.open:
                still.append(said[found.question])
    return [_shown(message) for message in sorted(still, key=lambda message: int(message["number"]))]


def _messages(source: Source, room: str | None) -> list[Record]:
    with _told():
        if room is None:
            names = source.rooms()
            if len(names) != 1:
                raise TowhomError(f"say which room; there are: {', '.join(names) or 'none'}")
            room = names[0]
        return source.messages(room)


@contextmanager
def _told() -> Iterator[None]:
    """Turn errors into tool errors, with our messages."""
    try:
        yield
    except (TowhomError, OSError) as error:
        raise ToolError(str(error)) from error


def _shown(message: Record) -> Record:
    said, likeliest = message["message"], message["addressees"][0]
    return {
        "number": message["number"],
        "time": said["time"],
        "speaker": _speaker(message),
        "for": likeliest["name"],
        "probability": round(likeliest["probability"], 2),
        "why": message["reason"],
        "text": said["text"],
        "thread": message["thread"],
    }


def _speaker(message: Record) -> str:
    said = message["message"]
    return str(said["name"] or said["speaker"])


def _program(message: Record) -> bool:
    said = message["message"]
    return bool(said.get("bot")) or said.get("kind") == Kind.NOTICE.value


def _at_most(last: int) -> int:
    return min(max(last, 1), _MOST)
