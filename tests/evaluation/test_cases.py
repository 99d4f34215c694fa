"""Cases: what a person reads is what was there, and what was chosen."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.models.systems import neural
from towhom.chat import Message
from towhom.corpus import Corpus, Split
from towhom.evaluation import cases as module
from towhom.evaluation.case_pages import case_parts, cases_html, cases_markdown
from towhom.evaluation.cases import Case, Selected, System, find_cases
from towhom.evaluation.evaluator import evaluate
from towhom.models.recency import DirectRecentTfIdf, RecentTfIdf
from towhom.testing.chats import WORDS, Line, random_document, word_vectors, write_corpus
from towhom.text.vocabulary import ModelVocabulary

DOCUMENTS = (
    (
        Line("ann", None, "tea please"),
        Line("ben", "ann", "which kettle"),
        Line("cat", None, "tea tea"),
        Line("ann", "ben", "blue kettle", ("wine",), 1),  # 0: cat spoke last, ben asked
    ),
    (
        Line("fay", None, "milk"),
        Line("gus", "fay", "hot milk", ("wine",), 0),  # 1: for everybody
        Line("gus", "fay", "wine", ("milk",), 0),  # 2: for nobody, milk is what was talked about
    ),
    (
        Line("hal", "zoe", "salt", ("wine",), 0),  # 3: the first message, to somebody who is not there
        Line("ida", None, "salt"),
    ),
    (
        Line("jim", None, "soup"),
        *[Line("kim", None, "well")] * 3,
        Line("kim", "jim", "hot soup", ("wine",), 0),  # 4: for everybody, though jim spoke long ago
    ),
)
"""Samples 0 to 4."""


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return write_corpus(tmp_path, {Split.TEST: DOCUMENTS})


@pytest.fixture
def systems(corpus: Corpus) -> dict[str, System]:
    return {"recent": System(RecentTfIdf(corpus)), "direct": System(DirectRecentTfIdf(corpus))}


def told(messages: tuple[Message, ...]) -> list[tuple[str, str | None, str]]:
    return [(message.speaker, message.addressee, message.text) for message in messages]


class TestCase:
    def test_as_it_was(self, corpus: Corpus, systems: dict[str, System]) -> None:
        (case,) = find_cases(systems, corpus, [0], context=3, candidates=2)
        assert told(case.context) == [said[:3] for said in DOCUMENTS[0][:3]]
        assert (case.sample, case.responder, case.addressee) == (0, "ann", "ben")
        assert case.candidates == ("wine", "blue kettle")
        assert case.response == "blue kettle"
        assert case.selected == {
            "recent": Selected("cat", "blue kettle", right_addressee=False, right_response=True),
            "direct": Selected("ben", "blue kettle", right_addressee=True, right_response=True),
        }
        assert list(case.selected) == ["recent", "direct"]

    def test_a_shorter_context(self, corpus: Corpus, systems: dict[str, System]) -> None:
        (case,) = find_cases(systems, corpus, [0], context=1, candidates=2)
        assert told(case.context) == [("cat", None, "tea tea")]
        assert {chosen.addressee for chosen in case.selected.values()} == {"cat"}

    def test_in_the_order_asked_for_and_within_their_documents(
        self, corpus: Corpus, systems: dict[str, System]
    ) -> None:
        later, earlier = find_cases(systems, corpus, [2, 1], context=15, candidates=2)
        assert (later.sample, earlier.sample) == (2, 1)
        assert told(later.context) == [said[:3] for said in DOCUMENTS[1][:2]]
        assert (later.responder, later.addressee, later.response) == ("gus", "fay", "wine")
        assert later.selected["direct"] == Selected("fay", "milk", right_addressee=True, right_response=False)

    def test_nobody_is_right_about_who_is_not_there(self, corpus: Corpus, systems: dict[str, System]) -> None:
        (case,) = find_cases(systems, corpus, [3], context=15, candidates=2)
        assert (case.context, case.responder, case.addressee) == ((), "hal", "")
        assert case.selected["recent"] == Selected(None, "salt", right_addressee=False, right_response=True)


class TestTelling:
    def test_what_the_last_has_right_and_others_wrong_comes_first(
        self, corpus: Corpus, systems: dict[str, System]
    ) -> None:
        def samples(order: dict[str, System], telling: int) -> list[int]:
            found = find_cases(order, corpus, [4, 3, 2, 1, 0], context=15, candidates=2, telling=telling)
            return [case.sample for case in found]

        assert samples(systems, 9) == [0, 4, 1]
        assert samples(systems, 1) == [0]
        assert samples({name: systems[name] for name in ("direct", "recent")}, 9) == [4, 1]

    def test_far_before_near(self, corpus: Corpus, systems: dict[str, System]) -> None:
        """One system alone: the addressee of 4 spoke four messages ago, that of 0 two, that of 1 just now."""
        found = find_cases(
            {"direct": systems["direct"]}, corpus, [1, 0, 4], context=15, candidates=2, telling=3
        )
        assert [case.sample for case in found] == [4, 0, 1]

    def test_there_may_be_none(self, corpus: Corpus, systems: dict[str, System]) -> None:
        assert find_cases(systems, corpus, [2, 3], context=15, candidates=2, telling=3) == []


@pytest.mark.parametrize("name", ["sirnn", "static-rnn"])
def test_right_as_the_evaluator_has_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system with words of its own, in batches of seven."""
    monkeypatch.setattr(module, "_BATCH", 7)
    random = Random(3)
    chats = [random_document(random, lines=30, people=people, empty=0.0) for people in (3, 6)]
    corpus = write_corpus(tmp_path, {Split.DEV: chats})
    vocabulary = ModelVocabulary.of(word_vectors(4), WORDS)
    words = vocabulary.ids(list(corpus.vocabulary.words))
    model = neural(name, vocabulary)
    outcomes = evaluate(model, corpus, None, context=5, candidates=2, words=words)
    found = find_cases({"it": System(model, words)}, corpus, corpus.samples_of(None), context=5, candidates=2)
    assert len(found) > 15
    chosen = [case.selected["it"] for case in found]
    assert [each.right_addressee for each in chosen] == outcomes.addressee.tolist()
    assert [each.right_response for each in chosen] == outcomes.response.tolist()
    assert 0 < outcomes.addressee.mean() < 1
    assert 0 < outcomes.response.mean() < 1


