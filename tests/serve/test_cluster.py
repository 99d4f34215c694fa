"""Several servers over one database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.serve.conftest import (
    CHAT,
    Server,
    Start,
    answer,
    counted,
    error,
    message,
    said,
    same,
    talk,
    texts,
    wait_for,
)
from tests.serve.databases import Network, Postgres
from tests.serve.test_events import following, numbers
from towhom.serve.storage import Append, AwayError, UnsureError

ROOM = "/v1/channels/room"
LEASE = ("--lease", "2")


class Several(list[Server]):
    """Servers that share a database."""

    def owner(self, room: str = "room") -> Server:
        """The one that has a channel."""
        return next(each for each in self if each.address == owner_of(self.database, room))

    database = ""


def owner_of(database: str, room: str) -> str | None:
    import psycopg

    with psycopg.connect(database) as connection:
        query = "SELECT address FROM towhom.leases JOIN towhom.servers ON id = owner WHERE name = %s"
        row = connection.execute(query, (room,)).fetchone()
        return None if row is None else str(row[0])


@pytest.fixture(scope="module")
def shared(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Several]:
    """Three for all tests that only talk to them, each in channels of its own."""
    database = postgres.create("shared")
    folder = tmp_path_factory.mktemp("shared")
    flags = ("--workers", "1", *LEASE, "--rate", "0")
    with ThreadPoolExecutor(3) as pool:
        begun = [
            pool.submit(Server, folder / f"{number}", *flags, TOWHOM_SERVE_DATABASE=database)
            for number in range(3)
        ]
        servers = Several(each.result() for each in begun)
    servers.database = database
    yield servers
    for server in servers:
        assert server.stop() == 0


@pytest.fixture
def several(start: Start, database: str) -> Several:
    """Two, for tests that harm them."""
    with ThreadPoolExecutor(2) as pool:
        begun = [
            pool.submit(start, *LEASE, "--rate", "0", folder=f"s{number}", TOWHOM_SERVE_DATABASE=database)
            for number in range(2)
        ]
        servers = Several(each.result() for each in begun)
    servers.database = database
    return servers


class TestTogether:
    def test_every_server_knows_every_channel(
        self, shared: Several, client: httpx.Client, channel: str
    ) -> None:
        """A message to each in turn: one owner answers all, as one server alone would."""
        for number, each in enumerate(CHAT * 3):
            ours = said(shared[number % 3].client, channel, [each])
            assert same(ours, said(client, channel, [each]))
        question = {"responder": "wren", "candidates": ["yes", "no"]}
        expected = answer(client.post(f"{channel}/select", json=question))
        for server in shared:
            assert same(answer(server.client.post(f"{channel}/select", json=question)), expected)
            assert len(texts(server.client, channel)) == 18
            assert len(answer(server.client.get("/v1/channels"))["channels"]) == 1
            assert answer(server.client.get("/readyz")) == {"status": "ready"}
        assert sum(counted(each.client, "towhom_passed_on_total") for each in shared) == 14
        assert sum(counted(each.client, "towhom_channels_live") for each in shared) == 1

    def test_bots_may_ask_any_server(self, shared: Several) -> None:
        """The room is in the body; every message is in it once, whoever was asked."""
        for number, line in enumerate(("ada> robo: are you up?", "bob> ada: lunch?", "ada> robo: and now?")):
            speaker, text = line.split("> ")
            body = {
                "room": "bots", "bot": {"id": "robo"},
                "message": {"speaker": speaker, "text": text, "id": str(number)},
            }  # fmt: skip
            verdict = answer(shared[number].client.post("/v1/gate", json=body))
            assert verdict["speak"] == text.startswith("robo")
            again = answer(shared[number - 1].client.post("/v1/gate", json=body))
            assert (again["speak"], again["reason"]) == (False, "it was heard before")
        assert texts(shared[0].client, "/v1/channels/bots") == ["are you up?", "lunch?", "and now?"]
        error(shared[1].client.post("/v1/gate", json={"room": "bots"}), 422, "invalid-request", "body.bot")

    def test_everything_else_is_passed_on(self, shared: Several, channel: str) -> None:
        """Each by a server that does not own the channel."""
        said(shared[0].client, channel, CHAT)
        other, third = shared[1].client, shared[2].client
        people = {"people": [{"id": "B1", "name": "Robo", "aliases": [], "bot": True}]}
        assert answer(other.put(f"{channel}/people", json=people)) == people
        assert answer(third.get(f"{channel}/people")) == people
        assert len(answer(other.put(f"{channel}/messages", json={"messages": CHAT[:2]}))["observations"]) == 2
        assert other.delete(f"{channel}/messages").status_code == 204
        assert texts(third, channel) == []
        bad = other.post(f"{channel}/messages", json={"message": {"speaker": "ada"}})
        error(bad, 422, "invalid-request", "body.message.text")
        broken = other.post(f"{channel}/messages", content=b"{", headers={"Content-Type": "application/json"})
        error(broken, 400, "invalid-json", "body")
        assert third.delete(channel).status_code == 204
        error(other.delete(channel), 404, "no-such-channel", "path.id")
        error(shared[0].client.get(f"{channel}/messages"), 404, "no-such-channel", "path.id")

    def test_names_that_need_care(self, shared: Several, channel: str) -> None:
        for server in shared:
            said(server.client, "/v1/channels/%23a:b+c@d~.e", CHAT[:1])
        assert len(texts(shared[0].client, "/v1/channels/%23a:b+c@d~.e")) == 3
        for name in ("..", "a%2Fb", "x" * 129, "a%20b"):
            assert (
                shared[1]
                .client.post(f"/v1/channels/{name}/messages", json={"messages": CHAT})
                .is_client_error
            )

    def test_keys_hold_across_servers(self, shared: Several, channel: str) -> None:
        key = {"Idempotency-Key": "4711"}
        first = said(shared[0].client, channel, CHAT[:2], **key)
        for server in shared:
            assert said(server.client, channel, CHAT[:2], **key) == first
            reused = server.client.post(f"{channel}/messages", json={"messages": CHAT[:1]}, headers=key)
            error(reused, 409, "key-reused", "header.Idempotency-Key")
        with ThreadPoolExecutor(3) as pool:  # all at once
            asked = [
                pool.submit(said, each.client, channel, CHAT[2:], **{"Idempotency-Key": "b"})
                for each in shared
            ]
            assert all(each.result() == asked[0].result() for each in asked)
        assert len(texts(shared[0].client, channel)) == 6

    def test_a_crowd_in_new_channels(self, shared: Several, channel: str) -> None:
        """Who owns a channel is settled while everybody speaks in it."""
        with ThreadPoolExecutor(6) as pool:
            jobs = [
                pool.submit(
                    said, shared[turn % 3].client, f"{channel}{turn % 4}", [message("ada", f"{turn}")]
                )
                for turn in range(60)
            ]
            for job in jobs:
                job.result()
        for number in range(4):
            assert sorted(map(int, texts(shared[0].client, f"{channel}{number}"))) == list(
                range(number, 60, 4)
            )

    def test_followers_of_any_server(self, shared: Several, channel: str) -> None:
        """All in order, at once, not when somebody looks by chance; another history begins at 0."""
        said(shared[0].client, channel, CHAT[:2])
        with (
            following(shared[0].client, channel, quiet=False) as one,
            following(shared[1].client, channel, quiet=False, after=0) as two,
            following(shared[2].client, channel, quiet=False) as three,
        ):
            for number in range(20):
                said(shared[number % 3].client, channel, CHAT[:1])
            assert numbers(one, 22) == numbers(three, 22) == list(range(22))
            assert numbers(two, 21) == list(range(1, 22))
            shared[1].client.put(f"{channel}/messages", json={"messages": CHAT[:3]})
            assert [numbers(each, 3) for each in (one, two, three)] == [[0, 1, 2]] * 3
            shared[2].client.delete(channel)
            said(shared[0].client, channel, talk("ada> anew"))
            assert [next(each)[1]["message"]["text"] for each in (one, two, three)] == ["anew"] * 3

    def test_channels_that_leave_memory_are_given_up(self, start: Start, database: str) -> None:
        flags = (*LEASE, "--idle", "0.3")
        servers = [start(*flags, folder=name, TOWHOM_SERVE_DATABASE=database) for name in ("a", "b")]
        before = said(servers[0].client, ROOM, CHAT[:3])
        wait_for(lambda: owner_of(database, "room") is None)
        after = said(servers[1].client, ROOM, CHAT[3:])
        assert owner_of(database, "room") == servers[1].address
        whole = answer(servers[0].client.post("/v1/addressees", json={"messages": CHAT}))["observations"]
        assert same(before + after, whole)

    def test_a_server_that_joins_gets_its_share(self, start: Start, database: str) -> None:
        first = start(*LEASE, folder="a", TOWHOM_SERVE_DATABASE=database)
        rooms = [f"{ROOM}{number}" for number in range(40)]
        for room in rooms:
            said(first.client, room, CHAT[:2])
        second = start(*LEASE, folder="b", TOWHOM_SERVE_DATABASE=database)

        def shared_out() -> bool:
            for number, room in enumerate(rooms):
                said((first, second)[number % 2].client, room, CHAT[:1])
            return counted(second.client, "towhom_channels_live") >= 3

        wait_for(shared_out, 30)
        counts = [len(texts(first.client, room)) for room in rooms]
        assert len(set(counts)) == 1

    def test_most_channels_are_of_all_servers(self, start: Start, database: str) -> None:
        flags = (*LEASE, "--max-channels", "2")
        servers = [start(*flags, folder=name, TOWHOM_SERVE_DATABASE=database) for name in ("a", "b")]
        for number in range(2):
            said(servers[0].client, f"{ROOM}{number}", CHAT[:1])
        response = servers[1].client.post("/v1/channels/third/messages", json={"messages": CHAT[:1]})
        error(response, 409, "too-many-channels", "path.id")


class TestLosses:
    def test_a_killed_server(self, several: Several, client: httpx.Client, channel: str) -> None:
        """Another takes its channels over, and goes on as if nothing had been."""
        assert same(said(several[0].client, ROOM, CHAT), said(client, channel, CHAT))
        assert several.owner() is several[0]
        several[0].kill()
        assert same(said(several[1].client, ROOM, CHAT), said(client, channel, CHAT))
        assert several.owner() is several[1]
        assert len(texts(several[1].client, ROOM)) == 12

    def test_a_stopped_server_gives_up_at_once(self, several: Several) -> None:
        said(several[0].client, ROOM, CHAT[:3])
        assert several[0].stop() == 0
        assert owner_of(several.database, "room") is None
        assert said(several[1].client, ROOM, CHAT[3:])[0]["number"] == 3

    def test_a_halted_server_cannot_write(self, several: Several) -> None:
        """It sleeps with a request in its hands, is taken for dead, and wakes up too late."""
        said(several[0].client, ROOM, CHAT[:2])
        worker = several[0].halt(0)  # so that the request is under way
        with ThreadPoolExecutor(1) as pool:
            late = pool.submit(several[0].client.post, f"{ROOM}/messages", json={"messages": CHAT[2:3]})
            wait_for(lambda: counted(several[0].client, "towhom_jobs") == 1)
            os.kill(several[0].process.pid, signal.SIGSTOP)
            try:
                taken = said(several[1].client, ROOM, CHAT[3:4])
                assert taken[0]["number"] == 2
            finally:
                os.kill(worker, signal.SIGCONT)
                os.kill(several[0].process.pid, signal.SIGCONT)
            # It was not written where it was; the server sent it to who owns the channel now.
            assert answer(late.result(), 201)["observations"][0]["number"] == 3
        kept = texts(several[1].client, ROOM)
        assert kept[2:] == [CHAT[3]["text"], CHAT[2]["text"].removeprefix("noor: ")]
        assert several.owner() is several[1]

    def test_a_request_that_is_passed_on_to_a_halted_server(self, several: Several) -> None:
        """It is asked of another as soon as the first is taken for dead; without a key, and not twice."""
        said(several[0].client, ROOM, CHAT[:2])
        os.kill(several[0].process.pid, signal.SIGSTOP)
        try:
            assert said(several[1].client, ROOM, CHAT[2:3])[0]["number"] == 2
        finally:
            os.kill(several[0].process.pid, signal.SIGCONT)
        wait_for(lambda: several[0].client.get("/readyz").status_code == 200, 30)
        assert len(texts(several[0].client, ROOM)) == 3
        assert said(several[0].client, ROOM, CHAT[3:])[0]["number"] == 3

    def test_a_crash_of_the_database(self, several: Several, postgres: Postgres) -> None:
        """Requests wait for it; followers miss nothing."""
        said(several[0].client, ROOM, CHAT[:2])
        with following(several[1].client, ROOM) as events, ThreadPoolExecutor(2) as pool:
            assert numbers(events, 2) == [0, 1]
            postgres.stop("immediate")
            waiting = [pool.submit(said, each.client, ROOM, CHAT[2:3]) for each in several[:2]]
            time.sleep(0.5)
            postgres.start()
            assert {each.result()[0]["number"] for each in waiting} == {2, 3}
            assert numbers(events, 2) == [2, 3]
        assert len(texts(several[1].client, ROOM)) == 4

    def test_a_database_that_stays_away(self, start: Start, postgres: Postgres, database: str) -> None:
        server = start(*LEASE, TOWHOM_SERVE_DATABASE=database)
        said(server.client, ROOM, CHAT[:1])
        postgres.stop()
        try:
            wait_for(lambda: server.client.get("/readyz").status_code == 503, 20)
            response = server.client.post(f"{ROOM}/messages", json={"messages": CHAT[1:2]}, timeout=60)
            assert response.status_code == 503
            assert server.client.get("/healthz").status_code == 200
        finally:
            postgres.start()
        wait_for(lambda: server.client.get("/readyz").status_code == 200, 20)
        assert said(server.client, ROOM, CHAT[1:2])[0]["number"] == 1

    def test_a_network_that_swallows_everything(
        self, postgres: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Connections look well, and nothing comes back: who waits hears of it; all goes on afterwards."""
        from towhom.serve import leases
        from towhom.serve import postgres as module
        from towhom.serve.database import Database

        for each in (leases, module):
            monkeypatch.setattr(each, "PATIENCE", 1.0)
        network = Network(postgres.port)
        behind = database.replace(f":{postgres.port}/", f":{network.port}/")
        storage = module.PostgresStorage(Database(behind), "http://127.0.0.1:1", lease=1)
        try:
            assert storage.claim("room").address is None
            storage.commit([Append("room", 0, [("{}", "{}")])])
            network.works.clear()
            with pytest.raises((AwayError, UnsureError)):
                storage.commit([Append("room", 1, [("{}", "{}")])])
            assert storage.claimed("room") is None
            network.works.set()
            wait_for(lambda: storage.claimed("room") is not None)
            assert storage.count() == 1
            kept = storage.channel("room")
            assert kept is not None
            # What was on its way when it stopped may have been saved then.
            storage.commit([Append("room", kept.messages, [("{}", "{}")])])
        finally:
            network.works.set()
            storage.close()

    def test_a_clock_that_jumps(self, several: Several, database: str) -> None:
        """The owner is taken for dead though it renewed its lease; it notices, and answers nothing stale."""
        import psycopg

        said(several[0].client, ROOM, CHAT[:2])
        with psycopg.connect(database) as connection:
            query = "UPDATE towhom.servers SET expires = expires - interval '1 minute' WHERE address = %s"
            connection.execute(query, (several[0].address,))
            # In the same moment, the other one is asked.
            query = """
                UPDATE towhom.leases SET fence = nextval('towhom.fences'),
                owner = (SELECT id FROM towhom.servers WHERE address = %s)
            """
            connection.execute(query, (several[1].address,))
        wait_for(lambda: "0 of 1 channels are still its own" in several[0].log)
        before = counted(several[0].client, "towhom_passed_on_total")
        question = {"responder": "noor", "candidates": ["yes", "no"]}
        answer(several[0].client.post(f"{ROOM}/select", json=question))
        assert counted(several[0].client, "towhom_passed_on_total") == before + 1
        assert said(several[0].client, ROOM, CHAT[2:])[0]["number"] == 2

    def test_a_database_that_has_forgotten(self, several: Several, database: str) -> None:
        """As after a standby took over that was behind: the room goes on from what there is."""
        import psycopg

        said(several[0].client, ROOM, CHAT[:4])
        with psycopg.connect(database) as connection:
            connection.execute("DELETE FROM towhom.messages WHERE number >= 2")
            connection.execute("UPDATE towhom.channels SET messages = 2")
        response = several[0].client.post(f"{ROOM}/messages", json={"messages": CHAT[:1]})
        error(response, 503, "storage-failed")
        assert said(several[0].client, ROOM, CHAT[2:])[0]["number"] == 2
        assert len(texts(several[1].client, ROOM)) == 6


