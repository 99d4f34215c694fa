"""All settings of a server, and where they come from: flags, the environment, a TOML file, defaults."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints
from urllib.parse import urlsplit

from towhom.errors import ConfigError

PREFIX = "TOWHOM_SERVE_"
"""Prefix of environment variables: `max_body` is TOWHOM_SERVE_MAX_BODY."""

_SHORTEST_TOKEN = 16
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_KINDS = {str: "a text", int: "a whole number", float: "a number", Path: "a path"}


@dataclass(frozen=True)
class About:
    """The description of a setting.

    Args:
        help: What the setting does.
        default: Description of the default, where that is not a plain value.
        least: Minimum of a number.
        most: Maximum of a number.
        choices: Allowed values of a text.
    """

    help: str
    default: str | None = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()


def _workers() -> int:
    """One worker per core, less one for the process that speaks HTTP."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(cores - 1, 1)


def _state_folder() -> Path:
    """The folder in which towhom keeps its state for this user."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "towhom"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a server. Each is a flag, an environment variable, and a key of the TOML file."""

    host: Annotated[str, About("Address to listen on; beyond loopback, a token is needed.")] = "127.0.0.1"
    port: Annotated[int, About("Port to listen on; 0 takes a free one.", least=0, most=65535)] = 8080
    data: Annotated[
        Path, About("Folder in which channels are stored.", "towhom in the user's state folder")
    ] = field(default_factory=_state_folder)
    database: Annotated[
        str | None,
        About(
            "A PostgreSQL database to use instead, which several servers may share; without a password.",
            "none",
        ),
    ] = field(default=None, repr=False)
    database_file: Annotated[
        Path | None, About("A file with the address of the database, which may contain a password.", "none")
    ] = None
    advertise: Annotated[
        str | None, About("Address at which other servers reach this one.", "http, with host and port")
    ] = None
    lease: Annotated[
        float, About("Seconds after which a server that shares a database is taken for dead.", least=0.5)
    ] = 5.0
    keep: Annotated[
        str | None,
        About("How long messages are stored, such as 30d, 12h or 45m; older ones are deleted.", "for ever"),
    ] = None
    model: Annotated[Path | None, About("A model folder.", "the model that comes with towhom")] = None
    bank: Annotated[Path | None, About("A response bank, for `respond` and `answered`.", "none")] = None
    workers: Annotated[int, About("Processes that run the model.", "one per core, less one", least=1)] = (
        field(default_factory=_workers)
    )
    question_workers: Annotated[
        int,
        About("Processes for requests with whole chats, so that channels need not wait for them.", least=1),
    ] = 1
    deadline: Annotated[float, About("Seconds after which an answer is given up.", least=1)] = 30.0
    token: Annotated[
        str | None, About("The token that requests need; not as a flag, which others can see.", "none")
    ] = field(default=None, repr=False)
    token_file: Annotated[Path | None, About("A file with tokens, one per line.", "none")] = None
    synchronous: Annotated[
        str,
        About(
            "What a saved message survives: normal, a crash; full, also a power cut.",
            choices=("normal", "full"),
        ),
    ] = "normal"
    idle: Annotated[float, About("Seconds after which a quiet channel leaves memory.", least=0.1)] = 600.0
    max_live: Annotated[int, About("Channels in the memory of a worker.", least=1)] = 2000
    max_channels: Annotated[int, About("Channels stored on disk.", least=1)] = 100_000
    max_body: Annotated[int, About("Bytes in a request.", least=1)] = 2 << 20
    max_messages: Annotated[int, About("Messages in a request.", least=1)] = 2000
    max_log: Annotated[int, About("Bytes in a log that is sent as a file.", least=1)] = 256 << 20
    max_lines: Annotated[int, About("Lines in such a log, in all of its rooms.", least=1)] = 1_000_000
    max_logs: Annotated[int, About("Such logs that are processed at the same time.", least=1)] = 4
    max_text: Annotated[int, About("Characters in a message or a candidate.", least=1)] = 4000
    max_name: Annotated[int, About("Characters in a name or an identifier.", least=22)] = 200
    max_mentions: Annotated[int, About("Marked mentions in a message.", least=1)] = 100
    max_people: Annotated[int, About("Registered people in a chat.", least=1)] = 100
    max_aliases: Annotated[int, About("Aliases of a registered person.", least=1)] = 20
    max_candidates: Annotated[int, About("Candidates to select from.", least=1)] = 100
    max_answer: Annotated[int, About("Characters in the responses of an answer.", least=1)] = 4 << 20
    max_batch: Annotated[int, About("Questions in one request.", least=1)] = 64
    max_waiting: Annotated[int, About("Requests that are answered at the same time.", least=1)] = 1000
    max_connections: Annotated[int, About("Connections at the same time, also idle ones.", least=1)] = 4000
    max_streams: Annotated[int, About("Clients that follow channels at the same time.", least=1)] = 1000
    receive: Annotated[float, About("Seconds within which a request has to arrive.", least=0.1)] = 20.0
    rate: Annotated[float, About("Requests per second for each token; 0 for no limit.", least=0)] = 200.0
    stop: Annotated[int, About("Seconds for unfinished requests when the server stops.", least=0)] = 30

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def keep_seconds(self) -> float | None:
        """Seconds that messages are kept; None: for ever."""
        return None if self.keep is None else _seconds(self.keep)

    def database_address(self) -> str | None:
        """The address of the database, if there is one.

        Raises:
            ConfigError: Both `database` and `database_file` are given, or the file cannot be read.
        """
        if self.database_file is None:
            return self.database
        if self.database is not None:
            raise ConfigError("database_file: there is an address in database, too; give one of them")
        try:
            address = self.database_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"database_file: {self.database_file} cannot be read ({error})") from error
        if not address or "\n" in address:
            raise ConfigError(f"database_file: {self.database_file} has to have one line, the address")
        return address

    def tokens(self) -> tuple[str, ...]:
        """Every token that the server accepts.

        Raises:
            ConfigError: The file cannot be read, a token is too short, or a token is required and missing.
        """
        found = [] if self.token is None else [self.token]
        if self.token_file is not None:
            try:
                lines = self.token_file.read_text("utf-8").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"token_file: {self.token_file} cannot be read ({error})") from error
            found += [line.strip() for line in lines if line.strip()]
            if not found:
                raise ConfigError(f"token_file: {self.token_file} holds no token; write one per line")
        if any(len(token) < _SHORTEST_TOKEN or not token.isascii() for token in found):
            raise ConfigError(
                f"a token has to have {_SHORTEST_TOKEN} ASCII characters or more; make a longer one"
            )
        if not found and not self.loopback:
            raise ConfigError(
                f"host: others can reach {self.host}, so requests need a token; "
                f"set token_file or {PREFIX}TOKEN, or listen on 127.0.0.1"
            )
        return tuple(found)


