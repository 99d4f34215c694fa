"""`towhom serve` on the command line, where it does not serve."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.conftest import run as run
from tests.serve.conftest import COMMAND, Start
from tests.test_import import loaded_by
from towhom.serve.settings import known_settings

EXTRAS = ("fastapi", "uvicorn", "prometheus_client")


def refused(*flags: str, **environment: str) -> str:
    """What the command says when it cannot serve."""
    done = subprocess.run(
        [*COMMAND, *flags], capture_output=True, text=True, timeout=30, env=os.environ | environment
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
    return done.stderr.removeprefix("Error: ").rstrip()


def test_help_names_every_setting(run: Run) -> None:
    text = " ".join(run("serve", "--help").stdout.split())
    for name in known_settings():
        assert f"--{name.replace('_', '-')} " in text
    assert "[default: 127.0.0.1]" in text
    assert "[default: one per core, less one]" in text


def test_command_is_light() -> None:
    loaded = loaded_by("import towhom.cli.serve")
    assert not {"fastapi", "uvicorn", "prometheus_client", "pydantic", "numpy", "asyncio"} & loaded


@pytest.mark.parametrize("missing", EXTRAS)
def test_needs_the_extra(missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; from towhom.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program, "serve"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        f"Error: serving needs the package {missing}, which is not installed; "
        "install it with: pip install 'towhom[serve]'\n"
    )


class TestRefused:
    def test_settings(self, tmp_path: Path) -> None:
        config = tmp_path / "serve.toml"
        config.write_text("port = 'x'\n")
        assert refused("--config", str(config)) == f"{config}: port must be a whole number"
        assert refused(TOWHOM_SERVE_CONFIG=str(config)) == f"{config}: port must be a whole number"

    def test_no_token(self, tmp_path: Path) -> None:
        assert "0.0.0.0, so requests need a token" in refused("--host", "0.0.0.0")

    def test_address_in_use(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            found = refused("--port", port, "--data", str(tmp_path))
        assert found == f"cannot listen on 127.0.0.1, port {port} (Address already in use)"
        assert not list(tmp_path.iterdir())

    def test_data_in_use(self, start: Start, tmp_path: Path) -> None:
        start()
        folder = tmp_path / "server" / "data"
        found = refused("--port", "0", "--data", str(folder))
        assert found == f"data: another server uses {folder}; give this one a folder of its own"

    def test_data_that_cannot_be(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        found = refused("--port", "0", "--data", str(tmp_path / "file"))
        assert found.startswith(f"data: {tmp_path / 'file'} cannot be used to store channels (")

    def test_model(self, tmp_path: Path) -> None:
        found = refused("--port", "0", "--data", str(tmp_path / "data"), "--model", str(tmp_path / "none"))
        assert found.startswith(str(tmp_path / "none"))
