"""`towhom evaluate`: measures the accuracy of a system."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from towhom.cli.options import FOLDER, cluster_option, echo_json, named_model, record_option
from towhom.cli.terminal import Terminal
from towhom.clusters import Pool, open_pool
from towhom.corpus import Corpus, Split, build_corpus
from towhom.crosstalk.folder import holds_crosstalk
from towhom.errors import CorpusError
from towhom.evaluation.evaluator import evaluate as run
from towhom.evaluation.evaluator import samples_to_measure, stretches, summary, together
from towhom.evaluation.metrics import METRICS, Outcomes
from towhom.evaluation.significance import compare
from towhom.evaluation.summary import describe
from towhom.model_folder import CONFIG
from towhom.models.base import Selector
from towhom.models.crosstalk import Crosstalk
from towhom.models.registry import SYSTEMS, baseline, is_baseline
from towhom.persistence import load_model
from towhom.records import circumstances, write_record
from towhom.selection import Rule

_CONTEXT = 15
"""T of systems that were not trained with another one."""
_BASELINES = [name for name, system in SYSTEMS.items() if not system.neural]


@click.command()
@click.argument("system", metavar="MODEL")
@click.option(
    "--data",
    required=True,
    help="A corpus followed by :train, :dev or :test, or a file in the paper's format.",
)
@click.option(
    "--context",
    type=int,
    help="T: the number of messages of context.  [default: that of the model; 15 for baselines]",
)
@click.option(
    "--candidates", type=int, help="C: the number of candidates.  [default: the only one in the data, or 2]"
)
@click.option(
    "--rule",
    type=click.Choice([rule.value for rule in Rule]),
    help="The selection rule.  [default: that of the model]",
)
@click.option("--against", metavar="MODEL", help="Another model to compare with, on the same samples.")
@click.option(
    "--task",
    type=click.Choice(["selection", "addressee", "threads"]),
    default="selection",
    show_default=True,
    help="Select addressee and response; or, message by message, say who it is for or what it answers "
    "(--data: logs with reply links, NAME.txt and NAME.links).",
)
@click.option("--figures", type=FOLDER, help="Write figures of the addressee task to this folder.")
@record_option
@cluster_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with breakdowns.")
def evaluate(
    system: str,
    data: str,
    context: int | None,
    candidates: int | None,
    rule: str | None,
    against: str | None,
    task: str,
    figures: Path | None,
    out: Path | None,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Evaluate MODEL: a folder that `towhom train` made, or `default`, the model that comes with towhom.

    MODEL can also be the name of a baseline: chance, recent-tfidf, direct-recent-tfidf; for the task
    addressee: nobody, previous-speaker, addressed-me-last; for the task threads: previous-message,
    addressee-else-own-last, within-minutes.

    Accuracies are in percent, with 95 % intervals from resampling documents.
    """
    if task != "selection":
        given = {"--context": context, "--candidates": candidates, "--rule": rule, "--against": against}
        given["--cluster"] = cluster
        if unused := [name for name, value in given.items() if value is not None]:
            raise click.UsageError(f"the task {task} does not use {', '.join(unused)}")
    if task == "addressee":
        from towhom.cli.addressee_task import evaluate_addressees

        evaluate_addressees(system, data, as_json=as_json, figures=figures, out=out)
        return
    if task == "threads" and figures is None:
        from towhom.cli.thread_task import evaluate_threads

        evaluate_threads(system, data, as_json=as_json, out=out)
        return
    if figures is not None:
        raise click.UsageError(
            "--figures are of the task addressee; for selection, towhom reproduce draws them"
        )
    with open_data(data) as (corpus, split):
        sizes = sorted(corpus.samples.candidates)
        chosen = candidates or (2 if 2 in sizes else sizes[0] if sizes else 2)
        with open_pool(cluster) as pool:
            asked = corpus.folder.absolute(), split, context, chosen, rule
            outcomes = _measure_all(pool, corpus, system, *asked)
            other = _measure_all(pool, corpus, against, *asked) if against else None
    result = {**describe(outcomes), "candidates": chosen}
    if other is not None:
        result["against"] = {**summary(other), "model": against, "comparison": _comparison(outcomes, other)}
    if out is not None:
        write_record(out, {**circumstances(), "data": corpus.manifest["hash"], **result})
    if as_json:
        echo_json(result)
        return
    _show(result, Terminal(highlight=False))


