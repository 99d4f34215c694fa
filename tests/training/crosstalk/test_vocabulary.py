"""The words that a model knows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.training.crosstalk.made import made_room
from towhom.training.crosstalk import vocabulary
from towhom.training.crosstalk.rooms import HeardRoom
from towhom.training.crosstalk.vocabulary import choose_words, no_names, tokens_of


def room_of(
    folder: Path, texts: Sequence[str], *, nicks: Sequence[str] = (), parts: Sequence[str] = ("train",) * 3
) -> HeardRoom:
    """The same texts in each part."""
    said = dict(enumerate([*texts] * len(parts)))
    ends = [(part, len(texts) * (place + 1)) for place, part in enumerate(parts)]
    return made_room(folder, [place % 3 for place in said], said=said, nicks=nicks, parts=ends)


@pytest.fixture
def few_common(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the two most frequent words are words whatever happens."""
    monkeypatch.setattr(vocabulary, "COMMON", 2)


class TestChoose:
    def test_by_frequency(self, tmp_path: Path) -> None:
        room = room_of(tmp_path / "room", ["tea tea tea milk milk door"] * 5 + ["kettle"])
        assert choose_words([room], 10) == ["tea", "milk", "door"]  # the kettle was heard of three times
        assert choose_words([room], 2) == ["tea", "milk"]

    def test_equally_frequent(self, tmp_path: Path) -> None:
        room = room_of(tmp_path / "room", ["tea door milk"] * 5)
        assert choose_words([room], 10) == ["door", "milk", "tea"]

    @pytest.mark.usefixtures("few_common")
    def test_names_in_front(self, tmp_path: Path) -> None:
        texts = ["the the the tea tea tea"] * 10 + ["zoe : so", "zoe , so", "zoe likes it"] * 4
        room = room_of(tmp_path / "room", texts)
        found = choose_words([room], 50)
        assert "zoe" not in found
        assert {"so", "likes", "it", "tea"} <= set(found)

    @pytest.mark.usefixtures("few_common")
    def test_seldom_in_front(self, tmp_path: Path) -> None:
        texts = ["the the the tea tea tea"] * 10 + ["well : so"] + ["so it is well"] * 5
        assert "well" in choose_words([room_of(tmp_path / "room", texts)], 50)

    @pytest.mark.usefixtures("few_common")
    def test_a_word_and_a_mark_alone(self, tmp_path: Path) -> None:
        """Nobody is named in `ok :`, since nothing follows."""
        texts = ["the the the tea tea tea"] * 10 + ["ok :"] * 5
        assert "ok" in choose_words([room_of(tmp_path / "room", texts)], 50)

    @pytest.mark.usefixtures("few_common")
    def test_what_people_are_called(self, tmp_path: Path) -> None:
        texts = ["the the the tea tea tea"] * 10 + ["so zoe said"] * 6
        rooms = [
            room_of(tmp_path / "one", texts, nicks=["zoe", "said"]),
            room_of(tmp_path / "two", ["the tea is what she said"] * 8),
        ]
        found = choose_words(rooms, 50)
        assert "zoe" not in found
        assert "said" in found  # in every room

    @pytest.mark.usefixtures("few_common")
    def test_in_few_segments(self, tmp_path: Path) -> None:
        said = dict(enumerate(["the the the tea tea tea"] * 30 + ["postfix"] * 15))
        parts = [("train", 10), ("train", 20), ("train", 45)]
        room = made_room(tmp_path / "room", [0] * 45, said=said, parts=parts)
        assert choose_words([room], 50) == ["tea", "the"]

    def test_common_words_stay(self, tmp_path: Path) -> None:
        room = room_of(tmp_path / "room", ["will : so"] * 8, nicks=["will"])
        assert "will" in choose_words([room], 50)

    @pytest.mark.usefixtures("few_common")
    def test_hidden_names_are_a_word(self, tmp_path: Path) -> None:
        room = room_of(tmp_path / "room", ["the the tea tea", "<name> : so"] * 6)
        found = choose_words([room], 50)
        assert "<name>" in found

    def test_only_what_is_learned_from(self, tmp_path: Path) -> None:
        said = dict(enumerate(["tea"] * 20 + ["milk"] * 20))
        room = made_room(tmp_path / "room", [0] * 40, said=said, parts=[("train", 20), ("dev", 40)])
        assert choose_words([room], 50) == ["tea"]

    def test_small_rooms_count_by_what_is_said(self, tmp_path: Path) -> None:
        one = room_of(tmp_path / "one", ["tea tea milk"] * 30)
        other = room_of(tmp_path / "other", ["milk door"] * 10)
        assert choose_words([one, other], 50) == ["tea", "milk", "door"]


def test_tokens(tmp_path: Path) -> None:
    room = made_room(tmp_path / "room", [0, 1, 0, 1], said={0: "tea is", 1: "what is", 3: "tea"})
    assert tokens_of(room, ["is", "milk", "tea"]).tolist() == [3, 1, 0, 1, 3]
    assert room.said_at.tolist() == [0, 2, 4, 4, 5]


def test_names_with_marks() -> None:
    """However common they are."""
    words = ["ada++", "c++", "r=ada", "tea", "ada", "--ada", "x=tea", "tea--"]
    found = no_names(words, frozenset({"ada", "c"}))
    assert [word for word, stays in zip(words, found.tolist(), strict=True) if stays] == [
        "c++", "tea", "ada", "--ada", "x=tea", "tea--",
    ]  # fmt: skip
