"""The training loop of all systems, which starts anew or continues from a checkpoint.

It runs on a CPU, a GPU, or in many processes that share each batch: Accelerate handles devices and exchanges
gradients (`accelerate launch -m towhom train ...`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from towhom.batching import Batcher
from towhom.corpus import Corpus, Split
from towhom.errors import ConfigError, CorpusError, TrainingError
from towhom.evaluation.evaluator import evaluate, summary
from towhom.model_folder import TRAINING, read_training
from towhom.models.neural import NeuralSelector
from towhom.models.registry import entry, system_class, system_config
from towhom.nn.kernels import choose_kernels, keep_memory, tiny_values_flushed
from towhom.persistence import SavedModel, check_replaceable, save_model
from towhom.records import circumstances
from towhom.text.vectors import WordVectors
from towhom.text.vocabulary import ModelVocabulary
from towhom.training.batches import TrainingSamples, ahead, training_samples
from towhom.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from towhom.training.config import TrainingConfig

Start = WordVectors | SavedModel
"""What training starts from: word vectors, or a trained model."""
CHECKPOINT_SECONDS = 60.0


@dataclass(frozen=True)
class Step:
    """The progress after a batch, as reported to `Watch.step`."""

    epoch: int
    batch: int
    batches: int
    loss: float
    """Mean loss over the batches of the epoch so far."""
    samples_per_second: float


@dataclass(frozen=True)
class Watch:
    """Functions to call after each step and after each epoch."""

    step: Callable[[Step], None] = lambda step: None
    epoch: Callable[[dict[str, Any]], None] = lambda measured: None


def train(
    config: TrainingConfig,
    corpus: Corpus,
    start: Start,
    out: str | Path,
    *,
    watch: Watch | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    replace_model: bool = False,
    device: str | None = None,
) -> dict[str, Any]:
    """Train a system and write its best model to the folder `out`.

    Nothing happens if the folder already holds a model of the same data and settings. A run that was killed
    continues from its last checkpoint, `out` + ".checkpoint", and ends with exactly the weights that it would
    have had without the interruption.

    A model to start from keeps its vocabulary; its weights are the initial weights.

    Args:
        config: The system and its settings, including those for training.
        corpus: The data.
        start: Word vectors, or a model.
        out: The folder of the model.
        watch: Functions that are told of the progress.
        checkpoint_seconds: Seconds between checkpoints.
        replace_model: Whether a model of other data or settings may be replaced.
        device: PyTorch's name for it: "cpu", "cuda", "cuda:1", "mps". None takes a GPU if there is one.

    Returns:
        The content of `training.json`: settings, data, the course of the training, accuracy on dev.

    Raises:
        ConfigError: Settings are wrong; all of them are named. Or the device cannot be used. Or the folder
            holds a model of other data or settings, and `replace_model` is not set. Or the model to start
            from is another system, or has other settings.
        CorpusError: The corpus lacks what training needs.
        TrainingError: The loss or the gradient's norm is infinite or NaN; the last good checkpoint is kept.
    """
    out = Path(out)
    run = Run(config, corpus, start, out, watch or Watch(), checkpoint_seconds, device)
    if (out / TRAINING).exists() and not replace_model:
        training = read_training(out)
        if not is_training_of(training, config, corpus, start):
            raise ConfigError(
                f"{out}: holds a model of other data or settings; choose another folder, or use --force"
            )
        return training
    return run.train()


def is_training_of(training: dict[str, Any], config: TrainingConfig, corpus: Corpus, start: Start) -> bool:
    """Whether a model was trained with exactly these settings and data."""
    same = {"config": config.described(), **_origin(start)}
    there = training.get("corpus", {}).get("hash") == corpus.manifest["hash"]
    return there and all(training.get(key) == json.loads(json.dumps(value)) for key, value in same.items())


class Run:
    """One training run: its data, its model and its progress."""

    def __init__(
        self,
        config: TrainingConfig,
        corpus: Corpus,
        start: Start,
        out: Path,
        watch: Watch,
        checkpoint_seconds: float,
        device: str | None = None,
    ) -> None:
        _check(config, corpus, out)
        self.config, self.corpus, self.out, self.watch = config, corpus, out, watch
        self.checkpoint = out.with_name(f"{out.name}.checkpoint")
        self.checkpoint_seconds = checkpoint_seconds
        words = list(corpus.vocabulary.words)
        if isinstance(start, SavedModel):
            self.vocabulary, self.model = start.vocabulary, _trained(start, config)
            self.words = self.vocabulary.ids(words)
        else:
            seen = corpus.vocabulary.counts > 0  # words that occur only in dev are not used in training
            self.vocabulary = ModelVocabulary.of(start, (w for w, s in zip(words, seen, strict=True) if s))
            self.words = self.vocabulary.ids(words)
            self.model = _untrained(self.vocabulary, config)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True
        )
        self.samples = TrainingSamples(corpus, config)
        self.batcher = Batcher(
            corpus,
            context=config.context,
            candidates=config.candidates,
            words=self.words,
            distinct=not config.plain,
        )
        self.identity = {
            "settings": config.described(),
            "corpus": corpus.manifest["hash"],
            **_origin(start),
        }
        self.before: dict[str, Any] = {}
        if isinstance(start, SavedModel):
            self.before = {"before": start.training}
        self.progress = Progress()
        self.best: dict[str, Tensor] = {}
        self.accelerator = Accelerator(device_placement=device is None)
        self.device = _device(device, self.accelerator)
        self.model.to(self.device)

    def train(self) -> dict[str, Any]:
        """Train for all epochs and write the model of the best one."""
        if self.checkpoint.exists():
            self.progress, self.best = load_checkpoint(
                self.checkpoint, self.model, self.optimizer, self.identity
            )
        # With one process this is the model itself; with several, it exchanges gradients with the others.
        self.shared = self.accelerator.prepare_model(self.model)
        keep_memory()
        with tiny_values_flushed():  # small weights lead to tiny gradients
            while not self._finished():
                self._epoch()
        self.model.load_state_dict(self.best)
        best = self.progress.history[self.progress.best_epoch]
        training: dict[str, Any] = {
            **circumstances(),
            "config": self.config.described(),
            "corpus": {"hash": self.corpus.manifest["hash"], "training_samples": len(self.samples)},
            **{key: self.identity[key] for key in ("vectors", "start") if key in self.identity},
            "processes": self.accelerator.num_processes,
            **({} if self.config.plain else {"kernels": choose_kernels(self.model.config.hidden).record()}),
            "dev": best["dev"],
            "best_epoch": self.progress.best_epoch + 1,
            "epochs": self.progress.epoch,
            "seconds": round(self.progress.seconds, 1),
            "samples_per_second": round(self.progress.samples / max(self.progress.seconds, 1e-9)),
            "history": self.progress.history,
            **self.before,
        }
        if self.accelerator.is_main_process:
            save_model(
                self.out,
                self.model,
                self.vocabulary,
                system=self.config.system,
                context=self.config.context,
                training=training,
            )
            self.checkpoint.unlink(missing_ok=True)
        self.accelerator.wait_for_everyone()
        return training

    def _finished(self) -> bool:
        progress = self.progress
        waited = progress.epoch - 1 - progress.best_epoch
        return progress.epoch >= self.config.epochs or (progress.epoch > 0 and waited >= self.config.patience)

    def _epoch(self) -> None:
        """Train on the rest of the epoch, measure on dev, and keep the weights if they are the best."""
        progress = self.progress
        batches = self.samples.batches(progress.epoch)
        candidates = self.samples.candidates(progress.epoch)

        processes, mine = self.accelerator.num_processes, self.accelerator.process_index

        def make(number: int) -> tuple[Any, Tensor, int]:
            samples = batches[number]
            chosen = candidates(samples)  # for the whole batch, however it is shared
            context, some = self.samples.seen(progress.epoch, number, samples)
            samples, chosen = samples[some], chosen[some]
            size = len(samples)
            if size >= processes:  # a batch too small to share is used by every process
                samples, chosen = (np.array_split(each, processes)[mine] for each in (samples, chosen))
            questions = self.batcher.questions(samples, candidates=chosen, context=context)
            addressee = self.batcher.addressees(samples, context=context)
            truth = torch.from_numpy(addressee.astype(np.int64)).to(self.device)
            return self.model.inputs(questions), truth, size

        self.model.train()
        saved = start = perf_counter()
        done = 0
        for inputs, addressee, size in ahead(make, progress.batch, len(batches)):
            progress.loss += self._step(inputs, addressee, size)
            progress.batch += 1
            done += size
            now = perf_counter()
            self.watch.step(
                Step(
                    progress.epoch,
                    progress.batch,
                    len(batches),
                    progress.loss / progress.batch,
                    done / (now - start),
                )
            )
            if now - saved > self.checkpoint_seconds:
                saved = now
                self._save(
                    replace(progress, seconds=progress.seconds + now - start, samples=progress.samples + done)
                )
        progress.seconds += perf_counter() - start
        progress.samples += done
        self._measure(len(batches))
        self._save(progress)

    def _step(self, inputs: Any, addressee: Tensor, size: int) -> float:
        """Train on a batch of `size` samples, or this process's part of it; returns the mean loss."""
        self.optimizer.zero_grad()
        scores = self.shared(inputs)
        loss = self.model.loss(
            scores,
            inputs,
            addressee,
            torch.zeros_like(addressee),  # the true response is the first
            false=self.config.false_addressee,
        )
        if self.accelerator.num_processes > 1:
            # Gradients are averaged over processes, whose parts may differ by one sample.
            shared = size >= self.accelerator.num_processes
            loss = loss * (len(addressee) * self.accelerator.num_processes / size if shared else 1.0)
            value = float(self.accelerator.gather(loss.detach()).mean())
        else:
            value = float(loss.detach())
        self._must_be_finite("loss", value)
        self.accelerator.backward(loss)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self._must_be_finite("gradient's norm", float(norm))
        self.optimizer.step()
        return value

    def _must_be_finite(self, what: str, value: float) -> None:
        if np.isfinite(value):
            return
        kept = (
            f"the last good state is in {self.checkpoint}"
            if self.checkpoint.exists()
            else "nothing is kept yet"
        )
        raise TrainingError(
            f"the {what} is {value} in epoch {self.progress.epoch + 1}, batch {self.progress.batch + 1}; "
            f"{kept}. A smaller learning rate or clip may help"
        )

    def _measure(self, batches: int) -> None:
        """Measure the accuracy on dev after an epoch."""
        progress, config = self.progress, self.config
        self.model.eval()
        outcomes = evaluate(
            self.model,
            self.corpus,
            Split.DEV,
            context=config.context,
            candidates=config.candidates,
            words=self.words,
        )
        dev = summary(outcomes)
        progress.history.append(
            {"epoch": progress.epoch + 1, "loss": round(progress.loss / batches, 5), "dev": dev}
        )
        if dev["adr_res"] > progress.best:
            progress.best, progress.best_epoch = dev["adr_res"], progress.epoch
            self.best = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.watch.epoch(progress.history[-1])
        progress.epoch, progress.batch, progress.loss = progress.epoch + 1, 0, 0.0

    def _save(self, progress: Progress) -> None:
        if self.accelerator.is_main_process:
            save_checkpoint(self.checkpoint, self.model, self.optimizer, self.best, progress, self.identity)


