"""The errors that towhom raises on purpose: one base class, with messages written for users."""

from __future__ import annotations


class TowhomError(Exception):
    """An error that the user can fix; the message says what was found, where, and what to do."""


class LogError(TowhomError):
    """A chat log that cannot be read; has the file and, if known, the line.

    Lines count from 1 here, as editors show them.
    """

    def __init__(self, reason: str, *, file: str, line: int | None = None) -> None:
        self.reason = reason
        self.file = file
        self.line = line
        where = file if line is None else f"{file}:{line}"
        super().__init__(f"{where}: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        # The error is sent from a worker process to the one that shows it.
        return _log_error, (self.reason, self.file, self.line)


def _log_error(reason: str, file: str, line: int | None) -> LogError:
    return LogError(reason, file=file, line=line)


class CorpusError(TowhomError):
    """A corpus that cannot be built or opened."""


class BankError(TowhomError):
    """A response bank that cannot be built, opened or searched."""


class VectorsError(TowhomError):
    """A file of word vectors that cannot be read, or does not fit."""


class ConfigError(TowhomError):
    """Invalid settings; the message lists every problem."""


class ModelFormatError(TowhomError):
    """A model folder that cannot be read; the message says what was expected and what was found."""


class SessionError(TowhomError):
    """A question that a session cannot answer, or a state that it cannot read."""


class TrainingError(TowhomError):
    """A training run that cannot continue."""


class MissingExtraError(TowhomError):
    """Packages for this part of towhom are not installed; the message has the command that installs them."""


class RoomError(TowhomError):
    """Rooms of a chat server that cannot be followed or written to."""


class PluginError(TowhomError):
    """A part from another package that cannot be loaded, or is not of the kind it is registered as."""
