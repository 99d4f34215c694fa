"""Messages a second from raw log to corpus on disk, and peak memory, for one and for two workers.

    python benchmarks/corpus.py ../shared/data/web-irc/developers.txt.xz ../shared/data/web-irc/whatwg.txt.xz

Each stage runs in a process of its own. Speeds depend on the machine; compare them within one run. `--sizes`
builds from a part of the lines, and from all of them several times over, to see that memory does not grow
with them.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from towhom.corpus import Corpus, CorpusSettings, SplitBy, build_corpus
from towhom.readers import Report, find_logs, read_conversations
from towhom.readers.base import Source
from towhom.records import circumstances, describe_data, write_record
from towhom.text.tokenizer import tokenize


def read_stage(logs: list[str], _folder: str) -> int:
    """Parse the logs and resolve their addressees."""
    return sum(len(conversation) for log in logs for conversation in read_conversations(log))


def tokenize_stage(logs: list[str], _folder: str) -> int:
    """Parse and tokenize."""
    conversations = (conversation for log in logs for conversation in read_conversations(log))
    return sum(tokenize(message.text) is not None for c in conversations for message in c)


def build_stage(logs: list[str], folder: str, workers: int = 1) -> int:
    """Build a corpus on disk from raw logs."""
    settings = CorpusSettings(split_by=SplitBy.TIME)
    corpus = build_corpus(Path(folder) / "corpus", logs, settings=settings, workers=workers)
    read: int = corpus.manifest["read"]["lines"]["message"]
    return read


def build_two_stage(logs: list[str], folder: str) -> int:
    """The same, with two workers."""
    return build_stage(logs, folder, workers=2)


def open_stage(logs: list[str], _folder: str) -> int:
    """Open the corpus that `logs` names, and touch every table."""
    corpus = Corpus(logs[0])
    tables = (corpus.documents, corpus.utterances, corpus.samples, corpus.vocabulary, corpus.speaker_names)
    return len(corpus.messages.speaker) if all(tables) else 0


STAGES: dict[str, Callable[[list[str], str], int]] = {
    "read": read_stage,
    "read and tokenize": tokenize_stage,
    "build, 1 worker": build_stage,
    "build, 2 workers": build_two_stage,
    "open": open_stage,
}


def run_stage(name: str, logs: list[str], folder: str) -> dict[str, Any]:
    """Run a stage in a fresh process."""
    command = [sys.executable, __file__, "--stage", name, "--folder", folder, *logs]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measure(name: str, logs: list[str], folder: str) -> dict[str, Any]:
    """Messages, seconds and peak memory of a stage, in this process."""
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = perf_counter()
    messages = STAGES[name](logs, folder)
    seconds = perf_counter() - start
    return {
        "stage": name,
        "messages": messages,
        "seconds": round(seconds, 3),
        "messages_per_second": round(messages / seconds),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "peak_mb_a_worker": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024),
        "idle_mb": round(idle / 1024),
    }


def scaled(logs: list[str], size: float, folder: Path) -> list[str]:
    """Copies of the logs: the first part of the lines, or all of them several times under other names."""
    paths = []
    for copy in range(max(1, int(size))):
        for log in logs:
            source = find_logs(log, report=Report())[0].source
            if not isinstance(source, Source):
                sys.exit(f"{log}: --sizes wants files")
            path = folder / f"{copy}-{Path(log).name}.txt"
            total = sum(1 for _ in source.lines()) if size < 1 else 0
            lines = islice(source.lines(), int(total * size)) if size < 1 else source.lines()
            with path.open("wb") as file:
                file.writelines(line + b"\n" for _, line in lines)
            paths.append(str(path))
    return paths


def main() -> None:
    """Run all stages, or one of them in a new process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", nargs="+")
    parser.add_argument("--sizes", type=float, nargs="*", default=[0.25, 2.0])
    parser.add_argument("--json", type=Path, help="write a record of the run to this file")
    parser.add_argument("--stage", choices=list(STAGES), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        print(json.dumps(measure(arguments.stage, arguments.logs, arguments.folder)))
        return
    results = []
    for name in STAGES:
        if name == "open":
            continue
        with tempfile.TemporaryDirectory() as folder:
            results.append(run_stage(name, arguments.logs, folder))
            show(results[-1], "1")
            if name == "build, 1 worker":
                opened = run_stage("open", [f"{folder}/corpus"], folder)
                opened.pop("messages_per_second")
                more = opened["peak_mb"] - opened["idle_mb"]
                print(f"{'open':20} {opened['seconds'] * 1000:.0f} ms, {more} MB more")
    sizes = []
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            logs = scaled(arguments.logs, size, Path(folder))
            sizes.append({"size": size, **run_stage("build, 1 worker", logs, folder)})
            show(sizes[-1], f"{size:g}")
    if arguments.json:
        record = {"stages": results, "open": opened, "sizes": sizes}
        write_record(arguments.json, {**circumstances(), "data": describe_data(arguments.logs), **record})


def show(result: dict[str, Any], size: str) -> None:
    """One line of the table."""
    print(
        f"{result['stage']:20} x{size:4} {result['messages']:>10,} messages "
        f"{result['messages_per_second']:>8,} a second {result['peak_mb']:>5} MB "
        f"(+ {result['peak_mb_a_worker']} MB a worker)"
    )


if __name__ == "__main__":
    main()
