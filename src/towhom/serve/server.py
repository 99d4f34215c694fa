"""Runs the server: its socket, its signals, its log."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from threading import Timer
from time import monotonic
from typing import Any

import click
import uvicorn

from towhom.errors import ConfigError
from towhom.extras import require
from towhom.serve.app import create_app
from towhom.serve.banks import check_bank
from towhom.serve.connections import limited, possible
from towhom.serve.failures import described
from towhom.serve.service import Service
from towhom.serve.settings import Settings
from towhom.serve.sparing import Sparing
from towhom.serve.sqlite import SqliteStorage
from towhom.serve.storage import Storage
from towhom.serve.storages import open_storage

log = logging.getLogger("towhom.serve")

_PUTTING_AWAY = 5.0
"""Seconds for saving state after the last request, however long the requests took."""


def run(settings: Settings) -> None:
    """Serve until a signal says to stop; then finish the requests that were accepted.

    Raises:
        ConfigError: A token is missing, or the address or the folder is in use.
        RefusedError: The model cannot be served.
    """
    tokens = settings.tokens()
    if settings.bank is not None:
        check_bank(settings.bank, settings.model)
    _log_to_stderr()
    with _bound(settings.host, settings.port) as listener:
        service = Service(settings, _storage(settings, listener))
        asyncio.run(_serve(service, tokens, listener))


def _storage(settings: Settings, listener: socket.socket) -> Storage:
    """Open the storage of channels.

    Raises:
        ConfigError: The storage cannot be used.
    """
    full = settings.synchronous == "full"
    address = settings.database_address()
    if address is None:
        return SqliteStorage(settings.data, full=full)
    if (other := open_storage(address, full=full)) is not None:
        return other
    for package in ("psycopg", "httpx"):
        require(package, extra="postgres", purpose="a PostgreSQL database")
    from towhom.serve.database import Database
    from towhom.serve.postgres import PostgresStorage

    if settings.advertise is not None and not settings.advertise.startswith(("http://", "https://")):
        raise ConfigError("advertise: this is not the address of a server; expected http://HOST:PORT")
    here = settings.advertise or _reachable(settings.host, listener)
    return PostgresStorage(Database(address), here.rstrip("/"), settings.lease, full=full)


def _reachable(host: str, listener: socket.socket) -> str:
    """The address of this server for other servers, if none is configured."""
    port = listener.getsockname()[1]
    try:
        everywhere = ip_address(host).is_unspecified
    except ValueError:
        everywhere = False
    name = socket.gethostname() if everywhere else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


async def _serve(service: Service, tokens: Sequence[str], listener: socket.socket) -> None:
    config = uvicorn.Config(
        create_app(service, tokens),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=limited(possible(service.settings.max_connections), service.settings.receive),
        timeout_graceful_shutdown=service.settings.stop,
    )
    asyncio.get_running_loop().set_exception_handler(_log_unexpected)
    server = _Server(config, service)
    try:
        await service.start()
        await server.serve([listener])
    finally:
        left = service.settings.stop - (monotonic() - server.stopping)
        with _ended_by(service, max(left, _PUTTING_AWAY) + _PUTTING_AWAY):
            await service.stop(max(left, _PUTTING_AWAY))


@contextmanager
def _ended_by(service: Service, seconds: float) -> Iterator[None]:
    """End the process after some seconds, if something hangs that cannot be stopped, such as a disk."""

    def end() -> None:
        log.error("the server did not come to an end, and is ended")
        service.kill()
        os._exit(1)

    last = Timer(seconds, end)
    last.daemon = True
    last.start()
    # The timer is not cancelled: it also covers the end of the process, which waits for threads.
    yield


def _log_to_stderr() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    log.setLevel(logging.INFO)
    sparing = Sparing()
    for handler in logging.getLogger().handlers:
        handler.addFilter(sparing)
    # uvicorn's tracebacks have paths and may quote a chat; errors in requests are logged without them.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL + 1)


def _log_unexpected(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    log.error("outside of a request: %s", described(error) if error else "no exception")


@contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that is bound to the address before anything else is started."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Names the protocol, because asyncio sets TCP_NODELAY only then.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise ConfigError(f"cannot listen on {host}, port {port} ({error.strerror or error})") from error
        yield listener


class _Server(uvicorn.Server):
    """Prints its address when it starts, and ends streams when it stops: they would not end by themselves."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self.stopping = monotonic()
        """When it began to stop; before that, when it was created."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        host, port = (sockets or [])[0].getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"towhom serves at http://{shown}:{port}/ (stop with Ctrl-C)")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.stopping = monotonic()
        self._service.followers.close()
        self._service.uploads.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop at a signal; unlike uvicorn, do not raise it again at the end, since there is more to save."""
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
