"""Following a channel."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import httpx

from tests.serve.conftest import CHAT, JSON, Start, answer, error, said, talk

ROOM = "/v1/channels/room"


@contextmanager
def following(
    client: httpx.Client,
    channel: str,
    headers: dict[str, str] | None = None,
    *,
    quiet: bool = True,
    **params: Any,
) -> Iterator[Iterator[tuple[int, JSON]]]:
    """The events of a channel: number and observation. If it may not be `quiet`, no comment comes first."""
    with client.stream("GET", f"{channel}/events", params=params, headers=headers) as response:
        assert response.status_code == 200
        assert response.headers["Content-Type"].startswith("text/event-stream")
        yield _events(response.iter_lines(), quiet)


def _events(lines: Iterator[str], quiet: bool) -> Iterator[tuple[int, JSON]]:
    event: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            assert quiet, "nobody was told; the server looked by itself"
            continue
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        elif event:
            assert event["event"] == "message"
            yield int(event["id"]), json.loads(event["data"])
            event = {}


def numbers(events: Iterator[tuple[int, JSON]], count: int) -> list[int]:
    found = []
    for number, observation in events:
        assert observation["number"] == number
        found.append(number)
        if len(found) == count:
            break
    return found


class TestFollowing:
    def test_what_was_and_what_comes(self, client: httpx.Client, channel: str) -> None:
        before = said(client, channel, CHAT[:3])
        with following(client, channel) as events:
            assert [next(events)[1] for _ in range(3)] == before
            for each in CHAT[3:]:
                assert said(client, channel, [each])[0] == next(events)[1]

    def test_proxies_are_told_to_pass_it_on(self, client: httpx.Client, channel: str) -> None:
        said(client, channel, CHAT[:1])
        with client.stream("GET", f"{channel}/events") as response:
            assert response.headers["X-Accel-Buffering"] == "no"
            assert response.headers["Cache-Control"] == "no-store"

    def test_resumes(self, client: httpx.Client, channel: str) -> None:
        said(client, channel, CHAT)
        with following(client, channel, after=2) as events:
            assert numbers(events, 3) == [3, 4, 5]
        with following(client, channel, headers={"Last-Event-ID": "4"}, after=0) as events:
            assert numbers(events, 1) == [5]
            said(client, channel, CHAT[:1])
            assert numbers(events, 1) == [6]

    def test_several_followers(self, client: httpx.Client, channel: str) -> None:
        said(client, channel, CHAT[:1])
        with following(client, channel) as one, following(client, channel, after=0) as other:
            said(client, channel, CHAT[1:3])
            assert (numbers(one, 3), numbers(other, 2)) == ([0, 1, 2], [1, 2])

    def test_another_history_begins_at_0_again(self, client: httpx.Client, channel: str) -> None:
        said(client, channel, CHAT)
        with following(client, channel) as events:
            assert numbers(events, 6) == [0, 1, 2, 3, 4, 5]
            client.put(f"{channel}/messages", json={"messages": CHAT[:2]})
            assert numbers(events, 2) == [0, 1]
            client.delete(channel)
            said(client, channel, talk("ada> anew"))
            number, observation = next(events)
            assert (number, observation["message"]["text"]) == (0, "anew")
        with following(client, channel, after=5) as events:  # a number of the history that is no more
            assert numbers(events, 1) == [0]

    def test_a_long_history(self, client: httpx.Client, channel: str) -> None:
        messages = talk(*(f"ada> {number}" for number in range(700)))
        answer(client.put(f"{channel}/messages", json={"messages": messages}), 201)
        with following(client, channel) as events:
            assert numbers(events, 700) == list(range(700))


class TestEnd:
    def test_a_server_that_stops_ends_streams(self, start: Start) -> None:
        server = start()
        said(server.client, ROOM, CHAT)
        seen: list[int] = []
        with following(server.client, ROOM) as events:
            seen += numbers(events, 6)
            stopping = Thread(target=server.process.terminate)
            stopping.start()
            assert list(events) == []
            stopping.join()
        assert server.stop() == 0

    def test_only_so_many(self, start: Start) -> None:
        server = start("--max-streams", "1")
        said(server.client, ROOM, CHAT)
        with following(server.client, ROOM) as events:
            assert numbers(events, 1) == [0]
            response = server.client.get(f"{ROOM}/events")
            error(response, 503, "too-many-streams")
            assert response.headers["Retry-After"] == "30"
