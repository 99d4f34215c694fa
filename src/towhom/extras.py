"""Imports packages that an extra installs, or raises an error with the command that installs them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from towhom.errors import MissingExtraError


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`, which the extra `extra` installs.

    Raises:
        MissingExtraError: The package is not installed; the message has the command that installs it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtraError(
            f"{purpose} needs the package {error.name}, which is not installed; "
            f"install it with: pip install 'towhom[{extra}]'"
        ) from error
