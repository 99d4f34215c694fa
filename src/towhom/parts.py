"""Work in parts: each is written to a folder when it is done, so that a killed run can continue."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from towhom.documents import read_json
from towhom.errors import TowhomError
from towhom.files import atomic_file

_SETTINGS = "settings.json"


def prepare_parts(
    parts: Path,
    settings: Mapping[str, Any],
    *,
    others: Mapping[str, str],
    replace: bool,
    error: type[TowhomError],
) -> None:
    """Make a folder for the parts of a run, or make sure that existing parts are of the same run.

    Args:
        parts: The folder; the names of parts begin with a digit.
        settings: The settings of the run as JSON values; the same settings make the same parts.
        others: By setting, the words for a different one: `another model`.
        replace: Whether to remove parts of another run.
        error: The type of error to raise.

    Raises:
        TowhomError: The parts are of another or an unknown run; it is of the type `error`.
    """
    problem = _problem(parts, settings, others)
    if problem and not replace:
        raise error(f"{parts}: {problem}; --force starts again")
    if problem:
        shutil.rmtree(parts)
    if not (parts / _SETTINGS).exists():
        with atomic_file(parts / _SETTINGS, "w") as file:
            json.dump(settings, file)


def _problem(parts: Path, settings: Mapping[str, Any], others: Mapping[str, str]) -> str | None:
    """Why a run cannot continue with the existing parts; None if it can."""
    try:
        found = read_json(parts / _SETTINGS)
    except FileNotFoundError:
        # A run that was killed early has no settings, but then it has no parts either.
        none = not any(parts.glob("[0-9]*"))
        return None if none else f"there are parts, and no {_SETTINGS} that says of which run"
    except (OSError, ValueError) as error:
        return f"{_SETTINGS} cannot be read ({error}), so nobody knows of which run the parts are"
    if not isinstance(found, dict):
        return f"{_SETTINGS} is none of ours"
    changed = [each for name, each in others.items() if found.get(name) != settings[name]]
    if changed or found != settings:
        return f"parts of a run with {' and '.join(changed) or 'other settings'}"
    return None
