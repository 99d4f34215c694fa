"""How responses are ranked, and how that is learned."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.conftest import irc_days
from towhom import load
from towhom.bank import Bank
from towhom.bank.ranking import INPUTS, Ranking, looked_at, ranking
from towhom.bank.search import Found, search
from towhom.live.banking import build_bank
from towhom.training.bank_queries import Target, ask, place
from towhom.training.bank_ranking import Example, fitted, places, recall


def looks(bank: Bank, question: str) -> np.ndarray:
    """The inputs of all responses of a bank, by number."""
    model = load()
    _, asked = ask(model, question)
    scores = dict(zip(*search(bank, [asked.query], 500), strict=True))
    every = Found([*range(len(bank))], np.array([scores.get(n, [0.0]) for n in range(len(bank))]))
    found: np.ndarray = looked_at(bank, every, [asked.query], model.lexicon.piece_weights)[:, 0]
    return found


def of(found: np.ndarray, name: str) -> list[float]:
    values: list[float] = found[:, INPUTS.index(name)].tolist()
    return values


class TestInputs:
    def test_what_a_question_has_in_common(self, bank: Bank) -> None:
        found = looks(bank, "my dishwasher says E18 and there is water in it")
        best = int(np.argmax(of(found, "words")))
        assert "E18" in bank[best].question
        assert of(found, "rarest")[best] == max(of(found, "rarest"))
        assert 0 < of(found, "share")[best] <= 1
        assert of(found, "bm25")[best] > 0
        assert min(of(found, "bm25")) == 0

    def test_the_same_question(self, bank: Bank) -> None:
        number = next(n for n in range(len(bank)) if bank[n].opening is None)
        found = looks(bank, bank[number].question)[[number]]
        assert of(found, "words") == pytest.approx([1.0], abs=0.05)
        assert of(found, "share") == pytest.approx([1.0], abs=0.05)
        assert of(found, "sense") == pytest.approx([1.0], abs=0.05)

    def test_facts_about_responses(self, small_bank: Callable[..., Bank]) -> None:
        bank = small_bank(
            "[10:00] <zorabel> how do I resize a partition without losing data?",
            "[10:01] <quentyn> zorabel: boot gparted off a stick, shrink it there, backup first",
            "[10:02] <zorabel> quentyn: that worked, thank you!",
            "[10:10] <mirabel> does the fan of this laptop ever stop spinning so loudly?",
            "[10:11] <quentyn> mirabel: which laptop is it and which kernel do you run there?",
        )
        found = looks(bank, "how can I resize a partition?")
        assert of(found, "thanked") == [1, 0]
        assert of(found, "asks") == [0, 1]
        assert of(found, "question_asks") == [1, 1]

    def test_a_message_without_words(self, bank: Bank) -> None:
        assert np.isfinite(looks(bank, "???")).all()


class TestRanking:
    def test_the_one_of_the_package(self) -> None:
        found = ranking()
        assert found.first.shape == (len(INPUTS),)
        assert found.second.shape == (len(INPUTS) + 1,)
        assert found.slope > 0

    def test_likelier_with_a_higher_score_and_in_a_smaller_bank(self) -> None:
        curve = Ranking(np.zeros(1), np.zeros(2), -3.0, slope=1.0, says=-1.0, energy=0.5, read_of=1000)
        two = np.zeros(2)
        assert curve.likely(np.array([0.0, 5.0]), two, 0.0, 1000) == pytest.approx([0.0474, 0.881], abs=1e-3)
        assert curve.likely(two, np.array([0.0, 2.0]), 4.0, 1000) == pytest.approx([0.269, 0.0474], abs=1e-3)
        assert curve.likely(two, two, 0.0, 50) == pytest.approx([0.499, 0.499], abs=1e-3)
        assert curve.likely(np.array([1e9, -1e9]), two, 0.0, 0).tolist() == [1.0, pytest.approx(0.0)]


def drawn(weights: list[float], count: int = 400, seed: int = 0) -> list[Example]:
    """Examples in which the true response is drawn by the given weights."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        looks = random.normal(size=(20, len(weights)))
        odds = np.exp(looks @ np.array(weights))
        true = int(random.choice(20, p=odds / odds.sum()))
        found.append(Example(Target("", true, frozenset(), "room"), np.arange(20), looks))
    return found


class TestLearning:
    def test_weights_are_found_again(self) -> None:
        assert fitted(drawn([2.0, -1.0, 0.0])) == pytest.approx([2.0, -1.0, 0.0], abs=0.25)

    def test_a_query_whose_response_was_not_found_counts_against_recall(self) -> None:
        found, *_ = drawn([1.0])
        lost = found._replace(target=found.target._replace(number=99))
        best = found._replace(target=found.target._replace(number=int(np.argmax(found.looks[:, 0]))))
        assert places([best, lost], np.array([1.0])) == [0, None]
        assert recall([0, None, 5, 50]) == {"1": 0.25, "10": 0.5, "100": 0.75}

    def test_the_command(self, tmp_path: Path) -> None:
        for name, seed in (("bank", 1), ("one", 2), ("two", 3)):
            log = tmp_path / f"{name}.txt"
            log.write_text("\n".join(irc_days(Random(seed), days=12, lines=100)) + "\n", "utf-8")
            build_bank(tmp_path / name, [log])
        model, out, record = load(), tmp_path / "ranking.json", tmp_path / "record.json"
        others = [tmp_path / name for name in ("one", "two")]
        placed = place(tmp_path / "placed", Bank(tmp_path / "bank"), others, model, count=50, seed=0)
        assert placed.targets
        for target in placed.targets:
            response = placed.bank[target.number]
            assert response.opening is None
            assert target.query not in response.question
            assert target.number not in target.siblings
        paths = map(str, [tmp_path / "bank", *others, "--out", out, "--json", record])
        command = [sys.executable, "-m", "towhom.training.bank_ranking", *paths]
        subprocess.run(command, check=True, capture_output=True)
        written = json.loads(out.read_text("utf-8"))
        assert list(written["first"]) == [*INPUTS]
        assert list(written["second"]) == [*INPUTS, "energy"]
        found = json.loads(record.read_text("utf-8"))
        assert found["weights"] == written
        assert {*found["rooms"]} == {target.room for target in placed.targets}
