"""Compares two ways to run SI-RNN without torch: the NumPy forward pass and ONNX Runtime.

Run it from the project's root, where torch is installed, and onnx, onnxscript and onnxruntime::

    python benchmarks/runtime.py ../models/MODEL --install-size --json results/runtime.json

Three ways to answer the same questions, on one thread:

numpy          towhom.runtime
onnx           the torch model's plain computation, exported unchanged, in two graphs: utterances and dialog
onnx, tuned    the operator GRU for utterances, and the dialog's steps rewritten with merged matrices

Latencies are those of one question (`Session.select` without the tokenizer): with all utterances encoded, and
with those of the context remembered. The ways take turns, in a different order each time. Start-up is the
time of a new process from its beginning to its first answer, with graphs optimized beforehand. Lines of code
exclude blank lines, comments and docstrings.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import io
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from towhom.batching import NOBODY, Questions
from towhom.model_folder import CONFIG, WEIGHTS, WORDS
from towhom.models.base import mask_addressees
from towhom.persistence import SavedModel, load_model
from towhom.records import circumstances, write_record
from towhom.selection import Scores

_NEEDED = ("onnx", "onnxscript", "onnxruntime")
_INSTALLS = {"numpy": ("numpy", "safetensors"), "onnx": ("numpy", "onnxruntime")}
_SYSTEMS = ("sirnn-shared", "sirnn-separate", "dynamic-rnn", "static-hier-rnn", "static-rnn")
_MAX_WORDS = 20
_CANDIDATES = 10
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_OPSET, _IR = 18, 10

Array = NDArray[np.float32]


class Runs(Protocol):
    """A way to run a model."""

    def encode_utterances(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> Array:
        """(U, H) Embeddings of some utterances."""

    def score_encoded(self, questions: Questions, utterances: Array) -> Scores:
        """Probabilities, from embeddings."""


# -- ONNX: the replacement for towhom.runtime


class Exported:
    """Runs the graphs of `export_model`.

    Args:
        folder: The folder with the graphs.
        context: T of the graphs.
    """

    name = "onnx"

    def __init__(self, folder: Path, context: int) -> None:
        self.context = context
        self.utterances = _session(folder / f"{self.name}-utterances.onnx")
        self.dialog = _session(folder / f"{self.name}-dialog.onnx")

    def encode_utterances(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> Array:
        """(U, H) Embeddings of some utterances."""
        lengths = np.diff(offsets)
        there = np.arange(_MAX_WORDS) < lengths[:, None]
        padded = np.zeros(there.shape, np.int64)
        padded[there] = tokens
        states: Array = self.utterances.run(None, {"tokens": padded, "lengths": lengths})[0]
        return states

    def score_encoded(self, questions: Questions, utterances: Array) -> Scores:
        """Probabilities of one question, from embeddings."""
        feed = {
            "utterances": utterances,
            "context": np.maximum(_at_the_end(questions.context, self.context), 0),
            "sender": _at_the_end(questions.sender, self.context),
            "addressee": _at_the_end(questions.addressee, self.context),
            "present": questions.present,
            "candidates": questions.candidates.astype(np.int64),
        }
        addressee, *others = self.dialog.run(None, feed)
        return Scores(mask_addressees(addressee, questions), *others)


class Tuned(Exported):
    """Runs the graphs of `tuned_model`."""

    name = "onnx, tuned"

    def encode_utterances(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> Array:
        """(U, H) Embeddings of some utterances."""
        lengths = np.diff(offsets).astype(np.int32)
        there = np.arange(lengths.max(initial=1)) < lengths[:, None]
        padded = np.zeros(there.shape, np.int64)
        padded[there] = tokens
        feed = {"tokens": np.ascontiguousarray(padded.T), "lengths": lengths}
        states: Array = self.utterances.run(None, feed)[0]
        return states

    def score_encoded(self, questions: Questions, utterances: Array) -> Scores:
        """Probabilities of one question, from embeddings."""
        count = int(questions.participants[0])
        there = np.ones((count + 1, 1), np.float32)
        there[count] = 0.0
        context, sender, addressee = (
            _at_the_end(column, self.context)[0]
            for column in (questions.context, questions.sender, questions.addressee)
        )
        roles = np.stack([sender, addressee, addressee, sender], axis=1)
        feed = {
            "utterances": utterances,
            "context": np.where(context == NOBODY, len(utterances), context),
            "roles": np.where(roles == NOBODY, count, roles),
            "there": there,
            "candidates": questions.candidates.astype(np.int64),
        }
        addressee, *others = self.dialog.run(None, feed)
        return Scores(mask_addressees(addressee, questions), *others)


def _at_the_end(column: NDArray[np.int32], context: int) -> NDArray[np.int64]:
    """(1, T) The column at the end, with `NOBODY` in front."""
    result = np.full((1, context), NOBODY, np.int64)
    if column.shape[1]:
        result[:, -column.shape[1] :] = column
    return result


def _session(path: Path, optimized: Path | None = None) -> Any:
    """A session for a graph on one thread; with `optimized`, the graph is optimized and written there."""
    ort = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    level = ort.GraphOptimizationLevel
    if optimized is None:
        options.graph_optimization_level = level.ORT_DISABLE_ALL
    else:
        options.graph_optimization_level = level.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(optimized)
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def export_model(model: Any, context: int, folder: Path) -> None:
    """Export a torch model's plain computation as two graphs."""
    import torch
    from torch import Tensor, nn

    from towhom.models.recurrent import Inputs

    class Utterances(nn.Module):
        """Words to embeddings."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
            """(U, W), (U,) -> (U, H)."""
            unit = self.model.utterance
            projected: Tensor = self.model.vectors[tokens] @ unit.w
            state = projected.new_zeros(tokens.shape[0], unit.hidden)
            for place in range(tokens.shape[1]):
                there = (lengths > place)[:, None]
                state = torch.where(there, unit.step(projected[:, place], state), state)
            return state

    class Dialog(nn.Module):
        """Embeddings to probabilities."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(
            self,
            utterances: Tensor,
            context: Tensor,
            sender: Tensor,
            addressee: Tensor,
            present: Tensor,
            candidates: Tensor,
        ) -> list[Tensor]:
            """The part of `RecurrentSelector.forward` after the embeddings."""
            none = context[:0]
            inputs = Inputs(none, none, none, context, sender, addressee, present, candidates)
            speakers, seen = self.model.encode(inputs, utterances)
            logits = self.model.compare(speakers, seen, utterances[candidates])
            return [torch.sigmoid(each) for each in logits if each is not None]

    some = torch.export.Dim("some", min=1)
    people = torch.export.Dim("people", min=1)
    numbers = torch.arange(context + _CANDIDATES)
    _export(
        Utterances(),
        (torch.zeros(len(numbers), _MAX_WORDS, dtype=torch.int64), torch.ones_like(numbers)),
        ({0: some}, {0: some}),
        folder / f"{Exported.name}-utterances.onnx",
    )
    steps = numbers[None, :context]
    _export(
        Dialog(),
        (
            torch.zeros(len(numbers), model.config.hidden),
            steps,
            torch.zeros_like(steps),
            torch.zeros_like(steps),
            torch.ones(1, 6, dtype=torch.bool),
            numbers[None, context:],
        ),
        ({0: some}, None, None, None, {1: people}, {1: torch.export.Dim("candidates", min=1)}),
        folder / f"{Exported.name}-dialog.onnx",
    )


