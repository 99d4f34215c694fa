"""A run in this process, as the commands start it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from towhom.batch.inputs import find_inputs
from towhom.batch.layout import Layout
from towhom.batch.run import Outcome, run_batch
from towhom.batch.settings import Command, Output, Settings
from towhom.clusters import InProcess, Pool
from towhom.live.model import load_live
from towhom.places import Place

Batch = Callable[..., Outcome]


@pytest.fixture(scope="session")
def fingerprint() -> str:
    return load_live().saved.fingerprint


@pytest.fixture
def batch(fingerprint: str) -> Batch:
    def run(
        *logs: str | Path,
        to: str | Path,
        command: Command = Command.THREADS,
        output: Output = Output.JSON,
        part: int = 100,
        pool: Pool | None = None,
        force: bool = False,
        strict: bool = False,
        warm_up: int = 50,
    ) -> Outcome:
        settings = Settings(
            command=command, output=output, model=None, fingerprint=fingerprint, part=part, warm_up=warm_up,
            strict=strict,
        )  # fmt: skip
        return run_batch(
            find_inputs(map(str, logs), None),
            Layout(Place(str(to)), output.value),
            settings,
            pool or Pool(InProcess(), lambda: 1, processes=False),
            replace=force,
        )

    return run
