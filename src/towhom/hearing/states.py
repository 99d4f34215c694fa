"""What a saved state must be made of: checked where it is read."""

from __future__ import annotations

import math

_SLIP = 1e-6
"""Sums of probabilities may be so much more than 1."""


def text_of(value: object) -> str:
    """A text, which it must be."""
    if not isinstance(value, str):
        raise TypeError(f"expected a text, found {value!r}")
    return value


def texts_of(values: object) -> tuple[str, ...]:
    """Texts, which a list must be of."""
    if not isinstance(values, list):
        raise TypeError(f"expected a list, found {values!r}")
    return tuple(map(text_of, values))


def flag_of(value: object) -> bool:
    """True or false, which it must be."""
    if not isinstance(value, bool):
        raise TypeError(f"expected true or false, found {value!r}")
    return value


def whole_of(value: object, *, below: int = 1 << 62) -> int:
    """A whole number from 0 on, which it must be."""
    if type(value) is not int or not 0 <= value < below:
        raise ValueError(f"expected a whole number from 0 to {below - 1}, found {value!r}")
    return value


def number_of(value: object, *, least: float = -math.inf, most: float = math.inf) -> float:
    """A finite number, which it must be."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, found {value!r}")
    if not math.isfinite(value) or not least <= value <= most:
        raise ValueError(f"expected a number from {least} to {most}, found {value!r}")
    return float(value)


def share_of(value: object) -> float:
    """A probability, which it must be."""
    return number_of(value, least=-_SLIP, most=1.0 + _SLIP)


def text_or_none(value: object) -> str | None:
    """A text, or nothing, which it must be."""
    return None if value is None else text_of(value)
