"""The paper's Figure 4: accuracy by number of speakers and by distance, over a histogram of samples."""

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
"""Points of fewer samples say nothing and are not drawn."""


def plot_breakdowns(
    folder: Path, records: list[dict[str, Any]], *, split: str, context: int = 15, candidates: int = 2
) -> list[Path]:
    """Write the two figures as PNG and SVG; returns the PNG files."""
    require("matplotlib", extra="plots", purpose="drawing figures")
    from matplotlib import rc_context
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
        figure = Figure(figsize=(7, 4.2), layout="constrained")
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
        curves.legend(fontsize=7, loc="upper right", framealpha=0.9)
        path = folder / f"adr-{key.replace('_', '-')}-{split}.png"
        folder.mkdir(parents=True, exist_ok=True)
        # The same bytes every time: no date, no random names inside.
        with rc_context({"svg.hashsalt": "towhom"}):
            figure.savefig(path, dpi=150, metadata={"Software": None})
            figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        paths.append(path)
    return paths