def tuned_model(saved: SavedModel, folder: Path) -> None:
    """Write SI-RNN's graphs for ONNX Runtime, with matrices merged that multiply the same states."""
    import torch
    from torch import Tensor, nn

    context, h = saved.context, saved.config.hidden
    model: Any = saved.model
    s, a, o = model.sender, model.addressee, model.observer
    # Columns: the sender's r, p, z, c; the addressee's; the observers' r, z, c.
    from_sender = torch.cat([s.w[:h], a.w[:h], o.w[:h]], dim=1).detach()
    from_sender[:, : 3 * h] += s.u[:, : 3 * h]
    from_sender[:, 4 * h : 7 * h] += a.v[:, : 3 * h]
    from_addressee = torch.zeros_like(from_sender)
    from_addressee[:, : 3 * h] = s.v[:, : 3 * h]
    from_addressee[:, 4 * h : 7 * h] = a.u[:, : 3 * h]
    matrices = {
        "from_utterance": torch.cat([s.w[h:], a.w[h:], o.w[h:]], dim=1),
        "from_both": torch.cat([from_sender, from_addressee]),
        "proposals": torch.stack([torch.cat([m.u[:, 3 * h :], m.v[:, 3 * h :]]) for m in (s, a)]),
        "observers": o.u[:, : 2 * h],
        "observers_c": o.u[:, 2 * h :],
    }

    class Dialog(nn.Module):
        """Algorithm 1 for one sample; the last row of the states belongs to nobody and stays zero."""

        from_utterance: Tensor
        from_both: Tensor
        proposals: Tensor
        observers: Tensor
        observers_c: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.model = model
            for name, values in matrices.items():
                self.register_buffer(name, values.detach().contiguous())

        def forward(
            self, utterances: Tensor, context: Tensor, roles: Tensor, there: Tensor, candidates: Tensor
        ) -> list[Tensor]:
            """(U, H), (T,), (T, 4), (P + 1, 1), (1, C) -> probabilities."""
            silence = utterances.new_zeros(1, h)
            rows = torch.cat([utterances, silence])[context] @ self.from_utterance
            states = there * silence
            for t in range(len(context)):
                both = states[roles[t]].reshape(2, 2 * h)
                x = both[:1] @ self.from_both + rows[t : t + 1]
                pair = x[:, : 8 * h].reshape(2, 4 * h)
                gates = torch.sigmoid(pair[:, : 3 * h])
                c = ((gates[:, : 2 * h] * both)[:, None] @ self.proposals)[:, 0]
                c = torch.tanh(c + pair[:, 3 * h :])
                own = c + gates[:, 2 * h :] * (both[:, :h] - c)
                gates = torch.sigmoid(states @ self.observers + x[:, 8 * h : 10 * h])
                c = torch.tanh((gates[:, :h] * states) @ self.observers_c + x[:, 10 * h :])
                states = c + gates[:, h:] * (states - c)
                states = states.index_put((roles[t, :2],), own) * there
            speakers = states[None, :-1]
            logits = self.model.compare(speakers, speakers.amax(dim=1), utterances[candidates])
            return [torch.sigmoid(each) for each in logits if each is not None]

    numbers = torch.arange(context + _CANDIDATES)
    dims = [torch.export.Dim(name, min=least) for name, least in (("U", 1), ("rows", 2), ("C", 1))]
    _export(
        Dialog(),
        (
            torch.zeros(len(numbers), h),
            numbers[:context],
            torch.zeros(context, 4, dtype=torch.int64),
            torch.ones(7, 1),
            numbers[None, context:],
        ),
        ({0: dims[0]}, None, None, {0: dims[1]}, {1: dims[2]}),
        folder / f"{Tuned.name}-dialog.onnx",
    )
    onnx = import_module("onnx")
    helper, array, kind = onnx.helper, onnx.numpy_helper.from_array, onnx.TensorProto

    def matrix(name: str) -> Array:
        """(1, 3H, D) Gates in the order of ONNX: z, r, c."""
        r, z, c = np.split(saved.weights[f"utterance.{name}"], 3, axis=1)
        return np.ascontiguousarray(np.concatenate([z, r, c], axis=1).T)[None]

    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["vectors", "tokens"], ["words"]),
            helper.make_node("GRU", ["words", "w", "u", "", "lengths"], ["", "last"], hidden_size=h),
            helper.make_node("Squeeze", ["last", "axis"], ["states"]),
        ],
        "utterances",
        [
            helper.make_tensor_value_info("tokens", kind.INT64, ["W", "U"]),
            helper.make_tensor_value_info("lengths", kind.INT32, ["U"]),
        ],
        [helper.make_tensor_value_info("states", kind.FLOAT, ["U", h])],
        [
            array(saved.vocabulary.matrix, "vectors"),
            array(matrix("w"), "w"),
            array(matrix("u"), "u"),
            array(np.array([0]), "axis"),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
    _optimize(lambda path: onnx.save(made, str(path)), folder / f"{Tuned.name}-utterances.onnx")


def _export(module: Any, example: tuple[Any, ...], dynamic: tuple[Any, ...], path: Path) -> None:
    """Export a module's graph in optimized form."""
    import torch

    quiet = io.StringIO()  # hides the exporter's many messages
    with warnings.catch_warnings(), redirect_stdout(quiet), redirect_stderr(quiet), torch.no_grad():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            module.eval(), example, dynamic_shapes=dynamic, opset_version=_OPSET, dynamo=True, verbose=False
        )
    assert program is not None  # noqa: S101 - it is with `dynamo`
    _optimize(program.save, path)


