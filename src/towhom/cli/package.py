"""`towhom package`: a trained model made small, calibrated, and able to follow a chat."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from towhom.cli.options import FOLDER, MODEL
from towhom.corpus import Corpus
from towhom.errors import ConfigError
from towhom.extras import require
from towhom.persistence import check_replaceable


@click.command()
@click.argument("model", type=MODEL)
@click.argument("out", type=FOLDER)
@click.option("--corpus", "folder", type=FOLDER, required=True, help="Its dev part calibrates `select`.")
@click.option(
    "--links", type=click.Path(exists=True, path_type=Path), required=True,
    help="Logs with reply links beside them, to train on: whom do messages address that name nobody?",
)  # fmt: skip
@click.option(
    "--dev-links", type=click.Path(exists=True, path_type=Path), required=True,
    help="The same, to calibrate `observe` and to measure.",
)  # fmt: skip
@click.option("--keep-ranker", is_flag=True, help="Keep the ranker of addressees of a packaged MODEL.")
@click.option("--about", default="", help="What the card says about the data: where it is from, its licence.")
@click.option("--seed", default=0, show_default=True, help="For all that is random.")
@click.option("--force", is_flag=True, help="Replace a model that is there already.")
def package(
    model: Path,
    out: Path,
    folder: Path,
    links: Path,
    dev_links: Path,
    keep_ranker: bool,
    about: str,
    seed: int,
    force: bool,
) -> None:
    """Make of a trained MODEL one to run live, in the folder OUT: `towhom.load(OUT)`.

    Word vectors are stored in 8 bits. A ranker of addressees and what pulls conversations apart are trained
    on human reply links, and probabilities are calibrated. training.json says how good it is, README.md what
    it is for.
    """
    check_replaceable(out)
    if out.exists() and not force:
        raise ConfigError(f"{out}: is there already; --force replaces it")
    require("torch", extra="train", purpose="training the ranker of addressees")
    from towhom.evaluation.reply_links import read_linked_logs
    from towhom.training.addressees import RankerConfig
    from towhom.training.package import make_package

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    config = RankerConfig(seed=seed)
    train, dev = (
        list(track(read_linked_logs(path), f"reading {path}", console=console, transient=True))
        for path in (links, dev_links)
    )
    done, total = 0, 0 if keep_ranker else config.rounds * len(train)

    def progress(name: str) -> None:
        nonlocal done
        done += 1
        if done > total:
            console.print(name, markup=False)
        elif done % 50 == 0 or done == total:
            console.print(f"followed {done:,} of {total:,} chats", markup=False)

    measured = make_package(
        model, out, corpus=Corpus(folder), train=train, dev=dev, config=config, keep_ranker=keep_ranker,
        data=(links, dev_links), about=about, progress=progress,
    )  # fmt: skip
    for size, result in measured["select"].items():
        console.print(
            f"{size} candidates: ADR {result['adr']:.2f}, RES {result['res']:.2f}, "
            f"ADR-RES {result['adr_res']:.2f}; calibration error {result['calibration']['error']:.3f}"
        )
    found, unnamed = measured["addressees"], measured["addressees"]["names_nobody"]
    console.print(
        f"addressees: {found['accuracy']:.2f} % of {found['messages']:,} messages, "
        f"{unnamed['accuracy']:.2f} % of the {unnamed['messages']:,} that name nobody"
    )
    threads = measured["threads"]
    console.print(
        f"threads: links F1 {threads['links']['f1']:.2f}, conversations one-to-one "
        f"{threads['conversations']['one_to_one']:.2f}, exact match F1 "
        f"{threads['conversations']['exact_match']['f1']:.2f}"
    )
    console.print(str(out), markup=False)
