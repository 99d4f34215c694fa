"""Forwards requests for channels that another server owns, and passes its answers on."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from time import monotonic
from typing import TypeVar

import httpx
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from towhom.serve.bots import room_of
from towhom.serve.failures import described
from towhom.serve.gate import PEER, PEER_HEADER
from towhom.serve.journal import MOVED, Journal, MovedProblem
from towhom.serve.metrics import Metrics
from towhom.serve.postgres import PostgresStorage
from towhom.serve.problems import Problem
from towhom.serve.schemas import CHANNEL
from towhom.serve.settings import Settings

log = logging.getLogger("towhom.serve")
Found = TypeVar("Found")

_GATE = "/v1/gate"
"""Path of requests that name the channel in the body."""
_CHANNEL = re.compile(r"/v1/channels/([^/]+)(/.*)?")
_OWNERS = ("POST", "PUT", "PATCH", "DELETE")
"""Methods that only the owner of a channel can answer; any server can read."""
_PAUSES = (0.05, 0.1, 0.2, 0.4)
"""Seconds before the owner of a channel is looked for again."""
_KNOWN = 100_000
"""Number of owners that are cached, so that the database need not be asked each time."""
_CONNECTING = 2.0
_KEY = "Idempotency-Key"
_PASSED = ("content-type", "retry-after", "www-authenticate", "allow", "location")


class Peers:
    """The servers that share the database, seen from one of them.

    Args:
        journal: Claims channels and looks up their owners.
        storage: The shared storage, which also knows whether an owner lives.
        settings: Settings of this server.
        metrics: Counts the requests passed on.
    """

    def __init__(
        self, journal: Journal, storage: PostgresStorage, settings: Settings, metrics: Metrics
    ) -> None:
        self._journal = journal
        self._storage = storage
        self._lease = settings.lease
        self._patience = 2 * settings.lease + 10
        self._metrics = metrics
        self.secret = storage.secret()
        self._owners = OrderedDict[str, str]()
        self._given_up: set[str] = set()
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(settings.deadline + settings.receive + 10, connect=_CONNECTING),
            limits=httpx.Limits(max_connections=settings.max_waiting, max_keepalive_connections=100),
            trust_env=False,
            follow_redirects=False,
        )

    def give_up(self, channel: str) -> None:
        """Note that this server has given up a channel."""
        self._given_up.add(channel)

    def gave_up(self, channel: str) -> bool:
        """Whether a channel was given up since the last call: then another server should take it."""
        found = channel in self._given_up
        self._given_up.discard(channel)
        return found

    async def owner(self, channel: str) -> str | None:
        """The address of the server that owns a channel; None if this server does, or now takes it.

        Raises:
            Problem: The owner cannot be determined.
        """
        if self._storage.claimed(channel) is not None:
            return None
        address = self._owners.get(channel)
        if address is None:
            address = (await self._journal.claim(channel)).address
        if address is not None:
            self._owners[channel] = address
            self._owners.move_to_end(channel)
            if len(self._owners) > _KNOWN:
                self._owners.popitem(last=False)
        return address

    async def by_owner(
        self,
        channel: str,
        here: Callable[[], Awaitable[Found | None]],
        there: Callable[[str], Awaitable[Found | None]],
    ) -> Found:
        """The answer of a channel's owner, whichever server it is; waits for a new owner if need be.

        Args:
            channel: Name of the channel.
            here: Answers if this server is the owner; returns None if it no longer is.
            there: Asks the server at an address; returns None if it does not answer, or is not the owner.

        Raises:
            Problem: No owner answered in time.
        """
        end = monotonic() + self._patience
        for attempt in count():
            with suppress(MovedProblem):
                address = await self._found(channel)
                found = await (here() if address is None else there(address))
                if found is not None:
                    return found
            self._owners.pop(channel, None)
            if monotonic() > end:
                break
            await asyncio.sleep(_PAUSES[min(attempt, len(_PAUSES) - 1)])
        sentence = "The server that has this channel does not answer, and no other may yet; send it again."
        raise Problem(503, "owner-away", sentence, headers={"Retry-After": "1"})

    async def ask(
        self, address: str, channel: str, method: str, target: str, body: bytes, headers: dict[str, str]
    ) -> Response | None:
        """The answer of the server that owns a channel; None if it does not answer, or is not the owner.

        Args:
            address: Address of the server.
            channel: Name of the channel.
            method: HTTP method.
            target: The encoded path, with its query.
            body: Body of the request.
            headers: Headers of the request.
        """
        asking = asyncio.create_task(
            self._client.request(
                method, f"{address}{target}", content=body, headers={**headers, PEER_HEADER: self.secret}
            )
        )
        try:
            while not asking.done():
                await asyncio.wait({asking}, timeout=self._lease / 2)
                if not asking.done() and not await self._lives(channel, address):
                    return None
            found = asking.result()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            log.warning("another server does not answer: %s", described(error))
            return None
        finally:
            asking.cancel()
        self._metrics.passed_on.inc()
        if MOVED in found.headers or (found.status_code == 503 and _code(found) == "stopping"):
            return None
        passed = {name: found.headers[name] for name in _PASSED if name in found.headers}
        return Response(found.content, found.status_code, passed)

    async def _found(self, channel: str) -> str | None:
        """The owner; raises `MovedProblem` if it cannot be determined now."""
        try:
            return await self.owner(channel)
        except Problem as problem:
            raise MovedProblem from problem

    async def _lives(self, channel: str, address: str) -> bool:
        try:
            return await self._journal.read(self._storage.lives, channel, address)
        except Problem:
            return True  # the database is away, so no server can take its place either


class PassOn:
    """Middleware inside the gate that sends requests for a channel to its owner.

    Args:
        app: The application, which answers for channels of this server.
        peers: The other servers.
    """

    def __init__(self, app: ASGIApp, peers: Peers) -> None:
        self._app = app
        self._peers = peers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let the owner of its channel answer it."""
        gate = scope["type"] == "http" and (scope["method"], scope["path"]) == ("POST", _GATE)
        channel = _owned(scope)
        if channel is None and not gate:
            await self._app(scope, receive, send)
            return
        body = await _whole(receive)
        channel = room_of(body) if channel is None else channel
        if channel is None:  # the application answers what is wrong
            await (await _answered(self._app, scope, body))(scope, receive, send)
            return

        async def here() -> Response | None:
            answer = await _answered(self._app, scope, body)
            return None if MOVED in answer.headers else answer

        async def there(address: str) -> Response | None:
            return await self._peers.ask(
                address, channel, scope["method"], _target(scope), body, _passed_headers(scope)
            )

        if not scope[PEER]:
            answer = await self._peers.by_owner(channel, here, there)
        elif not self._peers.gave_up(channel) and await self._peers.owner(channel) is None:
            answer = await _answered(self._app, scope, body)
        else:  # never passed on twice: the server that sent it looks for the owner again
            raise MovedProblem
        await answer(scope, receive, send)


