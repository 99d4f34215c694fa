"""A system with weights of another package: trained, saved, loaded, run without torch; and devices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.training.conftest import weights
from towhom.batching import Batcher
from towhom.corpus import Corpus
from towhom.errors import ConfigError, ModelFormatError
from towhom.models import registry
from towhom.models.configs import SIRNNConfig
from towhom.models.registry import Entry
from towhom.models.sirnn import SIRNN
from towhom.persistence import load_model
from towhom.runtime import sirnn as runtime
from towhom.text.vectors import WordVectors
from towhom.training.config import TrainingConfig
from towhom.training.loop import train


class Theirs(SIRNN):
    name = "theirs"


@dataclass(frozen=True, kw_only=True)
class TheirsConfig(SIRNNConfig):
    hidden: int = 5


class TheirsRuntime(runtime.SIRNN):
    name = "theirs"


_HERE = "tests.training.test_outside"
THEIRS = Entry(f"{_HERE}:Theirs", "Theirs", config=f"{_HERE}:TheirsConfig", runtime=f"{_HERE}:TheirsRuntime")


def test_a_system_of_another_package(
    monkeypatch: pytest.MonkeyPatch, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
) -> None:
    with monkeypatch.context() as installed:
        installed.setattr(registry, "registered", lambda group: {"theirs": f"{_HERE}:THEIRS"})
        train(replace(config, system="theirs", settings={"init": 0.3}, epochs=1), corpus, vectors, out)
        saved = load_model(out)
        assert (saved.system, saved.config.hidden) == ("theirs", 5)
        assert type(saved.model).__name__ == "Theirs"
        words = saved.vocabulary.ids(list(corpus.vocabulary.words))
        questions = Batcher(corpus, context=4, candidates=2, words=words).questions(np.arange(9))
        scores = [each.score_many(questions) for each in (saved.model, saved.runtime)]
        assert_allclose(scores[0].addressee, scores[1].addressee, atol=1e-5)
    with pytest.raises(ModelFormatError, match="there is no system 'theirs'"):
        load_model(out)


def test_the_device_is_chosen(
    config: TrainingConfig, corpus: Corpus, vectors: WordVectors, tmp_path: Path
) -> None:
    short = replace(config, epochs=1)
    for name, device in (("default", None), ("chosen", "cpu")):
        train(short, corpus, vectors, tmp_path / name, device=device)
    assert weights(tmp_path / "chosen") == weights(tmp_path / "default")
    for device in ("cuda:99", "nothing"):
        with pytest.raises(ConfigError, match=f"--device {device}: it cannot be used here"):
            train(short, corpus, vectors, tmp_path / "no", device=device)
    assert not (tmp_path / "no").exists()
