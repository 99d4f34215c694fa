"""Somebody is deleted, and messages that are too old: what is left, and that channels go on."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.serve.conftest import (
    CHAT,
    Server,
    Start,
    answer,
    counted,
    error,
    message,
    said,
    same,
    texts,
    wait_for,
)
from tests.serve.test_events import following, numbers
from towhom.errors import ConfigError
from towhom.serve.settings import load_settings

ROOM = "/v1/channels/room"
SECRET = "the tower of amber"
PEOPLE = [
    {"id": "U7", "name": "Noor Amberg", "aliases": ["noora"], "bot": False},
    {"id": "B1", "name": "Robo", "aliases": [], "bot": True},
]
TALK = [
    message("U7", f"{SECRET} has no wifi since the upgrade", name="Noor Amberg", id=1),
    message("U8", "which card is it?", name="Wren", id=2, reply_to=1),
    message("U7", f"a broadcom, in {SECRET}", name="Noor Amberg", id=3),
    message("U8", "try the other driver", name="Wren", addressee="U7", mentions=["U7", "B1"], id=4),
    message("U9", f"{SECRET}, corrected by a moderator", kind="edit", id=3),
    message("U8", "Noor Amberg: did it help?", name="Wren"),
]


@pytest.fixture(params=["sqlite", "postgres"])
def either(request: pytest.FixtureRequest, start: Start) -> Server:
    if request.param == "sqlite":
        return start()
    return start("--lease", "1", TOWHOM_SERVE_DATABASE=request.getfixturevalue("database"))


class TestPerson:
    def test_nothing_of_theirs_is_left(self, either: Server) -> None:
        client = either.client
        for room in (ROOM, f"{ROOM}2"):
            answer(client.put(f"{room}/people", json={"people": PEOPLE}), 201)
            said(client, room, TALK, **{"Idempotency-Key": "k"})
        said(client, f"{ROOM}3", CHAT)
        before = answer(client.get(f"{ROOM}/messages"))["observations"]
        assert "Noor" in json.dumps(before[3]["addressees"])
        assert answer(client.delete("/v1/people/U7")) == {"channels": 2, "messages": 6}
        for room in (ROOM, f"{ROOM}2"):
            after = answer(client.get(f"{room}/messages"))["observations"]
            assert [each["number"] for each in after] == list(range(6))
            left = json.dumps(after)
            assert SECRET not in left
            assert "U7" not in left
            # What others wrote is theirs.
            assert left.count("Noor") == json.dumps([each["message"]["text"] for each in after]).count("Noor")
            assert [each["message"]["kind"] for each in after] == [
                "system", "message", "system", "message", "system", "message"
            ]  # fmt: skip
            assert [each["thread"] for each in after] == [each["thread"] for each in before]
            assert answer(client.get(f"{room}/people"))["people"] == PEOPLE[1:]
            # The same request again is not said again, though nobody knows any more what it was.
            assert said(client, room, TALK, **{"Idempotency-Key": "k"}) == after
            # And whoever follows, or goes on, meets them no more.
            new = said(client, room, [message("U8", "is anybody there?", name="Wren")])
            assert new[0]["number"] == 6
            assert not {"U7", "deleted"} & {each["id"] for each in new[0]["addressees"]}
            chosen = client.post(f"{room}/select", json={"responder": "U8", "candidates": ["yes"]})
            assert "Noor" not in chosen.text
            assert "deleted" not in chosen.text
        assert len(texts(client, f"{ROOM}3")) == 6
        assert answer(client.delete("/v1/people/U7")) == {"channels": 0, "messages": 0}

    def test_in_one_channel(self, either: Server) -> None:
        for room in (ROOM, f"{ROOM}2"):
            said(either.client, room, CHAT)
        assert answer(either.client.delete(f"{ROOM}/people/noor")) == {"channels": 1, "messages": 2}
        assert len([text for text in texts(either.client, ROOM) if text]) == 4
        assert len([text for text in texts(either.client, f"{ROOM}2") if text]) == 6
        missing = either.client.delete("/v1/channels/nowhere/people/noor")
        error(missing, 404, "no-such-channel", "path.id")

    @pytest.mark.parametrize("person", ["a/b c", 'say "x"', "Zoë\\", "%2F", "../x", "?q#f", "17"])
    def test_any_identifier(self, person: str, client: httpx.Client, channel: str) -> None:
        said(client, channel, [message(person, SECRET), message("bob", "hello")])
        found = answer(client.delete(f"/v1/people/{quote(person, safe='')}"))
        assert (found["channels"], found["messages"]) == (1, 1)
        assert SECRET not in client.get(f"{channel}/messages").text

    def test_names_alike_are_left_alone(self, client: httpx.Client, channel: str) -> None:
        said(client, channel, [message("anna-9", "one"), message("anna-99", "two"), message("ann", "three")])
        answer(client.delete("/v1/people/anna-9"))
        assert texts(client, channel) == ["", "two", "three"]

    def test_not_on_disk(self, start: Start, tmp_path: Path) -> None:
        """Not in the file, not in what SQLite writes beside it."""
        server = start()
        said(server.client, ROOM, TALK * 20)
        answer(server.client.delete("/v1/people/U7"))
        folder = tmp_path / "server" / "data"
        assert not [path.name for path in folder.iterdir() if SECRET.encode() in path.read_bytes()]
        server.stop()
        assert not [path.name for path in folder.iterdir() if SECRET.encode() in path.read_bytes()]

    def test_whichever_server_is_asked(self, start: Start, database: str) -> None:
        """Each channel is the business of its owner, who has it in memory."""
        servers = [start("--lease", "1", folder=name, TOWHOM_SERVE_DATABASE=database) for name in ("a", "b")]
        for number in range(6):
            said(servers[number % 2].client, f"{ROOM}{number}", TALK)
        assert answer(servers[0].client.delete("/v1/people/U7")) == {"channels": 6, "messages": 18}
        for number in range(6):
            assert SECRET not in servers[1].client.get(f"{ROOM}{number}/messages").text
            assert said(servers[1].client, f"{ROOM}{number}", CHAT[:1])[0]["number"] == 6

    def test_while_they_speak(self, either: Server) -> None:
        """What was said before is gone; what comes later is new."""
        client = either.client
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(said, client, f"{ROOM}{number % 2}", TALK[:1]) for number in range(10)]
            gone = pool.submit(client.delete, "/v1/people/U7")
            for job in jobs:
                job.result()
            answer(gone.result())
        answer(client.delete("/v1/people/U7"))
        assert SECRET not in client.get(f"{ROOM}0/messages").text + client.get(f"{ROOM}1/messages").text


class TestRetention:
    @pytest.fixture(params=["sqlite", "postgres"])
    def brief(self, request: pytest.FixtureRequest, start: Start) -> Server:
        """A server that keeps messages for three seconds."""
        rest = {}
        if request.param == "postgres":
            rest = {"TOWHOM_SERVE_DATABASE": request.getfixturevalue("database")}
        return start("--keep", "3s", "--lease", "1", **rest)

    def test_old_messages_go_and_rooms_go_on(self, brief: Server) -> None:
        client = brief.client
        said(client, ROOM, CHAT[:4])
        said(client, f"{ROOM}2", CHAT[:1])
        with following(client, ROOM, after=3) as events:
            end = time.monotonic() + 4  # longer than they are kept: what is said now is younger
            while time.monotonic() < end:
                time.sleep(0.5)
            late = said(client, ROOM, CHAT[4:], **{"Idempotency-Key": "k"})
            assert [each["number"] for each in late] == [4, 5]
            assert numbers(events, 2) == [4, 5]

        def first() -> list[tuple[int, int]]:
            found = answer(client.get("/v1/channels"))["channels"]
            return [(each["first"], each["messages"]) for each in found]

        wait_for(lambda: first()[0][0] >= 4)
        wait_for(lambda: first()[1] == (1, 0))
        wait_for(lambda: first() == [(6, 0), (1, 0)])
        assert answer(client.get(f"{ROOM}/messages")) == {"observations": [], "next": None}
        assert said(client, f"{ROOM}2", CHAT)[0]["number"] == 1
        assert said(client, ROOM, CHAT[:1])[0]["number"] == 6
        page = answer(client.get(f"{ROOM}2/messages", params={"limit": 2}))
        if page["observations"]:  # unless they are gone already
            assert page["observations"][0]["number"] >= 1

    def test_nothing_of_them_is_remembered(self, start: Start) -> None:
        """Answers are those of a room in which only what is left was said."""
        server = start("--keep", "3s")
        said(server.client, ROOM, [message("noor", f"wren: {SECRET}?"), message("wren", "noor: yes")])
        wait_for(lambda: counted(server.client, "towhom_changes_total") >= 2, 20)
        last = [message("tobias", "and now?")]
        ours = said(server.client, ROOM, last)[0]
        fresh = answer(server.client.post("/v1/addressees", json={"messages": last}))["observations"][0]
        assert same(ours["addressees"], fresh["addressees"])
        assert ours["number"] == 2

    def test_what_keep_may_be(self) -> None:
        kept = [
            load_settings({"keep": text}, {}).keep_seconds for text in ("30d", "12h", "45m", "90s", "1.5d")
        ]
        assert kept == [2592000, 43200, 2700, 90, 129600]
        for text in ("30", "d", "-1d", "0d", "1w", "nan d", ""):
            with pytest.raises(ConfigError, match="--keep: keep must be a number and s, m, h or d, like 30d"):
                load_settings({"keep": text}, {})
