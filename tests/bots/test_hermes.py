"""The plugin for Hermes Agent, with the real package where it is installed.

Hermes pins the exact versions of all that it needs, so it cannot be installed beside everything else: run
these tests in an environment of its own (`pip install hermes-agent`, and this package).
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from towhom.bots.hermes import HermesGate

ROOT = Path(__file__).parents[2]
LINES = [
    ("ann", "is the printer on again?", "group", ""),
    ("bob", "ann: since noon", "group", ""),
    ("ann", "hermes: when was it serviced last?", "group", "in March, by the maker"),
    ("bob", "ann: told you so", "group", ""),
    ("ann", "who paid for that service in March?", "group", ""),
    ("bob", "hermes knows everything", "group", ""),
    ("bob", "/help", "group", ""),
    ("bob", "hi", "dm", ""),
]
REACHED = ["hermes: when was it serviced last?", "who paid for that service in March?", "/help", "hi"]


def event(text: str, speaker: str = "ann", kind: str = "group", **more: Any) -> Any:
    """Like an event of Hermes, as far as the plugin looks at it."""
    source = SimpleNamespace(
        platform=SimpleNamespace(value="telegram"), chat_id="-5", chat_type=kind, user_id=speaker,
        user_name=speaker, thread_id=None, is_bot=False,
    )  # fmt: skip
    fields = {"reply_to_is_own_message": False, "reply_to_message_id": None, "message_id": None} | more
    return SimpleNamespace(
        text=text, source=source, timestamp=datetime.now(), is_command=lambda: text.startswith("/"), **fields
    )


class TestHooks:
    def test_skip_has_a_reason(self) -> None:
        hooks = HermesGate({"bot": "hermes"})
        assert hooks.before(event("hermes: hi", "bob"), gateway=None) is None
        assert hooks.before(event("bob: hi")) == {
            "action": "skip",
            "reason": "ann talks to bob (ann names bob)",
        }

    def test_a_reply_to_the_bot(self) -> None:
        assert HermesGate({}).before(event("why?", reply_to_is_own_message=True)) is None

    def test_settings(self) -> None:
        hooks = HermesGate({"bot": "U1", "aliases": ["hal"], "only_called": True})
        assert hooks.before(event("hal, is it up?")) is None
        hooks.after("[ann] hal, is it up?", "yes, since noon")
        assert hooks.before(event("and before noon?")) is not None


@pytest.mark.skipif(importlib.util.find_spec("hermes_cli") is None, reason="hermes-agent is not installed")
def test_the_real_gateway(tmp_path: Path) -> None:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (entry,) = described["entry-points"]["hermes_agent.plugins"].items()
    info = tmp_path / "site" / "towhom_plugin-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: towhom-plugin\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[hermes_agent.plugins]\n{entry[0]} = {entry[1]}\n")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("plugins:\n  enabled: [towhom]\ntowhom:\n  bot: hermes\n")
    path = os.pathsep.join((str(info.parent), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")))
    program = Path(__file__).with_name("hermes_gateway.py")
    done = subprocess.run(
        [sys.executable, str(program), json.dumps(LINES)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "HERMES_HOME": str(home)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == REACHED, done.stderr