def _optimize(save: Callable[[Path], object], path: Path) -> None:
    """Write a graph optimized as ONNX Runtime would do on every start."""
    raw = path.with_name(f"raw {path.name}")
    save(raw)
    _session(raw, path)
    raw.unlink()


# -- measurements


def make_questions(saved: SavedModel, count: int) -> list[Questions]:
    """The questions of a session that follows the sample chat, from the first message on."""
    from towhom.chat import Kind
    from towhom.loading import load
    from towhom.readers import read_messages
    from towhom.samples import sample_chat
    from towhom.text.tokenizer import tokenize

    with sample_chat() as sample:
        chat = [message for message in read_messages(sample) if message.kind is Kind.MESSAGE]
    # A session finds names in front of messages, and removes them from the texts.
    session = load().session()
    heard = [session.observe(message).message for message in islice(cycle(chat), count)]
    words = [saved.vocabulary.ids(tokenize(message.text)[:_MAX_WORDS]) for message in heard[: len(chat)]]
    found = []
    for place, asking in enumerate(heard):
        first = max(place - saved.context, 0)
        context = heard[first:place]
        numbers: dict[str | None, int] = {asking.speaker: 0}
        for message in reversed(context):
            numbers.setdefault(message.speaker, len(numbers))
        said = [each % len(chat) for each in range(first, place)]
        said += [(place * 7 + each * 3) % len(chat) for each in range(_CANDIDATES)]
        to = [NOBODY if m.addressee == m.speaker else numbers.get(m.addressee, NOBODY) for m in context]
        found.append(
            Questions(
                tokens=np.concatenate([words[each] for each in said]),
                offsets=np.concatenate([[0], np.cumsum([len(words[each]) for each in said])]),
                context=np.arange(len(context), dtype=np.int32)[None],
                sender=np.array([[numbers[message.speaker] for message in context]], np.int32),
                addressee=np.array([to], np.int32),
                participants=np.array([len(numbers)], np.int32),
                candidates=np.arange(len(context), len(said), dtype=np.int32)[None],
                speakers_so_far=np.array([len(numbers)], np.int32),
            )
        )
    return found


