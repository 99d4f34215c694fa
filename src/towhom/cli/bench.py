"""`towhom bench`: measures speed on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from towhom.chat import Kind, Message
from towhom.cli.options import FOLDER, LOGS, echo_json, model_option, record_option
from towhom.corpus import Corpus
from towhom.errors import LogError
from towhom.extras import require
from towhom.models.registry import SYSTEMS
from towhom.readers import read_messages
from towhom.records import circumstances, write_record
from towhom.samples import sample_chat
from towhom.text.vectors import WordVectors


@click.group()
def bench() -> None:
    """Measure speed on this machine; compared figures are measured in the same run."""


@bench.command()
@click.option(
    "--corpus", "folder", type=FOLDER, required=True, help="A folder that `towhom corpus build` made."
)
@click.option("--vectors", type=FOLDER, required=True, help="A folder that `towhom vectors` made.")
@click.option(
    "--system",
    type=click.Choice([name for name, system in SYSTEMS.items() if system.neural]),
    default="sirnn",
    show_default=True,
    help="The system to train.",
)
@click.option("--context", default=15, show_default=True, help="T: the number of messages of context.")
@click.option("--batch", default=128, show_default=True, help="Samples per batch.")
@click.option(
    "--rounds", default=10, show_default=True, help="Number of rounds in which the variants take turns."
)
@record_option
def train(folder: Path, vectors: Path, out: Path | None, **options: Any) -> None:
    """Samples a second in training and prediction, beside the plain computation and the matmul peak."""
    require("torch", extra="train", purpose="training")
    from towhom.bench.training import bench_training

    result = bench_training(Corpus(folder), WordVectors.load(vectors), **options)
    echo_json(result)
    if out is not None:
        write_record(out, {**circumstances(), "corpus": Corpus(folder).manifest["hash"], **result})


_log_option = click.option(
    "--log", type=LOGS, help="A chat to follow.  [default: a sample that comes with towhom]"
)


def _messages(log: str | None) -> list[Message]:
    """The messages of a chat."""
    with sample_chat() as sample:
        found = [message for message in read_messages(log or sample) if message.kind is Kind.MESSAGE]
    if not found:
        raise LogError("no message was found in it", file=str(log))
    return found


def _report(result: dict[str, Any], log: str | None, out: Path | None) -> None:
    """Show the results of a measurement, and write a record if `out` is given."""
    echo_json(result)
    if out is not None:
        write_record(out, {**circumstances(), "log": log or "the sample chat", **result})


@bench.command()
@model_option
@_log_option
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=2000,
    show_default=True,
    help="Number of messages to observe and of responses to select.",
)
@click.option(
    "--channels",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Number of channels for measuring memory.",
)
@record_option
def live(model: Path | None, log: str | None, rounds: int, channels: int, out: Path | None) -> None:
    """Latency of observe and select, memory of a channel, time to the first answer; beside torch."""
    from towhom import load
    from towhom.bench.live import bench_live

    result = bench_live(load(model), _messages(log), rounds=rounds, channels=channels)
    _report(result, log, out)


@bench.command()
@model_option
@_log_option
@click.option(
    "--messages",
    type=click.IntRange(100),
    default=20_000,
    show_default=True,
    help="Messages in the shortest log.",
)
@record_option
def threads(model: Path | None, log: str | None, messages: int, out: Path | None) -> None:
    """Messages a second from a log to its threads, for logs of three lengths; peak memory; one by one."""
    from towhom import load
    from towhom.bench.threads import bench_threads

    result = bench_threads(load(model), _messages(log), count=messages)
    _report(result, log, out)


@bench.command()
@model_option
@_log_option
@click.option(
    "--channels", type=click.IntRange(1), default=1000, show_default=True, help="Number of channels."
)
@click.option(
    "--clients",
    type=click.IntRange(1),
    default=64,
    show_default=True,
    help="Number of clients that send requests at once.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="Duration of each of five measurements.",
)
@click.option(
    "--workers", type=click.IntRange(1), help="Number of processes.  [default: one per core, less one]"
)
@record_option
def serve(
    model: Path | None,
    log: str | None,
    channels: int,
    clients: int,
    seconds: float,
    workers: int | None,
    out: Path | None,
) -> None:
    """Requests a second, and how soon they are answered, over many channels of a server on loopback."""
    require("fastapi", extra="serve", purpose="serving")
    from towhom.bench.serve import bench_serve

    result = bench_serve(
        _messages(log), model=model, channels=channels, clients=clients, seconds=seconds, workers=workers
    )
    _report(result, log, out)
