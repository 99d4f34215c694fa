"""`towhom plugins`: lists the parts of towhom and of other packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import click

from towhom.cli.options import echo_json
from towhom.errors import TowhomError
from towhom.follow.source import GROUP as STREAMS
from towhom.follow.source import SOURCES
from towhom.follow.source import Source as Stream
from towhom.hearing.words import TOKENIZER
from towhom.models.registry import GROUP as SYSTEMS_GROUP
from towhom.models.registry import SYSTEMS, entry
from towhom.plugins import load_class, load_object
from towhom.readers import GROUP as READERS_GROUP
from towhom.readers import READERS, Reader
from towhom.rooms import CONNECTORS, Connector
from towhom.rooms import GROUP as ROOMS
from towhom.serve.storages import GROUP as STORAGES_GROUP
from towhom.serve.storages import STORAGES
from towhom.text.tokenizer import TREEBANK
from towhom.version import __version__
from towhom.visible import visible


@dataclass(frozen=True)
class Plugin:
    """A part of towhom or of another package.

    Args:
        kind: Its kind: a reader, a connector and so on.
        name: Its name for users.
        target: Its class, as `module:Class`.
        package: The package that contains it, with its version.
        problem: Why it cannot be used; None if it can.
    """

    kind: str
    name: str
    target: str
    package: str
    problem: str | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of parts: towhom's own, the group of entry points for others, and a function to try one."""

    ours: Mapping[str, str]
    group: str | None = None
    check: Callable[[str, str], object] = load_object


def _subclass(base: type[Any]) -> Callable[[str, str], object]:
    return lambda target, what: load_class(target, base, what)


KINDS = {
    "readers": Kind(READERS, READERS_GROUP, _subclass(Reader)),
    "connectors": Kind(CONNECTORS, ROOMS, _subclass(Connector)),
    "systems": Kind(
        {name: each.target for name, each in SYSTEMS.items()}, SYSTEMS_GROUP, lambda _, what: entry(what)
    ),
    "storages": Kind(STORAGES, STORAGES_GROUP),
    "streams": Kind(SOURCES, STREAMS, _subclass(Stream)),
    # Tokenizers cannot be plugged in, since they belong to the formats of models and corpora.
    "tokenizers": Kind({TOKENIZER: "towhom.hearing.words:words", TREEBANK: "towhom.text.tokenizer:tokenize"}),
}


def find_plugins(kind: str) -> Iterator[Plugin]:
    """The parts of a kind: towhom's own, then those of other packages."""
    found = KINDS[kind]
    for name, target in found.ours.items():
        yield Plugin(kind, name, target, f"towhom {__version__}")
    for point in sorted(entry_points(group=found.group)) if found.group else ():
        package = f"{point.dist.name} {point.dist.version}" if point.dist else "unknown"
        yield Plugin(kind, point.name, point.value, package, _problem(point, found))


def _problem(point: EntryPoint, kind: Kind) -> str | None:
    if point.name in kind.ours:
        return "towhom has a part of this name, which is used"
    try:
        kind.check(point.value, point.name)
    except TowhomError as error:
        return str(error)
    return None


@click.command()
@click.argument("kinds", metavar="[KIND]...", nargs=-1, type=click.Choice(list(KINDS)))
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def plugins(kinds: tuple[str, ...], as_json: bool) -> None:
    """List the parts that towhom can use: its own, and those of other installed packages.

    KIND is readers, connectors, systems, storages, streams or tokenizers; without it, all are listed. If a
    part of another package cannot be used, the command says why, and the exit code is 1.
    """
    found = [plugin for kind in kinds or KINDS for plugin in find_plugins(kind)]
    if as_json:
        echo_json([asdict(plugin) for plugin in found])
    else:
        rows = [(plugin.kind, plugin.name, plugin.target, plugin.package) for plugin in found]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            click.echo(visible("  ".join(cells).rstrip()))
    if problems := [plugin for plugin in found if plugin.problem]:
        lines = (f"{plugin.kind} {plugin.name} of {plugin.package}: {plugin.problem}" for plugin in problems)
        raise click.ClickException("\n".join(lines))
