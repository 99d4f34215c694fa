"""Write what a version leaves behind: a model, the state of a session, a database of channels.

Run with the code of the version: `PYTHONPATH=VERSION/src python tests/compatibility/make.py FOLDER`. What is
in `written` was made with that of commit 1403289.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import torch

import towhom
from towhom import Message
from towhom.models.registry import system_class, system_config
from towhom.persistence import load_model, save_model
from towhom.text.vocabulary import ModelVocabulary

CHAT = (
    ("noor", "my wifi is gone since the upgrade"),
    ("tobias", "which kernel comes with 10.04?"),
    ("wren", "noor: which card is it?"),
)
NEXT = ("noor", "a broadcom, lspci says")
WORDS = ("amber", "birch", "cedar", "delta")
DIMENSIONS = 6


def write_model(folder: Path) -> None:
    """Write SI-RNN with random weights, which can be recognized by their sum."""
    vectors = np.random.default_rng(0).normal(size=(len(WORDS) + 1, DIMENSIONS)).astype(np.float32)
    vocabulary = ModelVocabulary(WORDS, vectors)
    model = system_class("sirnn")(system_config("sirnn", {"dimensions": DIMENSIONS, "hidden": 3}), vectors)
    model.init_weights(torch.Generator().manual_seed(0))
    save_model(folder, model, vocabulary, system="sirnn", context=5, training={"made": "for the tests"})


def weigh_model(folder: Path) -> dict[str, float]:
    """Sums of weights by name."""
    return {name: round(float(each.sum()), 5) for name, each in load_model(folder).weights.items()}


def write_session(path: Path) -> None:
    """Write the state of a session after the chat."""
    session = towhom.load().session()
    for speaker, text in CHAT:
        session.observe(Message(speaker, text))
    session.save(path)


def write_database(path: Path, work: Path) -> None:
    """Let a server keep the chat, and take its database."""
    command = [
        sys.executable,
        "-u",
        "-m",
        "towhom",
        "serve",
        "--port",
        "0",
        "--data",
        str(work),
        "--workers",
        "1",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[3]
        try:
            for speaker, text in CHAT:
                body = json.dumps({"message": {"speaker": speaker, "text": text}}).encode()
                url = f"{address}v1/channels/room/messages"
                with urlopen(Request(url, body, {"Content-Type": "application/json"})):
                    pass
        finally:
            server.terminate()
    path.write_bytes(gzip.compress((work / "channels.sqlite").read_bytes(), mtime=0))


def make(folder: Path) -> None:
    """Write all of it."""
    folder.mkdir(parents=True)
    write_model(folder / "model")
    write_session(folder / "session.json")
    write_database(folder / "channels.sqlite.gz", folder / "work")
    for left in (folder / "work").iterdir():
        left.unlink()
    (folder / "work").rmdir()
    session = towhom.load().session(json.loads((folder / "session.json").read_text("utf-8")))
    seen = session.observe(Message(*NEXT))
    expected = {
        "weights": weigh_model(folder / "model"),
        "addressee": seen.addressee,
        "probability": seen.probability,
    }
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