def _target(scope: Scope) -> str:
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{scope['raw_path'].decode('latin-1')}{'?' if query else ''}{query}"


def _passed_headers(scope: Scope) -> dict[str, str]:
    """The headers to forward. A message without a key gets one, so that it can be sent again."""
    headers = MutableHeaders(scope=scope)
    if scope["method"] == "POST" and scope["path"].endswith("/messages") and _KEY not in headers:
        headers[_KEY] = f"passed-on-{secrets.token_hex(16)}"
    return {name: headers[name] for name in ("content-type", _KEY) if name in headers}


def _owned(scope: Scope) -> str | None:
    """The channel whose owner has to answer a request; None if any server can."""
    if scope["type"] != "http" or scope["method"] not in _OWNERS:
        return None
    found = _CHANNEL.fullmatch(scope["path"])
    if found is None or len(found[1]) > 128 or not re.match(CHANNEL, found[1]):
        return None
    return found[1]


async def _whole(receive: Receive) -> bytes:
    """The whole body of a request; the gate limits its size."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise asyncio.CancelledError
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _answered(app: ASGIApp, scope: Scope, body: bytes) -> Response:
    """The application's answer."""
    given = False
    start: Message = {"status": 500, "headers": []}
    parts = []

    async def receive() -> Message:
        nonlocal given
        if given:  # never report a disconnect to the application
            await asyncio.Event().wait()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start":
            start = message
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    answer = Response(b"".join(parts), start["status"])
    answer.raw_headers = list(start["headers"])
    return answer


def _code(found: httpx.Response) -> str | None:
    try:
        code: str = found.json()["error"]["code"]
    except (ValueError, LookupError, TypeError):
        return None
    return code
