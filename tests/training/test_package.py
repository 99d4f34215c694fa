"""A trained model made into one to run live."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

import towhom
from tests.models.systems import HIDDEN, SIZES, neural
from tests.training.conftest import weights
from towhom.chat import Kind, Message
from towhom.corpus import Corpus, Split
from towhom.evaluation.addressees import describe_addressees, follow_logs, follow_model
from towhom.evaluation.evaluator import evaluate, summary
from towhom.evaluation.reply_links import LinkedLog
from towhom.live.addressees import AddresseeRanker
from towhom.persistence import CARD, CONFIG, TRAINING, WEIGHTS, WORDS, load_model, save_model
from towhom.text.vectors import WordVectors
from towhom.text.vocabulary import ModelVocabulary
from towhom.training import privacy
from towhom.training.addressees import RankerConfig
from towhom.training.package import make_package

PEOPLE = ("ada", "bob", "cyd", "dee")
CONFIG_OF_RANKER = RankerConfig(hidden=8, rounds=2, epochs=60, learning_rate=0.02)


def linked(seed: int, lines: int = 90) -> LinkedLog:
    """Mostly, who speaks answers who spoke last; some name somebody; who asks where asks the room."""
    random = Random(seed)
    said: list[Message] = []
    links: dict[int, frozenset[int]] = {}
    for line in range(lines):
        before = said[-1].speaker if said else ""
        speaker = random.choice([name for name in PEOPLE if name != before])
        starts = not said or random.random() < 0.25
        links[line] = frozenset({line if starts else line - 1})
        text = "where ?" if starts else random.choice(("here now", "me", f"{before}: amber"))
        said.append(Message(speaker, text, line=line))
    return LinkedLog(f"log{seed}", tuple(said), links)


TRAIN, DEV = [linked(seed) for seed in range(4)], [linked(seed) for seed in (8, 9)]


EMBEDDING = {"sirnn": HIDDEN, "crosstalk": 2 * SIZES["crosstalk"]["content"]}
"""What a ranker sees of a message's embedding."""


