from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.costs import check_growth, seconds
from towhom.chat import Kind, Message
from towhom.hearing.protocol import choose_addressee, prefix_pattern, resolve_addressees


@pytest.mark.parametrize(
    ("text", "addressee", "rest"),
    [
        ("ada: done", "ada", "done"),
        ("ada, done", "ada", "done"),
        ("ada; done", "ada", "done"),
        ("ada : done", "ada", "done"),
        ("  ada:   done", "ada", "done"),
        ("ada: : done", "ada", ": done"),
        ("ada:done", None, None),
        ("ada:", None, None),
        ("ada: ", None, None),
        ("ada :)", None, None),
        ("ada done", None, None),
        ("Ada: done", None, None),
        ("eve: done", None, None),
        ("well ada: done", None, None),
        ("Cleo D.: done", "Cleo D.", "done"),
        ("Cleo: done", None, None),
        ("a|b: done", "a|b", "done"),
        ("ada: bob: done", "ada", "bob: done"),
        ("", None, None),
    ],
)
def test_a_name_in_front(text: str, addressee: str | None, rest: str | None) -> None:
    speakers = ["ada", "bob", "Cleo D.", "a|b"]
    chat = [Message(name, "hi") for name in speakers] + [Message("bob", text)]
    assert resolve_addressees(chat)[-1] == Message("bob", text if rest is None else rest, addressee)


def test_only_who_speaks_in_the_document_is_addressed() -> None:
    chat = [Message("bob", "ada: hi"), Message("ada", "waves", kind=Kind.ACTION)]
    assert resolve_addressees(chat)[0].addressee is None


def test_what_the_platform_says_stays() -> None:
    chat = [Message("ada", "hi"), Message("bob", "ada: hi", addressee="cleo")]
    assert resolve_addressees(chat) == chat


def test_other_lines_stay() -> None:
    chat = [Message("ada", "hi"), Message("bob", "ada: hi", kind=Kind.NOTICE)]
    assert resolve_addressees(chat) == chat


def test_case() -> None:
    chat = [
        Message("Ada", "hi"),
        Message("bob", "aDA: hi"),
        Message("Cleo D.", "hi"),
        Message("bob", "CLEO d.: hi"),
    ]
    assert [message.addressee for message in resolve_addressees(chat)] == [None] * 4
    resolved = resolve_addressees(chat, ignore_case=True)
    assert [message.addressee for message in resolved] == [None, "Ada", None, "Cleo D."]


def test_renames() -> None:
    chat = [
        Message("ada", "hi"),
        Message("ada", "lovelace", kind=Kind.RENAME),
        Message("bob", "lovelace: hi"),
        Message("lovelace", "bob: hi"),
        Message("lovelace", "ada|away", kind=Kind.RENAME),
        Message("bob", "gone?", addressee="ada|away"),
        Message("bob", "ada|away: hi"),
    ]
    resolved = resolve_addressees(chat, follow_renames=True)
    said = [(message.speaker, message.addressee) for message in resolved if message.kind is Kind.MESSAGE]
    assert said == [("ada", None), ("bob", "ada"), ("ada", "bob"), ("bob", "ada"), ("bob", "ada")]


def test_a_name_that_others_had() -> None:
    """Whoever is called so at the time."""
    chat = [
        Message("ada", "hi"),
        Message("bob", "hi"),
        Message("ada", "eve", kind=Kind.RENAME),
        Message("bob", "ada", kind=Kind.RENAME),
        Message("cyd", "ada: hi"),
        Message("cyd", "eve: hi"),
        Message("ada", "eve: hi"),
    ]
    resolved = resolve_addressees(chat, follow_renames=True)
    assert [(each.speaker, each.addressee) for each in resolved[4:]] == [
        ("cyd", "bob"), ("cyd", "ada"), ("bob", "ada"),
    ]  # fmt: skip


def test_many_renames_take_time_that_grows_with_their_number() -> None:
    def cost(times: int) -> float:
        renames = range(4_000 * times)
        chat = [Message(f"a{place}", f"a{place + 1}", kind=Kind.RENAME) for place in renames]
        return seconds(lambda: resolve_addressees(chat, follow_renames=True))

    check_growth(cost)


def test_all_else_of_a_message_is_kept() -> None:
    message = Message("bob", "ada: hi", id="1", reply_to="0", channel="lounge", line=3)
    resolved = resolve_addressees([Message("ada", "x"), message])[1]
    assert resolved == Message("bob", "hi", "ada", id="1", reply_to="0", channel="lounge")
    assert resolved.line == 3


@pytest.mark.parametrize(
    ("leading", "replied", "mentioned", "addressee"),
    [
        ("bob", "cleo", ["bob", "eve"], "bob"),
        (None, "cleo", ["bob"], "cleo"),
        ("ada", "cleo", ["ada"], "cleo"),
        (None, "ada", ["bob"], "bob"),
        (None, None, ["bob", "bob", "ada"], "bob"),
        (None, None, ["bob", "cleo"], None),
        (None, "ada", ["ada"], None),
        (None, None, [], None),
    ],
)
def test_mentions_and_replies(
    leading: str | None, replied: str | None, mentioned: list[str], addressee: str | None
) -> None:
    assert choose_addressee("ada", leading=leading, replied=replied, mentioned=mentioned) == addressee


@given(st.lists(st.text(), max_size=5), st.text(), st.booleans())
def test_any_names_make_a_pattern(names: list[str], text: str, ignore_case: bool) -> None:
    found = prefix_pattern(names, ignore_case=ignore_case).match(text)
    assert found is None or text[found.end() :].strip()
