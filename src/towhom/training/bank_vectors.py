"""Makes the vectors of banks again, after new projections were trained for their model.

    python -m towhom.training.bank_vectors BANK...

This takes a tenth of the time that building takes. The words of questions are taken from their texts, in
which names have been replaced. Indexes are removed; `towhom bank index` makes them again.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.bank import Bank
from towhom.bank.heads import Head, signature
from towhom.bank.slots import without_slots
from towhom.bank.store import INDEX, Segment, file_digest
from towhom.bank.tables import ASKED, SCALES, VECTORS, Table, quantized
from towhom.bank.writing import next_segment, write_manifest
from towhom.blas import one_thread
from towhom.errors import BankError
from towhom.files import atomic_folder
from towhom.hearing.utterance import Utterance
from towhom.hearing.words import words
from towhom.live import Model
from towhom.loading import load

AT_ONCE = 4096
"""Texts that are encoded at a time."""


def tokens_of(model: Model, texts: Sequence[str]) -> list[NDArray[np.int32]]:
    """The words of texts without slots, as the model knows them."""
    return [model.lexicon.tokens(words(text), lambda word: False) for text in texts]


def states(model: Model, tokens: Sequence[NDArray[np.int32]]) -> NDArray[np.float32]:
    """(N, H) Encoded texts, given their words."""
    said = [Utterance("", "", tokens=each) for each in tokens]
    parts = [model.mind.read(said[at : at + AT_ONCE]).state for at in range(0, len(said), AT_ONCE)]
    return np.concatenate(parts)


def vectors_of(table: Table, model: Model, *, openings: bool = True) -> dict[str, NDArray[Any]]:
    """The columns of vectors of some responses.

    Args:
        table: The responses.
        model: The model, whose words the responses are stored in.
        openings: Whether the openings of their conversations count as part of the questions.
    """
    questions = [without_slots(text) for text in table.texts("question")]
    asked = tokens_of(model, questions)
    if openings:
        before = tokens_of(model, [without_slots(text) for text in table.texts("opening")])
        asked = [np.concatenate(pair) for pair in zip(before, asked, strict=True)]
    heard = model.head.heard(states(model, asked))
    said = [table.numbers("tokens", row) for row in range(len(table))]
    answers = model.head.answers(states(model, said))
    columns: dict[str, NDArray[Any]] = {}
    for name, vectors in ((VECTORS, Head.found_by(answers, heard)), (ASKED, heard)):
        columns[name], columns[SCALES[name]] = quantized(vectors)
    return columns


def make_again(bank: Bank, model: Model) -> None:
    """Make the vectors of a bank again; it has to be reopened afterwards.

    Raises:
        BankError: The bank belongs to another model.
    """
    if bank.model.rpartition("-")[2] != model.fingerprint:
        raise BankError(f"{bank.folder}: the bank was built with another model; build it again")
    manifest = dict(bank.manifest)
    entries: list[dict[str, Any]] = []
    for segment, entry in zip(bank.segments, manifest["segments"], strict=True):
        name = next_segment({"segments": [*manifest["segments"], *entries]})
        entries.append(_written(segment, bank.folder / name, entry, model))
    write_manifest(bank.folder, {**manifest, "model": signature(model.fingerprint), "segments": entries})


def _written(segment: Segment, folder: Path, entry: dict[str, Any], model: Model) -> dict[str, Any]:
    """Write a segment that has the files of another one, except for its vectors."""
    parts = [vectors_of(piece, model) for piece in segment.table.pieces(AT_ONCE)]
    files = {name: each for name, each in entry["files"].items() if name != INDEX}
    with atomic_folder(folder) as temporary:
        for name in parts[0] if parts else ():
            np.save(temporary / f"{name}.npy", np.concatenate([part[name] for part in parts]))
        for name in files:
            path = temporary / name
            if path.exists():
                files[name] = [path.stat().st_size, file_digest(path)]
            else:
                os.link(segment.folder / name, path)
    return {"name": folder.name, "responses": entry["responses"], "files": files}


def main() -> None:
    """Make the vectors of some banks again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("banks", type=Path, nargs="+")
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    model = load(options.model)
    with one_thread():
        for path in options.banks:
            make_again(Bank(path), model)


if __name__ == "__main__":
    main()
