"""Rooms of real chat servers as events: connectors, found by the scheme of an address.

>>> sorted(connectors())[:3]
['discord', 'irc', 'ircs']
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from towhom.errors import RoomError
from towhom.plugins import load_class, registered
from towhom.rooms.address import Address
from towhom.rooms.base import Connector, Event

__all__ = ["Address", "Connector", "Event", "connect", "connector_for", "connectors"]

GROUP = "towhom.rooms"
"""Entry points of other packages: `name = "module:Class"`, where the name is the scheme of addresses."""

CONNECTORS = {
    "irc": "towhom.rooms.irc:IRC",
    "ircs": "towhom.rooms.irc:IRC",
    "matrix": "towhom.rooms.matrix:Matrix",
    "xmpp": "towhom.rooms.xmpp:XMPP",
    "slack": "towhom.rooms.slack:Slack",
    "discord": "towhom.rooms.discord:Discord",
    "telegram": "towhom.rooms.telegram:Telegram",
    "zulip": "towhom.rooms.zulip:Zulip",
    "mattermost": "towhom.rooms.mattermost:Mattermost",
}
"""Scheme -> connector of this package, imported when it is asked for."""


def connectors() -> dict[str, str]:
    """Schemes of addresses with their connectors as `module:Class`, including those of other packages."""
    return {**registered(GROUP), **CONNECTORS}


def connector_for(scheme: str) -> type[Connector]:
    """Find the connector for a scheme.

    Raises:
        RoomError: There is none.
        MissingExtraError: A package that it needs is not installed.
        PluginError: The connector of another package cannot be loaded, or is not a connector.
    """
    known = connectors()
    if scheme not in known:
        raise RoomError(f"there is no connector for {scheme}:// (known: {', '.join(sorted(known))})")
    return load_class(known[scheme], Connector, f"the connector for {scheme}://")  # type: ignore[type-abstract]


def connect(
    address: str | Address,
    *,
    secrets: Mapping[str, str] | None = None,
    state: str | Path | None = None,
    write: bool = False,
) -> Connector:
    """Create a connector. It connects when its context is entered.

    Args:
        address: The server, account and rooms.
        secrets: Passwords and tokens by name, instead of those of the environment: `TOWHOM_IRC_PASSWORD` is
            the `password` of irc://, `TOWHOM_MATRIX_TOKEN_FILE` a file with the `token` of matrix://.
        state: A file for the last position that was read, so that a restart misses nothing; None to start
            with new messages.
        write: Whether it may send.

    Raises:
        RoomError: It is not an address, or there is no connector for it.
    """
    from towhom.rooms.secrets import secrets_for

    where = Address.parse(address) if isinstance(address, str) else address
    connector = connector_for(where.scheme)
    if secrets is None:
        secrets = secrets_for(where.scheme, connector.secret_names)
    return connector(where, secrets=secrets, state=None if state is None else Path(state), write=write)
