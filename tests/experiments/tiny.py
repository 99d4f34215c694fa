"""What experiments and commands need to run in a second: a corpus that can be learned, vectors, settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.nn.conftest import one_thread as one_thread
from tests.training.conftest import corpus as corpus
from tests.training.conftest import vectors as vectors
from towhom.corpus import Corpus
from towhom.text.vectors import WordVectors

SETTINGS: dict[str, Any] = {
    "batch": 16,
    "learning_rate": 0.01,
    "weight_decay": 0.0,
    "epochs": 1,
    "settings": {"hidden": 7, "init": 0.3},
}
"""Of the training, as an experiment has them."""
OPTIONS = (
    "--system", "sirnn", "--context", "4", "--set", "hidden=7", "--set", "init=0.3", "--batch", "16",
    "--learning-rate", "0.01", "--weight-decay", "0", "--epochs", "2",
)  # fmt: skip
"""Of the training, as the command line has them."""


class Folders(NamedTuple):
    """Where the data are."""

    corpus: Path
    vectors: Path

    @property
    def options(self) -> tuple[str, str, str, str]:
        """Them, as commands take them."""
        return "--corpus", str(self.corpus), "--vectors", str(self.vectors)


@pytest.fixture(scope="session")
def folders(corpus: Corpus, vectors: WordVectors, tmp_path_factory: pytest.TempPathFactory) -> Folders:
    saved = tmp_path_factory.mktemp("tiny") / "vectors"
    vectors.save(saved)
    return Folders(corpus.folder, saved)
