"""What the page makes of a chat, without a browser: names, edits, deletions, renames."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

import towhom.serve
from tests.serve.conftest import JSON, answer, message, talk

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node on this machine")
SCRIPT = """
import {{ Chat, messageOf }} from {module};
const chat = new Chat();
const {{ messages, observations, all }} = {given};
for (const message of messages) chat.add(message, {{ all }});
const asked = chat.asked.map(messageOf);
for (const observation of observations) chat.observe(observation, 0);
const line = ({{ speaker, text, to, gone, open, target, position }}) =>
  ({{ speaker, text, to, gone, open, target: target?.position ?? null, position }});
console.log(JSON.stringify({{
  lines: chat.lines.map(line), asked, heard: chat.heard, unanswered: chat.unanswered,
  speakers: [...chat.speakers.keys()],
}}));
"""


def page_of(messages: list[JSON], observations: list[JSON], *, all: bool) -> Any:
    """What the page knows of a chat; `all` as in a channel, whose numbers count every line."""
    assert NODE is not None
    module = (Path(str(towhom.serve.__file__)).parent / "page" / "chat.js").as_uri()
    given = {"messages": messages, "observations": observations, "all": all}
    script = SCRIPT.format(module=json.dumps(module), given=json.dumps(given))
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def followed(client: httpx.Client, *messages: JSON) -> Any:
    """A channel, as the page shows it."""
    found = answer(client.post("/v1/addressees", json={"messages": list(messages)}))["observations"]
    return page_of([each["message"] for each in found], found, all=True)


def test_names_are_shown(client: httpx.Client) -> None:
    page = followed(
        client,
        message(17, "is the kettle on?", name="Ada"),
        message(23, "Ada: since noon", name="Bob"),
        message(17, "Bob: thanks"),
    )
    assert [each["speaker"] for each in page["lines"]] == ["Ada", "Bob", "Ada"]
    assert [(each["to"], each["target"]) for each in page["lines"][1:]] == [("Ada", 0), ("Bob", 1)]
    assert page["speakers"] == ["Ada", "Bob"]


def test_edits_and_deletions_are_shown_where_the_message_stands(client: httpx.Client) -> None:
    page = followed(
        client,
        message("ada", "is the kettle on?", id=1),
        message("bob", "is the window shut?", id=2),
        message("ada", "is the kettle off?", id=1, kind="edit"),
        {"speaker": "bob", "id": 2, "kind": "delete"},
        message("system", "cyd has joined", kind="system"),
        message("cyd", "ada: it is off"),
    )
    assert [(each["text"], each["gone"], each["position"]) for each in page["lines"]] == [
        ("is the kettle off?", False, 0),
        ("(taken back)", True, 1),
        ("cyd has joined", False, 4),
        ("it is off", False, 5),
    ]
    assert page["heard"] == 3
    # What ada asked is answered, and what bob asked is gone.
    assert (page["unanswered"], [each["open"] for each in page["lines"]]) == (0, [False] * 4)


def test_who_is_renamed_stays_who_they_are(client: httpx.Client) -> None:
    page = followed(
        client,
        message("ada", "is the kettle on?"),
        message("ada", "ada_away", kind="rename"),
        message("ada_away", "or is it not?", id=2),
        message("bob", "since noon", reply_to=2),
    )
    assert (page["lines"][-1]["to"], page["lines"][-1]["target"]) == ("ada_away", 2)


def test_what_an_earlier_version_kept(client: httpx.Client) -> None:
    """Observations without the fields that are new."""
    found = answer(client.post("/v1/addressees", json={"messages": talk("ada> hi", "bob> ada: hi")}))
    old = [
        {
            **{key: value for key, value in each.items() if key not in ("audience", "asks")},
            "message": {key: each["message"][key] for key in ("speaker", "text", "addressee", "time", "id")},
            "addressees": [{k: v for k, v in one.items() if k != "id"} for one in each["addressees"]],
        }
        for each in found["observations"]
    ]
    lines = page_of([each["message"] for each in old], old, all=True)["lines"]
    assert [(each["speaker"], each["to"], each["target"]) for each in lines[1:]] == [("bob", "ada", 0)]


def test_a_log_is_asked_about_within_the_limits(client: httpx.Client) -> None:
    log = [
        message("U1", "x" * 5000, id="a" * 300, name="n" * 300, mentions=["m" * 300] * 150, bot=True),
        message("", "ada has joined", kind="system"),
        message("U1", "y" * 300, kind="rename"),
        message("U1", "", kind="rename"),
        message("U1", "no identifier", kind="edit"),
        {**message("U1", "", kind="delete"), "id": "a" * 300},
        message("U2", "yes", reply_to="a" * 300),
    ]
    read = answer(client.post("/v1/read", json={"log": "\n".join(map(json.dumps, log))}))["messages"]
    asked = page_of(read, [], all=False)["asked"]
    assert [each["kind"] for each in asked] == ["message", "rename", "delete", "message"]
    found = answer(client.post("/v1/addressees", json={"messages": asked}))["observations"]
    shown = page_of(read, found, all=False)
    assert [each["text"] for each in shown["lines"] if each["gone"]] == ["(taken back)"]
