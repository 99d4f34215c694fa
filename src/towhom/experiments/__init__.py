"""The experiments of the paper: what to run, with the published numbers in it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Row:
    """A cell of the paper's table: a system, how much context it sees, how many candidates it has."""

    system: str
    context: int
    candidates: int
    published: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What its files are called."""
        return f"{self.system}-t{self.context}-c{self.candidates}"


@dataclass(frozen=True)
class Experiment:
    """Rows to fill, and named settings to train them with."""

    rows: tuple[Row, ...]
    settings: dict[str, dict[str, Any]]


@cache
def load_experiment(name: str = "table3") -> Experiment:
    """An experiment that comes with the package."""
    content = tomllib.loads((files("towhom.experiments") / f"{name}.toml").read_text("utf-8"))
    rows = tuple(Row(**row) for row in content.pop("row"))
    return Experiment(rows, content)
