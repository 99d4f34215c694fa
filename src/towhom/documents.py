"""JSON and TOML, as they are read from files and command lines: what cannot be read is a `ValueError`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """What a text in JSON says.

    Raises:
        ValueError: It is no JSON, or it is nested too deeply to be anybody's.
    """
    return _parsed(json.loads, text)


def read_json(path: Path) -> Any:
    """What a file in JSON says.

    Raises:
        OSError: It cannot be opened.
        ValueError: It is no JSON in UTF-8, or nested too deeply.
    """
    return parse_json(path.read_text("utf-8"))


def read_toml(path: Path) -> dict[str, Any]:
    """What a file in TOML says.

    Raises:
        OSError: It cannot be opened.
        ValueError: It is no TOML in UTF-8, or nested too deeply.
    """
    found: dict[str, Any] = _parsed(tomllib.loads, path.read_text("utf-8"))
    return found


def _parsed(parse: Callable[[Any], Any], text: str | bytes) -> Any:
    try:
        return parse(text)
    except RecursionError:
        raise ValueError("brackets in brackets, too many to be read") from None