@contextmanager
def open_data(data: str) -> Iterator[tuple[Corpus, Split | None]]:
    """The corpus and split that `--data` names; a file becomes a temporary corpus.

    Raises:
        CorpusError: The folder is not a corpus, or no corpus can be made from the file.
        LogError: The file cannot be read.
    """
    name, _, split = data.rpartition(":")
    if name and split in [each.value for each in Split]:
        yield Corpus(name), Split(split)
    elif Path(data).is_dir():
        yield Corpus(data), None
    else:
        with tempfile.TemporaryDirectory() as folder:
            try:
                corpus = build_corpus(Path(folder) / "corpus", splits={Split.TEST: [data]})
            except CorpusError as error:
                raise CorpusError(f"{data}: {error}; that is an option of towhom corpus build") from error
            corpus.name = data  # not the temporary folder's name
            yield corpus, None


def _measure_all(
    pool: Pool,
    corpus: Corpus,
    system: str,
    folder: Path,
    split: Split | None,
    context: int | None,
    candidates: int,
    rule: str | None,
) -> Outcomes:
    """The outcomes of a system on all samples: computed here at once, or on a cluster in parts."""
    if not pool.processes:
        return _measure(system, corpus, split, context, candidates, rule)
    name = str(Path(system).absolute()) if Path(system).exists() else system
    parts = [
        pool.executor.submit(_measure_stretch, name, folder, split, context, candidates, rule, stretch)
        for stretch in stretches(len(samples_to_measure(corpus, split, candidates)))
    ]
    return together([part.result() for part in parts])


def _measure_stretch(system: str, folder: Path, *asked: Any) -> Outcomes:
    return _measure(system, Corpus(folder), *asked)


def _measure(
    system: str,
    corpus: Corpus,
    split: Split | None,
    context: int | None,
    candidates: int,
    rule: str | None,
    stretch: slice = slice(None),
) -> Outcomes:
    selector, trained_context, words = load_system(system, corpus)
    return run(
        selector,
        corpus,
        split,
        context=context or trained_context,
        candidates=candidates,
        rule=Rule(rule) if rule else None,
        words=words,
        stretch=stretch,
    )


def load_system(name: str, corpus: Corpus) -> tuple[Selector, int, NDArray[np.int32] | None]:
    """A baseline by name or a model by folder, its context, and its ids for the corpus's words."""
    if is_baseline(name):
        return baseline(name, corpus), _CONTEXT, None
    if not (Path(name) / CONFIG).is_file() or holds_crosstalk(name):
        model = named_model(name, _BASELINES)
        return Crosstalk(model.mind, model.lexicon), _CONTEXT, None
    saved = load_model(name)
    selector = saved.model if find_spec("torch") else saved.runtime
    return selector, saved.context, saved.vocabulary.ids(list(corpus.vocabulary.words))


def _comparison(outcomes: Outcomes, other: Outcomes) -> dict[str, Any]:
    result = {}
    for metric in METRICS[:3]:
        first, second = (metric.of_samples(each) * 100 for each in (outcomes, other))
        compared = compare(first, second, outcomes.document)
        result[metric.name] = {**asdict(compared.difference), "p": compared.p}
    return result


def _show(result: dict[str, Any], console: Terminal) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("", "accuracy", "95 %", *(("against", "difference", "p") if "against" in result else ())):
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    for metric in METRICS[:3]:
        low, high = result["intervals"][metric.name]
        row = [metric.title, f"{result[metric.name]:.2f}", f"{low:.2f} – {high:.2f}"]
        if "against" in result:
            compared = result["against"]["comparison"][metric.name]
            row += [
                f"{result['against'][metric.name]:.2f}",
                f"{compared['mean']:+.2f}",
                f"{compared['p']:.4f}",
            ]
        table.add_row(*row)
    console.print(table)
    console.print(
        f"\n{result['samples']:,} samples, {result['candidates']} candidates; "
        f"R@1 {result['recall_at_1']:.2f}, R@2 {result['recall_at_2']:.2f}, R@5 {result['recall_at_5']:.2f}, "
        f"MRR {result['mrr']:.4f}"
    )