def answer(way: Runs, questions: Questions) -> Scores:
    """Answer with all utterances encoded."""
    return way.score_encoded(questions, way.encode_utterances(questions.tokens, questions.offsets))


def answer_remembering(way: Runs, questions: Questions, context: Array) -> Scores:
    """Answer with only the candidates encoded."""
    offsets = questions.offsets[len(context) :]
    candidates = way.encode_utterances(questions.tokens[offsets[0] :], offsets - offsets[0])
    return way.score_encoded(questions, np.concatenate([context, candidates]))


def difference(one: Scores, other: Scores) -> float:
    """The largest difference between probabilities."""
    names = ("addressee", "response", "addressee_given", "response_given")
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    return max(float(np.nanmax(np.abs(a - b), initial=0.0)) for a, b in pairs if a is not None)


def measure_latency(ways: dict[str, Runs], asked: list[Questions], rounds: int) -> dict[str, Any]:
    """Milliseconds of an answer and of its parts, by the clock and of processor time."""
    spent: dict[tuple[str, str], list[tuple[float, float]]] = {}

    def timed(name: str, what: str, call: Callable[..., Any], *arguments: object) -> Any:
        start, start_here = time.perf_counter(), time.thread_time()
        result = call(*arguments)
        used = time.thread_time() - start_here
        spent.setdefault((name, what), []).append((time.perf_counter() - start, used))
        return result

    order, shuffle = list(ways.items()), random.Random(0).shuffle
    for questions in islice(cycle(asked), rounds):
        shuffle(order)
        for name, way in order:
            timed(name, "all_encoded", answer, way, questions)
            states = timed(
                name, "utterances_alone", way.encode_utterances, questions.tokens, questions.offsets
            )
            timed(name, "dialog_alone", way.score_encoded, questions, states)
            context = states[: questions.context.shape[1]]
            timed(name, "context_remembered", answer_remembering, way, questions, context)
    result: dict[str, Any] = {name: {} for name in ways}
    for (name, what), seconds in spent.items():
        (median, median_here), (p99, p99_here) = np.quantile(np.array(seconds) * 1000, [0.5, 0.99], axis=0)
        found = {"median": median, "p99": p99, "processor_median": median_here, "processor_p99": p99_here}
        result[name][what] = {key: round(float(value), 3) for key, value in found.items()}
    return result


