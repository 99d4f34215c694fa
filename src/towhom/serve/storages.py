"""The storages for channels, by the scheme of their address; other packages can add storages."""

from __future__ import annotations

from typing import Any

from towhom.errors import PluginError
from towhom.plugins import load_object, registered
from towhom.serve.storage import Storage

STORAGES = {
    "sqlite": "towhom.serve.sqlite:SqliteStorage",  # a folder, which has no address
    "postgresql": "towhom.serve.postgres:PostgresStorage",
    "postgres": "towhom.serve.postgres:PostgresStorage",
}
"""Scheme -> storage of this package."""
GROUP = "towhom.storages"
"""Entry points of other packages: `name = "module:Class"`, where the name is the scheme of addresses.

The class is called as `Class(address, full=...)`, where `full` says that a saved message has to survive a
power cut. It is a `Storage` that one server uses at a time.
"""


def storages() -> dict[str, str]:
    """Every storage by its scheme, as `module:Class`; other packages cannot replace one of this package."""
    return {**registered(GROUP), **STORAGES}


def open_storage(address: str, *, full: bool) -> Storage | None:
    """Open another package's storage at an address; None if no other package has registered the scheme.

    Raises:
        PluginError: The storage cannot be loaded, or is a shared one.
        TowhomError: The storage raised it.
    """
    scheme = address.partition("://")[0]
    if scheme in STORAGES or scheme not in registered(GROUP):
        return None
    target = registered(GROUP)[scheme]
    made: Any = load_object(target, f"the storage {scheme}://")
    storage: Storage = made(address, full=full)
    if storage.shared:
        storage.close()
        raise PluginError(f"the storage {scheme}://: {target} is shared, which only PostgreSQL can be")
    return storage
