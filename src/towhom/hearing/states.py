"""Checks of the values in a saved state, made where they are read."""

from __future__ import annotations

import math

_SLIP = 1e-6
"""How far a sum of probabilities may exceed 1."""


def text_of(value: object) -> str:
    """The value, which must be a text."""
    if not isinstance(value, str):
        raise TypeError(f"expected a text, found {value!r}")
    return value


def texts_of(values: object) -> tuple[str, ...]:
    """The value, which must be a list of texts."""
    if not isinstance(values, list):
        raise TypeError(f"expected a list, found {values!r}")
    return tuple(map(text_of, values))


def flag_of(value: object) -> bool:
    """The value, which must be true or false."""
    if not isinstance(value, bool):
        raise TypeError(f"expected true or false, found {value!r}")
    return value


def whole_of(value: object, *, below: int = 1 << 62) -> int:
    """The value, which must be a whole number from 0 on."""
    if type(value) is not int or not 0 <= value < below:
        raise ValueError(f"expected a whole number from 0 to {below - 1}, found {value!r}")
    return value


def number_of(value: object, *, least: float = -math.inf, most: float = math.inf) -> float:
    """The value, which must be a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, found {value!r}")
    if not math.isfinite(value) or not least <= value <= most:
        raise ValueError(f"expected a number from {least} to {most}, found {value!r}")
    return float(value)


def share_of(value: object) -> float:
    """The value, which must be a probability."""
    return number_of(value, least=-_SLIP, most=1.0 + _SLIP)


def text_or_none(value: object) -> str | None:
    """The value, which must be a text or None."""
    return None if value is None else text_of(value)