def first_answer(way: str, model: Path, folder: Path) -> None:
    """Compute one answer in one of the ways, with everything that this needs, in a new process."""
    with np.load(folder / "question.npz") as stored:
        questions = Questions(**stored)
    if way == "numpy":
        answer(load_model(model).runtime, questions)
    elif way != "imports alone":
        config = json.loads((model / CONFIG).read_text("utf-8"))
        tuple(json.loads((model / WORDS).read_text("utf-8")))
        answer((Tuned if way == Tuned.name else Exported)(folder, config["context"]), questions)
    print("done", flush=True)


def measure_start_up(ways: Iterable[str], model: Path, folder: Path, rounds: int) -> dict[str, Any]:
    """Seconds until new processes have answered, and those for Python and the common imports alone."""
    spent: dict[str, list[float]] = {way: [] for way in ("imports alone", *ways)}
    for turn in range(rounds + 1):
        for way, seconds in spent.items():
            command = [sys.executable, __file__, str(model), "--first-answer", way, str(folder)]
            start = time.perf_counter()
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None  # noqa: S101
                line = process.stdout.readline()
                if turn:  # the first one fills the machine's caches
                    seconds.append(time.perf_counter() - start)
            if line.strip() != b"done":
                raise SystemExit(f"a fresh process did not answer: {way}")
    return {
        way: {"median": round(float(np.median(seconds)), 3), "each": [round(each, 3) for each in seconds]}
        for way, seconds in spent.items()
    }


def measure_installs() -> dict[str, Any]:
    """Bytes that pip installs, including dependencies."""
    result = {}
    for way, packages in _INSTALLS.items():
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, *packages]
            subprocess.run(command, check=True, capture_output=True)
            sizes = {path: path.lstat().st_size for path in Path(folder).rglob("*") if path.is_file()}
            installed = sorted(path.stem for path in Path(folder).glob("*.dist-info"))
            result[way] = {"megabytes": round(sum(sizes.values()) / 1e6, 1), "installed": installed}
    return result


def code_lines(source: str) -> int:
    """Lines that are neither blank nor comments nor docstrings."""
    source = textwrap.dedent(source)
    texts = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    skipped = {line for node in texts for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in skipped
        for number, line in enumerate(source.splitlines(), 1)
    )


def count_lines() -> dict[str, Any]:
    """Lines of duplicated code, for all systems together and for each."""

    def module(name: str) -> int:
        return code_lines(inspect.getsource(import_module(f"towhom.runtime.{name}")))

    def here(*parts: Any) -> int:
        return sum(code_lines(inspect.getsource(part)) for part in parts)

    shared = here(_session, _at_the_end, _export, _optimize)
    systems = ("sirnn", "dynamic_rnn", "static_hier_rnn", "static_rnn")
    return {
        "numpy": {
            "all systems": sum(map(module, ("__init__", "base", "gru"))),
            **{name.replace("_", "-"): module(name) for name in systems},
        },
        "onnx": {"all systems that can be exported as they are": shared + here(Exported, export_model)},
        "onnx, tuned": {"sirnn": shared + here(Exported.__init__, Tuned, tuned_model)},
    }


def try_systems(saved: SavedModel, asked: list[Questions]) -> dict[str, Any]:
    """Whether the other systems can be exported in the same way, with random weights.

    Those that cannot would need their own computation: Static-RNN's dialog encoder reads words, which
    these graphs do not pass on, and the lengths of Static-Hier-RNN's sequences are not known beforehand.
    """
    import torch

    from towhom.models.registry import system_class, system_config

    result: dict[str, Any] = {}
    sizes = {"dimensions": saved.config.dimensions, "hidden": saved.config.hidden, "init": 0.1}
    for name in _SYSTEMS:
        model = system_class(name)(system_config(name, sizes), saved.vocabulary.matrix, plain=True)
        model.init_weights(torch.Generator().manual_seed(0))
        with tempfile.TemporaryDirectory() as folder:
            try:
                export_model(model, saved.context, Path(folder))
                way = Exported(Path(folder), saved.context)
                apart = max(difference(answer(way, each), model.score_many(each)) for each in asked)
                result[name] = {"exported": True, "largest_difference": apart}
            except Exception as error:
                cause = error.__cause__ or error
                result[name] = {"exported": False, "error": type(cause).__name__}
        print(f"  {name}: {result[name]}", flush=True)
    return result