class TestPages:
    CASE = Case(
        sample=7,
        context=(
            Message("a|b", "press <enter> & wait", addressee=None),
            Message("<i>", "ok", addressee="a|b"),
        ),
        responder="<b>bob",
        addressee="a|b",
        response="x | y",
        candidates=("x | y", "two\nlines"),
        selected={
            "one": Selected("a|b", "two\nlines", right_addressee=True, right_response=False),
            "two": Selected(None, "x | y", right_addressee=False, right_response=True),
        },
    )

    def test_markdown(self) -> None:
        assert cases_markdown([self.CASE]).splitlines() == [
            "### Sample 7: &lt;b&gt;bob speaks next",
            "",
            "| sender | addressee | utterance |",
            "|---|---|---|",
            "| a\\|b | – | press &lt;enter&gt; &amp; wait |",
            "| &lt;i&gt; | a\\|b | ok |",
            "",
            "| system | addressee | response |",
            "|---|---|---|",
            "| one | ★ a\\|b | two lines |",
            "| two | – | ★ x \\| y |",
            "| truth | a\\|b | x \\| y |",
        ]

    def test_parts_of_another_page(self) -> None:
        heading, *tables = case_parts([self.CASE], level=3)
        assert heading == "<h3>Sample 7: &lt;b&gt;bob speaks next</h3>"
        assert "\n".join(tables) in cases_html([self.CASE])

    def test_html(self) -> None:
        page = cases_html([self.CASE, self.CASE])
        assert page.count("<h2>Sample 7: &lt;b&gt;bob speaks next</h2>") == 2
        assert page.count("<td>press &lt;enter&gt; &amp; wait</td>") == 2
        assert page.count("<tr><td>two</td><td>–</td><td>★ x | y</td></tr>") == 2
        assert not any(tag in page for tag in ("<enter>", "<i>", "<b>"))
