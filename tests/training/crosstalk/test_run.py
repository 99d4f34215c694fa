"""From rooms to a mind that answers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.crosstalk.chats import LEXICON, chatter, heard
from tests.training.crosstalk.test_encoder import write as write_bert
from towhom.chat import Kind as MessageKind
from towhom.crosstalk.folder import lexicon_of
from towhom.crosstalk.mind import Mind, Room
from towhom.crosstalk.words import LIMIT
from towhom.hearing.ear import Ear
from towhom.hearing.utterance import REACH
from towhom.training.crosstalk.looks import LooksConfig
from towhom.training.crosstalk.rooms import Source
from towhom.training.crosstalk.run import Settings, load_weights, train
from towhom.training.crosstalk.text import TextConfig

SETTINGS = Settings(
    TextConfig(words=20, dimensions=6, state=8, tower=4, steps=5, windows=2),
    LooksConfig(says=4, hidden=8, second=6, steps=5, blocks=2),
    without=("left-out",),
)
SOURCES = (
    Source("log", "log.txt", "none stated"),
    Source("topics", "topics.jsonl", "CC0"),
    Source("linked", "linked", "CC BY 4.0"),
    Source("left-out", "other.txt", "CC0"),
)


def write_data(data: Path) -> None:
    random = Random(0)
    for name, seed in (("log.txt", 1), ("other.txt", 2)):
        lines = []
        for place, each in enumerate(chatter(seed, 300)):
            if place % 60 == 0:
                lines.append(f"# 202401{place // 60 + 1:02}")
            clock = f"[10:{place % 60:02}]"
            said = f"<{each.speaker}>" if each.kind is MessageKind.MESSAGE else f" * {each.speaker}"
            lines.append(f"{clock} {said} {each.text}")
        (data / name).write_text("\n".join(lines) + "\n", "utf-8")
    records: list[dict[str, Any]] = []
    for place, each in enumerate(chatter(3, 240)):
        record = {"speaker": each.speaker, "text": each.text, "id": place, "thread": random.choice("abc")}
        if place > 9 and random.random() < 0.2:
            record["reply_to"] = place - random.randint(1, 9)
        record["addressees"] = random.choice((["ada"], ["bob"], ["ada", "bob", "cyd"]))
        records.append(record)
    (data / "topics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
    (data / "linked").mkdir()
    lines = [
        f"[10:{place // 5:02}] <{each.speaker}> {each.text}" for place, each in enumerate(chatter(4, 200))
    ]
    (data / "linked" / "a.txt").write_text("\n".join(lines) + "\n", "utf-8")
    links = [f"{place - random.randint(0, 5)} {place} -" for place in range(20, 200)]
    (data / "linked" / "a.links").write_text("\n".join(links) + "\n", "utf-8")


@dataclass(frozen=True)
class Trained:
    """A run, and what it said."""

    data: Path
    work: Path
    record: dict[str, Any]
    steps: list[tuple[str, int, int, float]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("run")
    data, work = folder / "data", folder / "work" / "one"
    data.mkdir()
    write_data(data)
    steps: list[tuple[str, int, int, float]] = []
    record = train(SOURCES, data, work, SETTINGS, lexicon=LEXICON, progress=lambda *step: steps.append(step))
    return Trained(data, work, record, steps)


class TestSettings:
    def test_the_usual_ones(self) -> None:
        assert Settings.of() == Settings()

    def test_what_is_given(self) -> None:
        found = Settings.of(text_steps=7, looks_steps=9, without=("a", "b"), seed=3)
        assert found.text == TextConfig(steps=7, seed=3)
        assert found.looks == LooksConfig(steps=9, seed=3)
        assert found.without == ("a", "b")

    def test_one_of_them(self) -> None:
        assert Settings.of(text_steps=7) == Settings(text=TextConfig(steps=7))
        assert Settings.of(looks_steps=7) == Settings(looks=LooksConfig(steps=7))


def contents(folder: Path) -> dict[str, tuple[str, int]]:
    """All files, by their hashes, and when they were written."""
    return {
        str(path.relative_to(folder)): (sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_record(trained: Trained) -> None:
    record = trained.record
    assert json.loads(json.dumps(record))["words"] == 20
    assert record["rooms"] == [asdict(source) for source in SOURCES[:3]]
    assert record["settings"]["looks"]["hidden"] == 8
    assert set(record["seconds"]) == {"text", "first look", "second look"}


def test_progress(trained: Trained) -> None:
    stages = [stage for stage, *_ in trained.steps]
    assert list(dict.fromkeys(stages)) == ["text", "first look", "second look"]
    assert stages.count("text") == stages.count("first look") == 5
    assert np.isfinite([loss for *_, loss in trained.steps]).all()


def test_what_each_room_teaches(trained: Trained) -> None:
    lessons = {path.name for path in (trained.work / "examples").iterdir()}
    assert lessons == {
        "log.names", "log.drafts", "linked.links", "linked.names", "linked.drafts", "topics.names",
        "topics.drafts", "topics.topics", "topics.meant",
    }  # fmt: skip
    again = {path.name for path in (trained.work / "second").iterdir()}
    assert again == {name for name in lessons if not name.endswith(".drafts")}
    assert (trained.work.parent / "heard" / "left-out").exists()


def test_a_room_that_answers(trained: Trained) -> None:
    words, weights = load_weights(trained.work)
    assert len(words) == 20
    lexicon = lexicon_of(tuple(words))
    assert lexicon.ids[words[0]] == 1
    messages = heard(chatter(9, 150), ear=Ear(lexicon))
    found = Room(Mind(weights)).hear(messages).likely
    assert found.shape == (150, REACH + 1)
    assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    one_by_one = Room(Mind(weights))
    assert_allclose(np.concatenate([one_by_one.hear([each]).likely for each in messages]), found, atol=1e-4)


def test_words_of_a_message(trained: Trained) -> None:
    words, _ = load_weights(trained.work)
    assert len(lexicon_of(tuple(words)).tokens(["tea"] * 100, lambda word: False)) == LIMIT


def test_again(trained: Trained) -> None:
    before = contents(trained.work.parent)

    def nothing(*step: object) -> None:
        raise AssertionError(f"trained again: {step}")

    record = train(SOURCES, trained.data, trained.work, SETTINGS, lexicon=LEXICON, progress=nothing)
    assert contents(trained.work.parent) == before
    assert record == trained.record


def test_the_rest(trained: Trained, tmp_path: Path) -> None:
    """A run that is killed goes on with what is missing, and ends with the same."""
    path = trained.work / "looks.safetensors"
    kept, stages = path.read_bytes(), list[str]()
    path.unlink()
    train(
        SOURCES, trained.data, trained.work, SETTINGS, lexicon=LEXICON,
        progress=lambda stage, *rest: stages.append(stage),
    )  # fmt: skip
    assert set(stages) == {"second look"}
    assert path.read_bytes() == kept


def test_another_run_beside_it(trained: Trained, tmp_path: Path) -> None:
    """Rooms are not heard again; the same settings give the same weights."""
    work, before = trained.work.parent / "two", contents(trained.work.parent / "heard")
    train(SOURCES, trained.data, work, SETTINGS, lexicon=LEXICON)
    assert contents(trained.work.parent / "heard") == before
    (words, ours), (other_words, theirs) = load_weights(trained.work), load_weights(work)
    assert words == other_words
    for name, value in ours.items():
        assert_array_equal(value, theirs[name], err_msg=name)


def test_with_an_encoder(trained: Trained, tmp_path: Path) -> None:
    work = trained.work.parent / "three"
    train(SOURCES[:1], trained.data, work, SETTINGS, lexicon=LEXICON, encoder=write_bert(tmp_path / "bert"))
    (_, ours), (_, theirs) = load_weights(trained.work), load_weights(work)
    assert ours["words.vectors"].shape == theirs["words.vectors"].shape
    assert not np.allclose(ours["words.vectors"], theirs["words.vectors"], atol=1e-2)
