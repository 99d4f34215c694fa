"""Work in parts, each written to a folder when it is done: a run that was killed goes on from there."""

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
    """Make a folder for the parts of a run, or make sure that those that are there are of the same run.

    Args:
        parts: The folder; the names of parts begin with a digit.
        settings: Of the run, as JSON can hold them; with the same ones, the same parts are made.
        others: What to call each setting that differs: `another model`.
        replace: Whether parts of another run are removed.
        error: What is raised.

    Raises:
        TowhomError: They are of another run, or nobody knows of which; it is of the type `error`.
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
    """Why a run cannot go on with the parts that are there; None if it can."""
    try:
        found = read_json(parts / _SETTINGS)
    except FileNotFoundError:
        # A run that was killed at once has no settings, but then it has no parts either.
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
