"""`towhom vectors`: writes vectors for the words of a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from pathlib import Path

import click
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from towhom.cli.options import FOLDER
from towhom.cli.terminal import Terminal
from towhom.corpus import Corpus, Split
from towhom.errors import VectorsError
from towhom.text.vectors import WordVectors, concatenate, read_vectors


@click.command()
@click.argument("folder", metavar="CORPUS", type=FOLDER)
@click.argument("out", type=FOLDER)
@click.option(
    "--from",
    "files",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file of vectors: GloVe, word2vec, wink-embeddings (JSON); also packed (.gz, .xz, .bz2, .zip).",
)
@click.option("--train", is_flag=True, help="Train vectors on the text of the corpus (extra: vectors).")
@click.option("--dimensions", default=100, show_default=True, help="Dimensions of trained vectors.")
@click.option("--epochs", default=5, show_default=True, help="Number of passes over the text in training.")
@click.option(
    "--min-count", default=5, show_default=True, help="Train no vectors for words that occur less often."
)
@click.option("--seed", default=0, show_default=True, help="Random seed for training.")
@click.option(
    "--workers",
    default=1,
    show_default=True,
    help="Number of threads in training; with one, results can be repeated exactly.",
)
@click.option("--force", is_flag=True, help="Replace existing vectors.")
def vectors(
    folder: Path,
    out: Path,
    files: tuple[Path, ...],
    train: bool,
    dimensions: int,
    epochs: int,
    min_count: int,
    seed: int,
    workers: int,
    force: bool,
) -> None:
    """Write vectors for the words of CORPUS to the folder OUT.

    Of a published file, only the rows that are needed are stored. With several --from, or --from and
    --train, the vectors of a word are concatenated.
    """
    if not files and not train:
        raise click.UsageError("where from? Give --from FILE, --train, or both")
    if out.exists() and not force:
        raise VectorsError(f"{out}: already exists; replace it with --force")
    if out.exists():
        WordVectors.load(out)  # raises unless the folder holds vectors, so nothing else is replaced
    corpus = Corpus(folder)
    words = list(corpus.vocabulary.words)
    console = Terminal(stderr=True, highlight=False, soft_wrap=True)
    found = [_read(file, words, console) for file in files]
    if train:
        found.append(_train(corpus, words, console, dimensions, epochs, min_count, seed, workers))
    joined = reduce(lambda first, second: concatenate(first, second, words), found)
    joined.save(out)
    tokens = corpus.vocabulary.counts
    known = sum(int(count) for word, count in zip(words, tokens.tolist(), strict=True) if word in joined)
    share = known / max(1, int(tokens.sum()))
    console.print(
        f"{out}: {len(joined):,} of {len(words):,} words ({share:.1%} of the text), "
        f"{joined.dimensions} dimensions",
        markup=False,
    )


def _read(file: Path, words: list[str], console: Terminal) -> WordVectors:
    columns = (TextColumn(file.name, markup=False), BarColumn(30), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=file.stat().st_size if file.exists() else None)
        return read_vectors(file, words, progress=lambda done: bar.update(task, completed=done))


def _train(
    corpus: Corpus,
    words: list[str],
    console: Terminal,
    dimensions: int,
    epochs: int,
    min_count: int,
    seed: int,
    workers: int,
) -> WordVectors:
    from towhom.text.vector_training import train_vectors

    def sentences() -> Iterator[list[str]]:
        """The words of each message, from training documents only."""
        for document in corpus.documents_of(Split.TRAIN).tolist():
            start, stop = corpus.documents.messages[document : document + 2].tolist()
            offsets = corpus.utterances.offsets[start : stop + 1].tolist()
            tokens = corpus.utterances.tokens[offsets[0] : offsets[-1]].tolist()
            for begin, end in pairwise(offsets):
                yield [words[token] for token in tokens[begin - offsets[0] : end - offsets[0]]]

    columns = (TextColumn("training"), BarColumn(30), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=epochs)
        return train_vectors(
            sentences,
            dimensions=dimensions,
            epochs=epochs,
            min_count=min_count,
            seed=seed,
            workers=workers,
            progress=lambda done: bar.update(task, completed=done),
        )
