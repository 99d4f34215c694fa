"""Figures: the paper's Figure 4 (accuracy over a histogram of samples), and the calibration of addressees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from towhom.evaluation.breakdown import FAR
from towhom.extras import require
from towhom.models.registry import SYSTEMS

_AXES = {
    "by_speakers": ("speakers", "speakers in the context"),
    "by_distance": ("distance", "messages since the addressee last spoke"),
}
_FEW = 20
"""Points with fewer samples are unreliable and not drawn."""


def plot_breakdowns(
    folder: Path, records: list[dict[str, Any]], *, split: str, context: int = 15, candidates: int = 2
) -> list[Path]:
    """Write the two figures and return their paths."""
    require("matplotlib", extra="plots", purpose="drawing figures")
    from matplotlib.figure import Figure

    chosen = [
        record
        for record in records
        if record["identity"]["context"] == context
        and record["identity"]["candidates"] == candidates
        and record["identity"]["seed"] == 0
        and record["identity"]["system"] not in ("chance", "sirnn-log")
        and split in record["results"]
    ]
    order = list(SYSTEMS)
    chosen.sort(key=lambda record: order.index(record["identity"]["system"]))
    paths = []
    for key, (name, label) in _AXES.items():
        if not chosen:
            break
        figure = Figure(figsize=(7, 4.8), layout="constrained")
        histogram = figure.subplots()
        groups = chosen[0]["results"][split][key]
        histogram.bar([g[name] for g in groups], [g["samples"] for g in groups], color="0.88", zorder=0)
        histogram.set_ylabel("samples")
        histogram.set_xlabel(label)
        curves = histogram.twinx()
        for record in chosen:
            points = [g for g in record["results"][split][key] if g["samples"] >= _FEW]
            curves.plot(
                [g[name] for g in points],
                [g["adr"] for g in points],
                marker="o",
                markersize=3,
                label=SYSTEMS[record["identity"]["system"]].title,
            )
        curves.set_ylabel("ADR, %")
        curves.set_ylim(0, 100)
        if name == "distance":
            ticks = [*range(1, FAR + 1, 2), FAR + 1]
            histogram.set_xticks(ticks, [*map(str, ticks[:-1]), f">{FAR}"])
        figure.legend(fontsize=7, loc="outside lower center", ncols=3)
        paths.append(_save(figure, folder / f"adr-{key.replace('_', '-')}-{split}.svg"))
    return paths


def plot_addressees(folder: Path, result: dict[str, Any]) -> list[Path]:
    """Write a figure of precision and recall of `is_for` and reliability of `observe`; returns its path."""
    require("matplotlib", extra="plots", purpose="drawing figures")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    curve, diagram = figure.subplots(1, 2)
    for key, label in (("is_for", "all messages"), ("is_for_names_nobody", "that name nobody")):
        points = result[key]
        (line,) = curve.plot(
            [p["recall"] for p in points],
            [p["precision"] for p in points],
            marker="o",
            markersize=3,
            label=label,
        )
        for point in points:
            if point["threshold"] in (0.2, 0.5, 0.8, 0.95):
                curve.annotate(
                    f"{point['threshold']:g}",
                    (point["recall"], point["precision"]),
                    textcoords="offset points",
                    xytext=(4, 4),
                    fontsize=7,
                    color=line.get_color(),
                )
    curve.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.02), title="Is this for me?")
    curve.legend(loc="lower left", fontsize=8)
    diagram.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for key, label in (("calibration", "all messages"), ("calibration_names_nobody", "that name nobody")):
        bins = [each for each in result[key]["bins"] if each["samples"] >= _FEW]
        error = result[key]["error"]
        diagram.plot(
            [b["said"] for b in bins],
            [b["right"] for b in bins],
            marker="o",
            markersize=4,
            label=f"{label} (error {error:.3f})",
        )
    diagram.set(
        xlabel="how sure it says it is", ylabel="how often it is right", xlim=(0, 1), ylim=(0, 1.02),
        title="Whom does it address?",
    )  # fmt: skip
    diagram.legend(loc="upper left", fontsize=8)
    return [_save(figure, folder / "addressees.svg")]


def _save(figure: Any, path: Path) -> Path:
    """Save as SVG with the same bytes every time: without a date or random names."""
    from matplotlib import rc_context

    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.hashsalt": "towhom"}):
        figure.savefig(path, metadata={"Date": None})
    return path
