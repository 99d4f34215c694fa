"""The experiments of the paper: the runs and the published numbers."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Row:
    """A run of the paper's table: a system, the length of its context, the number of candidates."""

    system: str
    context: int
    candidates: int
    published: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.system}-t{self.context}-c{self.candidates}"


@dataclass(frozen=True)
class Experiment:
    """The rows of a table, and named settings for training."""

    rows: tuple[Row, ...]
    settings: dict[str, dict[str, Any]]


@cache
def load_experiment(name: str = "table3") -> Experiment:
    """Load an experiment that comes with the package."""
    content = tomllib.loads((files("towhom.experiments") / f"{name}.toml").read_text("utf-8"))
    rows = tuple(Row(**row) for row in content.pop("row"))
    return Experiment(rows, content)