@cache
def known_settings() -> dict[str, tuple[type, About]]:
    """Every setting by name: its type (a text, a number, a path), and its description."""
    hints = get_type_hints(Settings, include_extras=True)
    found = {}
    for name in (each.name for each in fields(Settings)):
        kind, about = get_args(hints[name])
        found[name] = (next(iter(get_args(kind)), kind), about)
    return found


def load_settings(
    flags: Mapping[str, Any], environment: Mapping[str, str], config: Path | None = None
) -> Settings:
    """Load the settings: flags override the environment, which overrides the file and then the defaults.

    Args:
        flags: Flags by name; None where a flag was not given.
        environment: Environment of the process.
        config: A TOML file whose keys are the names of settings.

    Raises:
        ConfigError: Something is wrong; the message lists every problem.
    """
    problems: list[str] = []
    sources = [(f"{config}: ", _file(config, problems))]
    variables = {PREFIX + name.upper(): name for name in known_settings()}
    sources += [
        (f"{key}: ", {name: environment[key]}) for key, name in variables.items() if key in environment
    ]
    sources += [
        (f"--{name.replace('_', '-')}: ", {name: value}) for name, value in flags.items() if value is not None
    ]
    if has_password(flags.get("database") or ""):
        problems.append(
            "--database: there is a password in the address, and others can see flags; use database_file, "
            f"{PREFIX}DATABASE, PGPASSWORD or a .pgpass file"
        )
    found = {}
    for source, values in sources:
        for name, value in values.items():
            try:
                found[name] = _checked(name, value)
            except ValueError as error:
                problems.append(f"{source}{error}")
    if problems:
        raise ConfigError("\n".join(problems))
    return Settings(**found)


def has_password(address: str) -> bool:
    """Whether the address of a database may contain a password.

    >>> has_password("postgresql://ada@localhost/chats"), has_password("postgresql://ada:s3cret@localhost/chats")
    (False, True)
    """
    try:
        parts = urlsplit(address)
        return parts.password is not None or "password" in parts.query or "password=" in address
    except ValueError:
        return True


def _seconds(text: str) -> float:
    """The seconds that a duration like `36h` stands for.

    >>> _seconds("36h")
    129600.0

    Raises:
        ValueError: The text is not a duration.
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smhd])", text.strip())
    if found is None or not float(found[1]):
        raise ValueError("keep must be a number and s, m, h or d, like 30d")
    return float(found[1]) * _UNITS[found[2]]


def _file(path: Path | None, problems: list[str]) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        problems.append(f"{path}: cannot be read as TOML ({error})")
        return {}


def _checked(name: str, value: Any) -> Any:
    """A value converted to the type of its setting: numbers are texts in the environment, numbers in a file.

    Raises:
        ValueError: The value is not allowed; the text says why.
    """
    if name not in known_settings():
        raise ValueError(f"there is no setting {name}; known are {', '.join(known_settings())}")
    kind, about = known_settings()[name]
    fitting = (str, Path) if kind in (str, Path) else (str, kind, int)
    try:
        if isinstance(value, bool) or not isinstance(value, fitting):
            raise TypeError
        made = kind(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be {_KINDS[kind]}") from None
    # Written with `not`, so that NaN is refused, too.
    if about.least is not None and not made >= about.least:
        raise ValueError(f"{name} must be {about.least:g} or more, is {made:g}")
    if about.most is not None and not made <= about.most:
        raise ValueError(f"{name} must be {about.most:g} or less, is {made:g}")
    if name == "keep":
        _seconds(made)
    if about.choices and made not in about.choices:
        raise ValueError(f"{name} must be {' or '.join(about.choices)}")
    return made
