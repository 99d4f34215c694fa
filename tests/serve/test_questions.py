"""Chats that come whole: the answers are those of the library."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import httpx
import pytest

import towhom
from tests.serve.conftest import CHAT, JSON, answer, talk
from towhom import Message
from towhom.live import Model
from towhom.samples import sample_chat

CANDIDATES = ["then install bcmwl-kernel-source", "mira: 2.6.32 I think", "ok"]


@pytest.fixture(scope="module")
def model() -> Model:
    return towhom.load()


def as_messages(chat: list[JSON]) -> list[Message]:
    return [Message(each["speaker"], each["text"], line=n) for n, each in enumerate(chat)]


class TestAddressees:
    def test_are_those_of_a_session(self, client: httpx.Client, model: Model) -> None:
        found = answer(client.post("/v1/addressees", json={"messages": CHAT}))["observations"]
        session = model.session()
        assert len(found) == len(CHAT)
        for number, (ours, message) in enumerate(zip(found, as_messages(CHAT), strict=True)):
            expected = session.observe(message)
            placed = expected.placed
            assert ours["number"] == number
            assert ours["message"]["text"] == expected.message.text
            assert ours["message"]["addressee"] == expected.message.addressee
            assert (ours["how"], ours["reason"]) == (expected.how.value, expected.reason)
            assert ours["audience"] == expected.audience.value
            shown = [(each["name"], each["id"], each["probability"]) for each in ours["addressees"]]
            assert shown == [(each.name, each.id, round(each.probability, 6)) for each in expected.addressees]
            assert (tuple(ours["replies_to"]), ours["thread"]) == (placed.replies_to, placed.thread)
            assert ours["thread_probability"] == pytest.approx(placed.probability, abs=1e-6)

    def test_fields_come_back(self, client: httpx.Client) -> None:
        message = {
            "speaker": "U1", "text": "hi", "addressee": "bob", "time": "2024-05-31T10:00:00+02:00",
            "id": "m1", "reply_to": "m0", "kind": "action", "name": "Ada", "mentions": ["bob", "cyd"],
            "bot": True,
        }  # fmt: skip
        found = answer(client.post("/v1/addressees", json={"messages": [message]}))["observations"][0]
        assert found["message"] == message
        assert (found["how"], found["audience"]) == ("named", "somebody")
        again = answer(client.post("/v1/addressees", json={"messages": [found["message"]]}))
        assert again["observations"] == [found]

    def test_at_most_ten_the_likeliest_first(self, client: httpx.Client) -> None:
        chat = talk(*(f"p{number}> is the kettle on?" for number in range(30)))
        last = answer(client.post("/v1/addressees", json={"messages": chat}))["observations"][-1]
        assert len(last["addressees"]) == 10
        likely = [each["probability"] for each in last["addressees"]]
        assert all(one >= other for one, other in pairwise(likely))

    def test_many_are_answered_like_one(self, client: httpx.Client) -> None:
        chats = [CHAT, CHAT[:3], []]
        body = {"requests": [{"messages": chat} for chat in chats]}
        found = answer(client.post("/v1/addressees", json=body))["results"]
        assert found == [answer(client.post("/v1/addressees", json={"messages": chat})) for chat in chats]
        assert found[2] == {"observations": []}


class TestSelect:
    def question(self, **changes: Any) -> JSON:
        return {"messages": CHAT, "responder": "wren", "candidates": CANDIDATES, **changes}

    def test_is_that_of_a_session(self, client: httpx.Client, model: Model) -> None:
        found = answer(client.post("/v1/select", json=self.question()))["selections"]
        session = model.session()
        for message in as_messages(CHAT):
            session.observe(message)
        expected = session.select("wren", CANDIDATES)
        assert [(each["addressee"], each["response"], each["candidate"]) for each in found] == [
            (each.addressee, each.response, each.candidate) for each in expected
        ]
        assert [each["probability"] for each in found] == [round(each.probability, 6) for each in expected]
        assert sum(each["probability"] for each in found) == pytest.approx(1, abs=1e-4)

    def test_many_are_answered_like_one(self, client: httpx.Client) -> None:
        questions = [self.question(), self.question(responder="noor"), self.question(messages=[])]
        found = answer(client.post("/v1/select", json={"requests": questions}))["results"]
        assert found == [answer(client.post("/v1/select", json=each)) for each in questions]
        assert {each["addressee"] for each in found[2]["selections"]} == {None}


def test_sample(client: httpx.Client) -> None:
    with sample_chat() as path:
        assert answer(client.get("/v1/sample")) == {"log": path.read_text("utf-8"), "name": path.name}


class TestThreads:
    def test_are_those_of_the_model(self, client: httpx.Client, model: Model) -> None:
        found = answer(client.post("/v1/threads", json={"messages": CHAT}))["messages"]
        for ours, placed in zip(found, model.threads(as_messages(CHAT)), strict=True):
            assert ours["number"] == placed.line
            assert (tuple(ours["replies_to"]), ours["thread"]) == (placed.replies_to, placed.thread)
            assert ours["probability"] == pytest.approx(placed.probability, abs=1e-6)
            assert ours["kind"] == "message"