@pytest.fixture(scope="module", params=list(EMBEDDING))
def trained(
    corpus: Corpus,
    vectors: WordVectors,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Path:
    """As `towhom train` writes it, though it has learned nothing."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    vocabulary = ModelVocabulary.of(vectors, corpus.vocabulary.words)
    model = neural(request.param, vocabulary)
    save_model(folder, model, vocabulary, system=request.param, context=4, training={"epochs": 7})
    return folder


class Packaged(NamedTuple):
    """A package, and what was said of it."""

    folder: Path
    measured: dict[str, Any]
    followed: list[str]

    @property
    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / TRAINING).read_text("utf-8"))
        return found


@pytest.fixture(scope="module")
def packaged(trained: Path, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Packaged:
    out = tmp_path_factory.mktemp("packaged") / "model"
    followed: list[str] = []
    measured = make_package(
        trained, out, corpus=corpus, train=TRAIN, dev=DEV, config=CONFIG_OF_RANKER,
        data=[trained], progress=followed.append,
    )  # fmt: skip
    return Packaged(out, measured, followed)


def right(outcomes_of: towhom.live.Model, logs: list[LinkedLog]) -> NDArray[np.bool_]:
    return np.array([each.right for each in follow_logs(follow_model(outcomes_of), logs)])


class TestFolder:
    def test_files(self, packaged: Packaged) -> None:
        names = sorted(path.name for path in packaged.folder.iterdir())
        assert names == sorted([CARD, CONFIG, TRAINING, WEIGHTS, WORDS])

    def test_it_follows_a_chat(self, packaged: Packaged) -> None:
        session = towhom.load(packaged.folder).session()
        session.observe(Message("ada", "where ?"))
        session.observe(Message("bob", "me"))
        seen = session.observe(Message("cyd", "here now"))
        assert {each.name for each in seen.addressees} == {"ada", "bob", None}
        assert sum(each.probability for each in seen.addressees) == pytest.approx(1)
        assert seen.addressee == "bob"
        chosen = session.select("ada", ["now", "me"])
        assert sum(each.probability for each in chosen) == pytest.approx(1)

    def test_a_ranker_and_a_calibration(self, packaged: Packaged, trained: Path) -> None:
        saved = load_model(packaged.folder)
        shapes = {name: value.shape for name, value in saved.live_weights.items()}
        assert shapes == AddresseeRanker.shapes(8, EMBEDDING[saved.system])
        assert saved.live["addressees"]["temperature"] > 0
        assert set(saved.live) == {"pairs", "addressees"}
        assert not load_model(trained).live

    def test_the_model_is_as_it_was_but_for_8_bits(self, packaged: Packaged, trained: Path) -> None:
        before, after = load_model(trained), load_model(packaged.folder)
        assert (after.system, after.context, after.rule) == (before.system, before.context, before.rule)
        assert after.vocabulary.words == before.vocabulary.words
        for name, value in before.weights.items():
            assert (after.weights[name] == value).all()
        assert load_file(packaged.folder / WEIGHTS)["vectors"].dtype == np.int8
        largest = np.abs(before.vocabulary.matrix).max(axis=1, keepdims=True)
        assert (np.abs(after.vocabulary.matrix - before.vocabulary.matrix) <= largest / 250).all()


class TestMeasured:
    def test_it_learned_the_rule(self, packaged: Packaged, trained: Path) -> None:
        unseen = [linked(99), linked(98)]
        learned = right(towhom.load(packaged.folder), unseen).mean()
        assert learned > 0.9
        assert learned > right(towhom.load(trained), unseen).mean() + 0.2

    def test_selection_is_that_of_what_was_written(self, packaged: Packaged, corpus: Corpus) -> None:
        saved = load_model(packaged.folder)
        words = saved.vocabulary.ids(list(corpus.vocabulary.words))
        again = summary(evaluate(saved.model, corpus, Split.DEV, context=4, candidates=2, words=words))
        assert list(packaged.measured["select"]) == ["2"]
        assert packaged.measured["select"]["2"].items() >= again.items()

    def test_selection_before(self, packaged: Packaged, corpus: Corpus, trained: Path) -> None:
        saved = load_model(trained)
        words = saved.vocabulary.ids(list(corpus.vocabulary.words))
        before = summary(evaluate(saved.model, corpus, Split.DEV, context=4, candidates=2, words=words))
        assert before.items() >= packaged.measured["select"]["2"]["before_compacting"].items()

    def test_addressees_are_those_of_what_was_written(self, packaged: Packaged) -> None:
        again = describe_addressees(follow_logs(follow_model(towhom.load(packaged.folder)), DEV))
        del again["calibration_names_nobody"]  # measured with the temperature of other documents
        assert packaged.measured["addressees"].items() >= again.items()

    def test_calibration(self, packaged: Packaged) -> None:
        """It is as sure as it is right, on the whole."""
        outcomes = follow_logs(follow_model(towhom.load(packaged.folder)), DEV)
        unnamed = [each for each in outcomes if not each.named]
        sure = np.mean([each.probability for each in unnamed])
        assert sure == pytest.approx(np.mean([each.right for each in unnamed]), abs=0.1)
        for found in (packaged.measured["addressees"], packaged.measured["select"]["2"]):
            assert 0 <= found["calibration"]["error"] <= 1


class TestRecord:
    def test_training(self, packaged: Packaged, corpus: Corpus) -> None:
        assert packaged.record["epochs"] == 7  # what there was is kept
        record = packaged.record["package"]
        assert record.keys() >= {"command", "commit", "date", "versions"}
        assert record["corpus"] == corpus.manifest["hash"]
        assert record["ranker"]["epochs"] == 60
        assert record["links"] == [{"messages": 360}, {"messages": 180}]
        assert len(record["data"]) == 1
        assert record["live"] == json.loads((packaged.folder / CONFIG).read_text("utf-8"))["live"]
        assert {key: record[key] for key in ("select", "addressees", "threads")} == packaged.measured
        assert record["threads_training"]["folds"] == 5

    def test_card(self, packaged: Packaged) -> None:
        card = (packaged.folder / CARD).read_text("utf-8")
        found, select = packaged.measured["addressees"], packaged.measured["select"]["2"]
        assert f"| 2 | {select['adr_res']:.2f} | {select['adr']:.2f} | {select['res']:.2f} | " in card
        assert f"{found['accuracy']:.1f} % of 180 are right" in card
        assert f"{found['names_nobody']['messages']} that name nobody" in card
        assert "{" not in card

    def test_progress(self, packaged: Packaged) -> None:
        chats = [log.name for log in TRAIN] * 2
        assert packaged.followed[: len(chats)] == chats
        assert packaged.followed[len(chats) :] == [
            "collected the messages",
            "trained the first stage",
            "trained the second stage",
        ]

    def test_threads(self, packaged: Packaged) -> None:
        assert packaged.measured["threads"]["links"]["f1"] > 0
        card = (packaged.folder / CARD).read_text("utf-8")
        assert f"reply links F1 {packaged.measured['threads']['links']['f1']:.1f} %" in card


class TestAgain:
    QUICK = RankerConfig(hidden=4, rounds=1, epochs=2, seed=3)

    def package(self, trained: Path, out: Path, corpus: Corpus, config: RankerConfig = QUICK) -> bytes:
        make_package(trained, out, corpus=corpus, train=TRAIN[:1], dev=DEV[:1], config=config)
        return weights(out)

    def test_the_seed_decides(self, trained: Path, corpus: Corpus, tmp_path: Path) -> None:
        first = self.package(trained, tmp_path / "a", corpus)
        assert self.package(trained, tmp_path / "b", corpus) == first
        assert (tmp_path / "a" / CARD).read_text() == (tmp_path / "b" / CARD).read_text()
        other = RankerConfig(hidden=4, rounds=1, epochs=2, seed=4)
        assert self.package(trained, tmp_path / "c", corpus, other) != first

    def test_an_older_one_is_replaced(self, trained: Path, corpus: Corpus, tmp_path: Path) -> None:
        first = self.package(trained, tmp_path / "a", corpus)
        other = RankerConfig(hidden=5, rounds=1, epochs=2)
        assert self.package(trained, tmp_path / "a", corpus, other) != first
        assert [path.name for path in tmp_path.iterdir()] == ["a"]

    def test_interrupted_it_leaves_the_older_one(self, trained: Path, corpus: Corpus, tmp_path: Path) -> None:
        first = self.package(trained, tmp_path / "a", corpus)

        def interrupt(name: str) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            make_package(
                trained, tmp_path / "a", corpus=corpus, train=TRAIN[:1], dev=DEV[:1], config=self.QUICK,
                progress=interrupt,
            )  # fmt: skip
        assert weights(tmp_path / "a") == first
        assert [path.name for path in tmp_path.iterdir()] == ["a"]

    def test_no_nick_is_in_it(
        self, trained: Path, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(privacy, "_COMMON", 0)
        joins = Message("", "birch has joined", kind=Kind.SYSTEM, line=1000)
        log = LinkedLog("log", (*TRAIN[0].lines, joins), TRAIN[0].links)
        make_package(trained, tmp_path / "a", corpus=corpus, train=[log], dev=DEV[:1], config=self.QUICK)
        before, after = load_model(trained).vocabulary.words, load_model(tmp_path / "a").vocabulary.words
        assert set(before) - set(after) == {"birch"}
