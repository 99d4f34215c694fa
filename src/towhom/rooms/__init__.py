"""Rooms of real chat servers as events: connectors, found by the scheme of an address.

>>> sorted(connectors())[:3]
['discord', 'irc', 'ircs']
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from towhom.errors import RoomError
from towhom.rooms.address import Address
from towhom.rooms.base import Connector, Event

__all__ = ["Address", "Connector", "Event", "connect", "connector_for", "connectors"]

GROUP = "towhom.rooms"
"""Entry points of other packages: `name = "module:Class"`, where the name is the scheme of addresses."""

_OURS = {
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
    """Schemes of addresses, and the connector of each as `module:Class`; other packages may add theirs."""
    return {**{point.name: point.value for point in entry_points(group=GROUP)}, **_OURS}


def connector_for(scheme: str) -> type[Connector]:
    """The connector for a scheme.

    Raises:
        RoomError: There is none.
        MissingExtraError: What it needs is not installed.
    """
    known = connectors()
    if scheme not in known:
        raise RoomError(f"there is no connector for {scheme}:// (known: {', '.join(sorted(known))})")
    module, _, name = known[scheme].partition(":")
    connector = getattr(import_module(module), name)
    if not (isinstance(connector, type) and issubclass(connector, Connector)):
        raise RoomError(f"{scheme}://: {known[scheme]} is no towhom.rooms.Connector")
    return connector


def connect(
    address: str | Address,
    *,
    secrets: Mapping[str, str] | None = None,
    state: str | Path | None = None,
    write: bool = False,
) -> Connector:
    """Prepare a connector. It connects when its context is entered.

    Args:
        address: Which server, account and rooms.
        secrets: Passwords and tokens by name, instead of those of the environment: `TOWHOM_IRC_PASSWORD` is
            the `password` of irc://, `TOWHOM_MATRIX_TOKEN_FILE` a file with the `token` of matrix://.
        state: A file that keeps how far was read, so that a restart misses nothing; None begins from now on.
        write: Whether it may send.

    Raises:
        RoomError: The address is none, or there is no connector for it.
    """
    from towhom.rooms.secrets import secrets_for

    where = Address.parse(address) if isinstance(address, str) else address
    connector = connector_for(where.scheme)
    if secrets is None:
        secrets = secrets_for(where.scheme, connector.secret_names)
    return connector(where, secrets=secrets, state=None if state is None else Path(state), write=write)
