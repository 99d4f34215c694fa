"""The TypeScript client and the plugin for OpenClaw, with the real package where it is installed.

OpenClaw brings 330 packages and needs Node 24.16: run these tests after `npm install && npm run build` in
clients/typescript, with that Node first in PATH.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from tools.gate_api import gate_api

from tests.serve.conftest import answer
from tests.serve.conftest import client as client
from tests.serve.conftest import server as server

FOLDER = Path(__file__).parents[2] / "clients" / "typescript"
NODE = shutil.which("node")
LINES = [
    ("ann", "is the printer on again?", True, ""),
    ("bob", "ann: since noon", True, ""),
    ("ann", "claw: when was it serviced last?", True, "in March, by the maker"),
    ("bob", "ann: told you so", True, ""),
    ("ann", "who paid for that service in March?", True, ""),
    ("bob", "claw knows everything", True, ""),
    ("bob", "/help", True, ""),
    ("bob", "hi", False, ""),
]
REACHED = ["claw: when was it serviced last?", "who paid for that service in March?", "/help", "hi"]


def test_the_client_is_typed_from_what_the_server_says(client: httpx.Client) -> None:
    kept: dict[str, Any] = json.loads((FOLDER / "openapi.json").read_text("utf-8"))
    assert kept == gate_api(answer(client.get("/openapi.json"))), "python tools/gate_api.py writes it anew"
    types = (FOLDER / "src" / "api.ts").read_text("utf-8")
    for name in kept["components"]["schemas"]:
        assert f"        {name}: {{" in types, "npm run types writes them anew"


@pytest.mark.skipif(
    NODE is None or not (FOLDER / "node_modules" / "openclaw").exists() or not (FOLDER / "dist").exists(),
    reason="openclaw is not installed in clients/typescript, or the client is not built",
)
def test_the_real_hooks(client: httpx.Client) -> None:
    assert NODE is not None
    version = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version[1:].split(".")[0]) < 24:
        pytest.skip(f"openclaw needs Node 24.16, and this is {version.strip()}")
    done = subprocess.run(
        [NODE, "test/gateway.mjs", str(client.base_url), json.dumps(LINES)],
        cwd=FOLDER, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["reached"] == REACHED, done.stderr
    assert told["inspected"]["status"] == "loaded", done.stderr
    assert {"before_dispatch", "message_sent", "message_received"} <= set(told["inspected"]["hooks"])
