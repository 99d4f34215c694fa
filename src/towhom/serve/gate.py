"""What every request passes: who it is from, how many come, how large it is; and what is logged of it."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from hmac import compare_digest
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from towhom.serve.failures import described
from towhom.serve.metrics import Metrics
from towhom.serve.problems import Problem, internal
from towhom.serve.rate import RateLimit
from towhom.serve.settings import Settings

log = logging.getLogger("towhom.serve")

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_WRONG = 10.0
"""Requests a second without a token that is known, for each address; twice that at once."""
_CLOSE = {"Connection": "close"}
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
    """

    def __init__(self, app: ASGIApp, settings: Settings, tokens: Sequence[str], metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._tokens = [token.encode() for token in tokens]
        self._metrics = metrics
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
                    await _stopped().response()(scope, receive, answer)
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
        self._check_host(headers)
        if not path.startswith("/v1/"):
            if path == "/metrics" and not self._settings.loopback:
                self._bearer(headers, _address(scope))
            await self._app(scope, receive, send)
            return
        self._rate.take(self._bearer(headers, _address(scope)) or _address(scope))
        body = _Body(receive, self._settings, headers)
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


def _stopped() -> Problem:
    return Problem(503, "stopping", "The server stops, and did not finish this; send it again later.")


def _address(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


class _Body:
    """A body that is read as long as it is not too large, and does not take too long.

    Raises:
        Problem: It says that it is too large.
    """

    def __init__(self, receive: Receive, settings: Settings, headers: Headers) -> None:
        self._receive = receive
        self._most = settings.max_body
        self._seconds = settings.receive
        self._end: float | None = asyncio.get_running_loop().time() + settings.receive
        self._read = 0
        length = headers.get("content-length", "")
        if length.isdigit():
            self._check(int(length))
        has_body = length not in ("", "0") or "transfer-encoding" in headers
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if has_body and kind != "application/json":
            # Which a web page elsewhere cannot send without asking first.
            sentence = "The body must be JSON; send the header Content-Type: application/json."
            raise Problem(415, "not-json", sentence, "header.Content-Type")

    async def __call__(self) -> Message:
        try:
            async with asyncio.timeout_at(self._end):
                message = await self._receive()
        except TimeoutError as error:
            sentence = (
                f"The body took longer than {self._seconds:g} seconds to arrive; send it faster, or less."
            )
            raise Problem(408, "body-too-slow", sentence, "body", _CLOSE) from error
        if not message.get("more_body", False):  # what comes then, if anything, is the end of the connection
            self._end = None
        self._read += len(message.get("body", b""))
        self._check(self._read)
        return message

    def _check(self, size: int) -> None:
        if size > self._most:
            sentence = f"The body has more than {self._most} bytes; send less at once."
            raise Problem(413, "body-too-large", sentence, "body")