class TestAccess:
    def test_servers_know_each_other(self, start: Start, database: str) -> None:
        """By a secret of the database; whoever does not know it needs a token."""
        token = {"Authorization": "Bearer a-token-of-some-length"}
        servers = [
            start(
                *LEASE,
                folder=name,
                TOWHOM_SERVE_DATABASE=database,
                TOWHOM_SERVE_TOKEN="a-token-of-some-length",
            )
            for name in ("a", "b")
        ]
        said(servers[0].client, ROOM, CHAT[:1], **token)
        assert said(servers[1].client, ROOM, CHAT[1:2], **token)[0]["number"] == 1
        body = {"messages": CHAT}
        for headers in ({}, {"X-Towhom-Peer": "x"}, {"X-Towhom-Peer": ""}, {**token, "X-Towhom-Peer": "x"}):
            refused = servers[1].client.post(f"{ROOM}/messages", json=body, headers=headers)
            assert refused.status_code == 401

    def test_the_password_is_nowhere(
        self, start: Start, postgres: Postgres, database: str, tmp_path: Path
    ) -> None:
        """Not in the log, in errors, in what others see of the processes."""
        file = tmp_path / "address"
        file.write_text(f"{database}\n")
        server = start(*LEASE, "--database-file", str(file))
        said(server.client, ROOM, CHAT)
        postgres.stop()
        server.client.get("/readyz")
        postgres.start()
        wait_for(lambda: server.client.get("/readyz").status_code == 200, 20)
        for process in (server.process.pid, *server.workers):
            assert b"secret" not in Path(f"/proc/{process}/cmdline").read_bytes()
        server.stop()
        assert "secret" not in server.log
        assert len(server.log) > 100

    def test_the_password_of_the_environment(self, start: Start, postgres: Postgres, database: str) -> None:
        address = database.replace(":a%20secret%20of%20the%20tests", "")
        assert "secret" not in address
        server = start(*LEASE, "--database", address, PGPASSWORD=postgres.password)
        said(server.client, ROOM, CHAT)


