"""Servers that share a database, killed one after the other while people speak; what has to be there then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from threading import Event, Lock

import httpx

from tests.serve.conftest import JSON, Server, answer, message, same, wait_for
from tests.serve.databases import Postgres
from tests.serve.test_events import following

_PATIENCE = 60.0
_QUESTIONS = (
    "is it up again?",
    "since when?",
    "no idea",
    "which one do you mean?",
    "try it with the other",
    "thanks",
)
"""What people say, besides a number."""


class Fleet:
    """Servers over one database, some of which are killed.

    Args:
        folder: For their logs.
        database: Which they share.
        count: How many there are.
        flags: Of each.
    """

    def __init__(self, folder: Path, database: str, count: int, *flags: str) -> None:
        self._folder = folder
        self._database = database
        self._flags = flags
        self._lock = Lock()
        self._begun = 0
        self.kills = 0
        self._pool = ThreadPoolExecutor(count)
        self.servers = list(self._pool.map(lambda _: self._start(), range(count)))
        self._starting: list[Future[None]] = []

    def addresses(self) -> list[str]:
        """Where they are; a load balancer would know no more."""
        with self._lock:
            return [each.address for each in self.servers]

    def kill(self) -> None:
        """Kill the one that is there for longest, with its workers; another begins to start in its place.

        One is always left.
        """
        wait_for(lambda: len(self.addresses()) > 1, _PATIENCE)
        with self._lock:
            victim = self.servers.pop(0)
        victim.kill()
        self.kills += 1
        self._starting.append(self._pool.submit(self._join))

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Stop all; each stops as it should, or is killed if something else went wrong."""
        self._pool.shutdown()
        for server in self.servers:
            if kind is None:
                assert server.stop() == 0
            server.end()

    def settle(self) -> None:
        """Wait until all are there again."""
        for each in self._starting:
            each.result()

    def _join(self) -> None:
        anew = self._start()
        with self._lock:
            self.servers.append(anew)

    def _start(self) -> Server:
        with self._lock:
            self._begun += 1
            folder = self._folder / f"server{self._begun}"
        environment = {"TOWHOM_SERVE_DATABASE": self._database}
        return Server(folder, "--rate", "0", "--question-workers", "1", *self._flags, **environment)


