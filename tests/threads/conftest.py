"""The model that comes with towhom, and small ones whose networks look at everything, in no sensible way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.live.conftest import saved_model
from tests.models.systems import SIZES
from tests.nn.conftest import one_thread as one_thread
from towhom import load
from towhom.live import Model
from towhom.persistence import SavedModel
from towhom.threads.network import STAGES, Network
from towhom.threads.signals import MESSAGE, MESSAGE_TIME, STRUCTURE, pair_names

LIKENESS = {"sirnn": 1, "crosstalk": SIZES["crosstalk"]["towers"] + 1}
"""How often a small selector compares two messages."""
CONTENT = {"sirnn": 4, "crosstalk": 2 * SIZES["crosstalk"]["content"]}
"""What it says of one."""
Weights = dict[str, NDArray[np.float32]]


def random_weights(
    pairs: int, messages: int, *, hidden: int = 6, second: int = 5, seed: int = 0, scale: float = 0.5
) -> Weights:
    """Of a network."""
    random = np.random.default_rng(seed)
    shapes = Network.shapes(pairs, messages, hidden, second)
    return {name: (random.normal(size=shape) * scale).astype(np.float32) for name, shape in shapes.items()}


def small_model(system: str = "crosstalk", *, seed: int = 0) -> SavedModel:
    """With networks of both stages."""
    pairs = len(pair_names(LIKENESS[system]))
    messages = len(MESSAGE) + len(MESSAGE_TIME) + CONTENT[system]
    more = {"first": 0, "second": len(STRUCTURE)}
    weights = {stage: random_weights(pairs + more[stage], messages, seed=seed) for stage in STAGES}
    return replace(saved_model(system), thread_weights=weights)


@pytest.fixture(scope="session")
def model() -> Model:
    return load()
