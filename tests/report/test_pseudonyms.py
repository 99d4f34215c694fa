"""Names that are hidden."""

from __future__ import annotations

from tests.report.conftest import chat, report_of
from towhom.chat import Kind, Message
from towhom.report.pseudonyms import hide_names, pseudonyms


def hidden(*lines: str, secret: str = "") -> tuple[list[str], list[str]]:
    """People and texts of a chat whose names are hidden."""
    columns = report_of(chat(*lines)).columns
    hide_names(columns, secret=secret)
    return columns.people, columns.texts


def test_names_are_hidden_in_texts_too() -> None:
    people, texts = hidden("Ada> hello", "bob> ask ada about it, or @Ada: she knows", "Ada> BOB's plan")
    assert "ada" not in " ".join((*people, *texts)).casefold()
    assert texts[1] == f"ask {people[0]} about it, or @{people[0]}: she knows"
    assert texts[2] == f"{people[1]}'s plan"


def test_parts_of_a_name_where_they_begin_with_a_capital() -> None:
    _, texts = hidden("May_Lin> hi", "zed> may I?")
    assert texts[1] == "may I?"
    given = pseudonyms(["Marta Oyelaran", "Jonas"])
    assert set(given.values()).isdisjoint({"Marta", "Jonas"})


def test_parts_in_small_letters_unless_they_are_words() -> None:
    people, texts = hidden(
        "Will_Oyelaran> hi", "zed_77> will oyelaran do it? ask zed", "Bob_Miller> no, bob will"
    )
    assert texts[1] == f"will {people[0]} do it? ask {people[1]}"
    assert texts[2] == f"no, {people[2]} will"
    people, texts = hidden("Carla_Gómez> hi", "bob> is gomez there?")
    assert texts[1] == f"is {people[0]} there?"


def test_those_who_are_mentioned_and_former_names() -> None:
    messages = [
        Message("ada", "hi @Zoe Quartz, ask dora", mentions=("Zoe Quartz",)),
        Message("dora", "rolf", kind=Kind.RENAME),
        Message("rolf", "dora was I"),
    ]
    columns = report_of(messages).columns
    hide_names(columns)
    assert not {"zoe", "quartz", "dora"} & set(" ".join(columns.texts).lower().replace(",", "").split())


def test_a_name_inside_a_word_stays() -> None:
    _, texts = hidden("ann> hi", "bob> the annex of ann")
    assert "annex" in texts[1]
    assert not texts[1].endswith("ann")


def test_addresses_and_telephone_numbers() -> None:
    _, texts = hidden("ada> write to ada@example.org or call +44 20 7946 0123", "bob> build 12345 failed")
    assert texts == ["write to [hidden] or call [hidden]", "build 12345 failed"]


def test_they_stay_the_same() -> None:
    one = hidden("ada> hi", "bob> hello")[0]
    other = hidden("cyd> hi", "bob> hello", "ada> hello")[0]
    assert one == [other[2], other[1]]


def test_they_depend_on_the_secret() -> None:
    assert hidden("ada> hi", secret="a") != hidden("ada> hi", secret="b")


def test_no_two_people_share_one() -> None:
    names = [f"person {number}" for number in range(5_000)]
    assert len(set(pseudonyms(names).values())) == 5_000