class Chaos:
    """People in rooms, each of whom says one thing after the other, to any of the servers.

    In every room, one has keys and sends again what was not acknowledged; one has none, and goes on.

    Args:
        fleet: The servers.
        rooms: How many.
        clients: How many speak at the same time.
        pause: Seconds between what a client says.
        seed: Of what is chosen.
    """

    def __init__(self, fleet: Fleet, *, rooms: int, clients: int, pause: float, seed: int) -> None:
        self._fleet = fleet
        self._rooms = [f"/v1/channels/room{number}" for number in range(rooms)]
        self._clients = clients
        self._pause = pause
        self._seed = seed
        self.acknowledged: dict[tuple[str, str], list[str]] = {
            (room, person): [] for room in self._rooms for person in ("keyed", "keyless")
        }
        self.sent = dict.fromkeys(self.acknowledged, 0)
        self.again = 0
        """Requests that were sent again."""
        self.followed: dict[str, list[tuple[int, JSON]]] = {}
        self.resumed = 0
        """How often a follower went to another server."""
        self.longest = 0.0
        """Seconds that the slowest answer took, with all that was sent again for it."""

    @property
    def count(self) -> int:
        """How many messages were acknowledged."""
        return sum(map(len, self.acknowledged.values()))

    @contextmanager
    def under_way(self, followers: int) -> Iterator[None]:
        """All speak, and some follow, until the end of the block; followers until they have everything."""
        done, all_said = Event(), Event()
        with ThreadPoolExecutor(self._clients + followers) as pool:
            speaking = [pool.submit(self._speak, number, done) for number in range(self._clients)]
            watching = [pool.submit(self._follow, room, all_said) for room in self._rooms[:followers]]
            try:
                yield
            finally:
                done.set()
                for each in speaking:
                    each.result()
                all_said.set()
                for other in watching:
                    other.result()

    def check(self, compared: int) -> None:
        """What was acknowledged is there once, in order; answers are those of one server without any trouble.

        Args:
            compared: In how many rooms answers are compared: the whole room is asked again.
        """
        address = self._fleet.addresses()[0]
        with httpx.Client(base_url=address, timeout=_PATIENCE) as client:
            for number, room in enumerate(self._rooms):
                kept = self._kept(client, room)
                assert [each["number"] for each in kept] == list(range(len(kept)))
                texts = [each["message"]["text"] for each in kept]
                assert len(set(texts)) == len(texts), "something is there twice"
                for person in ("keyed", "keyless"):
                    own = [text for text in texts if text.startswith(f"{person} ")]
                    acknowledged = self.acknowledged[room, person]
                    if person == "keyed":
                        assert own == acknowledged
                    else:
                        assert [text for text in own if text in set(acknowledged)] == acknowledged
                        assert len(own) <= self.sent[room, person]
                if room in self.followed:
                    assert self.followed[room] == [(each["number"], each) for each in kept]
                if kept and number < compared:
                    asked = [message(each["message"]["speaker"], each["message"]["text"]) for each in kept]
                    whole = answer(client.post("/v1/addressees", json={"messages": asked}))
                    assert same(kept, whole["observations"])

    def _kept(self, client: httpx.Client, room: str) -> list[JSON]:
        kept: list[JSON] = []
        after: int | None = -1
        while after is not None:
            found = client.get(f"{room}/messages", params={"after": after, "limit": 1000})
            if found.status_code == 404:  # nobody came to speak in it
                return []
            page = answer(found)
            kept += page["observations"]
            after = page["next"]
        return kept

    def _speak(self, number: int, done: Event) -> None:
        random = Random(f"{self._seed} {number}")
        own = [key for place, key in enumerate(self.acknowledged) if place % self._clients == number]
        with httpx.Client(timeout=_PATIENCE) as client:
            while not done.is_set():
                room, person = random.choice(own)
                self._say(client, room, person, random)
                done.wait(self._pause)

    def _say(self, client: httpx.Client, room: str, person: str, random: Random) -> None:
        turn = self.sent[room, person]
        self.sent[room, person] += 1
        text = f"{person} {turn}: {random.choice(_QUESTIONS)}"
        headers = {"Idempotency-Key": f"{room} {turn}"} if person == "keyed" else {}
        began = time.monotonic()
        while True:
            with suppress(httpx.TransportError):
                url = f"{random.choice(self._fleet.addresses())}{room}/messages"
                response = client.post(url, json={"message": message(person, text)}, headers=headers)
                if response.status_code == 201:
                    assert [each["message"]["text"] for each in response.json()["observations"]] == [text]
                    self.acknowledged[room, person].append(text)
                    self.longest = max(self.longest, time.monotonic() - began)
                    return
                assert response.status_code == 503, response.text
            if person == "keyless":
                return
            assert time.monotonic() - began < _PATIENCE, "nobody answers any more"
            self.again += 1
            time.sleep(0.1)

    def _follow(self, room: str, all_said: Event) -> None:
        random = Random(f"{self._seed} {room}")
        found = self.followed.setdefault(room, [])
        while True:
            with suppress(httpx.HTTPError, AssertionError):
                address = random.choice(self._fleet.addresses())
                with httpx.Client(base_url=address, timeout=1) as client:
                    after = {"Last-Event-ID": str(found[-1][0])} if found else {}
                    with following(client, room, headers=after) as events:
                        for event in events:
                            found.append(event)
            self.resumed += 1
            with suppress(httpx.HTTPError), httpx.Client(base_url=address, timeout=_PATIENCE) as client:
                if all_said.is_set() and len(found) >= len(self._kept(client, room)):
                    return
            time.sleep(0.05)


def attacked(
    chaos: Chaos, fleet: Fleet, postgres: Postgres, *, seconds: float, every: float, followers: int
) -> None:
    """Let people speak for a while; kill a server now and then, and restart the database once, half-way."""
    with chaos.under_way(followers):
        began = time.monotonic()
        restarted = False
        while time.monotonic() - began < seconds:
            time.sleep(every)
            if not restarted and time.monotonic() - began > seconds / 2:
                restarted = True
                postgres.restart()
            else:
                fleet.kill()
        assert restarted
        fleet.settle()
