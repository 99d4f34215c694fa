"""A trained model, ready to follow channels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from importlib.resources import as_file, files
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from towhom.bank.heads import Head, head_of
from towhom.chat import Message
from towhom.crosstalk.folder import SavedCrosstalk, lexicon_of, read_crosstalk
from towhom.crosstalk.mind import Mind
from towhom.errors import MissingExtraError
from towhom.hearing.lexicon import Lexicon
from towhom.live.answers import Observation
from towhom.live.channel import CHUNK, Channel
from towhom.live.following import Following, follow_together
from towhom.live.session import Session
from towhom.model_folder import read_words
from towhom.threads import Placed

LARGE = "large"
"""The name of the large model."""
Follower = TypeVar("Follower")
Answer = TypeVar("Answer")


class Model:
    """A loaded model. It does not change, and any number of threads can share it.

    Args:
        saved: The contents of a model folder.
    """

    def __init__(self, saved: SavedCrosstalk) -> None:
        self.saved = saved
        self.lexicon = saved.lexicon
        self.mind = Mind(saved.weights, None if saved.reader is None else saved.reader.open())

    @cached_property
    def fingerprint(self) -> str:
        """A hash that differs between models that could answer differently."""
        return self.saved.fingerprint

    @cached_property
    def head(self) -> Head:
        """The head that finds responses in a bank."""
        return head_of(self.saved.weights, self.fingerprint)

    def session(self, state: Any = None) -> Session:
        """Start a new channel, or continue from the `state` of a session."""
        session = Session(self)
        if state is not None:
            session.resume(state)
        return session

    def observations(
        self,
        messages: Iterable[Message],
        *,
        at_once: int = CHUNK,
        prepare: Callable[[Session], object] = lambda session: None,
    ) -> Iterator[Observation]:
        """Say who each of any number of messages is for, in order and in bounded memory.

        Args:
            messages: Messages of one channel or several; each channel has its own session.
            at_once: See `threads`.
            prepare: Called with each session before its first message.
        """

        def start() -> Session:
            session = self.session()
            prepare(session)
            return session

        return _follow(start, Session.following, messages, at_once)

    def threads(self, messages: Iterable[Message], *, at_once: int = CHUNK) -> Iterator[Placed]:
        """Say what each of any number of messages answers, in order and in bounded memory.

        Args:
            messages: Messages of one channel or several.
            at_once: How many messages to collect before they are answered: 1 to follow a chat as it runs,
                more to be fast. The answers are always those of `Session.observe`.
        """

        def take(channel: Channel, lines: list[Message]) -> Following[Placed]:
            return channel.follow(lines, lambda line: line.placed)

        return _follow(lambda: Channel(self.mind, self.lexicon), take, messages, at_once)


def _follow(
    start: Callable[[], Follower],
    take: Callable[[Follower, list[Message]], Following[Answer]],
    messages: Iterable[Message],
    at_once: int,
) -> Iterator[Answer]:
    """The answers for messages, in their order; each channel among them is followed separately."""
    channels = defaultdict[str | None, Follower](start)
    source = (
        replace(message, line=order) if message.line is None else message
        for order, message in enumerate(messages)
    )
    while chunk := list(islice(source, at_once)):
        by_channel: dict[str | None, list[Message]] = {}
        for message in chunk:
            by_channel.setdefault(message.channel, []).append(message)
        found = follow_together([take(channels[name], lines) for name, lines in by_channel.items()])
        answers = {name: iter(each) for name, each in zip(by_channel, found, strict=True)}
        for message in chunk:
            yield next(answers[message.channel])


def load_live(folder: str | Path | None = None) -> Model:
    """See `towhom.load`."""
    if folder is None:
        with _bundled() as path:
            return load_live(path)
    return Model(read_crosstalk(large_folder() if folder == LARGE else folder))


def large_folder() -> Path:
    """The folder of the large model, which is a package of its own.

    Raises:
        MissingExtraError: The package is not installed.
    """
    try:
        package = import_module("towhom_large")
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "the large model is a package of its own, which is not installed; in a checkout of towhom, "
            "install it with: pip install packages/large (for a folder of this name, write ./large)"
        ) from error
    return Path(package.MODEL)


def bundled_lexicon() -> Lexicon:
    """The words of the bundled model. They can be read even where its weights do not fit any more."""
    with _bundled() as path:
        return lexicon_of(read_words(path))


def _bundled() -> AbstractContextManager[Path]:
    return as_file(files("towhom") / "bundled")
