"""Addresses of rooms, like `irc://nick@host/#one,#two`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from towhom.errors import RoomError

_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
    r"(?:(?P<user>[^/?]*)@)?"
    r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/?@\[\]]*)(?::(?P<port>[0-9]{1,5}))?"
    r"(?:/(?P<rooms>[^?]*))?(?:\?(?P<options>.*))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Address:
    """A server, an account there, and rooms. It holds no secrets.

    Args:
        scheme: The kind of server.
        host: The name of the server; empty if the service has only one.
        user: The account, or the nick.
        port: The port, if it is not the usual one.
        rooms: The rooms; none for all that the account has joined.
        options: The options behind the question mark.
    """

    scheme: str
    host: str = ""
    user: str | None = None
    port: int | None = None
    rooms: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read an address.

        Raises:
            RoomError: It is not an address, or contains a password. The message does not quote it.

        >>> Address.parse("irc://robo@irc.example.org:6667/#help,#dev?history=no")
        ... # doctest: +NORMALIZE_WHITESPACE
        Address(scheme='irc', host='irc.example.org', user='robo', port=6667, rooms=('#help', '#dev'),
            options={'history': 'no'})
        """
        match = _ADDRESS.fullmatch(text.strip())
        if match is None:
            raise RoomError("an address of rooms looks like irc://nick@irc.example.org/#room,#other")
        scheme, user, port = match["scheme"].lower(), match["user"], match["port"]
        if user is not None and ":" in unquote(user):
            variable = f"TOWHOM_{re.sub('[^A-Z0-9]', '_', scheme.upper())}_PASSWORD"
            raise RoomError(
                f"the {scheme} address has a colon before the @: a password in an address is seen by others "
                f"(process lists, shell histories), so write user@host and set {variable} or --password-file"
            )
        if port is not None and not 0 < int(port) < 65536:
            raise RoomError(f"{scheme}://{match['host']}: there is no port {port}")
        rooms = [unquote(room).strip() for room in (match["rooms"] or "").split(",")]
        options = parse_qsl(match["options"] or "", keep_blank_values=True)
        return cls(
            scheme,
            match["host"].strip("[]").lower(),
            unquote(user) if user else None,
            int(port) if port else None,
            tuple(dict.fromkeys(filter(None, rooms))),
            dict(options),
        )

    @property
    def server(self) -> str:
        """The server without account and rooms, for messages to people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port is None else f":{self.port}")

    def allow(self, *options: str) -> None:
        """Refuse all other options.

        Raises:
            RoomError: The address has an unknown option.
        """
        for name in self.options:
            if name not in options:
                known = ", ".join(options) or "none"
                raise RoomError(
                    f"{self.server}: there is no option {name!r} of this address (known: {known})"
                )

    def flag(self, name: str, *, default: bool) -> bool:
        """The value of a `yes` or `no` option."""
        value = self.options.get(name)
        if value not in (None, "yes", "no"):
            raise RoomError(f"{self.server}: the option {name} is yes or no")
        return default if value is None else value == "yes"
