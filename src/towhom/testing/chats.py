"""Chats that are made up on the spot, written as a corpus in the published format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from towhom.corpus import Corpus, Split, build_corpus
from towhom.text.vectors import WordVectors

WORDS = (
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "jetty", "knoll",
    "lagoon", "marsh", "north", "oasis", "pond",
)  # fmt: skip
PEOPLE = tuple(f"guest{number}" for number in range(20))
DIMENSIONS = 6
"""Of word vectors. Not 5: OpenBLAS 0.3.31 on processors with AVX-512 looks at memory that nobody has written
when it multiplies rows of 5 numbers: the product is right, but at times NumPy warns of an invalid value."""


class Line(NamedTuple):
    """A line; with false candidates it is a sample."""

    sender: str
    addressee: str | None
    text: str
    false: tuple[str, ...] = ()
    label: int = 0

    @property
    def candidates(self) -> tuple[str, ...]:
        """What could be said, the true one among them."""
        return (*self.false[: self.label], self.text, *self.false[self.label :])


Document = Sequence[Line]


def write_corpus(
    folder: Path, documents: Sequence[Document] | Mapping[Split, Sequence[Document]], *, candidates: int = 2
) -> Corpus:
    """A corpus of some documents; without a split they are all for training."""
    splits = documents if isinstance(documents, Mapping) else {Split.TRAIN: documents}
    folder.mkdir(parents=True, exist_ok=True)
    for split, some in splits.items():
        blocks = ("\n".join(_lines(document, candidates)) for document in some)
        (folder / f"{split.value}.txt").write_text("\n\n".join(blocks) + "\n", "utf-8")
    paths = {split: [folder / f"{split.value}.txt"] for split in splits}
    return build_corpus(folder / "corpus", splits=paths, format="reference")


def _lines(document: Document, candidates: int) -> Iterable[str]:
    for said in document:
        choices = said.candidates if said.false else (said.text, *"-" * (candidates - 1))
        label = str(said.label) if said.false else "-"
        yield "\t".join(["[10:00]", f"<{said.sender}>", said.addressee or "-", *choices, label])


def random_document(
    random: Random, *, lines: int, people: int, candidates: int = 2, empty: float = 0.1
) -> list[Line]:
    """Anybody says anything to anybody, to themselves, to absent people or to nobody; many are samples."""
    present = PEOPLE[:people]
    result = []
    for _ in range(lines):
        sender = random.choice(present)
        addressee = random.choice((*present, "somebody-absent", None, None))
        texts = tuple(random_text(random, empty) for _ in range(candidates))
        is_sample = addressee is not None and random.random() < 0.5
        label = random.randrange(candidates) if is_sample else 0
        result.append(Line(sender, addressee, texts[0], texts[1:] if is_sample else (), label))
    return result


def naming(random: Random, document: Document, *, share: float = 0.3) -> list[Line]:
    """The same, but some texts name one of the speakers, or two, somewhere inside."""
    people = sorted({said.sender for said in document})

    def name(text: str) -> str:
        words = text.split()
        for _ in range(random.choice((1, 1, 2)) if random.random() < share else 0):
            words.insert(random.randint(0, len(words)), random.choice(people))
        return " ".join(words)

    return [said._replace(text=name(said.text), false=tuple(map(name, said.false))) for said in document]


def random_text(random: Random, empty: float = 0.0) -> str:
    """Some words; none at all for a share of the texts."""
    return "" if random.random() < empty else " ".join(random.choices(WORDS, k=random.randint(1, 7)))


def word_vectors(dimensions: int = DIMENSIONS, *, known: Sequence[str] = WORDS, seed: int = 0) -> WordVectors:
    """A vector for each of some words."""
    matrix = np.random.default_rng(seed).normal(size=(len(known), dimensions)).astype(np.float32)
    return WordVectors(tuple(known), matrix, {"seed": seed})


def varied_documents() -> list[list[Line]]:
    """Chats of one, three and sixteen people, with samples from the first messages on."""
    random = Random(7)
    first = Line("guest5", "guest2", "north pond", ("marsh", "oasis grove"), 1)
    sizes = ((6, 1), (40, 3), (60, 16))
    chats = [random_document(random, lines=lines, people=people, candidates=3) for lines, people in sizes]
    chats = [*([first, *chat] for chat in chats), random_document(random, lines=9, people=1, candidates=3)]
    return [naming(random, chat) for chat in chats]
