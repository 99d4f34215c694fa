"""Who is named inside messages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.models.chats import Said, write_corpus
from towhom.corpus import Corpus, CorpusSettings, DocumentSettings, build_corpus
from towhom.corpus.mentions import MOST, Mentions
from towhom.corpus.vocabulary import SPECIAL
from towhom.hearing.lexicon import SHORTEST
from towhom.text.vocabulary import NAME

NAME_ID = SPECIAL.index(NAME)


def mentions(corpus: Corpus, *documents: int) -> Mentions:
    found = Mentions(corpus)
    found.look_up(np.array(documents, np.int64))
    return found


def named(found: Mentions, utterance: int) -> list[int]:
    """Numbers of speakers, in the order in which they are named; -1 only behind them."""
    row: list[int] = found.speaker[utterance].tolist()
    words: list[int] = found.word[utterance].tolist()
    count = sum(number >= 0 for number in row)
    assert row[count:] == words[count:] == [-1] * (len(row) - count)
    assert all(word >= 0 for word in words[:count])
    return row[:count]


def log(folder: Path, *said: tuple[str, str], days: int = 0) -> Corpus:
    """A corpus of an IRC log: the first day is given, on the others somebody says "the pond is a pond"."""
    lines = ["# 20240101", *(f"[10:00] <{speaker}> {text}" for speaker, text in said)]
    for day in range(days):
        lines += [f"# {20240201 + day}", *["[10:00] <other> the pond is a pond"] * 10]
    folder.mkdir(exist_ok=True)
    (folder / "room.txt").write_text("\n".join(lines) + "\n", "utf-8")
    settings = CorpusSettings(document=DocumentSettings(min_addressed=0, candidates=(2,)))
    return build_corpus(folder / "corpus", [folder / "room.txt"], format="irc", settings=settings)


def test_hidden_names(tmp_path: Path) -> None:
    corpus = log(
        tmp_path,
        ("ann", "did ben say so?"),
        ("ben", "ask ann, or (maybe) ben."),
        ("cat", "nobody's here"),
    )
    found = mentions(corpus, 0)
    assert "ann" not in list(corpus.vocabulary.words)
    assert [named(found, utterance) for utterance in range(3)] == [[1], [0, 1], []]
    assert set(found.word[found.speaker >= 0].tolist()) == {NAME_ID}


def test_names_that_are_words(tmp_path: Path) -> None:
    corpus = log(tmp_path, ("ann", "Pond said so, ben"), ("pond", "no pond"), ("ben", "yes"), days=12)
    words = list(corpus.vocabulary.words)
    pond = words.index("pond")
    assert "ben" not in words
    found = mentions(corpus, *range(13))
    assert named(found, 0) == [1, 2]
    assert found.word[0].tolist() == [pond, NAME_ID, -1, -1]
    assert named(found, 1) == [1]
    # Where nobody is called so, it is a word and no more.
    assert (found.speaker[3:] == -1).all()


@pytest.mark.parametrize("said", ["ann", "Ann", "ANN", "aNN"])
@pytest.mark.parametrize("name", ["ann", "Ann", "ANN"])
def test_any_case_of_letters(tmp_path: Path, name: str, said: str) -> None:
    corpus = log(tmp_path, (name, "hello"), ("ben", f"thanks {said}!"))
    assert named(mentions(corpus, 0), 1) == [0]


def test_whoever_spoke_first_has_the_name(tmp_path: Path) -> None:
    corpus = log(tmp_path, ("Ann", "hello"), ("ann", "hello"), ("ANN", "hello"), ("ben", "well ann"))
    assert named(mentions(corpus, 0), 3) == [0]


@pytest.mark.parametrize(("name", "known"), [("a", False), ("al", False), ("ann", True), ("ça!", True)])
def test_short_names(tmp_path: Path, name: str, known: bool) -> None:
    corpus = write_corpus(tmp_path, [[Said(name, None, "hello"), Said("ben", None, f"ask {name} again")]])
    assert (len(name) >= SHORTEST) == known
    assert named(mentions(corpus, 0), 1) == ([0] if known else [])


@pytest.mark.parametrize("text", ["annie said so", "the ann-ben thing", "ann_", "/home/ann", "joann"])
def test_a_part_of_a_word_is_no_name(tmp_path: Path, text: str) -> None:
    corpus = log(tmp_path, ("ann", "hello"), ("ben", text))
    assert named(mentions(corpus, 0), 1) == []


def test_several_names_in_the_order_of_the_text(tmp_path: Path) -> None:
    corpus = log(
        tmp_path,
        ("ann", "is cat here, or ben? or ann?"),
        ("ben", "hm"),
        ("cat", "cat cat ben CAT"),
    )
    found = mentions(corpus, 0)
    assert named(found, 0) == [2, 1, 0]
    assert named(found, 2) == [2, 1]  # each once


def test_of_many_those_who_spoke_first(tmp_path: Path) -> None:
    """Who will speak later must not push out who has spoken already."""
    names = [f"guest{number}" for number in range(7)]
    said = [(name, "hello") for name in names]
    said[0] = ("guest0", "guest6 guest5 guest1 guest4 guest3 guest0 guest2")
    corpus = log(tmp_path, *said)
    found = mentions(corpus, 0)
    assert named(found, 0) == [1, 3, 0, 2]
    assert len(named(found, 0)) > MOST


def test_people_of_another_document(tmp_path: Path) -> None:
    chats = [
        [Said("ann", None, "ben is not here"), Said("cat", None, "ann is")],
        [Said("ben", None, "cat is not here"), Said("ann", None, "ben is")],
    ]
    found = mentions(write_corpus(tmp_path, chats), 0, 1)
    assert [named(found, utterance) for utterance in range(4)] == [[], [0], [], [0]]


def test_published_texts_are_tokenized(tmp_path: Path) -> None:
    """A corpus in the published format is split at spaces, whatever our tokenizer would do."""
    text = "do n't (ask) gimme ann , ok? ben"
    chat = [
        Said("ann", None, text),
        Said("ben", None, "ann: yes"),
        Said("cat", "ann", "ben ok", ("ann , no",)),
    ]
    corpus = write_corpus(tmp_path, [chat])
    found = mentions(corpus, 0)
    assert named(found, 0) == [0, 1]
    assert named(found, 1) == []  # "ann:" is one word here
    assert named(found, 2) == [1]


def test_candidates_that_no_message_says(tmp_path: Path) -> None:
    """Whether somebody says it or not, it names the same people: else, what is false would be easily told."""
    chats = [
        [Said("ben", None, "hello"), Said("ann", "ben", "so ben", ("so ann", "ben and ann"), 1)],
        [
            Said("ann", None, "hello"),
            Said("ben", "ann", "so ann", ("so ben", "ben ? ann")),
            Said("ann", None, ""),
        ],
    ]
    corpus = write_corpus(tmp_path, chats, candidates=3)
    found = mentions(corpus, 0, 1)
    candidates = corpus.samples.candidates[3]
    assert (candidates >= 5).sum() == 4
    assert [[named(found, int(utterance)) for utterance in row] for row in candidates] == [
        [[1], [0], [0, 1]],
        [[0], [1], [1, 0]],
    ]


def test_texts_that_could_not_be_stored(tmp_path: Path) -> None:
    """Half a surrogate pair becomes a question mark, and the text another one: then nobody is found in it."""
    said = [("ann", "x\ud800, ben!"), ("ben", "yes ann"), ("ann", "x\ud800 ben")]
    lines = [json.dumps({"speaker": speaker, "text": text}) for speaker, text in said]
    (tmp_path / "room.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    settings = CorpusSettings(document=DocumentSettings(min_addressed=0, candidates=(2,)))
    corpus = build_corpus(tmp_path / "corpus", [tmp_path / "room.jsonl"], format="jsonl", settings=settings)
    found = mentions(corpus, 0)
    assert [named(found, utterance) for utterance in range(3)] == [[], [0], [1]]


def test_nothing_is_said(tmp_path: Path) -> None:
    corpus = write_corpus(
        tmp_path, [[Said("ann", None, ""), Said("ben", None, "")], [Said("ann", None, "ann")]]
    )
    found = mentions(corpus, 0, 1)
    assert [named(found, utterance) for utterance in range(3)] == [[], [], [0]]


def test_looked_up_when_needed_and_once(tmp_path: Path) -> None:
    chats = [[Said("ann", None, "ben ?"), Said("ben", None, "ann ?")] for _ in range(3)]
    found = mentions(write_corpus(tmp_path, chats))
    assert (found.speaker == -1).all()
    found.look_up(np.array([1, 1]))
    assert (found.speaker >= 0).any(axis=1).tolist() == [False, False, True, True, False, False]
    found.speaker[2] = -1  # would be found again if it were looked up again
    found.look_up(np.array([2, 1]))
    assert (found.speaker[2] == -1).all()
    assert named(found, 4) == [1]
    assert (found.speaker[:2] == -1).all()
