"""Figures: the same bytes each time, of the runs that belong in them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.made_up import record
from towhom.errors import MissingExtraError
from towhom.experiments.plots import plot_breakdowns

NAMES = [f"adr-by-{by}-dev.svg" for by in ("distance", "speakers")]


@pytest.fixture
def _matplotlib() -> None:
    pytest.importorskip("matplotlib", exc_type=ImportError)


def drawn(folder: Path, records: list[dict[str, Any]], **options: Any) -> dict[str, bytes]:
    """The contents of all figures."""
    plot_breakdowns(folder, records, **{"split": "dev", **options})
    return {path.name: path.read_bytes() for path in folder.glob("*")}


@pytest.mark.usefixtures("_matplotlib")
class TestFigures:
    def test_files(self, tmp_path: Path) -> None:
        paths = plot_breakdowns(tmp_path / "new", [record("sirnn"), record("recent-tfidf")], split="dev")
        assert paths == [tmp_path / "new" / f"adr-by-{by}-dev.svg" for by in ("speakers", "distance")]
        assert sorted(path.name for path in (tmp_path / "new").iterdir()) == NAMES
        assert all(path.read_bytes().startswith(b"<?xml") for path in paths)

    def test_the_same_bytes_again_and_in_any_order(self, tmp_path: Path) -> None:
        records = [record("sirnn"), record("recent-tfidf", groups=((100, 30.0), (50, 20.0), (19, 1.0)))]
        first = drawn(tmp_path / "one", records)
        assert drawn(tmp_path / "two", records[::-1]) == first

    def test_what_is_left_out(self, tmp_path: Path) -> None:
        others = [
            record("chance"),
            record("sirnn-log"),
            record("dynamic-rnn", 10),
            record("dynamic-rnn", context=5),
            record("dynamic-rnn", seed=1),
            record("dynamic-rnn", split="test"),
        ]
        shown = record("sirnn")
        assert drawn(tmp_path / "one", [shown]) == drawn(tmp_path / "two", [*others, shown])
        assert drawn(tmp_path / "one", [shown]) != drawn(tmp_path / "three", [record("dynamic-rnn"), shown])

    def test_points_of_few_samples_are_left_out(self, tmp_path: Path) -> None:
        """The histogram is of the first, the change is in the second."""

        def with_last(samples: int, adr: float) -> dict[str, bytes]:
            second = record("sirnn", groups=((100, 40.0), (50, 60.0), (samples, adr)))
            return drawn(tmp_path / f"{samples}-{adr}", [record("recent-tfidf"), second])

        assert with_last(19, 90.0) == with_last(19, 10.0)
        assert with_last(20, 90.0) != with_last(20, 10.0)

    def test_matplotlib_is_left_as_it_was(self, tmp_path: Path) -> None:
        import matplotlib as mpl

        before = dict(mpl.rcParams)
        plot_breakdowns(tmp_path, [record("sirnn")], split="dev")
        assert dict(mpl.rcParams) == before
        assert not mpl.rcParams["svg.hashsalt"]

    def test_nothing_to_draw(self, tmp_path: Path) -> None:
        assert drawn(tmp_path, [record("sirnn")], split="test") == {}


def test_without_matplotlib_there_is_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'towhom[plots]'")):
        plot_breakdowns(tmp_path, [record("sirnn")], split="dev")
