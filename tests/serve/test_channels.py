"""Channels that are kept: order, pages, history, keys."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.serve.conftest import (
    CHAT,
    Server,
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


class TestMessages:
    def test_one_by_one_is_like_all_at_once(self, client: httpx.Client, channel: str) -> None:
        whole = answer(client.post("/v1/addressees", json={"messages": CHAT}))["observations"]
        for number, each in enumerate(CHAT):
            response = client.post(f"{channel}/messages", json={"message": each})
            assert same(answer(response, 201)["observations"], [whole[number]])
        assert same(answer(client.get(f"{channel}/messages")), {"observations": whole, "next": None})

    def test_several_at_a_time(self, client: httpx.Client, channel: str) -> None:
        first, second = said(client, channel, CHAT[:4]), said(client, channel, CHAT[4:])
        assert [each["number"] for each in first + second] == [0, 1, 2, 3, 4, 5]
        whole = answer(client.post("/v1/addressees", json={"messages": CHAT}))["observations"]
        assert same(first + second, whole)

    def test_pages(self, client: httpx.Client, channel: str) -> None:
        said(client, channel, CHAT)
        page = answer(client.get(f"{channel}/messages", params={"limit": 4}))
        assert ([each["number"] for each in page["observations"]], page["next"]) == ([0, 1, 2, 3], 3)
        page = answer(client.get(f"{channel}/messages", params={"limit": 2, "after": page["next"]}))
        assert ([each["number"] for each in page["observations"]], page["next"]) == ([4, 5], None)
        assert answer(client.get(f"{channel}/messages?after=5")) == {"observations": [], "next": None}

    def test_channel_of_any_allowed_name(self, client: httpx.Client) -> None:
        channel = "/v1/channels/%23a%40b.c~d%3Ae%2Bf-G_h".replace("_", "")
        said(client, channel, CHAT[:1])
        listed = answer(client.get("/v1/channels", params={"limit": 1000}))["channels"]
        assert "#a@b.c~d:e+f-Gh" in [each["id"] for each in listed]

    def test_odd_texts(self, client: httpx.Client, channel: str) -> None:
        odd = ["", " ", "\x00\n\r\u2028\u2029", "ça va ☕ 𝄞", '"}],\\', "a: b: c:", "‮x", "x" * 4000]
        found = said(client, channel, [message("ada \x00\n☕", text) for text in odd])
        assert len(found) == len(odd)
        kept = answer(client.get(f"{channel}/messages"))["observations"]
        assert [each["message"]["text"] for each in kept] == odd
        assert {each["message"]["speaker"] for each in kept} == {"ada \x00\n☕"}


class TestHistory:
    def test_replaced(self, client: httpx.Client, channel: str) -> None:
        first = client.put(f"{channel}/messages", json={"messages": CHAT[:2]})
        assert [each["number"] for each in answer(first, 201)["observations"]] == [0, 1]
        second = answer(client.put(f"{channel}/messages", json={"messages": CHAT}), 200)
        assert second == answer(client.post("/v1/addressees", json={"messages": CHAT}))
        assert said(client, channel, talk("noor> hm"))[0]["number"] == len(CHAT)

    def test_empty(self, client: httpx.Client, channel: str) -> None:
        assert answer(client.put(f"{channel}/messages", json={"messages": []}), 201) == {"observations": []}
        assert texts(client, channel) == []

    def test_messages_deleted(self, client: httpx.Client, channel: str) -> None:
        said(client, channel, CHAT)
        assert client.delete(f"{channel}/messages").status_code == 204
        assert texts(client, channel) == []
        assert said(client, channel, CHAT[:1])[0]["number"] == 0

    def test_deleted(self, client: httpx.Client, channel: str) -> None:
        said(client, channel, CHAT, **{"Idempotency-Key": "k"})
        response = client.delete(channel)
        assert (response.status_code, response.content) == (204, b"")
        # Nothing of it is left: neither what was said nor the key.
        again = said(client, channel, CHAT[:1], **{"Idempotency-Key": "k"})
        assert again == answer(client.post("/v1/addressees", json={"messages": CHAT[:1]}))["observations"]

    @pytest.mark.parametrize(
        ("method", "rest"),
        [
            ("GET", "/messages"),
            ("DELETE", ""),
            ("DELETE", "/messages"),
            ("GET", "/events"),
            ("POST", "/select"),
        ],
    )
    def test_no_such_channel(self, method: str, rest: str, client: httpx.Client, channel: str) -> None:
        body = {"responder": "a", "candidates": ["b"]} if method == "POST" else None
        response = client.request(method, channel + rest, json=body)
        error(response, 404, "no-such-channel", "path.id")


class TestSelect:
    def test_is_that_of_the_whole_chat(self, client: httpx.Client, channel: str) -> None:
        said(client, channel, CHAT)
        question = {"responder": "wren", "candidates": ["install bcmwl", "tobias: no", "ok"]}
        found = answer(client.post(f"{channel}/select", json=question))
        assert found == answer(client.post("/v1/select", json={"messages": CHAT, **question}))
        # Nothing is remembered.
        assert found == answer(client.post(f"{channel}/select", json=question))
        assert texts(client, channel)[-1] == "thanks!"


class TestKeys:
    def test_same_answer_and_no_double(self, client: httpx.Client, channel: str) -> None:
        first = said(client, channel, CHAT[:2], **{"Idempotency-Key": "one"})
        assert said(client, channel, CHAT[:2], **{"Idempotency-Key": "one"}) == first
        second = said(client, channel, CHAT[:2], **{"Idempotency-Key": "two"})
        assert [each["number"] for each in second] == [2, 3]
        assert said(client, channel, CHAT[:2], **{"Idempotency-Key": "one"}) == first
        assert len(texts(client, channel)) == 4

    def test_at_the_same_time(self, client: httpx.Client, channel: str) -> None:
        with ThreadPoolExecutor(8) as pool:
            found = list(
                pool.map(lambda _: said(client, channel, CHAT, **{"Idempotency-Key": "k"}), range(16))
            )
        assert all(each == found[0] for each in found)
        assert len(texts(client, channel)) == len(CHAT)

    def test_for_other_messages(self, client: httpx.Client, channel: str) -> None:
        said(client, channel, CHAT[:2], **{"Idempotency-Key": "k"})
        response = client.post(
            f"{channel}/messages", json={"messages": CHAT[1:2]}, headers={"Idempotency-Key": "k"}
        )
        error(response, 409, "key-reused", "header.Idempotency-Key")

    def test_in_another_channel_is_another(self, client: httpx.Client, channel: str) -> None:
        for name in (f"{channel}1", f"{channel}2"):
            assert said(client, name, CHAT[:1], **{"Idempotency-Key": "k"})[0]["number"] == 0
            assert len(texts(client, name)) == 1


class TestMany:
    def test_order_under_concurrency(self, server: Server, channel: str) -> None:
        """Everybody says their messages one after the other, in every channel at once."""
        channels, people, each = 6, 4, 12

        def speak(place: int, person: int) -> dict[int, str]:
            numbers = {}
            with httpx.Client(base_url=server.client.base_url, timeout=30) as client:
                for turn in range(each):
                    text = f"{person} says {turn}"
                    found = said(client, f"{channel}{place}", [message(f"p{person}", text)])
                    numbers[found[0]["number"]] = text
            return numbers

        jobs = [(place, person) for place in range(channels) for person in range(people)]
        with ThreadPoolExecutor(len(jobs)) as pool:
            answers = list(pool.map(lambda job: speak(*job), jobs))
        for place in range(channels):
            kept = texts(server.client, f"{channel}{place}")
            assert len(kept) == people * each
            for (where, person), numbers in zip(jobs, answers, strict=True):
                if where == place:
                    assert {number: kept[number] for number in numbers} == numbers
                    own = [text for text in kept if text.startswith(f"{person} ")]
                    assert own == [f"{person} says {turn}" for turn in range(each)]

    def test_a_long_job_lets_others_through(self, server: Server, channel: str) -> None:
        """Both workers have hundreds of messages to go through; who asks for little does not wait."""
        long = [message(f"p{number % 7}", f"number {number}") for number in range(1000)]
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(client_put, server, f"{channel}{n}", long) for n in range(4)]
            wait_for(lambda: counted(server.client, "towhom_jobs") == 4)
            said(server.client, f"{channel}-short", CHAT[:1])
            assert not any(job.done() for job in jobs)
            for job in jobs:
                assert job.result() == len(long)

    def test_listed(self, client: httpx.Client, channel: str) -> None:
        before = datetime.now(UTC) - timedelta(seconds=1)
        names = [f"{channel}-{number}" for number in range(5)]
        for number, name in enumerate(names):
            said(client, name, CHAT[: number + 1])
        found, after = [], ""
        while after is not None:
            page = answer(client.get("/v1/channels", params={"after": after, "limit": 2}))
            assert len(page["channels"]) <= 2
            found += page["channels"]
            after = page["next"]
        ids = [each["id"] for each in found]
        assert ids == sorted(set(ids))
        ours = [each for each in found if f"/v1/channels/{each['id']}" in names]
        assert [each["messages"] for each in ours] == [1, 2, 3, 4, 5]
        assert all(before < datetime.fromisoformat(each["updated"]) for each in ours)


def client_put(server: Server, channel: str, messages: list[dict[str, str]]) -> int:
    with httpx.Client(base_url=server.client.base_url, timeout=60) as client:
        found = answer(client.put(f"{channel}/messages", json={"messages": messages}), 201)
    return len(found["observations"])
