"""People who all speak at once while a server is attacked, and what has to be there afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import httpx

from tests.serve.conftest import Server, error, message, texts


class Load:
    """Some people in some channels. Each says one thing after the other, with a key.

    Args:
        name: What the names of the channels begin with.
        places: How many channels.
        people: How many people in each.
    """

    def __init__(self, name: str = "room", *, places: int = 5, people: int = 2) -> None:
        self.name = name
        self.places = places
        self.people = people
        self.acknowledged = {
            (place, person): list[str]() for place in range(places) for person in range(people)
        }

    @property
    def begun(self) -> bool:
        """Whether everybody was heard, and some more was said."""
        counts = [len(each) for each in self.acknowledged.values()]
        return min(counts) > 0 and sum(counts) > 20 * len(counts)

    @property
    def count(self) -> int:
        """How many messages were acknowledged."""
        return sum(len(each) for each in self.acknowledged.values())

    @contextmanager
    def on(self, server: Server) -> Iterator[None]:
        """All speak, until the end of the block or of the server; what it asks for again is sent again."""
        done = Event()
        with ThreadPoolExecutor(len(self.acknowledged)) as pool:
            running = [pool.submit(self._speak, server, *key, done) for key in self.acknowledged]
            try:
                yield
            finally:
                done.set()
                for each in running:
                    each.result()

    def check(self, server: Server) -> None:
        """All that was acknowledged is there once, in order; what is sent again is not there twice."""
        for place in range(self.places):
            kept = texts(server.client, self._channel(place))
            expected = 0
            for person in range(self.people):
                own = [text for text in kept if text.startswith(f"{person} ")]
                acknowledged = self.acknowledged[place, person]
                # What was saved, but not acknowledged any more, may be there, too: one at most.
                assert own[: len(acknowledged)] == acknowledged
                assert len(own) - len(acknowledged) in (0, 1)
                for turn in (len(acknowledged) - 1, len(acknowledged)):
                    assert self._say(server.client, place, person, turn).status_code == 201
                expected += len(acknowledged) + 1
            kept = texts(server.client, self._channel(place))
            assert len(set(kept)) == len(kept) == expected

    def _speak(self, server: Server, place: int, person: int, done: Event) -> None:
        own = self.acknowledged[place, person]
        with httpx.Client(base_url=server.client.base_url, timeout=30) as client:
            while not done.is_set():
                try:
                    response = self._say(client, place, person, len(own))
                except httpx.TransportError:
                    return  # it is no more
                if response.status_code == 201:
                    own.append(_text(person, len(own)))
                else:
                    error(response, 503, "worker-lost")

    def _say(self, client: httpx.Client, place: int, person: int, turn: int) -> httpx.Response:
        said = {"message": message(f"p{person}", _text(person, turn))}
        key = {"Idempotency-Key": f"{person}-{turn}"}
        return client.post(f"{self._channel(place)}/messages", json=said, headers=key)

    def _channel(self, place: int) -> str:
        return f"/v1/channels/{self.name}{place}"


def _text(person: int, turn: int) -> str:
    return f"{person} says {turn}"
