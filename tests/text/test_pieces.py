"""What words are made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towhom.text.pieces import MOST, parts, pieces, pieces_of, stem

any_text = st.text(st.characters(exclude_categories=()))  # halves of surrogate pairs, too


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("postfix", ["postfix"]),
        ("/etc/postfix/main.cf", ["etc", "postfix", "main", "cf"]),
        ("http://www.example.org/kernel", ["exampl", "kernel"]),
        ("https://example.com/a/b?page=12", ["exampl", "pag", "12"]),
        ("libc6-dev", ["libc", "dev"]),  # a single digit tells nothing
        ("x11", ["11"]),
        ("snake_case", ["snak", "cas"]),
        ("c++", ["c"]),  # unless there is nothing else
        ("a/b", ["a"]),
        ("3", ["3"]),
        ("2.6.32", ["32"]),
        ("größer", ["groß"]),
        ("установить", ["установ"]),
        ("安装", ["安装"]),
    ],
)
def test_parts(word: str, expected: list[str]) -> None:
    assert list(parts(word)) == expected


@pytest.mark.parametrize("word", ["?", "...", ":-)", "``", "_", "¿", "\N{SNOWMAN}"])
def test_marks_alone_are_themselves(word: str) -> None:
    assert parts(word) == (word,)


@pytest.mark.parametrize("word", ["http", "http://", "www.com"])
def test_what_is_in_every_link_is_nothing(word: str) -> None:
    assert not parts(word)
    assert not pieces(word)


def test_nothing_at_all() -> None:
    assert parts("") == ("",)
    assert pieces_of([]) == []


def test_a_link_has_few_that_count() -> None:
    path = "/".join(f"part{chr(97 + number)}" for number in range(20))
    assert parts(path) == ("parta", "partb", "partc", "partd")
    assert len(pieces(path)) == MOST == 4


@pytest.mark.parametrize(
    "forms",
    [
        ("kernel", "kernels"),
        ("box", "boxes"),
        ("install", "installs", "installed", "installing", "installer", "installation"),
        ("repository", "repositories"),
        ("drive", "drives", "driver", "drivers"),
        ("package", "packages", "packaging"),
        ("file", "files"),
    ],
)
def test_forms_of_a_word_meet(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1
    assert len({pieces(form) for form in forms}) == 1


@pytest.mark.parametrize("word", ["is", "gas", "ping", "red", "ape", "us"])
def test_short_words_stay_whole(word: str) -> None:
    assert stem(word) == word


@pytest.mark.parametrize("word", ["seeds", "bring", "speed", "using"])
def test_three_letters_stay(word: str) -> None:
    assert len(stem(word)) >= 3


def test_hashes_are_the_same_everywhere() -> None:
    """Weights of saved models are kept by them."""
    assert pieces("postfix") == (1_949_467_004,)
    assert pieces("/etc/postfix") == (pieces("etc")[0], 1_949_467_004)
    assert pieces("?") == (1_684_325_040,)
    assert pieces("größer") == (4_025_135_634,)


def test_each_once_in_order() -> None:
    words = ("/etc/postfix", "?", "postfix", "etc", "main.cf", "?")
    assert pieces_of(words) == [pieces(word)[0] for word in ("etc", "postfix", "?", "main", "cf")]


@given(word=any_text)
def test_any_word(word: str) -> None:
    found = parts(word)
    assert len(found) <= MOST
    if word.isascii():
        assert all(len(part) <= 7 or part == word for part in found)
        assert all(part in word for part in found)
    assert all(found) or not word
    assert len(pieces(word)) == len(found)
    assert all(0 <= piece < 1 << 32 for piece in pieces(word))


@given(words=st.lists(any_text, max_size=12))
def test_any_words(words: list[str]) -> None:
    found = pieces_of(words)
    assert len(found) == len(set(found))
    assert set(found) == {piece for word in words for piece in pieces(word)}
    first = [min(place for place, word in enumerate(words) if piece in pieces(word)) for piece in found]
    assert first == sorted(first)
