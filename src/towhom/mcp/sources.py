"""Sources of chats: a log, or a server that follows rooms. Rooms are lists of observations, as JSON."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from towhom.client import AWAY, Client, in_words
from towhom.errors import TowhomError
from towhom.hearing.utterance import SPOKEN
from towhom.loading import load
from towhom.readers import Report, read_messages
from towhom.serve.answers import observation

KEPT = 20_000
"""Maximum number of latest messages of a room that can be asked about."""
_ONLY = "log"
"""Name for the room of messages that do not name one."""
_PAGE = 1000

Record = dict[str, Any]


class Source(Protocol):
    """A source of rooms."""

    def rooms(self) -> list[str]:
        """The names of the rooms."""

    def messages(self, room: str) -> list[Record]:
        """The last messages of a room, each with its addressees, what it answers, and its thread.

        Raises:
            TowhomError: There is no such room, or it cannot be read.
        """


class LogSource:
    """A log of any format; it is read again when its file has changed.

    Args:
        path: A file, a folder, or a zip archive.
        format: Format of the log; None to recognise it.
    """

    def __init__(self, path: str, format: str | None = None) -> None:
        self._path, self._format = path, format
        self._model = load()
        self._state: object = None
        self._rooms: dict[str, deque[Record]] = {}

    def rooms(self) -> list[str]:
        """The names of the rooms."""
        self._refresh()
        return list(self._rooms)

    def messages(self, room: str) -> list[Record]:
        """The last messages of a room."""
        self._refresh()
        if room not in self._rooms:
            raise TowhomError(f"there is no room {room!r} in the log; there are: {', '.join(self._rooms)}")
        return list(self._rooms[room])

    def _refresh(self) -> None:
        file = Path(self._path)
        state = (file.stat().st_mtime_ns, file.stat().st_size) if file.is_file() else True
        if state == self._state:
            return
        rooms: dict[str, deque[Record]] = {}
        messages = read_messages(self._path, format=self._format, report=Report())
        for seen in self._model.observations(messages):
            if seen.placed.message.kind in SPOKEN:
                room = rooms.setdefault(seen.message.channel or _ONLY, deque(maxlen=KEPT))
                room.append(observation(seen))
        self._rooms, self._state = rooms, state


class ServerSource:
    """Rooms that `towhom serve` follows.

    Args:
        url: Address of the server.
        token: The server's token, if it needs one.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        self._client = Client(url, token)

    def rooms(self) -> list[str]:
        """The names of the rooms."""
        return [each["id"] for page in self._pages("/v1/channels", "channels", "") for each in page]

    def messages(self, room: str) -> list[Record]:
        """The last messages of a room."""
        kept: deque[Record] = deque(maxlen=KEPT)
        for page in self._pages(f"/v1/channels/{quote(room, safe='')}/messages", "observations", -1):
            kept.extend(each for each in page if each["message"]["kind"] in SPOKEN)
        return list(kept)

    def _pages(self, path: str, field: str, after: str | int | None) -> Iterator[list[Record]]:
        while after is not None:
            answer = self._get(f"{path}?{urlencode({'after': after, 'limit': _PAGE})}")
            yield answer[field]
            after = answer["next"]

    def _get(self, path: str) -> Record:
        try:
            reply = self._client.ask("GET", path)
        except AWAY as error:
            raise TowhomError(
                f"{self._client.address}: the server cannot be asked ({in_words(error)})"
            ) from error
        if reply.status != 200:
            raise TowhomError(f"{self._client.address}: {reply.sentence}")
        return reply.body
