"""Reply links, edits, deletions, renames, identifiers and names: over HTTP as in a session."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

import towhom
from tests.serve.conftest import JSON, Start, answer, error, message, said, same, talk
from towhom import Message
from towhom.chat import Kind
from towhom.live import Model
from towhom.serve.sqlite import SqliteStorage
from towhom.serve.storage import Append, Keyed

ROOM = "/v1/channels/room"
ASKED = [*talk("dee> hello", "ada> is the window shut?"), message("cyd", "dee: is the kettle on?", id=3)]
"""What dee says next answers cyd."""
DELETED = {"speaker": "cyd", "kind": "delete", "id": 3}


@pytest.fixture(scope="module")
def model() -> Model:
    return towhom.load()


def observed(client: httpx.Client, *messages: JSON, people: list[JSON] | None = None) -> list[JSON]:
    body = {"messages": list(messages)} | ({} if people is None else {"people": people})
    found: list[JSON] = answer(client.post("/v1/addressees", json=body))["observations"]
    return found


def likely(observation: JSON) -> dict[str | None, float]:
    return {each["name"]: each["probability"] for each in observation["addressees"]}


def to(observation: JSON) -> Any:
    return observation["addressees"][0]["name"]


class TestReplies:
    def test_name_who_is_answered(self, client: httpx.Client) -> None:
        chat = [message("ada", "lunch?", id="a"), message("bob", "the build is red", id="b")]
        last = observed(client, *chat, message("cyd", "yes", reply_to="a"))[-1]
        assert (to(last), last["how"], last["audience"]) == ("ada", "named", "somebody")
        assert (last["replies_to"], last["thread"], last["thread_probability"]) == ([0], 0, 1.0)

    def test_to_what_nobody_knows(self, client: httpx.Client) -> None:
        """It is as if there were no link, and the link comes back."""
        chat = talk("ada> lunch?", "bob> the build is red")
        last = observed(client, *chat, message("cyd", "yes", reply_to="gone"))[-1]
        assert last["message"]["reply_to"] == "gone"
        plain = observed(client, *chat, message("cyd", "yes"))[-1]
        assert same({**last, "message": 0}, {**plain, "message": 0})

    def test_threads(self, client: httpx.Client) -> None:
        chat = [message("ada", "lunch?", id=7), message("bob", "red"), message("cyd", "yes", reply_to=7)]
        found = answer(client.post("/v1/threads", json={"messages": chat}))["messages"]
        assert (found[-1]["replies_to"], found[-1]["probability"]) == ([0], 1.0)
        assert found[-1]["message"]["reply_to"] == "7"


class TestChanges:
    def test_an_edit_changes_what_follows(self, client: httpx.Client) -> None:
        edit = message("cyd", "ada: is the kettle on?", id=3, kind="edit")
        before = observed(client, *ASKED, message("dee", "yes"))[-1]
        assert to(before) == "cyd"
        *_, edited, after = observed(client, *ASKED, edit, message("dee", "yes"))
        assert likely(after)["cyd"] < likely(before)["cyd"]
        # It has a record of its own: what was sent, and who the message is for now.
        assert (edited["number"], edited["replies_to"], edited["thread"]) == (3, [3], 3)
        assert (edited["message"]["kind"], edited["message"]["id"]) == ("edit", "3")
        assert (to(edited), edited["message"]["text"]) == ("ada", "is the kettle on?")

    def test_a_deletion_changes_what_follows(self, client: httpx.Client) -> None:
        *_, deleted, after = observed(client, *ASKED, DELETED, message("dee", "yes"))
        assert likely(after).get("cyd", 0) < 0.5
        assert (deleted["number"], deleted["replies_to"], deleted["audience"]) == (3, [3], "nobody")
        assert (deleted["message"]["kind"], deleted["message"]["text"]) == ("delete", "")

    @pytest.mark.parametrize("change", [message("cyd", "again", id=99, kind="edit"), {**DELETED, "id": 99}])
    def test_of_what_nobody_knows(self, change: JSON, client: httpx.Client) -> None:
        *_, changed, after = observed(client, *ASKED, change, message("dee", "yes"))
        assert changed["reason"].endswith("is not remembered")
        assert same(likely(after), likely(observed(client, *ASKED, message("dee", "yes"))[-1]))

    def test_an_edit_of_what_is_gone(self, client: httpx.Client) -> None:
        edit = message("cyd", "dee: hello?", id=3, kind="edit")
        *_, edited, after = observed(client, *ASKED, DELETED, edit, message("dee", "yes"))
        assert edited["reason"].endswith("is not remembered")
        assert same(likely(after), likely(observed(client, *ASKED, DELETED, message("dee", "yes"))[-1]))

    def test_a_rename(self, client: httpx.Client) -> None:
        chat = [*talk("ada> hi"), message("ada", "ada_away", kind="rename"), *talk("bob> ada_away: hello")]
        *_, renamed, last = observed(client, *chat)
        assert (renamed["message"]["kind"], renamed["replies_to"]) == ("rename", [1])
        assert last["addressees"][0].items() >= {"name": "ada_away", "id": "ada"}.items()

    @pytest.mark.parametrize("kind", ["action", "notice", "system"])
    def test_other_kinds(self, kind: str, client: httpx.Client, model: Model) -> None:
        chat = [*talk("ada> hi"), message("bob", "ada: hello", kind=kind)]
        last = observed(client, *chat)[-1]
        session = model.session()
        session.observe(Message("ada", "hi"))
        expected = session.observe(Message("bob", "ada: hello", kind=Kind(kind)))
        assert (to(last), last["audience"]) == (expected.addressee, expected.audience.value)
        assert last["message"]["kind"] == kind

    def test_a_channel_is_as_a_chat_and_comes_back(self, start: Start, client: httpx.Client) -> None:
        edit = message("cyd", "ada: is the kettle on?", id=3, kind="edit")
        rename = message("ada", "ada_away", kind="rename")
        chat = [
            *ASKED,
            edit,
            rename,
            message("dee", "yes", reply_to=3),
            DELETED,
            *talk("ada_away> ok", "dee> so"),
        ]
        whole = observed(client, *chat)
        for number, each in enumerate(chat):
            if number % 3 == 0:  # from the journal, and from a snapshot
                server = start()
            assert same(said(server.client, ROOM, [each]), [whole[number]])
            if number % 3 == 2:
                server.kill() if number % 2 else server.stop()


class TestNames:
    def test_identifiers_may_be_numbers(self, client: httpx.Client) -> None:
        chat = [
            message(17, "hi all", name="Ada", id=100),
            message(23, "Ada: hello", name="Bob", id=101, bot=True),
            message(42, "thanks", mentions=[23], reply_to=100),
            message(42, "well", addressee=17),
        ]
        found = observed(client, *chat)
        assert found[0]["audience"] == "everybody"
        assert found[1]["addressees"][0].items() >= {"name": "Ada", "id": "17"}.items()
        assert (
            found[1]["message"].items() >= {"speaker": "23", "id": "101", "name": "Bob", "bot": True}.items()
        )
        assert {each["name"] for each in found[2]["addressees"][:2]} == {"Ada", "Bob"}
        assert found[2]["message"].items() >= {"mentions": ["23"], "reply_to": "100"}.items()
        assert to(found[3]) == "Ada"
        as_texts = json.loads(json.dumps(chat), parse_int=str)
        assert observed(client, *as_texts) == found

    @pytest.mark.parametrize("name", ["", " ", "\u202e", None])
    def test_a_name_that_cannot_be_seen_is_none(self, name: str | None, client: httpx.Client) -> None:
        found = observed(client, message("ada", "hi", name=name), *talk("bob> ada: hello"))
        assert to(found[1]) == "ada"
        assert found[0]["message"]["name"] is None

    def test_controls_that_turn_the_text_around(self, client: httpx.Client) -> None:
        found = observed(client, message("U1", "hi", name="A\u202eda"), *talk("bob> Ada: hello"))
        assert found[0]["message"]["name"] == "A\u202eda"
        assert found[1]["addressees"][0].items() >= {"name": "Ada", "id": "U1"}.items()
        assert "\u202e" not in found[1]["reason"]

    def test_select(self, client: httpx.Client) -> None:
        chat = [message(17, "which driver?", name="Ada"), message(23, "lunch?", name="Bob")]
        question = {"messages": chat, "responder": 23, "candidates": ["the new one", "Ada: hm"]}
        found = answer(client.post("/v1/select", json=question))["selections"]
        assert {each["addressee"] for each in found} == {"Ada"}
        assert answer(client.post("/v1/select", json=question | {"responder": "Bob"}))["selections"] == found


ROBO = {"id": "B1", "name": "Robo", "aliases": ["helper"], "bot": True}
CALL = talk("ada> hi", "bob> hello", "ada> helper: which error is 47?")


class TestPeople:
    def test_who_has_not_spoken_is_called(self, client: httpx.Client) -> None:
        last = observed(client, *CALL, people=[ROBO])[-1]
        assert last["addressees"][0].items() >= {"name": "Robo", "id": "B1"}.items()
        assert last["how"] == "named"
        assert "Robo" not in likely(observed(client, *CALL)[-1])

    def test_select(self, client: httpx.Client) -> None:
        question = {"messages": CALL[:2], "responder": "ada", "candidates": ["helper: what now?"]}
        people = {"people": [ROBO]}
        assert (
            answer(client.post("/v1/select", json=question | people))["selections"][0]["addressee"] == "Robo"
        )

    def test_of_a_channel(self, client: httpx.Client, channel: str) -> None:
        response = client.put(f"{channel}/people", json={"people": [{"id": 5}, ROBO]})
        everybody = [{"id": "5", "name": None, "aliases": [], "bot": False}, ROBO]
        assert answer(response, 201) == {"people": everybody}
        assert answer(client.get(f"{channel}/people")) == {"people": everybody}
        assert to(said(client, channel, CALL)[-1]) == "Robo"
        assert answer(client.put(f"{channel}/people", json={"people": everybody})) == {"people": everybody}
        # They belong to the channel, not to its history.
        assert (
            to(answer(client.put(f"{channel}/messages", json={"messages": CALL}))["observations"][-1])
            == "Robo"
        )
        client.delete(f"{channel}/messages")
        assert to(said(client, channel, CALL)[-1]) == "Robo"
        client.delete(channel)
        assert to(said(client, channel, CALL)[-1]) != "Robo"

    def test_somebody_is_forgotten(self, client: httpx.Client, channel: str) -> None:
        said(client, channel, CALL[:2])
        client.put(f"{channel}/people", json={"people": [ROBO]})
        client.put(f"{channel}/people", json={"people": [{**ROBO, "aliases": []}]})
        last = said(client, channel, CALL[2:])[0]
        assert (last["number"], likely(last).get("Robo", 0) < 0.5) == (2, True)
        answer(client.put(f"{channel}/people", json={"people": [{**ROBO, "aliases": ["helper", "hb"]}]}))
        assert to(said(client, channel, talk("bob> hb: hello?"))[0]) == "Robo"
        answer(client.put(f"{channel}/people", json={"people": []}))
        assert "Robo" not in likely(said(client, channel, talk("bob> hb: hello?"))[0])

    def test_who_is_new_makes_nobody_forgotten(self, client: httpx.Client, channel: str) -> None:
        """What was said long before can be answered still."""
        long = [message(f"p{number % 7}", f"number {number}", id=number) for number in range(300)]
        said(client, channel, [message("ada", "lunch?", id="first"), *long])
        answer(client.put(f"{channel}/people", json={"people": [ROBO]}))
        assert to(said(client, channel, [message("bob", "yes", reply_to="first")])[0]) == "ada"

    def test_are_there_after_a_crash(self, start: Start, client: httpx.Client, channel: str) -> None:
        """With a snapshot and without one, and with more said since than is gone through again."""
        long = [message(f"p{number % 7}", f"number {number}") for number in range(300)]
        server = start()
        for room, base in ((server.client, ROOM), (client, channel)):
            said(room, base, long[:10])
            answer(room.put(f"{base}/people", json={"people": [ROBO]}))
        assert same(said(server.client, ROOM, CALL), said(client, channel, CALL))
        server.kill()
        server = start()
        assert same(said(server.client, ROOM, long + CALL), said(client, channel, long + CALL))
        server.stop()
        folder = Path(server.log_file).parent / "data"
        storage = SqliteStorage(folder)
        storage._writer.execute("UPDATE snapshots SET state = '{}'")
        storage.close()
        server = start()
        assert to(said(server.client, ROOM, CALL)[-1]) == "Robo"

    def test_no_such_channel(self, client: httpx.Client, channel: str) -> None:
        error(client.get(f"{channel}/people"), 404, "no-such-channel", "path.id")

    def test_limits(self, start: Start) -> None:
        server = start("--max-people", "1", "--max-channels", "1")
        put = server.client.put
        error(put(f"{ROOM}/people", json={"people": [ROBO, ROBO]}), 422, "too-many-people", "body.people")
        answer(put(f"{ROOM}/people", json={"people": [ROBO]}), 201)
        error(put(f"{ROOM}2/people", json={"people": [ROBO]}), 409, "too-many-channels", "path.id")
        assert [each["messages"] for each in answer(server.client.get("/v1/channels"))["channels"]] == [0]


OLD = [{**each, "addressee": None, "time": None, "id": None} for each in talk("ada> hi", "bob> ada: hello")]


class TestBefore:
    """What the first version kept, when messages had five fields."""

    @pytest.fixture
    def old(self, start: Start, tmp_path: Path) -> httpx.Client:
        storage = SqliteStorage(tmp_path / "server" / "data")
        asked = hashlib.sha256(json.dumps(OLD, sort_keys=True).encode()).hexdigest()
        rows = [(json.dumps(each), json.dumps({"number": n})) for n, each in enumerate(OLD)]
        storage.commit([Append("room", 0, rows, keyed=Keyed("k", asked, 0, 2))])
        storage.close()
        return start().client

    def test_is_followed_further(self, old: httpx.Client, client: httpx.Client) -> None:
        last = talk("ada> how are you?")
        assert same(said(old, ROOM, last), observed(client, *OLD, *last)[-1:])

    def test_keys_hold(self, old: httpx.Client) -> None:
        for messages in (OLD, talk("ada> hi", "bob> ada: hello")):
            assert said(old, ROOM, messages, **{"Idempotency-Key": "k"}) == [{"number": 0}, {"number": 1}]
        changed = {"messages": [{**OLD[0], "bot": True}, OLD[1]]}
        response = old.post(f"{ROOM}/messages", json=changed, headers={"Idempotency-Key": "k"})
        error(response, 409, "key-reused", "header.Idempotency-Key")
