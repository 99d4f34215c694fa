"""Channels that are made up, as they are heard, and minds that know nothing sensible."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

import numpy as np
from numpy.typing import NDArray

from towhom.chat import Kind, Message
from towhom.crosstalk import network, reader, words
from towhom.crosstalk.folder import SavedCrosstalk, Sizes
from towhom.crosstalk.reader import Reader
from towhom.crosstalk.transcript import Transcript
from towhom.hearing.ear import Ear
from towhom.hearing.lexicon import Lexicon
from towhom.hearing.utterance import Utterance
from towhom.text.vocabulary import NAME, ModelVocabulary

PEOPLE = ("ada", "bob", "cyd", "dee", "Eve_", "fay|afk", "gus", "hal9", "ida", "jon", "kim", "lou")
OFTEN = (9, 9, 9, 6, 6, 6, 3, 3, 1, 1, 0.5, 0.3)
"""How often each of them speaks: some are silent for longer than anybody remembers."""
WORDS = (
    NAME,
    "the",
    "is",
    "it",
    "tea",
    "milk",
    "door",
    "kettle",
    "open",
    "thanks",
    "you",
    "?",
    "yes",
    "anyone",
)
OTHERS = ("solder", "reboot", "/etc/X11/xorg.conf", "nvidia", "hi", "does", "know")
LEXICON = Lexicon(ModelVocabulary(WORDS, np.zeros((len(WORDS) + 1, 0), np.float32)), 24)
START = datetime(2024, 5, 31, 10, 0)
SIZES = {"dimensions": 6, "state": 8, "tower": 4}
FIRST_NAMES = ("Anna", "Ben", "Clara", "Dave", "Emma", "Fred", "Grace", "Hugo", "Iris", "Jack", "Kate", "Leo")
READER = {"width": 192, "inner": 96, "layers": 2, "keys": 64, "compared": 16}
"""Sizes of a small reader: three heads that share one."""
_TOKENS = 256 + 2 * len(FIRST_NAMES)
_LOUD = {"heads": 2.0, "w": 1.5, "outer": 1.4}

Weights = dict[str, NDArray[np.float32]]


def chatter(seed: int, count: int) -> list[Message]:
    """Messages in all the ways in which people do and do not say whom they talk to."""
    random, now, said = Random(seed), START, []
    for _ in range(count):
        now += timedelta(seconds=random.choice((0, 3, 20, 60, 300)))
        speaker, other, third = random.choices(PEOPLE, OFTEN, k=3)
        text = " ".join(random.choices(WORDS[1:] + OTHERS, k=random.randint(0, 7)))
        forms = ("{0}", "{1}: {0}", "{1}, {0}", "{0} {2}", "{1}: ask {2}", "zoe: {0}", "!{0}", "all: {0}")
        text = random.choices(forms, (40, 30, 5, 8, 5, 3, 3, 2))[0].format(text, other, third)
        kind = Kind.ACTION if random.random() < 0.05 else Kind.MESSAGE
        said.append(Message(speaker, text, time=now if random.random() < 0.9 else None, kind=kind))
    return said


def heard(messages: Sequence[Message], *, ear: Ear | None = None) -> list[Utterance]:
    """What an ear makes of them."""
    ear = ear or Ear(LEXICON)
    return [ear.hear(message) for message in messages]


def busy(seed: int, count: int, *, gone: float = 0.05) -> list[Utterance]:
    """A channel in which some messages were taken back."""
    random, found = Random(seed), heard(chatter(seed, count))
    for each in found:
        each.gone = random.random() < gone
    return found


def lines(*said: str, minutes: Sequence[float] | None = None) -> list[Utterance]:
    """Of lines like `ada> hello`."""
    found = []
    for place, line in enumerate(said):
        speaker, _, text = line.partition("> ")
        time = None if minutes is None else START + timedelta(minutes=minutes[place])
        found.append(Message(speaker, text, time=time))
    return heard(found)


def random_weights(
    seed: int = 0,
    *,
    count: int = len(WORDS) + 1,
    says: int = 5,
    hidden: int = 24,
    second: int = 16,
    scale: float = 0.5,
) -> Weights:
    """Of a mind that depends on everything, in no sensible way; the larger the scale, the surer it is."""
    random = np.random.default_rng(seed)
    shapes = {
        **words.shapes(count, **SIZES),
        **network.shapes(SIZES["state"], says, hidden, second),
    }
    return {name: (random.normal(size=shape) * scale).astype(np.float32) for name, shape in shapes.items()}


def saved_crosstalk(
    seed: int = 0, *, words: tuple[str, ...] = WORDS, scale: float = 0.5, **training: object
) -> SavedCrosstalk:
    """A small model with random weights, as a folder holds them."""
    sizes = Sizes(**SIZES, says=5, hidden=24, second=16)
    return SavedCrosstalk(sizes, random_weights(seed, count=len(words) + 1, scale=scale), words, training)


def spell(text: str) -> list[int]:
    """The tokens of a text: one for each character of Latin 1, none for others; a first name is one token."""
    name = text.removeprefix(" ")
    if name in FIRST_NAMES:
        return [256 + FIRST_NAMES.index(name) + len(FIRST_NAMES) * (name != text)]
    return [*text.encode("latin-1", "ignore")]


def reader_weights(seed: int = 0, *, layers: int = READER["layers"]) -> Weights:
    """Of a reader to whom every token matters that it may attend to."""
    random = np.random.default_rng(seed)
    found: Weights = {}
    for name, shape in reader.shapes(_TOKENS, **{**READER, "layers": layers}).items():
        drawn, kind = random.normal(size=shape), name.split(".")[-1]
        if kind in ("before", "between", "norm"):
            drawn = 1 + 0.2 * drawn
        elif name == "reader.tokens":
            drawn *= 0.3
        elif len(shape) == 2:  # from what is there to what is made of it
            drawn *= _LOUD.get(kind, 1.0) / np.sqrt(READER["width"])
        elif name == "reader.start.w":
            drawn /= np.sqrt(READER["width"])
        found[name] = drawn.astype(np.float32)
    for layer in range(layers):
        found[f"reader.{layer}.heads"][-READER["keys"] :] *= 2
    found["reader.parts"][:] = [0.4, 1.0, 0.8, 0.9, 0.2, -0.3], [0.5, 0.7, 1.1, 0.6, -0.4, 0.1]
    return found


def tiny_reader(seed: int = 0) -> Reader:
    """A reader that judges as much as the looks do, in no sensible way."""
    return Reader(reader_weights(seed), Transcript(spell, FIRST_NAMES))
