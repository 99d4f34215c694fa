"""Passwords and tokens: from the environment or a file, never from the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from towhom.errors import RoomError


def variable(scheme: str, name: str) -> str:
    """The environment variable of a secret.

    >>> variable("matrix", "token")
    'TOWHOM_MATRIX_TOKEN'
    """
    return f"TOWHOM_{re.sub('[^A-Z0-9]', '_', f'{scheme}_{name}'.upper())}"


def secrets_for(
    scheme: str, names: Iterable[str], environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The secrets of a connector, as far as there are any.

    Args:
        scheme: Of its address; `ircs` has those of `irc`.
        names: Of the secrets that it takes.
        environment: Instead of the process's.

    Raises:
        RoomError: A file that is named cannot be read.
    """
    environment = os.environ if environment is None else environment
    scheme = "irc" if scheme == "ircs" else scheme
    secrets = {}
    for name in names:
        key = variable(scheme, name)
        if value := environment.get(key):
            secrets[name] = value
        elif path := environment.get(f"{key}_FILE"):
            secrets[name] = read_secret(Path(path))
    return secrets


def read_secret(path: Path) -> str:
    """The first line of a file.

    Raises:
        RoomError: There is none. The sentence names the file, not what is in it.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        raise RoomError(f"{path}: the secret in it is not UTF-8") from None
    except OSError as error:
        raise RoomError(f"{path}: the secret cannot be read ({error.strerror})") from error
    if not lines or not lines[0].strip():
        raise RoomError(f"{path}: its first line is empty, where a secret should be")
    return lines[0].strip()
