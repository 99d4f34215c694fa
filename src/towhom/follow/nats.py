"""NATS JetStream: a durable pull consumer for each shard of rooms."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable
from typing import Any, Self
from urllib.parse import SplitResult, unquote

from towhom.errors import ConfigError, TowhomError
from towhom.extras import require
from towhom.follow.source import Delivery, Options, Source

_PORT = 4222
_BATCH = 256
_ACK_WAIT = 10.0
"""Seconds after which the server redelivers unacknowledged messages."""
_POLL = 1.0
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_USER, _PASSWORD = "TOWHOM_NATS_USER", "TOWHOM_NATS_PASSWORD"


class _Taken(Delivery):
    """A message of a stream."""

    def __init__(self, place: str, message: Any, lost: type[Exception]) -> None:
        super().__init__(place, message.subject, message.data)
        self._message, self._lost, self._over = message, lost, False

    async def done(self) -> None:
        """Acknowledge the message, and wait for the server's confirmation."""
        self._over = True
        await self._tell(self._message.ack_sync())

    async def refused(self) -> None:
        """Terminate the delivery of the message."""
        self._over = True
        await self._tell(self._message.term())

    async def working(self) -> None:
        """Extend the time until the message is redelivered."""
        if not self._over:
            await self._tell(self._message.in_progress())

    async def _tell(self, saying: Awaitable[object]) -> None:
        try:
            await saying
        except (TimeoutError, OSError, self._lost) as error:
            reason = f"NATS does not answer ({error}); start the command again to continue"
            raise TowhomError(f"{self.place}: {reason}") from error


class Nats(Source):
    """A stream of JetStream: `nats://HOST:PORT/STREAM` or `nats://HOST:PORT/STREAM/SUBJECT`.

    Args:
        servers: The address of the server.
        stream: The stream.
        subject: Only messages with this subject, which may contain `*` and `>`; None for all.
        options: Options of the source.
    """

    def __init__(self, servers: str, stream: str, subject: str | None, options: Options) -> None:
        self._servers, self._stream, self._subject, self._options = servers, stream, subject, options
        self._nats = require("nats", extra="nats", purpose="following NATS")

    @classmethod
    def open(cls, address: SplitResult, options: Options) -> Self:
        """The stream that an address names."""
        stream, _, subject = unquote(address.path).strip("/").partition("/")
        if not address.hostname or not _NAME.fullmatch(stream):
            raise ConfigError(f"{address.geturl()}: expected nats://HOST:PORT/STREAM or .../STREAM/SUBJECT")
        if not _NAME.fullmatch(options.name):
            raise ConfigError(f"--name {options.name}: letters, digits, _ and - only")
        host = f"[{address.hostname}]" if ":" in address.hostname else address.hostname
        return cls(f"nats://{host}:{address.port or _PORT}", stream, subject or None, options)

    @property
    def durable(self) -> str:
        """The consumer's name, which is different for other shards and other subjects."""
        shard, name = self._options.shard, self._options.name
        if shard.count > 1:
            name += f"-{shard.number + 1}-of-{shard.count}"
        return name if self._subject is None else f"{name}-{re.sub(r'[^A-Za-z0-9_-]', '_', self._subject)}"

    async def batches(self) -> AsyncIterator[list[Delivery]]:
        """Batches of messages; those that a killed process left unfinished come first."""
        errors = self._nats.errors
        client = await self._connected()
        try:
            subscription = await self._subscribe(client.jetstream())
            while True:
                try:
                    found = await subscription.fetch(_BATCH, timeout=_POLL)
                except (TimeoutError, errors.TimeoutError):
                    found = []
                if found:
                    yield [_Taken(self._place(each), each, errors.Error) for each in found]
                elif self._options.once and await _is_empty(subscription):
                    return
        except errors.Error as error:
            raise TowhomError(f"{self._servers}: the stream cannot be read ({error})") from error
        finally:
            await client.close()

    async def _connected(self) -> Any:
        """A client, which reconnects by itself if the connection is lost.

        Raises:
            TowhomError: The server does not answer at first, or does not let us in.
        """
        host, _, port = self._servers.removeprefix("nats://").rpartition(":")
        try:
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
            writer.close()  # the server answers; otherwise the client would try for ever
            return await self._nats.connect(
                self._servers,
                user=os.environ.get(_USER),
                password=os.environ.get(_PASSWORD),
                user_credentials=self._options.credentials,
                error_cb=_ignore,  # errors that matter are raised where they occur
                max_reconnect_attempts=-1,
            )
        except (OSError, self._nats.errors.Error) as error:
            raise TowhomError(f"{self._servers}: cannot connect ({error})") from error

    async def _subscribe(self, stream: Any) -> Any:
        """The consumer, created if need be; waits for messages that a killed process had taken.

        Raises:
            TowhomError: There is no such stream, or another process follows it under this name.
        """
        api, js_errors = self._nats.js.api, self._nats.js.errors
        config = api.ConsumerConfig(
            durable_name=self.durable,
            ack_policy=api.AckPolicy.EXPLICIT,
            deliver_policy=api.DeliverPolicy.ALL,
            ack_wait=_ACK_WAIT,
            max_ack_pending=_BATCH,
            filter_subject=self._subject,
        )
        try:
            try:
                told = await stream.consumer_info(self._stream, self.durable)
            except js_errors.NotFoundError:
                told = await stream.add_consumer(self._stream, config)
            if told.num_waiting:
                reason = f"another process follows it as {self.durable}; --name or --shard chooses another"
                raise TowhomError(f"{self._servers}/{self._stream}: {reason}")
            if told.num_ack_pending:
                # Otherwise newer messages would overtake unacknowledged ones of the same room.
                await asyncio.sleep(_ACK_WAIT + 1)
            return await stream.pull_subscribe_bind(self.durable, self._stream)
        except js_errors.NotFoundError as error:
            raise TowhomError(f"{self._servers}: there is no stream {self._stream}") from error
        except (js_errors.ServiceUnavailableError, js_errors.NoStreamResponseError) as error:
            raise TowhomError(f"{self._servers}: JetStream is not enabled there") from error

    def _place(self, message: Any) -> str:
        return f"nats:{self._stream}:{message.metadata.sequence.stream}"


async def _is_empty(subscription: Any) -> bool:
    told = await subscription.consumer_info()
    return not told.num_pending and not told.num_ack_pending


async def _ignore(_: Exception) -> None:
    return
