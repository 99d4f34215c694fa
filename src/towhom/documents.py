"""Reads JSON and TOML from files and command lines; invalid content raises `ValueError`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from towhom.errors import TowhomError
from towhom.version import __version__


def parse_json(text: str | bytes) -> Any:
    """The value of a text in JSON.

    Raises:
        ValueError: The text is not JSON, or is nested too deeply.
    """
    return _parsed(json.loads, text)


def read_json(path: Path) -> Any:
    """The value of a file in JSON.

    Raises:
        OSError: It cannot be opened.
        ValueError: It is not JSON in UTF-8, or is nested too deeply.
    """
    return parse_json(path.read_text("utf-8"))


def read_toml(path: Path) -> dict[str, Any]:
    """The value of a file in TOML.

    Raises:
        OSError: It cannot be opened.
        ValueError: It is not TOML in UTF-8, or is nested too deeply.
    """
    found: dict[str, Any] = _parsed(tomllib.loads, path.read_text("utf-8"))
    return found


def read_described(
    path: Path, wanted: tuple[str, int], *, what: str, again: str | None, error: type[TowhomError]
) -> dict[str, Any]:
    """The JSON file that describes a folder, after a check of its format and version.

    Args:
        path: The file.
        wanted: The expected format and version.
        what: What the folder should be, for error messages.
        again: What to do with a folder of another version, for error messages.
        error: The type of error to raise.

    Raises:
        TowhomError: The folder is something else, of another version, or damaged; it is of the type `error`.
    """
    folder, name = path.parent, {"config": "configuration"}.get(path.stem, path.stem)
    try:
        found = read_json(path)
    except FileNotFoundError:
        raise error(f"{folder}: this is not a {what}: it has no {path.name}") from None
    except (OSError, ValueError) as problem:
        advice = f"; take it from a copy, or {again}" if again else ""
        raise error(f"{path}: cannot be read ({problem}){advice}") from problem
    format, version = wanted
    if not isinstance(found, dict) or found.get("format") != format:
        raise error(f"{path}: this is not the {name} of a {what}")
    if found.get("version") != version:
        raise error(
            f"{folder}: the {what} has format version {found.get('version')}, this towhom ({__version__}) "
            f"reads version {version}{f'; {again}' if again else ''}"
        )
    return found


def _parsed(parse: Callable[[Any], Any], text: str | bytes) -> Any:
    try:
        return parse(text)
    except RecursionError:
        raise ValueError("brackets in brackets, too many to be read") from None