def refused(*flags: str, **environment: str) -> str:
    """What a server says that does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "towhom", "serve", "--port", "0", *flags],
        capture_output=True, text=True, timeout=60, env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 1, done
    assert "Traceback" not in done.stderr
    return done.stderr


class TestRefused:
    def test_without_the_extra(self) -> None:
        program = (
            "import sys; sys.modules['psycopg'] = None; from towhom.cli import main\n"
            "main(['serve', '--port', '0', '--database', 'postgresql://localhost/x'])"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.returncode == 1
        assert "pip install 'towhom[postgres]'" in done.stderr

    def test_where_others_reach_it(self, database: str) -> None:
        reason = refused("--advertise", "10.0.0.7:8080", TOWHOM_SERVE_DATABASE=database)
        assert "advertise: this is not the address of a server; expected http://HOST:PORT" in reason

    def test_addresses(self, postgres: Postgres, database: str) -> None:
        said_of = refused("--database", database)
        assert said_of.startswith(
            "Error: --database: there is a password in the address, and others can see flags"
        )
        wrong = database.replace("a%20secret", "another%20secret")
        for address, reason in (
            (wrong, "password authentication failed"),
            (postgres.address("no-such-database"), 'database "no-such-database" does not exist'),
            (database.replace(str(postgres.port), "1"), "Connection refused"),
            ("mysql://ada:secret@localhost/chats", "this is not the address of a PostgreSQL database"),
            (
                "postgresql://ada:secret@localhost:secret/chats?x=secret",
                "this is not the address of a PostgreSQL",
            ),
            ("postgresql://localhost/chats?sslmode=perhaps&password=secret", "cannot be used"),
        ):
            said_of = refused(TOWHOM_SERVE_DATABASE=address)
            assert said_of.startswith("Error: database: ")
            assert reason in said_of
            assert "secret" not in said_of

    def test_files(self, tmp_path: Path) -> None:
        file = tmp_path / "address"
        assert "cannot be read" in refused("--database-file", str(file))
        file.write_text("one\ntwo\n")
        assert "has to have one line" in refused("--database-file", str(file))
        assert "give one of them" in refused("--database-file", str(file), "--database", "postgresql://a")

    def test_encoding(self, postgres: Postgres) -> None:
        address = postgres.create("latin", "ENCODING 'LATIN1' TEMPLATE template0")
        assert "the database's encoding is LATIN1" in refused(TOWHOM_SERVE_DATABASE=address)


class TestVersions:
    def test_step_by_step(self, database: str) -> None:
        """Tables of the first version are brought to the last, with what is in them."""
        import psycopg

        from towhom.serve.database import MIGRATIONS, VERSION, Database

        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("CREATE SCHEMA towhom")
            connection.execute("SET search_path TO towhom")
            connection.execute(MIGRATIONS[0])
            connection.execute("CREATE TABLE version (version integer NOT NULL)")
            connection.execute("INSERT INTO version VALUES (1)")
            connection.execute("INSERT INTO channels (name, messages, updated) VALUES ('a', 7, 0)")
            for _ in range(2):
                Database(database).prepare()
                found = connection.execute("SELECT version, (SELECT messages FROM channels) FROM version")
                assert found.fetchall() == [(VERSION, 7)]

    def test_a_newer_one(self, database: str) -> None:
        import psycopg

        from towhom.serve.database import VERSION, Database

        Database(database).prepare()
        with psycopg.connect(database) as connection:
            connection.execute("UPDATE towhom.version SET version = 99")
        assert f"format version 99, expected {VERSION}; use the version of towhom" in refused(
            TOWHOM_SERVE_DATABASE=database
        )

    def test_servers_of_an_earlier_version(self, start: Start, database: str) -> None:
        """They are not pulled from under it."""
        import psycopg

        server = start(*LEASE, TOWHOM_SERVE_DATABASE=database)
        said(server.client, ROOM, CHAT)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("towhom.serve.database.MIGRATIONS", ("", "SELECT 1", "SELECT 1"))
            patch.setattr("towhom.serve.database.VERSION", 3)
            from towhom.errors import ConfigError
            from towhom.serve.database import Database

            with psycopg.connect(database) as connection:
                connection.execute("UPDATE towhom.version SET version = 2")
            with pytest.raises(ConfigError, match="and 1 servers use them; stop those, then start this one"):
                Database(database).prepare()
            server.stop()
            Database(database).prepare()
