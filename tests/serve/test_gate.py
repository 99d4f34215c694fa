"""POST /v1/gate: whether a bot speaks, asked with a message or with a raw event of a platform."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from tests.bots.test_platforms import CASES
from tests.live.damage import VALUES
from tests.readers.hostile import places
from tests.serve.conftest import JSON, Server, answer, error
from towhom.serve.bots import room_of

SAID = {"speaker": "ann", "text": "hi"}
BOT = {"id": "helper", "aliases": ["hb"]}
CHAT = (
    "noor> my wifi is gone since the upgrade",
    "tobias> is there a deb of the new kernel?",
    "noor> hey helper, how do I see which card I have?",
    "helper> noor: run lspci and look for the network controller",
    "noor> it says broadcom",
    "mira> helper told me the same last week",
    "mira> tobias: in the ppa, yes",
)


def ask(client: httpx.Client, room: str, line: str, id: int | None = None, **more: Any) -> JSON:
    speaker, _, text = line.partition("> ")
    message = {"speaker": speaker, "text": text} | ({} if id is None else {"id": id})
    return answer(client.post("/v1/gate", json={"bot": BOT, "room": room, "message": message} | more))


class TestMessages:
    def test_a_room(self, client: httpx.Client) -> None:
        verdicts = [ask(client, "lab-1", line, number) for number, line in enumerate(CHAT)]
        assert [each["speak"] for each in verdicts] == [False, False, True, False, True, False, False]
        called, follow_up, about = verdicts[2], verdicts[4], verdicts[5]
        assert called["called"]
        assert called["reply_to"] == {"id": "noor", "name": "noor", "message": "2"}
        assert [each["id"] for each in follow_up["context"]] == ["0", "2", "3", "4"]
        assert follow_up["thread"] == called["thread"]
        assert (about["reason"], about["context"]) == ("mira talks about helper", [])

    def test_the_first_in_a_room_need_not_be_alone(self, client: httpx.Client) -> None:
        assert not ask(client, "lab-2", "ann> is the printer on?")["speak"]
        assert ask(client, "lab-3", "ann> is the printer on?", direct=True)["speak"]

    def test_a_follow_up_of_the_only_one_who_has_spoken(self, client: httpx.Client) -> None:
        chat = ("ann> helper: is it up?", "helper> ann: yes", "ann> since when is it up?")
        assert [ask(client, "lab-4", line)["speak"] for line in chat] == [True, False, True]

    def test_a_policy(self, client: httpx.Client) -> None:
        policy = {"only_called": True}
        verdicts = [ask(client, "lab-5", line, policy=policy)["speak"] for line in CHAT]
        assert verdicts == [False, False, True, False, False, False, False]

    def test_other_bots(self, client: httpx.Client) -> None:
        verdict = ask(client, "lab-6", "milo> helper: after you", bots=["milo"])
        assert (verdict["speak"], verdict["reason"]) == (False, "milo is a bot")

    def test_the_context_is_as_long_as_asked_for(self, client: httpx.Client) -> None:
        for number, line in enumerate(CHAT[:4]):
            ask(client, "lab-7", line, number)
        verdict = ask(client, "lab-7", CHAT[4], 4, max_tokens=25)
        assert 0 < verdict["tokens"] <= 25

    def test_an_edit(self, client: httpx.Client) -> None:
        assert not ask(client, "lab-8", "ann> how do I install it", 1)["speak"]
        assert not ask(client, "lab-8", "bob> no idea", 2)["speak"]
        edit = {"speaker": "ann", "text": "helper: how do I install it", "id": 1, "kind": "edit"}
        body = {"bot": BOT, "room": "lab-8", "message": edit}
        assert answer(client.post("/v1/gate", json=body))["speak"]

    @pytest.mark.parametrize(
        ("body", "where"),
        [
            ({"bot": BOT, "room": "x"}, "body.message"),
            ({"bot": BOT, "room": "..", "message": SAID}, "body.room"),
            ({"room": "x", "message": SAID}, "body.bot"),
            (
                {"bot": BOT, "room": "x", "message": {"speaker": "a", "text": ""}, "policy": {"mood": 1}},
                "body.policy",
            ),
        ],
    )
    def test_what_is_wrong_is_named(self, client: httpx.Client, body: JSON, where: str) -> None:
        found = answer(client.post("/v1/gate", json=body), 422)["error"]
        assert found["where"] == where


class TestTwice:
    def test_platforms_send_events_twice(self, client: httpx.Client) -> None:
        first, second = (ask(client, "twice-1", "ann> helper: hi", 1) for _ in range(2))
        assert (first["speak"], second["speak"], second["reason"]) == (True, False, "it was heard before")
        kept = answer(client.get("/v1/channels/twice-1/messages"))["observations"]
        assert len(kept) == 1

    def test_at_the_same_moment(self, client: httpx.Client) -> None:
        with ThreadPoolExecutor(8) as pool:
            verdicts = list(pool.map(lambda _: ask(client, "twice-2", "ann> helper: hi", 1), range(8)))
        assert sum(each["speak"] for each in verdicts) == 1

    def test_with_a_key_the_answer_is_the_same(self, client: httpx.Client) -> None:
        body = {"bot": BOT, "room": "twice-3", "message": {"speaker": "ann", "text": "helper: hi", "id": 1}}
        headers = {"Idempotency-Key": "k1"}
        first, second = (answer(client.post("/v1/gate", json=body, headers=headers)) for _ in range(2))
        assert first == second
        assert first["speak"]

    def test_after_a_crash(self, tmp_path: Path) -> None:
        server = Server(tmp_path, "--workers", "1", "--question-workers", "1")
        for number, line in enumerate(CHAT[:4]):
            ask(server.client, "lab", line, number)
        server.kill()
        server = Server(tmp_path, "--workers", "1", "--question-workers", "1")
        assert not ask(server.client, "lab", CHAT[2], 2)["speak"], "it was heard before the crash"
        assert ask(server.client, "lab", CHAT[4], 4)["speak"], "it follows up what was said before the crash"
        server.stop()


SLACK = {
    "type": "event_callback",
    "event": {
        "type": "message", "channel": "C024BE91L", "channel_type": "channel", "user": "U2147483697",
        "text": "<@U0BOT> is the site up?", "ts": "1772442000.000200",
    },
}  # fmt: skip
DISCORD = {
    "t": "MESSAGE_CREATE",
    "d": {
        "id": "334385199974967042", "channel_id": "290926798999357250", "guild_id": "290926798626357999",
        "author": {"id": "53908099506183680", "username": "mason", "global_name": "Mason"},
        "content": "<@4711> is the site up?", "type": 0, "timestamp": "2026-03-02T09:00:00.200000+00:00",
        "mentions": [{"id": "4711", "username": "helperbot", "bot": True}],
    },
}  # fmt: skip
TELEGRAM = {
    "update_id": 10000,
    "message": {
        "message_id": 1365, "date": 1772442000, "text": "@helper_bot is the site up?",
        "chat": {"id": -1001234, "type": "supergroup", "title": "lab"},
        "from": {"id": 1111111, "is_bot": False, "first_name": "Ada", "last_name": "L"},
        "entities": [{"type": "mention", "offset": 0, "length": 11}],
    },
}  # fmt: skip
MATRIX = {
    "type": "m.room.message", "room_id": "!lab:example.org", "sender": "@ada:example.org",
    "event_id": "$1", "origin_server_ts": 1772442000200,
    "content": {
        "msgtype": "m.text", "body": "helper: is the site up?",
        "m.mentions": {"user_ids": ["@helper:example.org"]},
    },
}  # fmt: skip
MATTERMOST = {
    "event": "posted",
    "data": {
        "channel_type": "O", "sender_name": "@ada", "mentions": '["hb26"]',
        "post": '{"id": "p1", "create_at": 1772442000200, "user_id": "u1", "channel_id": "c1", "root_id": "",'
        ' "message": "@helper is the site up?", "type": "", "props": {}}',
    },
}  # fmt: skip
EVENTS: dict[str, tuple[JSON, JSON, str]] = {
    "slack": (SLACK, {"id": "U0BOT", "name": "helper"}, "C024BE91L"),
    "discord": (DISCORD, {"id": 4711, "name": "helper"}, "290926798999357250"),
    "telegram": (TELEGRAM, {"id": 99, "name": "Helper", "aliases": ["helper_bot"]}, "-1001234"),
    "matrix": (MATRIX, {"id": "@helper:example.org", "name": "helper"}, "~21lab:example.org"),
    "mattermost": (MATTERMOST, {"id": "hb26", "name": "helper"}, "c1"),
}


class TestRawEvents:
    @pytest.mark.parametrize("platform", EVENTS)
    @pytest.mark.parametrize("told", [False, True])
    def test_a_call(self, client: httpx.Client, platform: str, told: bool) -> None:
        event, bot, room = EVENTS[platform]
        client.delete(f"/v1/channels/{room.replace('~', '%7E')}")
        body = {"bot": bot, "event": event} | ({"platform": platform} if told else {})
        verdict = answer(client.post("/v1/gate", json=body))
        assert (verdict["speak"], verdict["called"], verdict["room"]) == (True, True, room)
        assert not answer(client.post("/v1/gate", json=body))["speak"], "sent twice"

    def test_what_is_no_message(self, client: httpx.Client) -> None:
        event = {"update_id": 1, "poll": {"id": "1"}}
        verdict = answer(client.post("/v1/gate", json={"bot": BOT, "event": event}))
        assert (verdict["speak"], verdict["reason"], verdict["room"]) == (
            False,
            "the event is not a message",
            None,
        )

    def test_of_no_platform(self, client: httpx.Client) -> None:
        response = client.post("/v1/gate", json={"bot": BOT, "event": {"hello": "world"}})
        assert "slack, telegram" in error(response, 422, "unknown-event", "body.event")

    def test_damaged(self, client: httpx.Client) -> None:
        response = client.post("/v1/gate", json={"bot": BOT, "event": {"update_id": 1, "message": 3}})
        assert "not like those of telegram" in error(response, 422, "unknown-event", "body.event")

    @pytest.mark.parametrize("number", range(len(CASES)))
    def test_whatever_is_in_it(self, number: int) -> None:
        """A room, or none."""
        random = Random(number)
        for _ in range(200):
            event = json.loads(json.dumps(CASES[number][0]))
            for _ in range(random.randint(1, 2)):
                holder, key = random.choice(list(places(event)))
                holder[key] = deepcopy(random.choice(VALUES))
            body = json.dumps({"bot": BOT, "event": event}).encode()
            assert isinstance(room_of(body), str | None), body

    @pytest.mark.parametrize("date", [10**12, 10**18, 10**30, -(10**18), 1e300, "soon"])
    def test_a_time_that_there_is_not(self, date: object, client: httpx.Client) -> None:
        said = {"message_id": 7, "date": date, "text": "hi", "chat": {"id": -5, "type": "group"}}
        event = {"update_id": 1, "message": {**said, "from": {"id": 17, "first_name": "Ada"}}}
        response = client.post("/v1/gate", json={"bot": BOT, "event": event})
        assert "not like those of telegram" in error(response, 422, "unknown-event", "body.event")


class TestGuide:
    def test_the_bot_of_the_page(self, client: httpx.Client) -> None:
        """docs/bots/http.md begins with a bot; it answers an event of Slack."""
        page = (Path(__file__).parents[2] / "docs" / "bots" / "http.md").read_text("utf-8")
        match = re.search(r"```python\n(.*?)```", page, re.DOTALL)
        assert match
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        program = match[1].replace("http://127.0.0.1:8080/", str(client.base_url)).replace("8090", str(port))
        assert sum(1 for line in program.splitlines() if line.strip()) <= 20
        event = {**SLACK, "event": {**SLACK["event"], "channel": "C-guide"}}  # type: ignore[dict-item]
        with subprocess.Popen(
            [sys.executable, "-u", "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as bot:
            try:
                transport = httpx.HTTPTransport(retries=8)
                with httpx.Client(transport=transport, timeout=30) as platform:
                    asked = {"type": "url_verification", "challenge": "3eZbrw1aB", "token": "x"}
                    assert platform.post(f"http://127.0.0.1:{port}/", json=asked).text == "3eZbrw1aB"
                    platform.post(f"http://127.0.0.1:{port}/", json=event).raise_for_status()
                assert bot.stdout is not None
                assert bot.stdout.readline().startswith("answer U2147483697 in C-guide because ")
            finally:
                bot.terminate()
