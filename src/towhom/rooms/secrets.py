"""Passwords and tokens, from the environment or files, never from the command line."""

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
    """Those secrets of a connector that are set.

    Args:
        scheme: Scheme of the address; `ircs` has the secrets of `irc`.
        names: Names of the secrets that the connector takes.
        environment: The environment variables; None for those of the process.

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
        RoomError: There is none. The message names the file, but does not quote it.
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
