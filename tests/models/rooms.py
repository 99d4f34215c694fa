"""Chats in which people name each other, in a corpus whose words do not depend on what they say.

The training documents of the corpus are always the same, and hold every word and every name: whatever the
others say, words have the same ids and weights, and the same names are hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from towhom.corpus import Corpus, Split
from towhom.testing.chats import WORDS, Document, Line, write_corpus

KNOWN_WORD, OTHER_WORD = "amber", "pond"
"""People are called so, and both stay words; the second is not known to the models of the tests."""
SHORT = "al"
PEOPLE = ("guest0", "guest1", "Guest2", "guest3", SHORT, KNOWN_WORD, OTHER_WORD, "guest4", "guest5", "guest6")
LATER = ("later0", "later1")
"""Those who may come when a sample is over; people name them before."""
MORE_WORDS = ("/etc/grove.conf", "groves", "http://heath.org/marsh", "?", "c++", ":)")

_TRAINING = [
    *([Line("someone", None, f"{KNOWN_WORD} {OTHER_WORD} " * 1000)] for _ in range(12)),
    [Line(name, None, " ".join((*WORDS, *MORE_WORDS, *PEOPLE, *LATER))) for name in (*PEOPLE, *LATER)],
]


def write_rooms(
    folder: Path, documents: Sequence[Document], *, candidates: int = 3, split: Split = Split.TEST
) -> Corpus:
    """A corpus with some documents that are not for training."""
    return write_corpus(folder, {Split.TRAIN: _TRAINING, split: documents}, candidates=candidates)


def room_text(random: Random, *, names: int = 2) -> str:
    """Any words, with some names among them; maybe none at all."""
    words = random.choices((*WORDS, *MORE_WORDS), k=random.randint(0, 6))
    for _ in range(random.randint(0, names)):
        name = random.choice((*PEOPLE, *LATER))
        words.insert(random.randint(0, len(words)), random.choice((name, name.lower(), name.upper())))
    return " ".join(words)


def room(random: Random, *, lines: int, people: int, candidates: int = 3, names: int = 2) -> list[Line]:
    """Anybody says anything to anybody; about half are samples, whose false candidates are anything.

    Some of those are said by somebody as well, before or after.
    """
    present = random.sample(PEOPLE, people)
    texts = [room_text(random, names=names) for _ in range(lines)]
    result = []
    for text in texts:
        addressee = random.choice((*present, "somebody-absent", None, None))
        is_sample = addressee is not None and random.random() < 0.6
        label = random.randrange(candidates) if is_sample else 0
        false = tuple(random.choice((random.choice(texts), room_text(random))) for _ in range(candidates - 1))
        result.append(Line(random.choice(present), addressee, text, false if is_sample else (), label))
    return result


def rooms(*, candidates: int) -> list[list[Line]]:
    """From one person to all of them; always the same."""
    random = Random(2)
    sizes = ((8, 1), (30, 2), (40, 4), (60, len(PEOPLE)))
    return [room(random, lines=lines, people=people, candidates=candidates) for lines, people in sizes]


def places(documents: Sequence[Document]) -> list[tuple[int, int]]:
    """Document and line of each sample, in the order of the corpus."""
    return [
        (number, place)
        for number, document in enumerate(documents)
        for place, said in enumerate(document)
        if said.false
    ]
