"""The checks that every request passes (origin, rate and size), and its line in the log."""

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
"""Header in which servers send each other their shared secret."""
PEER = "towhom.peer"
"""Key of a scope: whether the request comes from such a server."""
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_WRONG = 10.0
"""Requests per second without a valid token, for each address; bursts may be twice that."""
_CLOSE = {"Connection": "close"}
_LOGS = "/v1/logs"
_JSON = ("application/json",)
_FILES = ("application/octet-stream", "application/zip", "application/gzip", "application/json")
"""Content types of logs. None is a type that a foreign web page can send without a CORS preflight."""
_PACE = 50_000
"""Bytes per second; a log that arrives at least this fast may take longer than other bodies."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Gate:
    """Middleware around the application that admits, refuses and logs requests.

    Args:
        app: The application.
        settings: Settings with the limits.
        tokens: The tokens that the server accepts; empty if only this machine can reach it.
        metrics: Counts the requests.
        secret: The secret that servers sharing the database send; None if there are no other servers.
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
        """Answer a request; no exception gets out, whatever happens inside."""
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
            # Methods and paths that clients make up are neither logged nor counted.
            method = scope["method"] if scope["method"] in _METHODS else "-"
            route = getattr(scope.get("route"), "path", "-")
            self._metrics.answered(method, route, status, seconds)
            line = (method, route, status, seconds * 1000, request_id)
            log.info("%s %s %d %.1f ms %s", *line, extra={"few": status >= 400})

    async def _admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or raise a problem."""
        path, headers = scope["path"], Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy may disagree with this server about where such a request ends.
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
        if not scope[PEER]:  # the server that passed it on has counted it
            self._rate.take(self._bearer(headers, _address(scope)) or _address(scope))
        body = _Body(receive, self._settings, headers, log=path == _LOGS)
        if path.endswith("/events"):  # streams have a limit of their own
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
        """Without a token, answer only requests that are addressed to this machine.

        A foreign web page can let its own host name point here (DNS rebinding), and would get in otherwise.
        """
        host = headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if not self._tokens and name.lower() not in (*_LOCAL, self._settings.host):
            sentence = "Without a token, the server answers only to localhost; behind a proxy, give it one."
            raise Problem(421, "wrong-host", sentence, "header.Host")

    def _bearer(self, headers: Headers, address: str) -> str:
        """The token of a request; empty where none is needed.

        Wrong tokens are limited for each address. A right one is always accepted: behind a proxy, those who
        guess and those who know the token have the same address.
        """
        if not self._tokens:
            return ""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        sent = token.strip().encode()
        # Compares with every token, so that the time taken reveals nothing.
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
    """A body with limits on its size and on the time that it takes to arrive.

    Raises:
        Problem: The headers announce a body that is too large, or of the wrong type.
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
            # After the whole body, the only message that can come is the end of the connection.
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
