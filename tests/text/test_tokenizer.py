"""The tokenizer: what it says of known cases, and that it says what NLTK says."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towhom.text import tokenizer
from towhom.text.tokenizer import tokenize


@pytest.fixture(autouse=True)
def _cold() -> None:
    tokenizer._inner.clear()
    tokenizer._last.clear()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # contractions
        ("I don't know", "i do n't know"),
        ("It's mine", "it 's mine"),
        ("cannot be", "can not be"),
        ("you cannot", "you can not"),
        ("gonna go", "gon na go"),
        ("I'm", "i 'm"),
        ("we'll they're I've he'd", "we 'll they 're i 've he 'd"),
        ("wanna? I wanna", "wan na ? i wan na"),
        ("lemme gimme gotta", "lem me gim me got ta"),
        ("'tis 'twas d'ye more'n", "'t is 't was d 'ye more 'n"),
        ("can't won't", "ca n't wo n't"),
        ("cannots mcgonna", "cannots mcgonna"),
        ("the users' files", "the users ' files"),
        ("'quoted' word", "'quoted ' word"),
        # punctuation
        ("well, yes; no! really?!", "well , yes ; no ! really ? !"),
        ("a,b a,,b", "a , b a , ,b"),
        ("this: that", "this : that"),
        ("me@example.org #ubuntu 50% R&D $5", "me @ example.org # ubuntu 50 % r & d $ 5"),
        # numbers
        ("3,000 at 10:30 or 1.5", "3,000 at 10:30 or 1.5"),
        ("1, 2, 3.", "1 , 2 , 3 ."),
        # links and paths
        ("http://example.org/a.html", "http : //example.org/a.html"),
        ("see http://example.org:80/?q=1&r=2", "see http : //example.org:80/ ? q=1 & r=2"),
        ("/etc/apt/sources.list", "/etc/apt/sources.list"),
        ("C:\\windows ~/.bashrc", "c : \\windows ~/.bashrc"),
        # smileys
        (":) :-( ;) :D xD <3", ": ) : - ( ; ) : d xd < 3"),
        # ellipsis, dashes, brackets
        ("wait... what....", "wait ... what ... ."),
        ("hmm..", "hmm.."),
        ("yes--no --help well-known", "yes -- no -- help well-known"),
        ("(a) [b] {c} <d>", "( a ) [ b ] { c } < d >"),
        # the period ends a sentence only where the message ends
        ("Done. Thanks.", "done. thanks ."),
        ("ok.)", "ok . )"),
        ('he said "ok."', 'he said " ok . "'),
        ("version 1.0.", "version 1.0 ."),
        # quotes
        ('"so" they say', '" so " they say'),
        ("``so'' they say", '" so " they say'),
        ('6" screen', '6 " screen'),
        # Unicode
        ("Grüße, МИР!", "grüße , мир !"),
        ("“curly” it’s", "“curly” it’s"),
        ("日本語 👍🏽", "日本語 👍🏽"),
        # nothing
        ("", ""),
        (" \t\n", ""),
        # white space of any kind ends a chunk
        ("don't\task\nwhy", "do n't ask why"),
        ("a\u00a0b\u3000c", "a b c"),
        ("  that's' ", "that's '"),
    ],
)
def test_known_cases(text: str, tokens: str) -> None:
    assert tokenize(text) == tokens.split()
    assert tokenize(text) == tokens.split(), "once remembered"


@given(st.text())
@settings(deadline=None)
def test_tokens_of_any_text(text: str) -> None:
    for token in tokenize(text):
        assert token
        assert token.split() == [token]


_MARKS = "a b 3 é _ / - -- . .. ... , : ; ? ! @ ' '' \" ` `` ( ) [ ] { } < >"
_WORDS = (
    "s 's 'm 'd n't 'll 're 've don't can not cannot wanna gonna gotta gimme lemme 'tis 'twas d'ye more'n"
)
_PIECES = st.sampled_from([*_MARKS.split(), *_WORDS.split()])


@pytest.fixture(scope="module")
def treebank() -> Callable[[str], list[str]]:
    """NLTK's function, with its quotes as we write them."""
    nltk = pytest.importorskip("nltk.tokenize.treebank").TreebankWordTokenizer()
    return lambda text: ['"' if token in ("``", "''") else token for token in nltk.tokenize(text)]


@given(
    st.one_of(
        st.text(st.characters(min_codepoint=32, max_codepoint=126)),
        st.lists(st.one_of(_PIECES, st.just(" ")), max_size=12).map("".join),
    )
)
@settings(max_examples=500, deadline=None)
def test_same_as_nltk(treebank: Callable[[str], list[str]], text: str) -> None:
    assert tokenize(text) == treebank(text.strip().lower())


@given(st.lists(st.lists(_PIECES, min_size=1, max_size=6).map("".join), max_size=12).map(" ".join))
@settings(deadline=None)
def test_memory_changes_nothing(text: str) -> None:
    tokenizer._inner.clear()
    tokenizer._last.clear()
    cold = tokenize(text)
    assert tokenize(text) == cold


def test_result_is_the_callers() -> None:
    tokenize("it's it's").clear()
    assert tokenize("it's it's") == ["it", "'s", "it", "'s"]


def test_memory_is_bounded_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "_MEMO_CHUNKS", 8)
    for number in range(100):
        assert tokenize(f"n{number}, n{number}.") == [f"n{number}", ",", f"n{number}", "."]
        assert 0 < len(tokenizer._inner) <= 8
        assert 0 < len(tokenizer._last) <= 8


def test_memory_is_bounded_in_length() -> None:
    long = "x" * 1000 + "."
    assert tokenize(f"{long} {long}") == [long, long[:-1], "."]
    assert not tokenizer._inner
    assert not tokenizer._last


def test_threads_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "_MEMO_CHUNKS", 16)
    texts = [f"it's n{number % 37}, isn't it? (n{number % 11})." for number in range(2000)]
    expected = [tokenize(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tokenize, texts)) == expected


def test_hostile_chunks_take_linear_time() -> None:
    for piece in ("(", "'", ".)", ",,", "cannot'", '"', "can't."):
        assert tokenize(piece * 50_000)
