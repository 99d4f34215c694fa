"""What a bank answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from towhom import Message, load
from towhom.bank import Bank
from towhom.bank.phrases import chosen
from towhom.bank.search import by_words, merged, nearest, search
from towhom.bank.tables import VECTORS
from towhom.hearing.utterance import Utterance
from towhom.live import Model, Session
from towhom.live.answered import answers_to, open_questions
from towhom.live.banking import add_to_bank
from towhom.training.bank_queries import ask


@pytest.fixture(scope="module")
def model() -> Model:
    return load()


@pytest.fixture
def session(model: Model) -> Session:
    session = model.session()
    session.observe(Message("pia", "hello all"))
    session.observe(Message("kurt", "my dishwasher says E18 and there is water standing in it, any idea?"))
    return session


class TestRespond:
    def test_the_answer_to_whom_and_where_from(self, session: Session, bank: Bank) -> None:
        best = session.respond("pia", bank)[0]
        assert best.addressee == "kurt"
        assert best.response.startswith("E18 means that it cannot drain")
        assert best.answers.startswith("my dishwasher")
        assert best.source.question.startswith("my washing machine shows E18")
        assert best.source.document == "repair.txt 20240603"
        assert best.source.link == "https://example.org/2024-06-03#8"

    def test_probabilities_fall_and_are_bounded(self, session: Session, bank: Bank) -> None:
        found = [each.probability for each in session.respond("pia", bank, 50, least=0.0)]
        assert found == sorted(found, reverse=True)
        assert all(0 <= each <= 1 for each in found)
        assert len(found) > 10

    def test_nothing_fits(self, model: Model, bank: Bank) -> None:
        session = model.session()
        session.observe(Message("kurt", "who won the chess tournament in Reykjavik last year?"))
        assert session.respond("pia", bank) == []

    def test_the_session_does_not_change(self, session: Session, bank: Bank) -> None:
        before = session.state()
        first = session.respond("pia", bank)
        assert session.state() == before
        assert session.respond("pia", bank) == first

    def test_an_empty_room_and_one_without_others(self, model: Model, bank: Bank) -> None:
        session = model.session()
        assert session.respond("pia", bank, least=0.0) == []
        session.observe(Message("pia", "is anybody here?"))
        assert session.respond("pia", bank, least=0.0) == []

    def test_an_empty_bank(self, session: Session, small_bank: Callable[..., Bank]) -> None:
        assert session.respond("pia", small_bank("[10:00] <ada> all alone here"), least=0.0) == []

    def test_no_answer_asks_back(self, model: Model, small_bank: Callable[..., Bank]) -> None:
        bank = small_bank(
            "[10:00] <zorabel> how do I resize a partition without losing data?",
            "[10:01] <quentyn> zorabel: which partition do you want to resize, and how large is it?",
            "[10:05] <mirabel> how do I resize a partition while it is mounted?",
            "[10:06] <quentyn> mirabel: boot gparted off a stick, shrink it there, backup first",
        )
        question = [Message("kurt", "how can I resize a partition?")]
        found = [each.response for each in answers_to(model, question, bank, least=0.0)]
        assert found == ["boot gparted off a stick, shrink it there, backup first"]

    def test_slots_have_names(self, model: Model, small_bank: Callable[..., Bank]) -> None:
        bank = small_bank(
            "[10:00] <zorabel> how do I resize a partition without losing data?",
            "[10:01] <quentyn> zorabel: boot gparted off a stick, shrink it there, zorabel, backup first",
        )
        session = model.session()
        session.observe(Message("kurt", "how can I resize a partition?"))
        best = session.respond("pia", bank, least=0.0)[0]
        assert best.response == "boot gparted off a stick, shrink it there, kurt, backup first"
        assert "{addressee}" in best.source.text

    def test_sessions_in_threads(self, model: Model, bank: Bank, session: Session) -> None:
        state, found = session.state(), []
        wanted = model.session(state).respond("pia", bank)

        def ask() -> None:
            found.append(model.session(state).respond("pia", bank))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [wanted] * 4

    @pytest.mark.parametrize(
        "text", ["", "???", "\x00\ud800", "a " * 5000, '" OR * ( NEAR', "😀" * 50, "{addressee}"]
    )
    def test_any_text(self, model: Model, bank: Bank, text: str) -> None:
        session = model.session()
        session.observe(Message("kurt", text))
        session.respond("pia", bank, least=0.0)


class TestSearch:
    def test_exact_search_is_exact(self, model: Model, bank: Bank) -> None:
        head = model.head
        said = Utterance("a", "", tokens=model.lexicon.tokens(["my", "fan", "rattles"], lambda word: False))
        vector = head.heard(model.mind.read([said]).state)[0]
        table = bank.segments[0].table
        scores = table[VECTORS].astype(np.float32) @ vector * table["scale"]
        assert nearest(bank, vector, 5) == np.argsort(-scores, kind="stable")[:5].tolist()
        assert nearest(bank, vector, 500) == np.argsort(-scores, kind="stable").tolist()

    def test_rare_strings(self, bank: Bank) -> None:
        assert "E18" in bank[next(iter(by_words(bank, "what is error e18?", 5)))].text
        assert [*by_words(bank, "zzz unheard", 5)] == []

    def test_what_belongs_together_counts_more(self, small_bank: Callable[..., Bank]) -> None:
        bank = small_bank(
            "[10:00] <ada> where do I list the disks that are mounted at boot?",
            "[10:01] <bob> ada: the fstab tool says nothing, etc is what people write when they are tired",
            "[10:02] <cyd> where do I list the disks that are mounted when it boots?",
            "[10:03] <dee> cyd: every disk has a line in /etc/fstab, one for each of them",
        )
        assert "every disk" in bank[next(iter(by_words(bank, "can I edit /etc/fstab by hand?", 2)))].text

    def test_a_query_uses_its_rarest_words(self) -> None:
        counts = {"the": 900_000, "driver": 4000, "printer": 3000, "e18": 60}
        assert chosen("the E18 driver of the printer", counts, 1_000_000) == ["of", "e18", "printer"]
        assert chosen("the driver", counts, 1_000_000, most=10) == ["driver"]
        assert chosen("the the", counts, 1_000_000) == []
        assert chosen("install libc6-dev", {"install": 900_000}, 1_000_000) == ["dev", "libc6", "libc6 dev"]

    def test_words_are_found_in_all_segments(self, bank_folder: Path, tmp_path: Path) -> None:
        log = tmp_path / "more.txt"
        log.write_text(
            "# 20240701\n"
            "[10:00] <zora> the kettle shows error e77 and hisses, what is that?\n"
            "[10:01] <quentin> zora: e77 is scale on the sensor, boil vinegar in it once and rinse\n",
            "utf-8",
        )
        add_to_bank(bank_folder, [log])
        found = by_words(Bank(bank_folder), "my dishwasher says e18, is that like e77?", 50)
        assert {"E18", "e77"} <= {word for n in found for word in Bank(bank_folder)[n].text.split()}
        assert list(found.values()) == sorted(found.values(), reverse=True)

    def test_scores_by_words_are_comparable_between_banks(self, model: Model, bank: Bank) -> None:
        _, asked = ask(model, "what does E18 mean?")
        found = search(bank, [asked.query], 10)
        assert len(found.numbers) == len(found.scores) == 10
        best = found.numbers[int(found.scores[:, 0].argmax())]
        assert "E18" in bank[best].text
        assert 0 < found.scores.max() < 3

    def test_merging(self) -> None:
        assert merged([(1.0, [1, 2, 3]), (1.0, [2, 4])])[0] == 2
        assert merged([]) == []


class TestOpenQuestions:
    def test_open_ones_with_answers(self, model: Model, bank: Bank) -> None:
        chat = [
            Message("kurt", "my dishwasher says E18 and there is water standing in it, any idea?"),
            Message("lena", "is the workshop open on Sunday?"),
            Message("mo", "it is open on Sunday from ten to four", addressee="lena"),
        ]
        found = list(open_questions(model, chat, bank))
        assert [each.asked.message.speaker for each in found] == ["kurt"]
        assert found[0].answers[0].response.startswith("E18 means")

    def test_several_lines_are_one_question(self, model: Model, bank: Bank) -> None:
        chat = [
            Message("kurt", "hello, can somebody help me?"),
            Message("kurt", "my washing machine shows E18"),
        ]
        (found,) = open_questions(model, chat, bank)
        assert found.text.endswith("shows E18")
        assert found.answers[0].response.startswith("E18 means")
