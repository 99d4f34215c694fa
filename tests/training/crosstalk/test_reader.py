"""The reader is learned, stored with the looks, and reads as it was learned."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from tokenizers import Tokenizer

import towhom
from tests.cli.conftest import run as run
from tests.crosstalk.chats import FIRST_NAMES, LEXICON, chatter, heard, saved_crosstalk, spell
from tests.training.crosstalk.language_models import LAYERS, NAMES, write_language_model
from towhom.chat import Kind as MessageKind
from towhom.crosstalk.folder import write_crosstalk
from towhom.crosstalk.mind import Mind
from towhom.crosstalk.reader import Reader
from towhom.crosstalk.reader_folder import FILE, packed, unpacked
from towhom.crosstalk.reader_folder import WEIGHTS as READER_WEIGHTS
from towhom.crosstalk.signals import places_before
from towhom.crosstalk.transcript import Transcript
from towhom.errors import ConfigError, TrainingError
from towhom.evaluation.reply_links import read_linked_logs
from towhom.hearing.calls import Call
from towhom.hearing.ear import Ear
from towhom.hearing.manners import Manner
from towhom.hearing.utterance import SPOKEN, Utterance
from towhom.model_folder import CARD, CONFIG, TRAINING, WEIGHTS, WORDS
from towhom.training.crosstalk import reader as training
from towhom.training.crosstalk.examples import Kind
from towhom.training.crosstalk.language_model import LanguageModel, read_language_model
from towhom.training.crosstalk.looks import read_texts
from towhom.training.crosstalk.reader import (
    LOOKS_ALONE,
    Judged,
    ReaderConfig,
    ReaderWeights,
    describe_mix,
    fit_apart,
    fit_mix,
    judge,
    train_reader,
)
from towhom.training.crosstalk.reader_examples import LineLesson, collect_lines, hear_lines
from towhom.training.crosstalk.reader_package import make_large_model
from towhom.training.crosstalk.rooms import Source

SETTINGS = ReaderConfig(layers=LAYERS, frozen=1, compared=16, steps=4, tokens=256)
SOURCES = (
    Source("linked", "linked", "CC BY 4.0", dev="held-out"),
    Source("topics", "topics.jsonl", "CC0"),
    Source("left-out", "other.txt", "CC0"),
)
RECIPE = "".join(
    f'[[room]]\nname = "{each.name}"\npath = "{each.path}"\nlicence = "{each.licence}"\n'
    + (f'dev = "{each.dev}"\n' if each.dev else "")
    for each in SOURCES
)


def write_linked(folder: Path, logs: int, seed: int, parent: Callable[[int, Random], int]) -> None:
    """Logs whose messages all have links; `parent` says what each message answers."""
    folder.mkdir(parents=True)
    for log in range(logs):
        lines = [
            f"[10:{place // 5:02}] <{each.speaker}> {each.text}"
            for place, each in enumerate(chatter(seed + log, 130))
        ]
        (folder / f"{log}.txt").write_text("\n".join(lines) + "\n", "utf-8")
        random = Random(log)
        links = [f"{parent(place, random)} {place} -" for place in range(20, 130)]
        (folder / f"{log}.links").write_text("\n".join(links) + "\n", "utf-8")


def before(place: int, random: Random) -> int:
    return place - random.randint(0, 5)


def write_data(data: Path, parent: Callable[[int, Random], int] = before) -> None:
    write_linked(data / "linked", 2, 40, parent)
    write_linked(data / "held-out", 3, 60, parent)
    random = Random(0)
    records: list[dict[str, Any]] = []
    for place, each in enumerate(chatter(3, 150)):
        record = {"speaker": each.speaker, "text": each.text, "id": place, "thread": random.choice("abc")}
        record["addressees"] = random.choice((["ada"], ["bob"], ["ada", "bob", "cyd"]))
        records.append(record)
    (data / "topics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
    lines = ["# 20240101"]
    for place, each in enumerate(chatter(5, 120)):
        said = f"<{each.speaker}>" if each.kind is MessageKind.MESSAGE else f" * {each.speaker}"
        lines.append(f"[10:{place % 60:02}] {said} {each.text}")
    (data / "other.txt").write_text("\n".join(lines) + "\n", "utf-8")


@dataclass(frozen=True)
class Place:
    """What a run needs."""

    data: Path
    work: Path
    base: Path
    language_model: Path
    recipe: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("reader")
    found = Place(
        folder / "data", folder / "work", folder / "base", folder / "tiny.gguf", folder / "rooms.toml"
    )
    found.data.mkdir()
    write_data(found.data)
    write_crosstalk(found.base, saved_crosstalk(scale=0.1, note="the looks"), card="# Crosstalk\n\nLooks.\n")
    write_language_model(found.language_model)
    found.recipe.write_text(RECIPE, "utf-8")
    return found


@pytest.fixture(scope="module")
def language_model(place: Place) -> LanguageModel:
    return read_language_model(place.language_model, LAYERS)


@pytest.fixture(scope="module")
def transcript(language_model: LanguageModel) -> Transcript:
    return transcript_of(language_model)


def transcript_of(model: LanguageModel) -> Transcript:
    tokenizer = Tokenizer.from_str(json.dumps(model.tokenizer))
    return Transcript(lambda text: tokenizer.encode(text).ids, model.names)


def lesson_of(
    data: Path,
    folder: Path,
    transcript: Transcript,
    *,
    kind: Kind = Kind.LINKS,
    part: str = "train",
    room: int = 0,
) -> LineLesson:
    """A lesson of a room."""
    saved = saved_crosstalk(scale=0.1)
    found = hear_lines(SOURCES[room], data, folder / "heard" / SOURCES[room].name, LEXICON, transcript)
    texts = read_texts(saved.weights, found, saved.vocabulary, folder / "texts" / found.name)
    examples = collect_lines(
        Mind(saved.weights), found, texts, kind, part, LEXICON.piece_weights,
        folder / part / f"{found.name}.{kind.value}",
    )  # fmt: skip
    assert examples is not None
    return LineLesson(found, kind, part, examples, transcript)


@pytest.fixture(scope="module")
def lesson(place: Place, transcript: Transcript, tmp_path_factory: pytest.TempPathFactory) -> LineLesson:
    return lesson_of(place.data, tmp_path_factory.mktemp("lesson"), transcript)


@pytest.fixture(scope="module")
def dev(place: Place, transcript: Transcript, tmp_path_factory: pytest.TempPathFactory) -> LineLesson:
    return lesson_of(place.data, tmp_path_factory.mktemp("dev"), transcript, part="dev")


def drawn(lesson: LineLesson, seed: int, **options: Any) -> Any:
    return lesson.draw(np.random.default_rng(seed), **{"tokens": 256, "hide": 0.5, **options})


class TestPatterns:
    def message(self, text: str, *calls: tuple[str, float]) -> Utterance:
        return Utterance("ada", text, tuple(Call(who, Manner.FRONT, sure) for who, sure in calls))

    def shown(self, message: Utterance, *, hidden: bool = False) -> tuple[list[int], dict[str, int]]:
        people: dict[str, int] = {}
        return Transcript(spell, FIRST_NAMES).pattern(message, people, hidden=hidden).tolist(), people

    def test_people_are_numbers(self) -> None:
        found, people = self.shown(self.message("ask cyd, ADA", ("bob", 1.0), ("cyd", 0.1), ("ada", 0.1)))
        assert people == {"ada": 0, "bob": 1, "cyd": 2}
        assert [token for token in found if token < 0] == [-1, -2, -3, -1]
        assert found[0] == -1
        assert bytes(token for token in found if token >= 0) == b":: ask,\n"

    def test_signs_after_names_stay_where_they_are(self) -> None:
        found, _ = self.shown(self.message("bob, cyd: tea", ("bob", 0.1), ("cyd", 0.1)))
        assert bytes(token if token >= 0 else 42 for token in found) == b"*:*,*: tea\n"

    def test_a_line_is_a_pattern_with_names(self) -> None:
        transcript = Transcript(spell, FIRST_NAMES)
        for message in heard(chatter(7, 80)):
            names, people = {"zoe": 0}, {"zoe": 0}
            line, pattern = transcript.line(message, names), transcript.pattern(message, people)
            assert names == people
            assert_array_equal(transcript.named(pattern), line)
            assert (line[pattern >= 0] == pattern[pattern >= 0]).all()

    @pytest.mark.parametrize(
        ("text", "left"),
        [
            ("is it open?", b" is it open?"),
            ("thanks bob for it", b" thanks for it"),
            ("thanks, @Bob.", b" thanks,"),
            ("bob_, bobby is here", b" bobby is here"),
            ("bob", b""),
        ],
    )
    def test_a_hidden_name(self, text: str, left: bytes) -> None:
        found, people = self.shown(self.message(text, ("bob", 1.0)), hidden=True)
        assert people == {"ada": 0}
        assert found[0] == -1
        assert bytes(found[1:]) == b":" + left + b"\n"

    def test_others_are_named(self) -> None:
        found, people = self.shown(self.message("bob and cyd", ("bob", 1.0), ("cyd", 0.9)), hidden=True)
        assert people == {"ada": 0, "cyd": 1}
        assert [token for token in found if token < 0] == [-1, -2]


class TestLines:
    def test_as_they_are_heard(self, place: Place, dev: LineLesson, transcript: Transcript) -> None:
        """The lines of a document are those that the finished reader gets."""
        for number, log in enumerate(read_linked_logs(place.data / "held-out")):
            first, last, *_ = dev.segments[number]
            ear, people = Ear(LEXICON), dict[str, int]()
            spoken = [message for message in log.lines if message.kind in SPOKEN]
            lines = [transcript.pattern(ear.hear(message), people) for message in spoken]
            start, stop = np.asarray(dev.room.line_at)[[first, last]]
            assert_array_equal(np.asarray(dev.room.line[start:stop]), np.concatenate(lines))

    def test_a_sequence(self, lesson: LineLesson, transcript: Transcript) -> None:
        for seed in range(20):
            found = drawn(lesson, seed)
            assert 0 < len(found.tokens) <= 256
            assert (found.tokens >= 0).all()
            assert found.ends[-1] == len(found.tokens) - 1
            assert len(set(found.tokens[found.ends].tolist())) == 1
            assert (found.at < len(found.ends)).all()

    def test_examples_are_where_their_messages_are(self, lesson: LineLesson) -> None:
        """The text of an example ends where the sequence says, whatever people are called."""
        room, examples = lesson.room, lesson.examples
        for seed in range(20):
            found = drawn(lesson, seed)
            starts = np.append(0, found.ends + 1)
            for at, row in zip(found.at.tolist(), found.rows.tolist(), strict=True):
                message, hidden = int(examples.at[row]), bool(examples.hidden[row])
                name = "hidden" if hidden else "line"
                start, stop = getattr(room, f"{name}_at")[message : message + 2]
                pattern = np.asarray(getattr(room, name)[start:stop])
                ours = found.tokens[starts[at] : starts[at + 1]]
                assert len(ours) == len(pattern)
                assert_array_equal(ours[pattern >= 0], pattern[pattern >= 0])

    def test_people_have_other_names_each_time(self, lesson: LineLesson, transcript: Transcript) -> None:
        fronts = set()
        for seed in range(30):
            found = drawn(lesson, seed, hide=0.0)
            starts = np.append(0, found.ends[:-1] + 1)
            fronts |= set(found.tokens[starts].tolist())
        assert len(fronts) == len(NAMES)

    def test_the_same_choices_give_the_same(self, lesson: LineLesson) -> None:
        for one, other in zip(drawn(lesson, 4), drawn(lesson, 4), strict=True):
            assert_array_equal(one, other)

    @pytest.mark.parametrize("kind", [Kind.LINKS, Kind.NAMES, Kind.TOPICS, Kind.MEANT])
    def test_hidden_names_do_not_occur(
        self, place: Place, transcript: Transcript, tmp_path: Path, kind: Kind
    ) -> None:
        room = 1 if kind in (Kind.TOPICS, Kind.MEANT) else 0
        lesson = lesson_of(place.data, tmp_path, transcript, kind=kind, room=room)
        hidden = np.flatnonzero(np.asarray(lesson.examples.hidden))
        assert (len(hidden) > 0) == (kind is not Kind.MEANT)
        heard_room = lesson.room
        for row in hidden.tolist():
            message = int(lesson.examples.at[row])
            lines = {}
            for name in ("line", "hidden"):
                start, stop = getattr(heard_room, f"{name}_at")[message : message + 2]
                lines[name] = np.asarray(getattr(heard_room, name)[start:stop])
            assert lines["line"][2] < 0  # the person in front
            assert lines["line"][2] not in lines["hidden"][1:] or lines["line"][2] == lines["line"][0]

    def test_labels_are_never_seen(
        self, place: Place, lesson: LineLesson, transcript: Transcript, tmp_path: Path
    ) -> None:
        """Other links between the same messages: the tokens are the same, the right cells are not."""
        write_data(tmp_path / "data", lambda place, random: place - 6 + random.randint(0, 3))
        other = lesson_of(tmp_path / "data", tmp_path / "lesson", transcript)
        for name in ("line", "hidden", "line_at", "hidden_at"):
            assert_array_equal(getattr(other.room, name), getattr(lesson.room, name))
        different = False
        for seed in range(20):
            ours, theirs = drawn(lesson, seed), drawn(other, seed)
            assert_array_equal(ours.tokens, theirs.tokens)
            assert_array_equal(ours.ends, theirs.ends)
            one, two = lesson.cells(ours.rows), other.cells(theirs.rows)
            assert_array_equal(one.prior, two.prior)
            different |= not np.array_equal(one.right, two.right)
        assert different

    def test_as_many_as_wanted(self, place: Place, transcript: Transcript, tmp_path: Path) -> None:
        """Annotated segments are taken in any case; others as long as there is room."""
        none = replace(SOURCES[2], most=10**6)
        with pytest.raises(TrainingError, match="no message to learn from"):
            hear_lines(none, place.data, tmp_path / "none", LEXICON, transcript, most=0)
        found = hear_lines(SOURCES[0], place.data, tmp_path / "linked", LEXICON, transcript, most=0)
        assert found.parts.count("train") == 2

    def test_of_another_source(self, place: Place, transcript: Transcript, tmp_path: Path) -> None:
        hear_lines(SOURCES[2], place.data, tmp_path / "room", LEXICON, transcript)
        with pytest.raises(TrainingError, match="heard from another source"):
            hear_lines(replace(SOURCES[2], most=7), place.data, tmp_path / "room", LEXICON, transcript)


class TestTraining:
    def run(self, lessons: list[LineLesson], model: LanguageModel, config: ReaderConfig, **more: Any) -> Any:
        return train_reader(lessons, model.weights, config, **more)

    def test_what_is_learned(self, lesson: LineLesson, language_model: LanguageModel) -> None:
        """The lowest layers and the vectors of tokens stay; everything else moves."""
        start = ReaderWeights(language_model.weights, SETTINGS, torch.Generator().manual_seed(0)).arrays()
        start = {name: array.copy() for name, array in start.items()}
        found = self.run([lesson], language_model, SETTINGS)
        assert not any(name.startswith(("reader.0.", "reader.tokens")) for name in found)
        assert {name.split(".")[1] for name in found} >= {"1", "2", "answer", "answered", "start", "norm"}
        same = {name for name, array in found.items() if np.array_equal(array, start[name])}
        assert same == set()

    def test_loss_goes_down(self, lesson: LineLesson, language_model: LanguageModel) -> None:
        config = replace(SETTINGS, steps=90, learning_rate=2e-3)
        losses: list[float] = []
        found = self.run([lesson], language_model, config, progress=lambda step, loss: losses.append(loss))
        assert len(losses) == 90
        before_, after = (
            _mean_loss(lesson, weights, language_model)
            for weights in (
                ReaderWeights(language_model.weights, config, torch.Generator().manual_seed(0)).arrays(),
                found,
            )
        )
        assert after < 0.8 * before_

    def test_interrupted(
        self,
        lesson: LineLesson,
        language_model: LanguageModel,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(training, "_KEEP_EVERY", 2)
        config = replace(SETTINGS, steps=6)
        whole = self.run([lesson], language_model, config)

        def stop(step: int, loss: float) -> None:
            if step == 4:
                raise KeyboardInterrupt

        checkpoint, steps = tmp_path / "reader.checkpoint", list[int]()
        with pytest.raises(KeyboardInterrupt):
            self.run([lesson], language_model, config, checkpoint=checkpoint, progress=stop)
        found = self.run(
            [lesson], language_model, config, checkpoint=checkpoint,
            progress=lambda step, loss: steps.append(step),
        )  # fmt: skip
        assert steps == [4, 5]
        for name, array in whole.items():
            assert_array_equal(found[name], array, err_msg=name)

    @pytest.mark.parametrize("frozen", [0, LAYERS])
    def test_all_layers_or_none(self, lesson: LineLesson, language_model: LanguageModel, frozen: int) -> None:
        found = self.run([lesson], language_model, replace(SETTINGS, frozen=frozen, steps=1))
        assert sum(name.endswith(".mix") for name in found) == LAYERS - frozen

    def test_nothing_to_learn(self, language_model: LanguageModel) -> None:
        with pytest.raises(TrainingError, match="the rooms teach nothing"):
            self.run([], language_model, SETTINGS)

    @pytest.mark.parametrize(("layers", "frozen"), [(0, 0), (3, 4), (3, -1)])
    def test_layers_that_there_are_not(self, layers: int, frozen: int) -> None:
        with pytest.raises(ConfigError, match="layers cannot stay as they are"):
            ReaderConfig(layers=layers, frozen=frozen)


def _mean_loss(lesson: LineLesson, weights: Any, model: LanguageModel) -> float:
    """Without the looks."""
    judged = judge({**model.weights, **weights}, lesson)
    return float(judged.loss(np.array([[0, 1, 1, 1, 0, 0]] * 2, np.float64)).mean())


@pytest.fixture(scope="module")
def weights(lesson: LineLesson, language_model: LanguageModel) -> dict[str, Any]:
    config = replace(SETTINGS, steps=12, learning_rate=1e-3)
    trained = train_reader([lesson], language_model.weights, config)
    random = np.random.default_rng(2)
    for name in ("reader.far", "reader.back", "reader.start.b"):  # so that each matters
        trained[name] = random.normal(size=trained[name].shape).astype(np.float32)
    return {**language_model.weights, **trained}


@pytest.fixture(scope="module")
def judged(weights: dict[str, Any], dev: LineLesson) -> Judged:
    return judge(weights, dev)


class TestMix:
    def test_every_example_once(self, judged: Judged, dev: LineLesson) -> None:
        assert len(judged.document) == len(dev.examples.at)
        assert sorted(set(judged.document.tolist())) == dev.documents == [0, 1, 2]

    def test_as_the_finished_reader_reads(
        self, place: Place, weights: dict[str, Any], judged: Judged, dev: LineLesson, transcript: Transcript
    ) -> None:
        mix = np.array([[0.8, 0.7, 0.4, 0.5, 0.2, -0.3], [0.9, 0.3, 0.6, 0.2, -0.1, 0.4]])
        reader = Reader({**weights, "reader.parts": mix.astype(np.float32)}, transcript)
        log = next(iter(read_linked_logs(place.data / "held-out")))
        ear = Ear(LEXICON)
        said = [ear.hear(message) for message in log.lines if message.kind in SPOKEN]
        one = reader.page(0).read(said[:70])
        page = reader.page(40)
        two = page.read(said[40:])[30:]
        scores = np.concatenate([one, two])
        rows = np.flatnonzero(judged.document == 0)
        at = np.asarray(dev.examples.at)[: len(rows)] - dev.segments[0][0]
        expected = judged.some(judged.document == 0).energies(mix)
        likely = np.exp(judged.prior[rows])
        named = np.array([bool(said[place].addressees) for place in np.sort(at)])
        places, there = places_before(np.sort(at))
        speakers = np.array([message.speaker for message in said])
        own = there & (speakers[places] == speakers[np.sort(at)][:, None])
        found = reader.judged(np.where(judged.closed[rows], 0, likely), scores[np.sort(at)], own, named)
        open_ = ~judged.closed[rows]
        assert open_.sum() > 100
        assert named.any()
        assert not named.all()
        assert_allclose(found[open_], expected[open_], atol=2e-3, rtol=1e-3)

    def test_numbers_that_are_best(self, judged: Judged) -> None:
        mix = fit_mix(judged)
        assert judged.loss(mix).mean() <= judged.loss(LOOKS_ALONE).mean()
        assert mix.shape == LOOKS_ALONE.shape
        for place in np.ndindex(mix.shape):
            other = mix.copy()
            other[place] += 0.3
            penalties = [1e-3 * (each**2).sum() for each in (mix, other)]
            assert judged.loss(mix).mean() + penalties[0] <= judged.loss(other).mean() + penalties[1] + 1e-6

    def test_nobody_calls_anybody(self, judged: Judged) -> None:
        """What is worth how much where somebody is called is then what it is for the looks alone."""
        mix = fit_mix(judged.some(~judged.named))
        assert_array_equal(mix[1], LOOKS_ALONE[1])
        assert (mix[0] != LOOKS_ALONE[0]).all()

    def test_each_document_by_the_others(self, judged: Judged) -> None:
        apart = fit_apart(judged)
        assert set(apart) == {0, 1, 2}
        assert_array_equal(apart[1], fit_mix(judged.some(judged.document != 1)))
        changed = judged._replace(
            right=np.where((judged.document == 1)[:, None], ~judged.right, judged.right)
        )
        assert_array_equal(fit_apart(changed)[1], apart[1])
        found = describe_mix(judged, apart)
        assert found["messages"] == len(judged.document)
        assert found["documents"] == 3
        assert set(found["right"]) == set(found["loss"]) == {"looks", "with_reader"}

    def test_one_document(self, judged: Judged) -> None:
        with pytest.raises(TrainingError, match="one document only"):
            fit_apart(judged.some(judged.document == 0))


@dataclass(frozen=True)
class Made:
    """A large model, and what was said of it."""

    out: Path
    measured: dict[str, Any]
    stages: list[str]


def make(place: Place, out: Path, **options: Any) -> Made:
    stages: list[str] = []
    config = options.pop("config", SETTINGS)
    measured = make_large_model(
        SOURCES, place.base, place.data, place.work, out, config,
        **{"language_model": place.language_model, "without": ("left-out",), **options},
        progress=lambda stage, *rest: stages.append(stage),
    )  # fmt: skip
    return Made(out, measured, stages)


@pytest.fixture(scope="module")
def made(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(place, tmp_path_factory.mktemp("large") / "model")


class TestPackage:
    def test_it_loads_and_answers(self, made: Made, place: Place) -> None:
        model, looks = towhom.load(made.out), towhom.load(place.base)
        assert model.saved.reader is not None
        assert model.saved.reader.names == NAMES
        found = model.session().observe_all(chatter(8, 60))
        assert len(found) == 60
        theirs = looks.session().observe_all(chatter(8, 60))
        assert found != theirs
        assert_array_equal(model.saved.weights["first.out"], looks.saved.weights["first.out"])

    def test_its_files(self, made: Made) -> None:
        names = {CARD, CONFIG, TRAINING, WEIGHTS, WORDS, FILE, READER_WEIGHTS}
        assert {path.name for path in made.out.iterdir()} == names

    def test_what_it_says_of_itself(self, made: Made) -> None:
        training = json.loads((made.out / TRAINING).read_text("utf-8"))
        assert training.keys() >= {
            "command",
            "date",
            "versions",
            "settings",
            "rooms",
            "seconds",
            "dev",
            "mix",
        }
        assert training["language_model"]["name"] == "Tiny"
        assert training["language_model"]["licence"] == "apache-2.0"
        assert training["settings"]["without"] == ["left-out"]
        assert training["settings"]["layers"] == LAYERS
        assert [room["name"] for room in training["rooms"]] == ["linked", "topics"]
        assert {(each["room"], each["kind"]) for each in training["lessons"]} == {
            ("linked", "links"), ("linked", "names"), ("topics", "names"), ("topics", "topics"),
            ("topics", "meant"),
        }  # fmt: skip
        assert training["looks"] == {"note": "the looks"}
        assert set(training["seconds"]) == {"reader", "mix", "scores"}
        assert training["dev"] == json.loads(json.dumps(made.measured))
        assert "fitted on the development parts of linked." in training["mix"]["told"]
        assert "cross-validation" in training["mix"]["told"]
        assert training["mix"]["cells"]["documents"] == 3

    def test_its_card(self, made: Made) -> None:
        card = (made.out / CARD).read_text("utf-8")
        assert card.startswith("# Crosstalk\n\nLooks.\n\n## The reader\n")
        assert "the lowest 3 of the\n3 layers of a language model, Tiny (apache-2.0)" in card
        assert "on 2 rooms:\n\n- linked: CC BY 4.0\n- topics: CC0\n" in card
        assert f"On linked's development part: links F1 {made.measured['linked']['links']['f1']:.1f}" in card

    def test_again(self, made: Made, place: Place, tmp_path: Path) -> None:
        """Nothing is learned again; the model is the same."""
        again = make(place, tmp_path / "again")
        assert "reader" in made.stages
        assert "reader" not in again.stages
        assert towhom.load(again.out).fingerprint == towhom.load(made.out).fingerprint
        assert again.measured == made.measured

    def test_on_the_command_line(self, made: Made, place: Place, tmp_path: Path, run: Any) -> None:
        arguments = (
            "train-reader", place.recipe, place.base, tmp_path / "out", "--data", place.data, "--work",
            place.work, "--language-model", place.language_model, "--layers", str(LAYERS), "--frozen", "2",
            "--steps", "2", "--without", "left-out",
        )  # fmt: skip
        output = run(*arguments).stderr
        assert "linked: links F1 " in output
        assert towhom.load(tmp_path / "out").saved.reader is not None
        assert "already exists; replace it with --force" in run(*arguments, code=1).stderr
        assert "there is no room zoe in it" in run(*arguments[:-1], "zoe", "--force", code=2).stderr

    def test_no_links_are_left(self, place: Place, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="none of the rooms has a development part with reply links"):
            make(place, tmp_path / "none", without=("linked",))

    def test_a_large_model_has_a_reader(self, made: Made, place: Place, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="this model has a reader already"):
            make(replace(place, base=made.out), tmp_path / "more")

    def test_another_language_model(self, place: Place, tmp_path: Path) -> None:
        path = write_language_model(tmp_path / "other.gguf", architecture="gpt2")
        with pytest.raises(ConfigError, match="of the architecture gpt2; expected llama"):
            make(place, tmp_path / "out", language_model=path)
        assert not (tmp_path / "out").exists()


def test_stored_weights_are_close(language_model: LanguageModel) -> None:
    """What is judged are the weights as they are stored."""
    weights = language_model.weights
    for name, array in unpacked(packed(weights)).items():
        assert_allclose(array, weights[name], atol=0.1 * np.abs(weights[name]).max(), err_msg=name)
