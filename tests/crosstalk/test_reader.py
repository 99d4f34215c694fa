"""The reader: the same however it is cut, alone and in a room."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from random import Random

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from tests.crosstalk.chats import (
    FIRST_NAMES,
    LEXICON,
    READER,
    Weights,
    busy,
    heard,
    lines,
    random_weights,
    reader_weights,
    spell,
    tiny_reader,
)
from towhom.chat import Message
from towhom.crosstalk import mind as minds
from towhom.crosstalk.mind import Known, Mind, Question, Room, hear, softmax
from towhom.crosstalk.reader import (
    BLOCK,
    BLOCKS,
    FORKS,
    PAGE,
    TURN,
    Cache,
    Page,
    Reader,
    Span,
    compared,
    layers_of,
    read_on,
    scores_of,
    shapes,
    spans_of,
)
from towhom.crosstalk.transcript import LONGEST, Transcript
from towhom.hearing.ear import Ear
from towhom.hearing.utterance import REACH, Utterance
from towhom.training.crosstalk.arrays import Torch

Found = NDArray[np.float32]
CLOSE = 1e-4
"""How far probabilities may differ that should be the same."""


@pytest.fixture(scope="module")
def w() -> Weights:
    return reader_weights(1)


@pytest.fixture(scope="module")
def reader() -> Reader:
    return tiny_reader(1)


@pytest.fixture(scope="module")
def plain() -> Mind:
    """A mind that does not read, and is not sure of itself, so that much is left to a reader."""
    return Mind(random_weights(1, scale=0.3))


@pytest.fixture(scope="module")
def mind(reader: Reader) -> Mind:
    return Mind(random_weights(1, scale=0.3), reader)


@pytest.fixture(scope="module")
def chat() -> list[Utterance]:
    return busy(1, 300)


@pytest.fixture(scope="module")
def whole(mind: Mind, chat: list[Utterance]) -> Found:
    return Room(mind).hear(chat).likely


@pytest.fixture
def scores(monkeypatch: pytest.MonkeyPatch) -> list[Found]:
    """Everything that readers find."""
    found: list[Found] = []
    judged = Reader.judged

    def spy(self: Reader, likely: Found, each: Found, *rest: NDArray[np.bool_]) -> Found:
        found.append(each)
        return judged(self, likely, each, *rest)

    monkeypatch.setattr(Reader, "judged", spy)
    return found


def vectors(w: Weights, seed: int, count: int) -> Found:
    """Those of a page of any tokens."""
    return w["reader.tokens"][np.random.default_rng(seed).integers(0, len(w["reader.tokens"]), count)]


def read_in(w: Weights, x: Found, sizes: Iterable[int]) -> Found:
    """What is made of tokens that come in pieces of some sizes."""
    cache, found, place = Cache(), [], 0
    for size in sizes:
        found.append(read_on(w, x[place : place + size], spans_of(place, size), cache))
        place += size
        cache.forget(place)
    assert place == len(x)
    return np.concatenate(found)


def random_sizes(seed: int, total: int, choices: Sequence[int]) -> list[int]:
    random, sizes = Random(seed), list[int]()
    while sum(sizes) < total:
        sizes.append(min(random.choice(choices), total - sum(sizes)))
    return sizes


def in_chunks(room: Room, messages: Sequence[Utterance], sizes: Iterable[int]) -> Found:
    found, first = [], 0
    for size in sizes:
        found.append(room.hear(messages[first : first + size]).likely)
        first += size
    assert first == len(messages)
    return np.concatenate(found)


def by_hand(w: Weights, x: Found) -> NDArray[np.float64]:
    """What the layers make of a page: one head after the other, with rotations as complex numbers."""
    found, place = x.astype(np.float64), np.arange(len(x))
    turn = np.exp(1j * place[:, None] * 100_000.0 ** (-np.arange(32) / 32))
    first = (place // BLOCK - BLOCKS + 1).clip(0) * BLOCK
    seen = (place <= place[:, None]) & (place >= first[:, None])

    def norm(x: NDArray[np.float64], by: Found) -> NDArray[np.float64]:
        result: NDArray[np.float64] = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * by
        return result

    for layer in range(layers_of(w)):
        own = {name.split(".")[-1]: each for name, each in w.items() if name.startswith(f"reader.{layer}.")}
        made = norm(found, own["before"]) @ own["heads"].T
        parts = [made[:, start : start + 64] for start in range(0, made.shape[1], 64)]
        queries, key, value = parts[:3], parts[3], parts[4]
        turned = [(each[:, :32] + 1j * each[:, 32:]) * turn for each in (*queries, key)]
        heads = []
        for query in turned[:3]:
            energies = np.where(seen, (query @ turned[3].conj().T).real / 8, -np.inf)
            shares = np.exp(energies - energies.max(axis=1, keepdims=True))
            heads.append(shares / shares.sum(axis=1, keepdims=True) @ value)
        found = found + np.concatenate(heads, axis=1) @ own["mix"].T
        made = norm(found, own["between"]) @ own["inner"].T
        gate, rest = np.split(made, 2, axis=1)
        found = found + (gate / (1 + np.exp(-gate)) * rest) @ own["outer"].T
    return found


def changed(one: Found, other: Found) -> list[int]:
    """Places at which two results differ."""
    return np.flatnonzero(np.abs(one - other).max(axis=1) > 1e-7).tolist()


def probabilities(found: Found) -> bool:
    return bool(
        np.isfinite(found).all() and (found >= 0).all() and np.allclose(found.sum(axis=-1), 1, atol=1e-5)
    )


def other_words(messages: Sequence[Utterance], text: str) -> list[Utterance]:
    """The same people say something else."""
    return heard([Message(each.speaker, text) for each in messages])


class TestReadOn:
    def test_by_hand(self, w: Weights) -> None:
        x = vectors(w, 1, 1100)
        found = read_on(w, x, spans_of(0, 1100), Cache())
        assert found.dtype == np.float32
        assert_allclose(found, by_hand(w, x), atol=2e-3)

    @pytest.mark.parametrize("sizes", [[300], [200, 30, 70, 1, 299]], ids=str)
    def test_in_torch(self, w: Weights, sizes: list[int]) -> None:
        """The same numbers; all weights learn."""
        x = vectors(w, 2, sum(sizes))
        tensors = {name: torch.from_numpy(value.copy()).requires_grad_() for name, value in w.items()}
        theirs = torch.from_numpy(x.copy()).requires_grad_()
        cache, place, parts = Cache(), 0, []
        for size in sizes:
            spans = spans_of(place, size)
            parts.append(read_on(tensors, theirs[place : place + size], spans, cache, Torch()))
            place += size
        found = torch.cat(parts)
        ours = read_on(w, x, spans_of(0, len(x)), Cache())
        assert_allclose(found.detach().numpy(), ours, atol=2e-4)
        judged = compared(tensors, found, Torch())
        for one, other in zip(compared(w, ours), judged, strict=True):
            assert_allclose(other.detach().numpy(), one, atol=2e-4)
        answer, answered, start = judged
        at = np.array([0, 1, 40, 150, 299])
        scores = scores_of(tensors, answer[at], answered, start[at], at, Torch())
        one, other, alone = compared(w, ours)
        expected = scores_of(w, one[at], other, alone[at], at)
        assert_allclose(scores.detach().numpy(), expected, atol=1e-3)
        (scores.logsumexp(dim=1).sum() + (start * start).sum()).backward()
        unused = {"reader.tokens", "reader.parts"}
        for name, each in {**tensors, "the tokens": theirs}.items():
            if name not in unused:
                assert each.grad is not None, name
                assert bool(each.grad.isfinite().all()), name
                assert bool((each.grad != 0).any()), name

    def test_continuations_in_torch(self, w: Weights) -> None:
        x = vectors(w, 3, 620)
        tensors = {name: torch.from_numpy(value) for name, value in w.items()}
        ours, theirs = Cache(), Cache()
        read_on(w, x[:600], spans_of(0, 600), ours)
        read_on(tensors, torch.from_numpy(x[:600]), spans_of(0, 600), theirs, Torch())
        spans = [Span(0, 8, 600, 0), Span(8, 20, 600, 0)]
        found = read_on(tensors, torch.from_numpy(x[600:]), spans, theirs, Torch(), keep=False)
        assert_allclose(found.numpy(), read_on(w, x[600:], spans, ours, keep=False), atol=2e-4)

    @pytest.mark.parametrize(
        "sizes",
        [
            [*[1] * 40, 700, *[1] * 160],
            [BLOCK] * 3 + [132],
            [BLOCK - 1, 1, 1, BLOCK - 1, BLOCK + 1, 131],
            [100] * 9,
            [899, 1],
            random_sizes(1, 900, (1, 2, 44, 300)),
            random_sizes(2, 900, (3, 47)),
        ],
        ids=lambda sizes: f"{len(sizes)} pieces",
    )
    def test_in_pieces(self, w: Weights, sizes: list[int]) -> None:
        """Across borders of blocks, with all forgotten that can be."""
        x = vectors(w, 4, 900)
        assert_allclose(read_in(w, x, sizes), read_in(w, x, [900]), atol=1e-4)

    def test_later_tokens_do_not_matter(self, w: Weights) -> None:
        x = vectors(w, 5, 600)
        other = x.copy()
        other[400] = vectors(w, 6, 1)
        one, two = (read_on(w, each, spans_of(0, 600), Cache()) for each in (x, other))
        assert changed(one, two) == list(range(400, 600))

    @pytest.mark.parametrize(
        ("place", "end"), [(255, 768), (256, 1024), (400, 1024), (511, 1024), (512, 1100)]
    )
    def test_how_far_tokens_attend(self, place: int, end: int) -> None:
        """To their own block and the two before it, whole; one layer carries nothing farther."""
        w = reader_weights(2, layers=1)
        w["reader.0.heads"] *= np.float32(0.3)  # shares of about the same size
        x = vectors(w, 7, 1100)
        other = x.copy()
        other[place] *= -10
        one, two = (read_in(w, each, [1000, 100]) for each in (x, other))
        assert changed(one, two) == list(range(place, end))

    def test_some_layers(self, w: Weights) -> None:
        x = vectors(w, 8, 300)
        spans, cache = spans_of(0, 300), Cache()
        first = read_on(w, x, spans, cache, layers=range(1))
        found = read_on(w, first, spans, cache, layers=range(1, 2))
        assert_allclose(found, read_on(w, x, spans, Cache()), atol=1e-6)
        assert not np.allclose(first, found, atol=0.1)
        assert_array_equal(read_on(w, x, spans, Cache(), layers=range(0)), x)

    @pytest.mark.parametrize("before", [0, 1, 250, 256, 500, 511, 750, 767, 768, 1020])
    def test_continuations(self, w: Weights, before: int) -> None:
        """Each is read as if it alone came next, also where it crosses a border; and none of them stays."""
        lengths = [5, 47, 1, 20]
        x, said = vectors(w, 9, before + 10), [vectors(w, 10 + size, size) for size in lengths]
        cache = Cache()
        if before:
            read_on(w, x[:before], spans_of(0, before), cache)
            cache.forget(before)
        since = max(before // BLOCK + 1 - BLOCKS, 0) * BLOCK
        ends = np.cumsum(lengths).tolist()
        spans = [Span(end - size, end, before, since) for end, size in zip(ends, lengths, strict=True)]
        found = read_on(w, np.concatenate(said), spans, cache, keep=False)
        for span, each in zip(spans, said, strict=True):
            expected = read_in(w, np.concatenate([x[:before], each]), [before + len(each)])[before:]
            assert_allclose(found[span.first : span.last], expected, atol=1e-4)
        following = read_on(w, x[before:], spans_of(before, 10), cache)
        assert_allclose(following, read_in(w, x, [before + 10])[before:], atol=1e-4)

    def test_memory(self, w: Weights) -> None:
        """No more is kept than coming tokens attend to."""
        x, cache, place = vectors(w, 11, 2000), Cache(), 0
        for size in random_sizes(3, 2000, (40, 300)):
            read_on(w, x[place : place + size], spans_of(place, size), cache)
            place += size
            cache.forget(place)
            for each in (each for pair in cache.kept.values() for each in pair):
                assert len(each) == place - cache.since <= BLOCKS * BLOCK
                assert cache.since == 0 or each.base is None  # a view would keep what was forgotten
        assert cache.since == 5 * BLOCK

    def test_places_matter(self, w: Weights) -> None:
        """The same tokens in another order are something else; so is a token that is farther away."""
        x = vectors(w, 12, 10)
        mixed = x[[1, 0, *range(2, 10)]]
        one, two = (read_on(w, each, spans_of(0, 10), Cache())[-1] for each in (x, mixed))
        assert not np.allclose(one, two, atol=0.05)


class TestSpans:
    @pytest.mark.parametrize(
        ("first", "count", "expected"),
        [
            (0, 10, [(0, 10, 0, 0)]),
            (0, 256, [(0, 256, 0, 0)]),
            (0, 257, [(0, 256, 0, 0), (256, 257, 256, 0)]),
            (700, 100, [(0, 68, 700, 0), (68, 100, 768, 256)]),
            (768, 1, [(0, 1, 768, 256)]),
            (1023, 258, [(0, 1, 1023, 256), (1, 257, 1024, 512), (257, 258, 1280, 768)]),
            (5, 0, []),
        ],
    )
    def test_of(self, first: int, count: int, expected: list[tuple[int, ...]]) -> None:
        assert spans_of(first, count) == expected


def test_shapes(w: Weights) -> None:
    assert {name: each.shape for name, each in w.items()} == shapes(len(w["reader.tokens"]), **READER)
    assert layers_of(w) == READER["layers"]
    assert layers_of(reader_weights(layers=3)) == 3


class TestPage:
    def test_by_hand(self, w: Weights, reader: Reader, chat: list[Utterance]) -> None:
        """Messages are compared by what the layers make of their last tokens."""
        names: dict[str, int] = {}
        said = [reader.transcript.line(each, names) for each in chat[:60]]
        ends = np.cumsum([*map(len, said)]) - 1
        x = by_hand(w, w["reader.tokens"][np.concatenate(said)])[ends]
        x = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * w["reader.norm"]
        answer = x @ w["reader.answer.w"] + w["reader.answer.b"]
        answered = x @ w["reader.answered.w"] + w["reader.answered.b"]
        found = reader.page(30).read(chat[:60])
        assert found.shape == (60, REACH + 1)
        assert_allclose(found[:, REACH], x @ w["reader.start.w"] + w["reader.start.b"][0], atol=5e-3)
        for row, back in [(0, 1), (1, 1), (1, 2), (50, 1), (50, 50), (50, 51), (59, 59), (59, 100)]:
            there = answer[row] @ answered[row - back] / np.sqrt(READER["compared"])
            expected = there if back <= row else w["reader.far"][0]
            assert_allclose(found[row, back - 1], expected + w["reader.back"][back - 1], atol=5e-3)

    def test_in_pieces(self, reader: Reader, chat: list[Utterance]) -> None:
        expected = reader.page(0).read(chat[:100])
        for sizes in ([1] * 100, random_sizes(4, 100, (1, 5, 30))):
            page, found = reader.page(0), []
            for first, last in pairwise(np.cumsum([0, *sizes]).tolist()):
                assert page.next == first
                found.append(page.read(chat[first:last]))
            assert_allclose(np.concatenate(found), expected, atol=1e-3)

    def test_memory(self, reader: Reader, chat: list[Utterance]) -> None:
        """No more tokens are kept than coming ones attend to."""
        page, most = reader.page(0), 0
        for first in range(0, 100, 5):
            page.read(chat[first : first + 5])
            most = max(len(key) for key, _ in page._cache.kept.values())
            assert most <= BLOCKS * BLOCK
        assert most > (BLOCKS - 1) * BLOCK - 1

    def test_numbers(self, reader: Reader, chat: list[Utterance]) -> None:
        page = reader.page(40)
        assert (page.first, page.next) == (40, 40)
        page.read(chat[40:50])
        page.fork(chat[50:53])
        assert (page.first, page.next) == (40, 50)

    @pytest.mark.parametrize("count", [0, 1, 9, 33, 90])
    def test_what_may_come_next(self, reader: Reader, chat: list[Utterance], count: int) -> None:
        """Each of some messages as if it alone came next; afterwards all is as if nobody had asked."""
        pages = [reader.page(0) for _ in range(5)]
        for page in pages:
            if count:
                page.read(chat[:count])
        some = [*chat[count : count + 3], *heard([Message("a newcomer", "ada: hi")])]
        found = pages[4].fork(some)
        for page, each, row in zip(pages, some, found, strict=False):
            assert_allclose(row, page.read([each])[0], atol=1e-3)
        other = reader.page(0)
        expected = other.read(chat[: count + 5])[count:]
        assert_allclose(pages[4].read(chat[count : count + 5]), expected, atol=1e-3)

    def test_where_lines_cross_borders(self, reader: Reader) -> None:
        """Wherever the border of a block is within a line."""
        messages = lines(
            *[f"{'ada' if place % 2 else 'bob'}> {'tea ' * (place % 13)}" for place in range(90)]
        )
        page = reader.page(0)
        for each in messages:
            imagined = page.fork([each])[0]
            assert_allclose(imagined, page.read([each])[0], atol=1e-3)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("cyd> the door is open", "cyd> is the door open"),
            ("cyd> milk", "cyd> mild"),
            ("ada> milk", "bob> milk"),
            ("cyd> ada: milk", "cyd> bob: milk"),
        ],
    )
    def test_what_matters(self, reader: Reader, one: str, other: str) -> None:
        """The order of words, every letter of them, who says it, and to whom; then, and later on."""
        found = []
        for line in (one, other):
            said = [*lines("ada> tea ?", "bob> yes", line, "dee> so"), *lines("ada> hi", "cyd> hi", line)[2:]]
            found.append(reader.page(0).read(said))
        assert_allclose(found[0][:2], found[1][:2], atol=1e-4)
        for row in (2, 3, 4):
            assert not np.allclose(found[0][row], found[1][row], atol=0.01)


def shown(tokens: Iterable[int]) -> str:
    """The text of tokens, as `spell` takes them."""
    names = [*FIRST_NAMES, *(f" {name}" for name in FIRST_NAMES)]
    return "".join(chr(token) if token < 256 else names[token - 256] for token in tokens)


class TestTranscript:
    def told(self, *said: str, names: dict[str, int] | None = None) -> list[str]:
        """The lines of a chat in which everybody is known."""
        ear, names = ear_of("ada", "bob", "cyd"), {} if names is None else names
        pairs = [line.partition("> ")[::2] for line in said]
        return [
            shown(Transcript(spell, FIRST_NAMES).line(ear.hear(Message(speaker, text)), names))
            for speaker, text in pairs
        ]

    def test_lines(self) -> None:
        assert self.told("ada> is the tea open?", "bob> yes", "ada> thanks") == [
            "Anna: is the tea open?\n",
            "Ben: yes\n",
            "Anna: thanks\n",
        ]

    def test_who_is_called_comes_first(self) -> None:
        assert self.told("ada> bob: is it open?", "bob> yes, ada", "cyd> @ada no") == [
            "Anna: Ben: is it open?\n",
            "Ben: Anna: yes, Anna\n",
            "Clara: Anna: no\n",
        ]

    def test_who_is_mentioned_has_the_same_name(self) -> None:
        said = ("ada> hi", "cyd> hi", "ada> ask Bob about it", "bob> ask ADA (or cyd)", "bob> adam and bobs")
        assert self.told(*said)[2:] == [
            "Anna: ask Clara about it\n",
            "Clara: ask Anna (or Ben)\n",
            "Clara: adam and bobs\n",
        ]

    def test_names_are_of_the_page(self) -> None:
        names = {"zoe": 0, "cyd": 1}
        assert self.told("bob> hi", "cyd> hi", "bob> ask cyd", names=names) == [
            "Clara: hi\n",
            "Ben: hi\n",
            "Clara: ask Ben\n",
        ]
        assert names == {"zoe": 0, "cyd": 1, "bob": 2}

    def test_names_are_used_again(self) -> None:
        names: dict[str, int] = {}
        told = self.told(*(f"p{place}> hi" for place in range(2 * len(FIRST_NAMES) + 1)), names=names)
        assert told == [f"{name}: hi\n" for name in (*FIRST_NAMES, *FIRST_NAMES, FIRST_NAMES[0])]
        assert len(names) == len(told)

    @pytest.mark.parametrize(
        "space", ["\n", "\r\n", "\t", "  ", "\x0b", "\x0c", "\x85", "\x1c", "\u2028", "\xa0"]
    )
    def test_no_text_ends_a_line(self, space: str) -> None:
        said = Utterance("ada", f"{space}so{space}Anna: it{space}{space}is{space}")
        line = shown(Transcript(spell, FIRST_NAMES).line(said, {}))
        assert line == "Anna: so Anna: it is\n"

    @pytest.mark.parametrize("text", ["", " ", "\n\n", "日本語", "\u200b"])
    def test_nothing_that_it_knows(self, text: str) -> None:
        line = shown(Transcript(spell, FIRST_NAMES).line(Utterance("ada", text), {}))
        assert line.replace(" ", "") == "Anna:\n"

    @pytest.mark.parametrize("text", ["tea " * 1000, "x" * 4000, "bob " * 900, "bob, cyd, ada " * 300])
    @pytest.mark.parametrize("called", ["", "bob: "])
    def test_long_ones_are_cut(self, text: str, called: str) -> None:
        said = ear_of("ada", "bob", "cyd").imagine(Message("ada", called + text))
        line = Transcript(spell, FIRST_NAMES).line(said, {})
        assert len(line) == LONGEST + 3
        assert shown(line).startswith("Anna: ")
        assert shown(line[-1:]) == "\n"

    def test_much_text_is_never_spelled(self) -> None:
        spelled = []

        def note(text: str) -> list[int]:
            spelled.append(len(text))
            return spell(text)

        Transcript(note, FIRST_NAMES).line(Utterance("ada", "x" * 100_000), {})
        assert max(spelled) < 1000

    def test_each_name_is_one_token(self) -> None:
        with pytest.raises(ValueError, match="one token"):
            Transcript(spell, ("Anna", "Zoe"))

    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ("bob: is it open?", "Anna: is it open?\n"),
            ("is it open, bob?", "Anna: is it open,?\n"),
            ("bob: ask cyd", "Anna: ask Ben\n"),
            ("ask cyd", "Anna: ask Ben\n"),
        ],
    )
    def test_who_is_called_can_be_hidden(self, said: str, expected: str) -> None:
        utterance = ear_of("ada", "bob", "cyd").imagine(Message("ada", said))
        transcript, people = Transcript(spell, FIRST_NAMES), dict[str, int]()
        found = transcript.pattern(utterance, people, hidden=True)
        assert shown(transcript.named(found)) == expected
        assert "bob" not in people
        plain = transcript.pattern(utterance, {})
        assert_array_equal(transcript.named(plain), transcript.line(utterance, {}))

    def test_lines_can_be_named_together(self) -> None:
        """Of any names; those in front are tokens of their own."""
        transcript = Transcript(spell, FIRST_NAMES)
        tokens = np.array([-1, *b":", -2, *b"\n", -3, *b":", -1, *b"\n"])
        assert shown(transcript.named(tokens, np.array([0, 4]))) == "Anna: Ben\nClara: Anna\n"

    def test_tokens(self) -> None:
        found = Transcript(spell, FIRST_NAMES).line(Utterance("ada", "hi"), {})
        assert found.dtype == np.int64
        assert found.tolist() == [256, *b": hi\n"]


def ear_of(*people: str) -> Ear:
    """That of a room in which some people are."""
    ear = Ear(LEXICON)
    for each in people:
        ear.people.introduce(each)
    return ear


class TestJudged:
    def test_by_hand(self, reader: Reader) -> None:
        likely = np.zeros((2, REACH + 1), np.float32)
        likely[0, [0, 5, REACH]] = 0.5, 0.3, 0.2
        likely[1, [3, REACH]] = np.exp(-13.4), 1
        likely[1, 4] = np.exp(-13.6)
        scores = np.random.default_rng(1).normal(size=likely.shape).astype(np.float32)
        scores[1, REACH] = scores[1, 3] - 40
        own = np.zeros((2, REACH), bool)
        own[0, 5] = True
        found = reader.judged(likely, scores, own, np.array([False, True]))
        expected = np.full(likely.shape, -np.inf)
        odds = np.exp(scores[0, [0, 5, REACH]])
        read = np.log(odds / odds.sum())
        expected[0, 0] = 0.4 * np.log(0.5) + 1.0 * read[0]
        expected[0, 5] = 0.4 * np.log(0.3) + 0.8 * read[1] + 0.2
        expected[0, REACH] = 0.4 * np.log(0.2) + 0.9 * read[2] - 0.3
        expected[1, 3] = 0.5 * -13.4
        expected[1, REACH] = 0.6 * -15 + 0.1
        assert_allclose(found, expected, atol=1e-5)
        assert found.dtype == np.float32


class TestHear:
    def test_the_reader_matters(self, plain: Mind, chat: list[Utterance], whole: Found) -> None:
        """Most messages have other probabilities, and many another likeliest answer."""
        before = Room(plain).hear(chat).likely
        assert (np.abs(before - whole).max(axis=1) > 0.1).mean() > 0.5
        assert (before.argmax(axis=1) != whole.argmax(axis=1)).mean() > 0.2

    def test_another_reader_says_something_else(self, chat: list[Utterance], whole: Found) -> None:
        other = Room(Mind(random_weights(1, scale=0.3), tiny_reader(2))).hear(chat).likely
        assert (np.abs(other - whole).max(axis=1) > 0.1).mean() > 0.5

    @pytest.mark.parametrize(
        "sizes",
        [
            [1] * 300,
            random_sizes(1, 300, (1, 2, 7, 40, 130)),
            random_sizes(2, 300, (69, 70, 71)),
            [TURN - 1, 1, 1, TURN, 2 * TURN, 19],
            [299, 1],
        ],
        ids=lambda sizes: f"{len(sizes)} chunks",
    )
    def test_however_it_is_cut(
        self, mind: Mind, chat: list[Utterance], whole: Found, sizes: list[int]
    ) -> None:
        assert_allclose(in_chunks(Room(mind), chat, sizes), whole, atol=CLOSE)

    def test_what_it_reads(
        self, reader: Reader, mind: Mind, chat: list[Utterance], scores: list[Found]
    ) -> None:
        """Each page begins with messages that were on the page before."""
        in_chunks(Room(mind), chat, random_sizes(3, 300, (1, 9, 100)))
        found = np.concatenate(scores)
        starts = [(0, 0, 70), (40, 70, 140), (110, 140, 210), (180, 210, 280), (250, 280, 300)]
        for first, start, end in starts:
            expected = reader.page(first).read(chat[first:end])[start - first :]
            assert_allclose(found[start:end], expected, atol=1e-3)

    def test_what_was_before_the_page_does_not_matter(
        self, mind: Mind, chat: list[Utterance], scores: list[Found]
    ) -> None:
        for before in (chat[:40], other_words(chat[:40], "milk"), busy(8, 40)):
            Room(mind).hear([*before, *chat[40:140]])
        for other in scores[1:]:
            assert_allclose(other[70:], scores[0][70:], atol=1e-3)
            assert (np.abs(other[40:70] - scores[0][40:70]).max(axis=1) > 0.1).all()

    @pytest.mark.parametrize("place", [1, 69, 70, 71, 150, 210])
    def test_later_messages_do_not_matter(
        self, mind: Mind, chat: list[Utterance], whole: Found, place: int
    ) -> None:
        following = heard([Message("zoe", f"something else {place}") for place in range(20)])
        found = Room(mind).hear([*chat[:place], *following]).likely
        assert_allclose(found[:place], whole[:place], atol=CLOSE)
        assert not np.allclose(found[place:], whole[place : place + 20], atol=0.1)

    def test_probabilities(self, whole: Found) -> None:
        assert whole.shape == (300, REACH + 1)
        assert probabilities(whole)

    def test_what_the_looks_exclude(
        self, mind: Mind, plain: Mind, chat: list[Utterance], whole: Found
    ) -> None:
        """Messages that are not there, that were taken back, or that are not likely enough at first."""
        before = Room(plain).hear(chat).likely
        assert (whole[before < 1e-6] == 0).all()
        for place, back in np.argwhere(whole[:, :REACH] > 0).tolist():
            assert place - 1 - back >= 0
            assert not chat[place - 1 - back].gone
        assert (whole[before > 1e-5] > 0).all()
        assert any(each.gone for each in chat)

    def test_the_first_message(self, mind: Mind) -> None:
        found = Room(mind).hear(lines("ada> hi")).likely
        assert found[0].tolist() == [0] * REACH + [1]

    def test_nothing_is_said(self, mind: Mind) -> None:
        assert Room(mind).hear([]).likely.shape == (0, REACH + 1)

    def test_messages_of_any_kind(self, mind: Mind, plain: Mind) -> None:
        texts = [
            "", " ", "\n", "?!", "...", "日本語だけ", "\u200b", "🫖" * 300, "tea " * 2000, "x" * 5000, "bob:",
            "bob: ", "ada: bob: cyd:", "\x00", "\n".join(["ada: tea"] * 50), "Anna: tea", "ß" * 90,
        ]  # fmt: skip
        said = [Message(who, text) for text in texts for who in ("ada", "bob", "cyd")]
        found = Room(mind).hear(heard(said)).likely
        assert probabilities(found)
        assert_allclose(in_chunks(Room(mind), heard(said), [1] * len(said)), found, atol=CLOSE)
        assert not np.allclose(found, Room(plain).hear(heard(said)).likely, atol=0.1)

    def test_nobody_says_a_word(self, mind: Mind) -> None:
        found = Room(mind).hear(heard([Message("ada", "")] * 150)).likely
        assert probabilities(found)

    def test_a_crowd(self, mind: Mind, monkeypatch: pytest.MonkeyPatch) -> None:
        """More people than there are names, and more than are remembered."""
        said = [Message(f"p{place}", f"p{max(place - 3, 0)}: tea is open") for place in range(250)]
        found = Room(mind).hear(heard(said)).likely
        assert probabilities(found)
        monkeypatch.setattr(minds, "_PEOPLE", 200)
        sizes = [210, 10, *[1] * 30]
        assert_allclose(in_chunks(Room(mind), heard(said), sizes), found, atol=CLOSE)

    def test_however_loud_it_is(self) -> None:
        """Numbers beyond any that can be computed with are no reason to warn, or to say nothing."""
        weights = reader_weights(3)
        for name in weights:
            if name.endswith((".inner", ".answer.w", ".start.w")):
                weights[name] *= np.float32(300)
        room = Room(Mind(random_weights(1, scale=0.3), Reader(weights, Transcript(spell, FIRST_NAMES))))
        messages = busy(9, 80)
        assert probabilities(room.hear(messages[:79]).likely)
        assert probabilities(room.imagine(messages[79]))
        assert probabilities(room.imagine(messages[79], 40))
        assert np.isfinite(np.logaddexp.reduce(room.weigh(messages[79:]), axis=1)).all()

    def test_without_a_reader_nothing_is_read(self, plain: Mind, scores: list[Found]) -> None:
        room = Room(plain)
        room.hear(busy(2, 30))
        room.imagine(lines("ada> tea")[0])
        room.weigh(lines("ada> tea"))
        assert not scores


class TestKnown:
    def test_links_of_the_platform(self, mind: Mind, chat: list[Utterance]) -> None:
        known = [Known(2, 0) if place % 7 == 3 else None for place in range(200)]
        whole = Room(mind).hear(chat[:200], known)
        room, found = Room(mind), []
        for first, last in pairwise([0, 50, 51, 139, 200]):
            found.append(room.hear(chat[first:last], known[first:last]).likely)
        assert_allclose(np.concatenate(found), whole.likely, atol=CLOSE)


class TestRooms:
    def test_as_room_by_room(self, mind: Mind) -> None:
        """Young rooms and old ones, of the same people, at any place of their pages."""
        sizes, before = (1, 20, 150, 145, 90, 3), (0, 10, 148, 100, 69, 2)
        chats = [busy(seed, size) for seed, size in enumerate(sizes, 21)]
        together, alone = [Room(mind) for _ in chats], [Room(mind) for _ in chats]
        for rooms in (together, alone):
            for room, chat, count in zip(rooms, chats, before, strict=True):
                room.hear(chat[:count])
        news = [chat[count:] for chat, count in zip(chats, before, strict=True)]
        for each in (news, [busy(seed, 20) for seed in range(31, 37)]):
            questions = [
                Question(room, new, [None] * len(new)) for room, new in zip(together, each, strict=True)
            ]
            for found, room, new in zip(hear(questions), alone, each, strict=True):
                assert_allclose(found.likely, room.hear(new).likely, atol=CLOSE)


class TestImagine:
    @pytest.mark.parametrize("count", [0, 1, 30, 69, 70, 71, 140, 205])
    def test_as_if_it_were_said(self, mind: Mind, count: int) -> None:
        messages = busy(11, count + 1, gone=0)
        room = Room(mind)
        room.hear(messages[:count])
        imagined = room.imagine(messages[count])
        assert_allclose(imagined, room.hear(messages[count:]).likely[0], atol=CLOSE)

    def test_one_after_the_other(self, mind: Mind) -> None:
        """Wherever the borders of blocks are."""
        room = Room(mind)
        for message in busy(11, 130, gone=0):
            imagined = room.imagine(message)
            assert_allclose(imagined, room.hear([message]).likely[0], atol=CLOSE)

    @pytest.mark.parametrize(("count", "places"), [(60, (0, 1, 20, 59)), (100, (0, 30, 69, 70, 71, 99))])
    def test_at_another_place(self, mind: Mind, count: int, places: tuple[int, ...]) -> None:
        """What was said there is seen as it was when it was said."""
        messages = busy(12, count, gone=0)
        room = Room(mind)
        likely = room.hear(messages).likely
        for place in places:
            assert_allclose(room.imagine(messages[place], place), likely[place], atol=CLOSE)

    def test_at_another_place_of_an_old_room(self, mind: Mind, scores: list[Found]) -> None:
        """It is read as it was if its page is still remembered; if not, from where memory begins."""
        messages = busy(12, 190, gone=0)
        room = Room(mind)
        room.hear(messages)
        likely = scores.pop()
        for place in (50, 60, 99):
            room.imagine(messages[90 + place], place)
            assert_allclose(scores.pop()[0], likely[90 + place], atol=1e-3)
        assert probabilities(room.imagine(messages[91], 1))

    def test_nothing_is_remembered(self, mind: Mind) -> None:
        one, other = Room(mind), Room(mind)
        for room in (one, other):
            room.hear(busy(13, 85))
        one.imagine(lines("zoe> is the tea open ?")[0])
        one.imagine(lines("ada> bob: tea")[0], 7)
        one.weigh(lines("zoe> milk", "ada> door"))
        one.imagine(lines("ada> bob: tea")[0], 75)
        assert one.state() == other.state()
        following = lines("ada> so", "bob> ada: and then the tea ?")
        assert_allclose(one.hear(following).likely, other.hear(following).likely, atol=1e-6)

    @pytest.mark.parametrize("weighed", [True, False])
    def test_the_page_is_read_once(self, mind: Mind, monkeypatch: pytest.MonkeyPatch, weighed: bool) -> None:
        """Whoever asks many questions of a room waits for its messages only once."""
        room = Room(mind)
        room.hear(busy(13, 140))
        read, counts = Page.read, list[int]()

        def spy(self: Page, messages: Sequence[Utterance]) -> Found:
            counts.append(len(messages))
            return read(self, messages)

        monkeypatch.setattr(Page, "read", spy)
        drafts = lines("zoe> milk", "zoe> door")
        for _ in range(2):
            if weighed:
                room.weigh(drafts)
            else:
                room.imagine(drafts[0])
        room.imagine(drafts[0], 90)  # another page, for this question only
        room.weigh(drafts)
        room.imagine(drafts[0])
        room.hear(lines("ada> so"))
        room.hear(lines("ada> so"))
        assert counts == [30, 90, 1, 1]


DRAFTS = ("tea ?", "the door is open", "", "bob: thanks", "milk is milk", "yes", "日本語", "tea " * 300)


class TestWeigh:
    def rooms(self, *of: Mind, count: int = 120) -> list[Room]:
        """Rooms of some minds that have heard the same."""
        rooms = [Room(each) for each in of]
        for room in rooms:
            room.hear(busy(14, count))
        return rooms

    def test_how_likely_a_draft_is(self, mind: Mind, plain: Mind) -> None:
        """That stays as it is; what it answers does not."""
        drafts = lines(*(f"ada> {text}" for text in DRAFTS))
        room, other = self.rooms(mind, plain)
        found, before = room.weigh(drafts), other.weigh(drafts)
        totals = [np.logaddexp.reduce(each, axis=1) for each in (found, before)]
        assert_allclose(totals[0], totals[1], atol=1e-3)
        changed = np.abs(softmax(found) - softmax(before)).max(axis=1)
        read = np.array([bool(draft.text) for draft in drafts])
        assert (changed[read] > 0.05).all()
        assert not read.all()
        assert (changed[~read] == 0).all()  # there is nothing to read
        assert np.isneginf(found[np.isneginf(before)]).all()
        assert np.isneginf(before).any()

    @pytest.mark.parametrize("count", [1, 70, 120])
    def test_what_a_draft_answers(self, mind: Mind, plain: Mind, count: int) -> None:
        """As by hand."""
        drafts = lines(*(f"ada> {text}" for text in DRAFTS if text))
        room, other = self.rooms(mind, plain, count=count)
        assert mind.reader is not None
        first = max(count // TURN * TURN + TURN - PAGE, 0)
        page = mind.reader.page(first)
        page.read(busy(14, count)[first:])
        speakers = [message.speaker for message in reversed(busy(14, count))][:REACH]
        own = np.zeros((len(drafts), REACH), bool)
        own[:, : len(speakers)] = [speaker == "ada" for speaker in speakers]
        named = np.array([bool(draft.addressees) for draft in drafts])
        likely, scores = softmax(other.weigh(drafts)), page.fork(drafts)
        expected = softmax(mind.reader.judged(likely, scores, own, named))
        assert_allclose(softmax(room.weigh(drafts)), expected, atol=CLOSE)

    def test_only_the_likeliest_are_read(self, mind: Mind, plain: Mind) -> None:
        random = Random(1)
        said = [" ".join(random.choices(DRAFTS[:7], k=random.randint(1, 4))) for _ in range(3 * FORKS)]
        drafts = lines(*(f"ada> {text}" for text in said))
        room, other = self.rooms(mind, plain)
        found, before = room.weigh(drafts), other.weigh(drafts)
        totals = np.logaddexp.reduce(before, axis=1)
        assert_allclose(np.logaddexp.reduce(found, axis=1), totals, atol=1e-3)
        read = np.flatnonzero([not np.array_equal(*pair) for pair in zip(found, before, strict=True)])
        assert len(read) == FORKS
        assert totals[read].min() >= np.delete(totals, read).max()
        some = [drafts[place] for place in read.tolist()]
        assert_allclose(found[read], room.weigh(some), atol=1e-3)

    def test_each_for_itself(self, mind: Mind) -> None:
        (room,) = self.rooms(mind)
        drafts = lines("ada> tea ?", "bob> the door is open", "ada> milk")
        together = softmax(room.weigh(drafts))
        for row, draft in enumerate(drafts):
            assert_allclose(softmax(room.weigh([draft]))[0], together[row], atol=CLOSE)

    def test_in_an_empty_room(self, mind: Mind) -> None:
        """One draft is as good as another."""
        room = Room(mind)
        assert_array_equal(room.weigh(lines("ada> tea", "ada> milk")), np.zeros((2, REACH + 1)))
        assert room.imagine(lines("ada> tea")[0]).tolist() == [0] * REACH + [1]


class TestState:
    @pytest.mark.parametrize("count", [0, 1, 69, 70, 101, 220])
    def test_goes_on(self, mind: Mind, chat: list[Utterance], whole: Found, count: int) -> None:
        """In the middle of a page, too."""
        one, other = Room(mind), Room(mind)
        one.hear(chat[:count])
        state = json.loads(json.dumps([one.state(), [each.state() for each in one.messages]]))
        other.resume(state[0], [Utterance.of(each) for each in state[1]])
        assert json.dumps(other.state()) == json.dumps(one.state())
        assert_allclose(other.imagine(chat[count]), one.imagine(chat[count]), atol=CLOSE)
        end = count + 50
        for found in (in_chunks(other, chat[count:end], [1, 9, 40]), one.hear(chat[count:end]).likely):
            assert_allclose(found, whole[count:end], atol=CLOSE)


class TestRefresh:
    def edit(self, message: Utterance, text: str) -> None:
        (new,) = heard([Message(message.speaker, text)])
        for name in ("text", "tokens", "pieces", "weights", "asks"):
            setattr(message, name, getattr(new, name))

    def take_back(self, message: Utterance) -> None:
        message.gone = True
        self.edit(message, "")

    @pytest.mark.parametrize("count", [16, 100])
    @pytest.mark.parametrize("change", ["edit", "take back"])
    def test_what_was_changed_is_read_anew(
        self, mind: Mind, scores: list[Found], count: int, change: str
    ) -> None:
        """As if it had been said so."""
        messages, following, found = busy(5, count, gone=0), busy(6, 5), {}
        for when in ("never", "after", "before"):
            room = Room(mind)
            room.hear(messages)
            if when == "after":
                if change == "edit":
                    self.edit(messages[-15], "is the kettle open ? thanks")
                else:
                    self.take_back(messages[-15])
                room.refresh([messages[-15]])
            scores.clear()
            room.imagine(following[0])
            room.hear(following)
            found[when] = np.concatenate(scores)
        assert_allclose(found["after"], found["before"], atol=1e-3)
        assert (np.abs(found["after"] - found["never"]).max(axis=1) > 0.01).all()

    def test_what_was_taken_back_is_not_answered(self, mind: Mind) -> None:
        room = Room(mind)
        room.hear(lines("ada> tea ?", "bob> milk", "cyd> door"))
        self.take_back(room.messages[-1])
        room.refresh(room.messages[-1:])
        found = room.hear(lines("dee> open")).likely
        assert found[0, 0] == 0
        assert probabilities(found)

    def test_nothing_was_changed(self, mind: Mind, chat: list[Utterance], whole: Found) -> None:
        room = Room(mind)
        room.hear(chat[:150])
        room.refresh([chat[10], chat[120]])  # the first is forgotten
        assert_allclose(room.hear(chat[150:]).likely, whole[150:], atol=CLOSE)

    def test_an_edit_is_judged_where_it_is(self, mind: Mind, scores: list[Found]) -> None:
        """By what was said before it, not by what came later."""
        said = busy(7, 90, gone=0)
        room = Room(mind)
        room.hear(said)
        self.edit(said[80], "is the kettle open ?")
        room.refresh([said[80]])
        scores.clear()
        room.imagine(said[80], 80)
        other = Room(mind)
        other.hear(said)
        assert_allclose(scores[0][0], scores[1][80], atol=1e-3)
