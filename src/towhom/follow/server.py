"""A client of `towhom serve` that sends it the messages of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from towhom.client import AWAY, Client, in_words
from towhom.errors import ConfigError

_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses of a server that may accept the same request later."""
_OURS = frozenset({401, 403, 404, 405})
"""Statuses of a server that does not let us in, or is not `towhom serve`."""


@dataclass(frozen=True)
class Answer:
    """The server's answer to a message.

    Args:
        kept: Whether the server has saved the message.
        again: Seconds after which the message should be sent again; None if it should not.
        code: What is wrong, for programs.
        reason: What is wrong, for people.
    """

    kept: bool = False
    again: float | None = None
    code: str = ""
    reason: str = ""


class Server:
    """A server that takes messages.

    Args:
        address: Address of the server, like http://127.0.0.1:8080.
        token: The server's token, if it needs one.

    Raises:
        ConfigError: The address is not valid.
    """

    def __init__(self, address: str, token: str | None) -> None:
        self._client = Client(address, token)
        self.address = self._client.address

    def send(self, room: str, message: dict[str, Any], key: str) -> Answer:
        """Send a message to a room.

        Raises:
            ConfigError: The server does not let us in, has too many channels, or is not `towhom serve`.
        """
        path = f"/v1/channels/{quote(room, safe='')}/messages"
        try:
            reply = self._client.ask("POST", path, {"message": message}, key=key)
        except AWAY as error:
            return Answer(again=1.0, reason=f"{self.address}: {in_words(error)}")
        if reply.status == 201:
            return Answer(kept=True)
        if reply.status in _AGAIN:
            return Answer(again=reply.retry_after or 1.0, code=reply.code, reason=reply.sentence)
        if reply.status in _OURS or reply.code == "too-many-channels":
            raise ConfigError(f"{self.address} answers {reply.status} {reply.code}: {reply.sentence}")
        return Answer(code=reply.code or str(reply.status), reason=reply.sentence)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()
