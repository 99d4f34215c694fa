"""`towhom train`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from torch import Tensor

import towhom
from tests.cli.conftest import Run
from tests.experiments.tiny import OPTIONS, Folders
from tests.experiments.tiny import corpus as corpus
from tests.experiments.tiny import folders as folders
from tests.experiments.tiny import one_thread as one_thread
from tests.experiments.tiny import vectors as vectors
from tests.models.systems import SIZES
from tests.training.conftest import weights
from towhom.models import recurrent
from towhom.models.losses import selection_loss
from towhom.models.registry import SYSTEMS
from towhom.persistence import CARD, CONFIG, TRAINING, WEIGHTS, WORDS, load_model


def test_writes_a_model_and_says_how_good_it_is(run: Run, folders: Folders, tmp_path: Path) -> None:
    out = tmp_path / "model[red]"
    result = run("train", out, *folders.options, *OPTIONS, "--system", "dynamic-rnn", "--seed", "3")
    assert sorted(path.name for path in out.iterdir()) == sorted([CARD, CONFIG, TRAINING, WEIGHTS, WORDS])
    config = json.loads((out / CONFIG).read_text("utf-8"))
    assert (config["system"], config["context"], config["settings"]["hidden"]) == ("dynamic-rnn", 4, 7)
    training = json.loads((out / TRAINING).read_text("utf-8"))
    assert result.stdout == ""
    *epochs, last = result.stderr.splitlines()
    for line, measured in zip(epochs, training["history"], strict=True):
        dev = measured["dev"]
        assert line == (
            f"epoch  {measured['epoch']}  loss {measured['loss']:.4f}  dev ADR {dev['adr']:.2f}  "
            f"RES {dev['res']:.2f}  ADR-RES {dev['adr_res']:.2f}"
        )
    assert last.startswith(f"{out}: epoch {training['best_epoch']} of 2 was best, dev ADR ")
    assert f"ADR-RES {training['dev']['adr_res']:.2f}; " in last
    assert last.endswith(f"{training['samples_per_second']:,} samples/s")


class TestSet:
    """`--set NAME=VALUE`."""

    def test_settings_of_the_system(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        """The last one counts; a number may be whole or not, and some are neither."""
        given = ("hidden=3", "hidden = 5", "init=1", "shared=true")
        run("train", tmp_path / "model", *folders.options, *OPTIONS, *setting(*given))
        settings = json.loads((tmp_path / "model" / CONFIG).read_text("utf-8"))["settings"]
        assert (settings["hidden"], settings["init"], settings["shared"]) == (5, 1, True)
        training = json.loads((tmp_path / "model" / TRAINING).read_text("utf-8"))
        assert training["config"]["settings"] == {"hidden": 5, "init": 1, "shared": True}

    @pytest.mark.parametrize(
        "part", ["hidden", "hidden=", "hidden=many", "hidden=1,5", "hidden=null", 'hidden="5"', "=5", ""]
    )
    def test_no_value(self, part: str, run: Run, folders: Folders, tmp_path: Path) -> None:
        result = run("train", tmp_path / "model", *folders.options, *setting(part), code=2)
        expected = f"Invalid value for --set: {part!r} is not NAME=VALUE with a number, true or false"
        assert expected in result.stderr
        assert not (tmp_path / "model").exists()

    def test_the_vectors_have_their_size(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        result = run("train", tmp_path / "model", *folders.options, *setting("dimensions=5"), code=2)
        assert "Invalid value for --set: dimensions are those of the vectors" in result.stderr

    @pytest.mark.parametrize(
        ("part", "message"),
        [
            ("hiden=5", "hiden is no setting of sirnn; known are dimensions, hidden, init, shared, joint"),
            ("hidden=5.5", "hidden must be int, is 5.5"),
            ("hidden=true", "hidden must be int, is True"),
            ("hidden=0", "hidden must be positive, is 0"),
            ("towers=3", "towers is no setting of sirnn"),
        ],
    )
    def test_no_such_setting(
        self, part: str, message: str, run: Run, folders: Folders, tmp_path: Path
    ) -> None:
        given = (*folders.options, "--system", "sirnn", *setting(part))
        result = run("train", tmp_path / "model", *given, code=1)
        assert result.stderr.startswith(f"Error: {message}")
        assert not (tmp_path / "model").exists()


class TestOwnWay:
    """A system that is trained in another way than those of the paper."""

    SMALL = ("--context", "4", "--candidates", "2", "--epochs", "1")
    SIZES = tuple(f"{name}={size}" for name, size in {**SIZES["crosstalk"], "hidden": 7}.items())

    def test_if_nothing_else_is_said(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        run("train", tmp_path / "model", *folders.options, *self.SMALL, *setting(*self.SIZES))
        config = json.loads((tmp_path / "model" / TRAINING).read_text("utf-8"))["config"]
        own = SYSTEMS["crosstalk"].training
        for name in ("false", "drawn", "batch", "learning_rate", "schedule"):
            assert config[name] == own[name]
        assert (own["false"], own["drawn"], own["schedule"]) == (9, "document", "linear")
        assert (config["candidates"], config["epochs"]) == (2, 1)
        assert config["settings"] == {**SIZES["crosstalk"], "hidden": 7}

    def test_what_is_said_counts(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        given = ("--batch", "32", "--learning-rate", "0.005")
        run("train", tmp_path / "model", *folders.options, *self.SMALL, *given, *setting(*self.SIZES))
        config = json.loads((tmp_path / "model" / TRAINING).read_text("utf-8"))["config"]
        assert (config["batch"], config["learning_rate"]) == (32, 0.005)

    def test_it_has_no_settings_of_the_paper(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        given = (*self.SMALL, "--settings", "paper")
        result = run("train", tmp_path / "model", *folders.options, *given, code=2)
        assert "crosstalk is not in the paper, and has settings of its own" in result.stderr

    def test_those_of_the_paper_are_not(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        run("train", tmp_path / "model", *folders.options, *OPTIONS, "--epochs", "1")
        config = json.loads((tmp_path / "model" / TRAINING).read_text("utf-8"))["config"]
        assert not {"false", "drawn", "schedule"} & config.keys()


class TestTeachers:
    """`--teacher MODEL`."""

    def test_taught(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        options = (*folders.options, *TestOwnWay.SMALL, *setting(*TestOwnWay.SIZES))
        for name, seed in (("one", "1"), ("two", "2")):
            run("train", tmp_path / name, *options, "--seed", seed)
        teachers = ("--teacher", tmp_path / "one", "--teacher", tmp_path / "two", "--trust", "0.5")
        run("train", tmp_path / "model", *options, *teachers)
        training = json.loads((tmp_path / "model" / TRAINING).read_text("utf-8"))
        assert training["teachers"] == [load_model(tmp_path / name).fingerprint for name in ("one", "two")]
        assert training["config"]["trust"] == 0.5

    @pytest.mark.parametrize(
        ("teacher", "message"),
        [("nowhere", "there is no such model folder"), ("default", "teacher 1 (crosstalk) cannot teach")],
    )
    def test_no_teacher(self, teacher: str, message: str, run: Run, folders: Folders, tmp_path: Path) -> None:
        options = (*folders.options, *TestOwnWay.SMALL, *setting(*TestOwnWay.SIZES))
        result = run("train", tmp_path / "model", *options, "--teacher", teacher, code=1)
        assert result.stderr.startswith("Error: ")
        assert message in result.stderr

    def test_too_much_trust(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        result = run("train", tmp_path / "model", *folders.options, *OPTIONS, "--trust", "2", code=1)
        assert result.stderr == "Error: trust must be from 0 to 1, is 2.0\n"


class TestStart:
    """`--start MODEL`."""

    def test_goes_on(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        sizes = setting(*TestOwnWay.SIZES)
        run("train", tmp_path / "first", *folders.options, *TestOwnWay.SMALL, *sizes)
        corpus = ("--corpus", folders.corpus, "--candidates", "2", "--epochs", "1")
        run("train", tmp_path / "model", *corpus, "--start", tmp_path / "first", "--learning-rate", "0.001")
        first, second = (
            json.loads((tmp_path / name / CONFIG).read_text("utf-8")) for name in ("first", "model")
        )
        assert first == second
        training = json.loads((tmp_path / "model" / TRAINING).read_text("utf-8"))
        assert training["config"]["learning_rate"] == 0.001
        assert training["before"] == json.loads((tmp_path / "first" / TRAINING).read_text("utf-8"))

    @pytest.mark.parametrize("system", ["sirnn-shared", "sirnn-log"])
    def test_what_makes_a_system_stays(self, system: str, run: Run, folders: Folders, tmp_path: Path) -> None:
        run("train", tmp_path / "first", *folders.options, *OPTIONS, "--system", system)
        corpus = ("--corpus", folders.corpus, "--candidates", "2", "--epochs", "1")
        run("train", tmp_path / "model", *corpus, "--start", tmp_path / "first")
        assert json.loads((tmp_path / "model" / CONFIG).read_text("utf-8"))["system"] == system

    @pytest.mark.parametrize("start", [(), ("--vectors", "v", "--start", "m")])
    def test_one_of_both(self, start: tuple[str, ...], run: Run, folders: Folders, tmp_path: Path) -> None:
        result = run("train", tmp_path / "model", "--corpus", folders.corpus, *start, code=2)
        assert "what to start from? Give either --vectors or --start" in result.stderr

    @pytest.mark.parametrize(
        ("given", "named"),
        [
            (("--system", "sirnn"), "--system"),
            (("--context", "5", "--set", "hidden=5"), "--context and --set"),
        ],
    )
    def test_what_it_has_stays(
        self, given: tuple[str, ...], named: str, run: Run, folders: Folders, tmp_path: Path
    ) -> None:
        run("train", tmp_path / "first", *folders.options, *OPTIONS, "--epochs", "1")
        start = ("--corpus", folders.corpus, "--start", tmp_path / "first")
        result = run("train", tmp_path / "model", *start, *given, code=2)
        assert f"{named}: what a model has that is started from, stays" in result.stderr

    def test_no_model(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        start = ("--corpus", folders.corpus, "--start", tmp_path / "nowhere")
        result = run("train", tmp_path / "model", *start, code=1)
        assert result.stderr.startswith(f"Error: {tmp_path / 'nowhere'}: there is no such model folder")

    def test_the_model_that_comes_with_towhom(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        options = ("--corpus", folders.corpus, "--candidates", "2", "--epochs", "1")
        run("train", tmp_path / "model", *options, "--start", "default")
        saved, bundled = load_model(tmp_path / "model"), towhom.load().saved
        assert (saved.system, saved.config) == (bundled.system, bundled.config)
        assert saved.context == bundled.context
        assert saved.vocabulary.words == bundled.vocabulary.words
        assert not saved.live_weights


def setting(*parts: str) -> list[str]:
    return [each for part in parts for each in ("--set", part)]


def test_again_ends_with_the_same_model(run: Run, folders: Folders, tmp_path: Path) -> None:
    command = ("train", tmp_path / "model", *folders.options, *OPTIONS)
    first = run(*command).stderr.splitlines()[-1]
    before = weights(tmp_path / "model")
    again = run(*command).stderr.splitlines()[-1]
    assert weights(tmp_path / "model") == before
    assert again.partition(";")[0] == first.partition(";")[0]


def test_plain(run: Run, folders: Folders, tmp_path: Path) -> None:
    run("train", tmp_path / "model", *folders.options, *OPTIONS, "--plain")
    assert json.loads((tmp_path / "model" / TRAINING).read_text("utf-8"))["config"]["plain"] is True
    other = run("train", tmp_path / "model", *folders.options, *OPTIONS, code=1)
    assert "holds a model of other data or settings" in other.stderr


def test_interrupted_it_goes_on_where_it_was(
    run: Run, folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def interrupted(*arguments: Tensor, **options: str) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == 30:
            raise KeyboardInterrupt
        return selection_loss(*arguments, **options)  # type: ignore[arg-type]

    command = ("train", tmp_path / "model", *folders.options, *OPTIONS)
    with monkeypatch.context() as patched:
        patched.setattr(recurrent, "selection_loss", interrupted)
        result = run(*command, code=1)
    epoch, error = result.stderr.splitlines()
    assert epoch.startswith("epoch  1 ")
    assert error == "Error: interrupted; the same command goes on where it was"
    assert not (tmp_path / "model").exists()
    assert run(*command).stderr.startswith("epoch  2 ")
    run("train", tmp_path / "undisturbed", *folders.options, *OPTIONS)
    assert weights(tmp_path / "model") == weights(tmp_path / "undisturbed")


class TestTensorboard:
    def test_logs(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        reading = pytest.importorskip(
            "tensorboard.backend.event_processing.event_accumulator", exc_type=ImportError
        )
        run("train", tmp_path / "model", *folders.options, *OPTIONS, "--tensorboard", tmp_path / "logs")
        events = reading.EventAccumulator(str(tmp_path / "logs"))
        events.Reload()
        training = json.loads((tmp_path / "model" / TRAINING).read_text("utf-8"))
        assert set(events.Tags()["scalars"]) == {"loss", "dev/adr", "dev/res", "dev/adr_res"}
        logged = [(event.step, event.value) for event in events.Scalars("dev/adr_res")]
        assert [step for step, _ in logged] == [1, 2]
        assert [value for _, value in logged] == pytest.approx(
            [measured["dev"]["adr_res"] for measured in training["history"]]
        )
        losses = [event.step for event in events.Scalars("loss")]
        assert losses == sorted(set(losses))
        assert len(losses) > 20

    def test_without_it_there_is_a_command(
        self, run: Run, folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "tensorboard", None)
        result = run(
            "train", tmp_path / "model", *folders.options, "--tensorboard", tmp_path / "logs", code=1
        )
        assert "pip install 'towhom[tensorboard]'" in result.stderr


class TestErrors:
    @pytest.mark.parametrize("what", ["corpus", "vectors"])
    def test_nothing_there(self, what: str, run: Run, folders: Folders, tmp_path: Path) -> None:
        given = folders._replace(**{what: tmp_path / "nowhere"})
        result = run("train", tmp_path / "model", *given.options, code=1)
        assert result.stderr.startswith(f"Error: {tmp_path / 'nowhere'}: there is no such folder")
        assert not (tmp_path / "model").exists()

    @pytest.mark.parametrize("what", ["corpus", "vectors"])
    def test_something_else_there(self, what: str, run: Run, folders: Folders, tmp_path: Path) -> None:
        given = folders._replace(**{what: tmp_path})
        assert f"{tmp_path}: this is no " in run("train", tmp_path / "model", *given.options, code=1).stderr

    def test_all_that_is_wrong_at_once(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        wrong = ("--epochs", "0", "--context", "0", "--set", "hidden=-1")
        errors = run("train", tmp_path / "model", *folders.options, *wrong, code=1).stderr
        for problem in ("epochs must be", "context must be", "hidden must be"):
            assert problem in errors

    def test_a_batch_of_other_runs(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        """The error names an option, and it helps."""
        command = ("train", tmp_path / "model", *folders.options, *OPTIONS, "--batch", "20")
        assert "batch (20) must be a multiple of run (16)" in run(*command, code=1).stderr
        run(*command, "--run", "5")
        training = json.loads((tmp_path / "model" / TRAINING).read_text("utf-8"))
        assert (training["config"]["batch"], training["config"]["run"]) == (20, 5)

    def test_a_baseline_is_not_trained(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        result = run("train", tmp_path / "model", *folders.options, "--system", "chance", code=2)
        assert re.search("Invalid value for '--system'", result.stderr)

    def test_a_folder_that_is_no_model(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        (tmp_path / "photos").mkdir()
        result = run("train", tmp_path / "photos", *folders.options, *OPTIONS, code=1)
        assert "photos: is there already and is no model" in result.stderr
