"""What every request passes: who it is from, how many come, how large it is; and what is logged of it."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from hmac import compare_digest
from math import inf
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from towhom.serve.failures import described
from towhom.serve.metrics import Metrics
from towhom.serve.problems import Problem, internal, stopping
from towhom.serve.rate import RateLimit
from towhom.serve.settings import Settings

log = logging.getLogger("towhom.serve")

PEER_HEADER = "X-Towhom-Peer"
"""In which servers show each other their secret."""
PEER = "towhom.peer"
"""Of a scope: whether the request comes from such a server."""
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_WRONG = 10.0
"""Requests a second without a token that is known, for each address; twice that at once."""
_CLOSE = {"Connection": "close"}
_LOGS = "/v1/logs"
_JSON = ("application/json",)
_FILES = ("application/octet-stream", "application/zip", "application/gzip", "application/json")
"""Types of bodies. All are such that a web page elsewhere cannot send them without asking first."""
_PACE = 50_000
"""Bytes a second; a log that comes as fast may take longer than other bodies."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Gate:
    """Around the application.

    Args:
        app: What answers.
        settings: What is allowed.
        tokens: Those that open the server; none if nobody else can reach it.
        metrics: Counts.
        secret: What other servers show that share the database; none if there are no others.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        tokens: Sequence[str],
        metrics: Metrics,
        secret: str | None = None,
    ) -> None:
        self._app = app
        self._settings = settings
        self._tokens = [token.encode() for token in tokens]
        self._metrics = metrics
        self._secret = secret
        self._rate = RateLimit(settings.rate)
        self._wrong = RateLimit(_WRONG)
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; nothing but an answer comes out, whatever happens inside."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, request_id = perf_counter(), secrets.token_hex(8)
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            try:
                await self._admitted(scope, receive, answer)
            except Problem as problem:
                if not status:
                    await problem.response()(scope, receive, answer)
            except asyncio.CancelledError:  # the server stops, and has waited long enough
                if not status:
                    await stopping().response()(scope, receive, answer)
            except Exception as error:
                log.error("%s: %s", request_id, described(error))
                if not status:
                    await internal().response()(scope, receive, answer)
        finally:
            seconds = perf_counter() - start
            # What clients make up is neither logged nor counted.
            method = scope["method"] if scope["method"] in _METHODS else "-"
            route = getattr(scope.get("route"), "path", "-")
            self._metrics.answered(method, route, status, seconds)
            line = (method, route, status, seconds * 1000, request_id)
            log.info("%s %s %d %.1f ms %s", *line, extra={"few": status >= 400})

    async def _admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or raise a problem."""
        path, headers = scope["path"], Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            # Where it ends is a matter of opinion, and a proxy may be of another one.
            sentence = "There is both a Content-Length and a Transfer-Encoding; send one of them."
            raise Problem(400, "bad-request", sentence, "header.Content-Length", _CLOSE)
        scope[PEER] = self._is_peer(headers, _address(scope))
        if not scope[PEER]:
            self._check_host(headers)
        if not path.startswith("/v1/"):
            if path == "/metrics" and not self._settings.loopback:
                self._bearer(headers, _address(scope))
            await self._app(scope, receive, send)
            return
        if not scope[PEER]:  # where it came from, it was counted
            self._rate.take(self._bearer(headers, _address(scope)) or _address(scope))
        body = _Body(receive, self._settings, headers, log=path == _LOGS)
        if path.endswith("/events"):  # which have a limit of their own
            await self._app(scope, body, send)
            return
        if self._waiting >= self._settings.max_waiting:
            sentence = "The server has more to do than it can; try again in a moment."
            raise Problem(503, "overloaded", sentence, headers={"Retry-After": "1"})
        self._waiting += 1
        try:
            await self._app(scope, body, send)
        finally:
            self._waiting -= 1

    def _is_peer(self, headers: Headers, address: str) -> bool:
        """Whether a request comes from a server that shares the database."""
        if PEER_HEADER not in headers:
            return False
        if self._secret is None or not compare_digest(
            headers[PEER_HEADER].encode("latin-1"), self._secret.encode()
        ):
            self._wrong.take(address)
            sentence = "This is not what servers that share a database show each other."
            raise Problem(401, "unauthorized", sentence, f"header.{PEER_HEADER}")
        return True

    def _check_host(self, headers: Headers) -> None:
        """Without a token, answer only those who mean this machine.

        A web page elsewhere can have its own name lead here, and would then be asked no further.
        """
        host = headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if not self._tokens and name.lower() not in (*_LOCAL, self._settings.host):
            sentence = "Without a token, the server answers only to localhost; behind a proxy, give it one."
            raise Problem(421, "wrong-host", sentence, "header.Host")

    def _bearer(self, headers: Headers, address: str) -> str:
        """The token of a request; nothing where none is needed.

        Only so many wrong ones come from an address. A right one is always taken: behind a proxy, all who
        guess and all who know it have the same address.
        """
        if not self._tokens:
            return ""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        sent = token.strip().encode()
        # All of them, so that the time it takes tells nothing.
        known = [compare_digest(sent, each) for each in self._tokens]
        if scheme.lower() != "bearer" or not any(known):
            self._wrong.take(address)
            sentence = "This needs a token; send the header Authorization: Bearer TOKEN."
            asked = {"WWW-Authenticate": "Bearer"}
            raise Problem(401, "unauthorized", sentence, "header.Authorization", asked)
        return token.strip()


def _address(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


class _Body:
    """A body that is read as long as it is not too large, and does not take too long.

    Raises:
        Problem: It says that it is too large, or something else than it should be.
    """

    def __init__(self, receive: Receive, settings: Settings, headers: Headers, *, log: bool) -> None:
        self._receive = receive
        self._most = settings.max_log if log else settings.max_body
        self._seconds = settings.receive
        self._pace = _PACE if log else inf
        self._start = asyncio.get_running_loop().time()
        self._whole = False
        self._read = 0
        length = headers.get("content-length", "")
        if length.isdigit():
            self._check(int(length))
        has_body = length not in ("", "0") or "transfer-encoding" in headers
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if has_body and kind not in (_FILES if log else _JSON):
            sentence = (
                "The body must be the file as it is; send the header Content-Type: application/octet-stream."
                if log
                else "The body must be JSON; send the header Content-Type: application/json."
            )
            raise Problem(415, "not-a-file" if log else "not-json", sentence, "header.Content-Type")

    async def __call__(self) -> Message:
        seconds = self._seconds + self._read / self._pace
        try:
            # What comes after the whole body, if anything, is the end of the connection.
            async with asyncio.timeout_at(None if self._whole else self._start + seconds):
                message = await self._receive()
        except TimeoutError as error:
            sentence = f"The body took longer than {seconds:.3g} seconds to arrive; send it faster, or less."
            raise Problem(408, "body-too-slow", sentence, "body", _CLOSE) from error
        self._whole = not message.get("more_body", False)
        self._read += len(message.get("body", b""))
        self._check(self._read)
        return message

    def _check(self, size: int) -> None:
        if size > self._most:
            sentence = f"The body has more than {self._most} bytes; send less at once."
            raise Problem(413, "body-too-large", sentence, "body")
