"""What a message costs with SQLite, with PostgreSQL, and with three servers over PostgreSQL, in turns.

    python -m benchmarks.cluster RECORD [--rooms 200] [--rounds 5] [--seconds 4] [--clients 8]

All servers run from the beginning, each with one worker, beside a separate PostgreSQL (Debian's package
`postgresql`, which waits for the disk, as SQLite does here with `synchronous = full`). They take turns in
rounds of some seconds, with one message per request, in rooms that are in memory. Three servers are measured
twice: with a random server for each request, and with always the same server for a room. The result is the
processor time of servers and database per message, which a busy machine changes little; requests per second
are given as a ratio to those with SQLite in the same round.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from tests.serve.conftest import CHAT, Server, answer, counted
from tests.serve.databases import Postgres

from towhom.records import circumstances, write_record

_TICKS = os.sysconf("SC_CLK_TCK")


class Kind:
    """Servers that get the same kind of requests.

    Args:
        servers: All servers of this kind.
        sticky: Whether requests for a room always go to the same server.
        database: The number of their database's process, if they have one.
    """

    def __init__(self, servers: list[Server], *, sticky: bool, database: int | None) -> None:
        self.servers = servers
        self.database = database
        self._sticky = sticky

    def address(self, room: int) -> str:
        """The address of a server for a room."""
        number = room if self._sticky else random.randrange(len(self.servers))
        return self.servers[number % len(self.servers)].address

    def measure(self, rooms: int, clients: int, seconds: float) -> dict[str, float]:
        """Send requests for some seconds; returns costs per request."""
        own = [each.process.pid for each in self.servers]
        before = (sum(map(seconds_of, own)), seconds_of(self.database), self._passed_on())
        start = time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            jobs = [
                pool.submit(self._speak, number, clients, rooms, start + seconds) for number in range(clients)
            ]
            requests = sum(job.result() for job in jobs)
        passed = time.perf_counter() - start
        after = (sum(map(seconds_of, own)), seconds_of(self.database), self._passed_on())
        servers, database, passed_on = (late - early for late, early in zip(after, before, strict=True))
        return {
            "requests": requests,
            "requests_per_second": requests / passed,
            "server_ms": servers / requests * 1000,
            "database_ms": database / requests * 1000,
            "passed_on": passed_on / requests,
        }

    def _speak(self, number: int, clients: int, rooms: int, end: float) -> int:
        asked = 0
        with httpx.Client(timeout=60) as client:
            while time.perf_counter() < end:
                room = (number + asked * clients) % rooms
                body = {"message": CHAT[asked % len(CHAT)]}
                url = f"{self.address(room)}/v1/channels/room{room}/messages"
                answer(client.post(url, json=body), 201)
                asked += 1
        return asked

    def _passed_on(self) -> float:
        return sum(counted(each.client, "towhom_passed_on_total") for each in self.servers)


def seconds_of(process: int | None) -> float:
    """Seconds of processor time that a process used, with all its children."""
    if process is None:
        return 0.0
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # the process has ended
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS + sum(seconds_of(int(child)) for child in children)


def summed(rounds: list[dict[str, dict[str, float]]], name: str) -> dict[str, Any]:
    """A summary of all rounds of a kind."""
    own = [each[name] for each in rounds]
    speeds = [each[name]["requests_per_second"] / each["sqlite"]["requests_per_second"] for each in rounds]
    costs = [
        (each[name]["server_ms"] + each[name]["database_ms"])
        / (each["sqlite"]["server_ms"] + each["sqlite"]["database_ms"])
        for each in rounds
    ]
    return {
        "requests": sum(each["requests"] for each in own),
        "computing_ms_of_servers": round(median(each["server_ms"] for each in own), 2),
        "computing_ms_of_database": round(median(each["database_ms"] for each in own), 2),
        "computing_to_sqlite": round(median(costs), 2),
        "requests_per_second_to_sqlite": round(median(speeds), 2),
        "share_passed_on": round(median(each["passed_on"] for each in own), 2),
    }


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("record", type=Path)
    parser.add_argument("--rooms", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--clients", type=int, default=8)
    arguments = parser.parse_args()
    postgres = Postgres(fsync="on")
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--workers", "1", "--rate", "0", "--synchronous", "full")
        databases = [postgres.create(name) for name in ("one", "three")]
        begun = [Server(Path(folder) / "sqlite", *flags)]
        begun += [
            Server(Path(folder) / f"{number}", *flags, TOWHOM_SERVE_DATABASE=databases[number > 0])
            for number in range(4)
        ]
        try:
            kinds = {
                "sqlite": Kind(begun[:1], sticky=True, database=None),
                "postgresql": Kind(begun[1:2], sticky=True, database=postgres.pid),
                "three_servers_same_for_a_room": Kind(begun[2:], sticky=True, database=postgres.pid),
                "three_servers_any": Kind(begun[2:], sticky=False, database=postgres.pid),
            }
            for kind in kinds.values():
                kind.measure(arguments.rooms, arguments.clients, arguments.seconds)  # loads the rooms
            rounds = []
            for number in range(arguments.rounds):
                rounds.append(
                    {
                        name: kind.measure(arguments.rooms, arguments.clients, arguments.seconds)
                        for name, kind in kinds.items()
                    }
                )
                print(f"round {number + 1}", flush=True)
        finally:
            for server in begun:
                server.end()
            postgres.end()
    record = circumstances() | {
        **{name: value for name, value in vars(arguments).items() if name != "record"},
        "workers_of_a_server": 1,
        **{name: summed(rounds, name) for name in kinds},
        "note": "clients and database run on the same cores: requests a second say little",
    }
    write_record(arguments.record, record)
    for name in kinds:
        print(name, record[name])


if __name__ == "__main__":
    main()
