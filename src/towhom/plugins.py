"""Parts from other packages: registered as entry points, or named as `module:Class`."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TypeVar

from towhom.errors import PluginError, TowhomError

Part = TypeVar("Part")

_TARGET = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


@cache
def registered(group: str) -> dict[str, str]:
    """The parts that installed packages register in a group: name -> `module:Class`."""
    return {point.name: point.value for point in sorted(entry_points(group=group))}


def is_target(name: str) -> bool:
    """Whether a name has the form `module:Class`.

    >>> is_target("my_package.logs:Mine"), is_target("table:speaker=from"), is_target("irc")
    (True, False, False)
    """
    return _TARGET.fullmatch(name) is not None


def load_object(target: str, what: str) -> object:
    """Import the object that `module:Name` names.

    Args:
        target: The name, as `module:Name`.
        what: What the part is called in error messages.

    Raises:
        PluginError: It cannot be imported.
    """
    module, _, attribute = target.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except TowhomError:
        raise  # an extra that is missing, with the command that installs it
    except Exception as error:
        raise PluginError(
            f"{what}: {target} cannot be loaded ({type(error).__name__}: {error}); "
            "check the name, or correct or uninstall the package that brings it"
        ) from error


def load_class(target: str, base: type[Part], what: str) -> type[Part]:
    """The class that `module:Class` names.

    Args:
        target: The name, as `module:Name`.
        base: What it must be a subclass of.
        what: What the part is called in error messages.

    Raises:
        PluginError: It cannot be imported, or is not such a class.
    """
    found = load_object(target, what)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise PluginError(f"{what}: {target} is not a subclass of {base.__module__}.{base.__qualname__}")
    return found
