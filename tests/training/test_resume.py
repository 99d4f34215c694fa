"""A run that is stopped, in any way, ends with the very weights it would have ended with."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file
from torch import Tensor

from tests.training.conftest import quiz, weights
from towhom.corpus import Corpus, Split
from towhom.errors import TowhomError, TrainingError
from towhom.models import recurrent
from towhom.models.losses import selection_loss
from towhom.testing.chats import write_corpus
from towhom.text.vectors import WordVectors
from towhom.training import loop
from towhom.training.config import TrainingConfig
from towhom.training.loop import Step, Watch, train

SYSTEMS = ("sirnn", "sirnn-shared", "static-rnn")


class StoppedError(Exception):
    """Somebody pulls the plug."""


def stop_at(epoch: int, batch: int) -> Watch:
    def step(done: Step) -> None:
        if (done.epoch, done.batch) == (epoch, batch):
            raise StoppedError

    return Watch(step)


@pytest.fixture
def checkpoint(out: Path) -> Path:
    return out.with_name("model.checkpoint")


@pytest.mark.parametrize("system", SYSTEMS)
def test_stopped_twice(
    system: str, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path, checkpoint: Path
) -> None:
    config = replace(config, system=system)
    undisturbed = train(config, corpus, vectors, out.with_name("undisturbed"))
    for epoch, batch in ((0, 7), (2, 3)):
        with pytest.raises(StoppedError):
            train(config, corpus, vectors, out, watch=stop_at(epoch, batch), checkpoint_seconds=0)
        assert checkpoint.exists()
        assert not out.exists()
    resumed = train(config, corpus, vectors, out)
    assert weights(out) == weights(out.with_name("undisturbed"))
    for key in ("history", "dev", "best_epoch", "epochs", "config", "corpus"):
        assert resumed[key] == undisturbed[key]
    assert not checkpoint.exists()


def test_stopped_between_checkpoints(
    config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
) -> None:
    """What came after the last checkpoint is done again."""
    train(config, corpus, vectors, out.with_name("undisturbed"))
    with pytest.raises(StoppedError):
        train(config, corpus, vectors, out, watch=stop_at(1, 9))
    steps: list[Step] = []
    train(config, corpus, vectors, out, watch=Watch(steps.append))
    assert (steps[0].epoch, steps[0].batch) == (1, 1)
    assert weights(out) == weights(out.with_name("undisturbed"))


def test_stopped_while_the_model_is_written(
    config: TrainingConfig,
    corpus: Corpus,
    vectors: WordVectors,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train(config, corpus, vectors, out.with_name("undisturbed"))

    def fail(*_: object, **__: object) -> None:
        raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(loop, "save_model", fail)
        with pytest.raises(StoppedError):
            train(config, corpus, vectors, out)
    steps: list[Step] = []
    train(config, corpus, vectors, out, watch=Watch(steps.append))
    assert not steps
    assert weights(out) == weights(out.with_name("undisturbed"))


SCRIPT = """
import json, sys, torch
from towhom.corpus import Corpus
from towhom.text.vectors import WordVectors
from towhom.training.config import TrainingConfig
from towhom.training.loop import train
torch.set_num_threads(1)
corpus, vectors, out, config = sys.argv[1:]
data = Corpus(corpus), WordVectors.load(vectors)
train(TrainingConfig(**json.loads(config)), *data, out, checkpoint_seconds=0)
"""


def test_killed(
    config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path, checkpoint: Path
) -> None:
    """By a signal that cannot be caught, wherever the run happens to be, until it is through."""
    config = replace(config, epochs=6)
    train(config, corpus, vectors, out.with_name("undisturbed"))
    vectors.save(out.with_name("vectors"))
    arguments = (corpus.folder, out.with_name("vectors"), out, json.dumps(asdict(config)))
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    random = Random()  # truly: the moment is not to be the same each time
    killed = 0
    for _ in range(2):
        process = subprocess.Popen(command)
        before = stamp(checkpoint)
        while process.poll() is None and stamp(checkpoint) == before:
            time.sleep(0.005)
        time.sleep(random.uniform(0, 0.2))
        killed += process.poll() is None
        process.kill()
        process.wait()
    assert killed
    assert subprocess.run(command, check=False).returncode == 0
    assert weights(out) == weights(out.with_name("undisturbed"))
    assert not checkpoint.exists()


def stamp(path: Path) -> int | None:
    return path.stat().st_mtime_ns if path.exists() else None


class TestOtherRuns:
    @pytest.fixture(autouse=True)
    def _stopped(
        self, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path, checkpoint: Path
    ) -> None:
        with pytest.raises(StoppedError):
            train(config, corpus, vectors, out, watch=stop_at(0, 2), checkpoint_seconds=0)
        assert checkpoint.exists()

    def refuses(
        self, message: str, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
    ) -> None:
        before = out.with_name("model.checkpoint").read_bytes()
        with pytest.raises(TowhomError, match=message):
            train(config, corpus, vectors, out)
        assert out.with_name("model.checkpoint").read_bytes() == before

    def test_other_settings(
        self, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
    ) -> None:
        message = (
            r"model\.checkpoint: this is the checkpoint of a run with other settings; "
            "choose another folder, or remove it to start again"
        )
        self.refuses(message, replace(config, seed=1), corpus, vectors, out)
        self.refuses(message, replace(config, settings={"hidden": 16}), corpus, vectors, out)

    def test_other_corpus_and_vectors(
        self, config: TrainingConfig, vectors: WordVectors, out: Path, tmp_path: Path
    ) -> None:
        chats = {split: [quiz(Random(1), rounds=9)] for split in (Split.TRAIN, Split.DEV)}
        other = write_corpus(tmp_path / "other", chats)
        renamed = WordVectors(vectors.words, vectors.matrix, {"name": "others"})
        self.refuses("a run with other corpus, vectors", config, other, renamed, out)

    @pytest.mark.parametrize(
        "damage", [lambda whole: whole[: len(whole) // 2], lambda whole: b"", lambda whole: b"{" * 99]
    )
    def test_damaged(
        self,
        damage: Callable[[bytes], bytes],
        config: TrainingConfig,
        corpus: Corpus,
        vectors: WordVectors,
        out: Path,
        checkpoint: Path,
    ) -> None:
        checkpoint.write_bytes(damage(checkpoint.read_bytes()))
        message = r"model\.checkpoint: the checkpoint cannot be read \(.*\); remove it to start again"
        self.refuses(message, config, corpus, vectors, out)

    @pytest.mark.parametrize("part", ["identity", "progress"])
    @pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", '{"tea": 1}'])
    def test_no_account_of_itself(
        self,
        part: str,
        text: str,
        config: TrainingConfig,
        corpus: Corpus,
        vectors: WordVectors,
        out: Path,
        checkpoint: Path,
    ) -> None:
        with safe_open(checkpoint, framework="numpy") as file:
            metadata = {**file.metadata(), part: text}
        save_file({"something": np.zeros(3)}, checkpoint, metadata)
        self.refuses(r"model\.checkpoint: .*; .*remove it to start again", config, corpus, vectors, out)

    def test_no_checkpoint(
        self, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path, checkpoint: Path
    ) -> None:
        save_file({"something": np.zeros(3)}, checkpoint)
        self.refuses("this is not the checkpoint of a training run", config, corpus, vectors, out)


class TestNotANumber:
    def test_from_the_start(
        self, config: TrainingConfig, corpus: Corpus, vectors: WordVectors, out: Path
    ) -> None:
        infinite = WordVectors(vectors.words, np.full_like(vectors.matrix, np.inf))
        with pytest.raises(
            TrainingError,
            match=r"the loss is nan in epoch 1, batch 1; nothing is kept yet\. A smaller learning rate",
        ):
            train(config, corpus, infinite, out)
        assert not list(out.parent.iterdir())

    @pytest.mark.parametrize("what", ["loss", "gradient's norm"])
    def test_later(
        self,
        what: str,
        config: TrainingConfig,
        corpus: Corpus,
        vectors: WordVectors,
        out: Path,
        checkpoint: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The last good state is kept, and the run can go on from it."""
        train(config, corpus, vectors, out.with_name("undisturbed"))
        calls = 0

        def break_down(*arguments: Tensor, false: object) -> Tensor:
            nonlocal calls
            calls += 1
            loss = selection_loss(*arguments, false="hardest")  # type: ignore[arg-type]
            if calls < 5:
                return loss
            # The root of nothing is nothing, but its slope is infinite.
            return loss * torch.nan if what == "loss" else loss + (loss - loss.detach()).sqrt()

        with monkeypatch.context() as patch:
            patch.setattr(recurrent, "selection_loss", break_down)
            with pytest.raises(
                TrainingError,
                match=rf"the {what} is (nan|inf) in epoch 1, batch 5; the last good state is in .*checkpoint",
            ):
                train(config, corpus, vectors, out, checkpoint_seconds=0)
        assert checkpoint.exists()
        steps: list[Step] = []
        train(config, corpus, vectors, out, watch=Watch(steps.append))
        assert steps[0].batch == 5
        assert weights(out) == weights(out.with_name("undisturbed"))
