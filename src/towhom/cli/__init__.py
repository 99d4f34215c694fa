"""The command line: `towhom COMMAND`. Each command is a module here, imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import click

from towhom.errors import TowhomError
from towhom.version import __version__
from towhom.visible import visible

COMMANDS = {
    "demo": ("demo", "Show what towhom does, on a chat that comes with it."),
    "read": ("read", "Read a chat log of any kind: who says what to whom."),
    "who": ("who", "Say who each message of a log is for; also follows a live log."),
    "select": ("select", "Choose what somebody says next, and to whom."),
    "threads": ("threads", "Separate the conversations of a log: which message answers which."),
    "report": ("report", "Write a one-page report of a chat: who helps whom, which questions are open."),
    "bank": ("bank", "Build, extend and clean a bank of answers that people have given."),
    "respond": ("respond", "Find what somebody could say next in a bank, and to whom."),
    "answered": ("answered", "List the open questions of a log with answers from a bank."),
    "serve": ("serve", "Run a server with an HTTP interface and a web page."),
    "join": ("join", "Follow rooms of chat servers (IRC, Matrix, XMPP and others) as they run."),
    "mcp": ("mcp", "Serve a log or rooms to language models (Model Context Protocol)."),
    "follow": ("follow", "Pass the messages of a stream (NATS) to towhom serve."),
    "corpus": ("corpus", "Build, describe and export corpora for training and evaluation."),
    "vectors": ("vectors", "Make word vectors for a corpus, from a published file or by training."),
    "train": ("train", "Train one of the paper's systems on a corpus; can be resumed."),
    "train-crosstalk": ("train_crosstalk", "Train Crosstalk, our own model, on many rooms; can be resumed."),
    "train-reader": ("train_reader", "Train the reader of the large model, which reads word by word."),
    "evaluate": ("evaluate", "Measure a model or a baseline."),
    "cases": ("cases", "Show what each system selects, sample by sample."),
    "reproduce": ("reproduce", "Run the grid of the paper's Table 3."),
    "bench": ("bench", "Measure speed on this machine."),
    "plugins": ("plugins", "List readers, connectors, systems, storages and streams, including plugins."),
}
"""Command -> its module and one line of help, so that help needs no imports."""


class LazyGroup(click.Group):
    """Imports a command when it runs, so that start-up costs only what is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command from the module of the same name in this package."""
        if cmd_name not in COMMANDS:
            return None
        module = COMMANDS[cmd_name][0]
        command: click.Command = getattr(import_module(f"towhom.cli.{module}"), module)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options before the command."""
        with _shown_errors():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; towhom's errors and those of files are shown as a sentence, not as a traceback."""
        with _shown_errors():
            try:
                return super().invoke(ctx)
            except TowhomError as error:
                raise click.ClickException(str(error)) from error
            except OSError as error:
                if isinstance(error, BrokenPipeError):  # the reader has closed the pipe, which click handles
                    raise
                where = "" if error.filename is None else f"{error.filename}: "
                raise click.ClickException(f"{where}{error.strerror or error}") from error


@contextmanager
def _shown_errors() -> Iterator[None]:
    """Make error messages safe to show, since they may quote texts of others."""
    try:
        yield
    except click.ClickException as error:
        text = error.format_message()
        if visible(text) == text:
            raise
        if isinstance(error, click.UsageError):
            raise click.UsageError(visible(text), error.ctx) from error
        raise click.ClickException(visible(text)) from error


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="towhom")
def main() -> None:
    """Who says what to whom, in conversations with many speakers."""
