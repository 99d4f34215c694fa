"""`towhom train`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from tests.cli.conftest import Run
from tests.experiments.tiny import OPTIONS, Folders
from tests.experiments.tiny import corpus as corpus
from tests.experiments.tiny import folders as folders
from tests.experiments.tiny import one_thread as one_thread
from tests.experiments.tiny import vectors as vectors
from tests.training.conftest import weights
from towhom.model_folder import CARD, CONFIG, TRAINING, WEIGHTS, WORDS
from towhom.models import recurrent
from towhom.models.losses import selection_loss
from towhom.training.config import TrainingConfig


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
            ("hiden=5", "hiden is not a setting of sirnn; known are dimensions, hidden, init, shared, joint"),
            ("hidden=5.5", "hidden must be int, is 5.5"),
            ("hidden=true", "hidden must be int, is True"),
            ("hidden=0", "hidden must be positive, is 0"),
            ("positions=3", "positions is not a setting of sirnn"),
        ],
    )
    def test_no_such_setting(
        self, part: str, message: str, run: Run, folders: Folders, tmp_path: Path
    ) -> None:
        given = (*folders.options, "--system", "sirnn", *setting(part))
        result = run("train", tmp_path / "model", *given, code=1)
        assert result.stderr.startswith(f"Error: {message}")
        assert not (tmp_path / "model").exists()


class TestWhatIsUsual:
    """What is trained, and how, unless something else is said."""

    SMALL = ("--context", "4", "--epochs", "1")

    def trained(self, run: Run, folders: Folders, out: Path, *given: str) -> dict[str, Any]:
        run("train", out, *folders.options, *self.SMALL, *given)
        found: dict[str, Any] = json.loads((out / TRAINING).read_text("utf-8"))["config"]
        return found

    def test_if_nothing_is_said(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        config = self.trained(run, folders, tmp_path / "model")
        expected = TrainingConfig(context=4, epochs=1, settings={"hidden": 50, "init": 0.1})
        assert config["system"] == "sirnn"
        assert config == expected.described()

    def test_the_papers(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        config = self.trained(run, folders, tmp_path / "model", "--settings", "paper")
        assert (config["learning_rate"], config["weight_decay"], config["patience"]) == (0.001, 0.001, 5)
        assert config["settings"] == {"hidden": 50, "init": 0.01}

    def test_what_is_said_counts(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        given = ("--settings", "paper", "--batch", "32", "--learning-rate", "0.005", "--short", "0.5")
        config = self.trained(run, folders, tmp_path / "model", *given, *setting("hidden=7"))
        assert (config["batch"], config["learning_rate"], config["short"]) == (32, 0.005, 0.5)
        assert config["weight_decay"] == 0.001
        assert config["settings"] == {"hidden": 7, "init": 0.01}


class TestStart:
    """`--start MODEL`."""

    def test_goes_on(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        run("train", tmp_path / "first", *folders.options, *OPTIONS)
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
        assert f"{named}: the model to start from has its own, which stays" in result.stderr

    def test_no_model(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        start = ("--corpus", folders.corpus, "--start", tmp_path / "nowhere")
        result = run("train", tmp_path / "model", *start, code=1)
        assert result.stderr == f"Error: {tmp_path / 'nowhere'}: there is no such folder\n"

    def test_crosstalk_is_trained_in_another_way(self, run: Run, folders: Folders, tmp_path: Path) -> None:
        (tmp_path / "first").mkdir()
        (tmp_path / "first" / CONFIG).write_text('{"format": "towhom-crosstalk"}', "utf-8")
        start = ("--corpus", folders.corpus, "--start", tmp_path / "first")
        result = run("train", tmp_path / "model", *start, code=1)
        assert result.stderr.startswith(f"Error: {tmp_path / 'first'}: this is a Crosstalk model")


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
    assert error == "Error: interrupted; run the same command again to continue"
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
        assert (
            f"{tmp_path}: this is not a " in run("train", tmp_path / "model", *given.options, code=1).stderr
        )

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
        assert "photos: already exists and is not a model" in result.stderr
