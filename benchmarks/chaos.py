"""Servers over one PostgreSQL database, killed one after the other under load: what is there in the end?

    python -m benchmarks.chaos RECORD [--rooms 1000] [--seconds 60] [--every 4] [--servers 3] [--seed 1]

It starts its own PostgreSQL (Debian's package `postgresql`), on this machine only. Every few seconds, a
server is killed with its workers and replaced by a new one; half-way, the database is restarted. In the end
every room is read: each acknowledged message must be there once, in order, and the observations must be
those that one undisturbed server gives for the same messages. Otherwise, the program fails; the record has
the counts.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.serve.chaos import Chaos, Fleet, attacked
from tests.serve.databases import Postgres

from towhom.records import circumstances, write_record


def main() -> None:
    """Run it, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("record", type=Path)
    parser.add_argument("--rooms", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--every", type=float, default=4)
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    postgres = Postgres()
    try:
        with tempfile.TemporaryDirectory() as folder:
            flags = ("--workers", "1", "--lease", "2")
            with Fleet(Path(folder), postgres.create("chaos"), arguments.servers, *flags) as fleet:
                chaos = Chaos(
                    fleet, rooms=arguments.rooms, clients=arguments.clients, pause=0, seed=arguments.seed
                )
                attacked(
                    chaos, fleet, postgres,
                    seconds=arguments.seconds, every=arguments.every, followers=10,
                )  # fmt: skip
                chaos.check(compared=arguments.rooms)
    finally:
        postgres.end()
    record = circumstances() | {
        **{name: value for name, value in vars(arguments).items() if name != "record"},
        "lease": 2,
        "killed": fleet.kills,
        "database_restarted": 1,
        "messages_acknowledged": chaos.count,
        "requests_sent_again": chaos.again,
        "lost": 0,
        "doubled": 0,
        "followers": 10,
        "followers_that_went_on_elsewhere": chaos.resumed,
        "rooms_with_other_answers_than_without_trouble": 0,
        "longest_wait_in_seconds": round(chaos.longest, 1),
    }
    write_record(arguments.record, record)
    print(f"{chaos.count} messages acknowledged, none lost, none doubled; {fleet.kills} servers killed")


if __name__ == "__main__":
    main()