def _device(name: str | None, accelerator: Accelerator) -> torch.device:
    """The device to compute on.

    Raises:
        ConfigError: The device cannot be used, or several processes have theirs already.
    """
    if name is None:
        chosen: torch.device = accelerator.device
        return chosen
    if accelerator.num_processes > 1:
        raise ConfigError("--device is for one process; accelerate launch gives each process its device")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        raise ConfigError(f"--device {name}: it cannot be used here ({reason})") from error
    return device


def _untrained(vocabulary: ModelVocabulary, config: TrainingConfig) -> NeuralSelector:
    settings = {**config.settings, "dimensions": vocabulary.matrix.shape[1]}
    model: NeuralSelector = system_class(config.system)(
        system_config(config.system, settings), vocabulary.matrix, plain=config.plain
    )
    model.rule = entry(config.system).rule or model.rule
    model.init_weights(torch.Generator().manual_seed(config.seed))
    return model


def _trained(start: SavedModel, config: TrainingConfig) -> NeuralSelector:
    settings = {**config.settings, "dimensions": start.config.dimensions}
    if config.system != start.system or system_config(config.system, settings) != start.config:
        raise ConfigError(
            f"the model to start from is {start.system} with settings of its own, which stay as they are"
        )
    if config.plain:
        raise ConfigError("a trained model cannot be trained further with --plain")
    return replace(start).model  # a copy, so that the given model is not changed


def _origin(start: Start) -> dict[str, Any]:
    """Identify what training starts from."""
    if isinstance(start, SavedModel):
        return {"start": start.fingerprint}
    return {"vectors": dict(start.source)}


def _check(config: TrainingConfig, corpus: Corpus, out: Path) -> None:
    """Check settings and data before any work is done."""
    problems = config.problems()
    try:
        if entry(config.system).neural:
            system_config(config.system, config.settings)
        else:
            problems.append(f"{config.system} learns nothing; it can be evaluated as it is")
    except ConfigError as error:
        problems.append(str(error))
    if problems:
        raise ConfigError("; ".join(problems))
    corpus.require_candidates(config.candidates)
    found = {
        Split.TRAIN: training_samples(corpus, config.context),
        Split.DEV: corpus.samples_of(Split.DEV),
    }
    for split, samples in found.items():
        if not len(samples):
            raise CorpusError(
                f"{corpus.folder}: there are no samples for {split.value} in it; see towhom corpus stats"
            )
    check_replaceable(out)