def main() -> None:
    """Export, compare, measure, show, record."""
    parser = argparse.ArgumentParser(description="SI-RNN without torch: NumPy beside ONNX Runtime.")
    parser.add_argument("model", type=Path, metavar="MODEL", help="the folder of a trained SI-RNN")
    parser.add_argument("--rounds", type=int, default=2000, help="questions, for latencies")
    parser.add_argument("--starts", type=int, default=9, help="fresh processes of each way")
    parser.add_argument("--install-size", action="store_true", help="install both into temporary folders")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the record here")
    parser.add_argument("--first-answer", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first_answer:
        way, folder = options.first_answer
        first_answer(way, options.model, Path(folder))
        return
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        parser.exit(1, f"this needs more packages: pip install {' '.join(missing)}\n")
    if any(os.environ.get(name) != value for name, value in _ONE_THREAD.items()):
        # NumPy's library reads its number of threads when it is loaded.
        command = [sys.executable, *sys.argv]
        parser.exit(subprocess.run(command, env=os.environ | _ONE_THREAD, check=False).returncode)
    with tempfile.TemporaryDirectory() as folder:
        record = _measure(options, Path(folder))
    if options.json:
        write_record(options.json, {**circumstances(), **record})


def _measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)  # mostly messages of the exporter
    saved = load_model(options.model)
    if saved.system not in ("sirnn", "sirnn-log"):
        raise SystemExit(f"{options.model}: this is a model of {saved.system}, not of sirnn")
    asked = make_questions(saved, 200)
    full = [each for each in asked if each.context.shape[1] == saved.context]
    saved.model.plain = True
    print("exporting", flush=True)
    export_model(saved.model, saved.context, folder)
    tuned_model(saved, folder)
    ways: dict[str, Runs] = {
        "numpy": saved.runtime,
        Exported.name: Exported(folder, saved.context),
        Tuned.name: Tuned(folder, saved.context),
    }
    apart = {
        name: max(difference(answer(way, each), saved.model.score_many(each)) for each in asked)
        for name, way in ways.items()
    }
    print(f"largest difference from torch: {apart}", flush=True)
    measure_latency(ways, full, 100)
    latency = measure_latency(ways, full, options.rounds)
    question = full[0]
    np.savez(folder / "question.npz", **{name: getattr(question, name) for name in vars(question)})
    start_up = measure_start_up(ways, options.model, folder, options.starts)
    print(f"{'ms, median (p99)':14}{'all encoded':>20}{'context remembered':>22}{'first answer, s':>18}")
    for name in ways:
        cells = [latency[name][what] for what in ("all_encoded", "context_remembered")]
        texts = [f"{cell['median']:.3f} ({cell['p99']:.3f})" for cell in cells]
        print(f"{name:16}{texts[0]:>20}{texts[1]:>22}{start_up[name]['median']:>18.3f}")
    print(f"what all import takes {start_up['imports alone']['median']:.3f} s of that")
    lengths = np.concatenate([each.lengths for each in full])
    record = {
        "packages": {name: version(name) for name in (*_NEEDED, "safetensors")},
        "load_average": [round(each, 1) for each in os.getloadavg()],
        "threads": 1,
        "model": {
            "name": options.model.name,
            "system": saved.system,
            "context": saved.context,
            "hidden": saved.config.hidden,
            "dimensions": saved.config.dimensions,
            "words": len(saved.vocabulary.words),
        },
        "questions": {
            "from": "the sample chat",
            "candidates": _CANDIDATES,
            "words_of_an_utterance": round(float(lengths.mean()), 1),
            "participants": round(float(np.mean([each.participants[0] for each in full])), 1),
            "rounds": options.rounds,
        },
        "largest_difference_from_torch": apart,
        "milliseconds": latency,
        "seconds_to_first_answer": start_up,
        "megabytes_of_model_files": {
            "numpy": _megabytes([options.model / WEIGHTS]),
            **{
                name: _megabytes([folder / f"{name}-utterances.onnx", folder / f"{name}-dialog.onnx"])
                for name in (Exported.name, Tuned.name)
            },
        },
        "lines_of_code": count_lines(),
        "other_systems_exported_the_same_way": try_systems(saved, asked[:30]),
    }
    if options.install_size:
        record["installed"] = measure_installs()
    for what in ("lines_of_code", "megabytes_of_model_files", "installed"):
        print(f"{what}: {record.get(what, 'not measured')}")
    return record


def _megabytes(paths: Iterable[Path]) -> float:
    return round(sum(path.stat().st_size for path in paths) / 1e6, 1)


if __name__ == "__main__":
    main()
