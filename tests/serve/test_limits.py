"""Requests that are too much, or not what they should be: every one has its code."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.serve.conftest import CHAT, Start, answer, counted, error, message, said, talk, wait_for

CHANNEL = "/v1/channels/limits/messages"
CROWD = [message(f"p{number}", "hi") for number in range(60)]
SELECT = {"messages": [], "responder": "ada", "candidates": ["yes"]}


def chat(**changes: Any) -> dict[str, Any]:
    return {"messages": [*CHAT, {**message("ada", "hi"), **changes}]}


class TestSizes:
    @pytest.mark.parametrize(
        ("path", "body", "code", "where"),
        [
            ("/v1/addressees", chat(text="x" * 4001), "text-too-long", "body.messages[6].text"),
            ("/v1/addressees", chat(speaker="x" * 201), "text-too-long", "body.messages[6].speaker"),
            ("/v1/addressees", chat(addressee="x" * 201), "text-too-long", "body.messages[6].addressee"),
            ("/v1/addressees", chat(id="x" * 201), "text-too-long", "body.messages[6].id"),
            ("/v1/addressees", chat(reply_to="x" * 201), "text-too-long", "body.messages[6].reply_to"),
            ("/v1/addressees", chat(name="x" * 10_000), "text-too-long", "body.messages[6].name"),
            (
                "/v1/addressees",
                chat(mentions=["a", "x" * 201]),
                "text-too-long",
                "body.messages[6].mentions[1]",
            ),
            ("/v1/addressees", chat(mentions=["a"] * 101), "too-many-mentions", "body.messages[6].mentions"),
            (
                "/v1/addressees",
                chat(kind="rename", text="x" * 201),
                "text-too-long",
                "body.messages[6].text",
            ),
            (
                "/v1/addressees",
                chat(kind="edit", id=1, text="x" * 4001),
                "text-too-long",
                "body.messages[6].text",
            ),
            ("/v1/addressees", {**chat(), "people": [{"id": 1}] * 101}, "too-many-people", "body.people"),
            (
                "/v1/select",
                {"requests": [SELECT | {"people": [{"id": 1}, {"id": 2, "aliases": ["x"] * 21}]}]},
                "too-many-aliases",
                "body.requests[0].people[1].aliases",
            ),
            (
                "/v1/select",
                SELECT | {"people": [{"id": 2, "aliases": ["x" * 201]}]},
                "text-too-long",
                "body.people[0].aliases[0]",
            ),
            (
                "/v1/select",
                SELECT | {"people": [{"id": 2, "name": "x" * 10_000}]},
                "text-too-long",
                "body.people[0].name",
            ),
            ("/v1/threads", chat(text="x" * 4001), "text-too-long", "body.messages[6].text"),
            ("/v1/threads", {"messages": CHAT * 400}, "too-many-messages", "body.messages"),
            ("/v1/select", SELECT | {"responder": "x" * 201}, "text-too-long", "body.responder"),
            ("/v1/select", SELECT | {"candidates": ["x"] * 101}, "too-many-candidates", "body.candidates"),
            ("/v1/select", SELECT | {"candidates": ["x", "x" * 4001]}, "text-too-long", "body.candidates[1]"),
            ("/v1/select", {"requests": [SELECT] * 65}, "too-many-questions", "body.requests"),
            ("/v1/addressees", {"requests": [chat()] * 65}, "too-many-questions", "body.requests"),
            (
                "/v1/addressees",
                {"requests": [{"messages": CHAT * 30}] * 12},
                "too-many-messages",
                "body.requests",
            ),
            (
                "/v1/select",
                {"requests": [SELECT, SELECT | chat(text="x" * 4001)]},
                "text-too-long",
                "body.requests[1].messages[6].text",
            ),
            (CHANNEL, {"message": message("ada", "x" * 4001)}, "text-too-long", "body.message.text"),
            (CHANNEL, {"messages": talk("ada> hi") * 2001}, "too-many-messages", "body.messages"),
        ],
    )
    def test_too_much(self, path: str, body: Any, code: str, where: str, client: httpx.Client) -> None:
        error(client.post(path, json=body), 422, code, where)

    def test_as_much_as_can_be(self, client: httpx.Client) -> None:
        body = SELECT | {"candidates": ["x" * 4000] + ["y"] * 99, "responder": "x" * 200}
        assert len(answer(client.post("/v1/select", json=body))["selections"]) == 100

    def test_few_pairs_of_many(self, client: httpx.Client, channel: str) -> None:
        """All that were asked for, and no more; the likeliest first."""
        body = SELECT | {"messages": CROWD, "candidates": [f"{number}" for number in range(10)]}
        whole = answer(client.post("/v1/select", json=body | {"top": 10_000}))["selections"]
        assert len(whole) > 500
        assert answer(client.post("/v1/select", json=body))["selections"] == whole[:100]
        found = answer(client.post("/v1/select", json={"requests": [body | {"top": 3}, body | {"top": 1}]}))
        assert [each["selections"] for each in found["results"]] == [whole[:3], whole[:1]]
        said(client, channel, CHAT)
        question = {"responder": "ada", "candidates": ["yes", "no"], "top": 2}
        assert len(answer(client.post(f"{channel}/select", json=question))["selections"]) == 2
        for top in (0, 1.5, "3", None):
            response = client.post("/v1/select", json=body | {"top": top})
            error(response, 422, "invalid-request", "body.top")

    def test_answers_that_would_be_huge(self, client: httpx.Client, channel: str) -> None:
        """A request that is small for what it asks."""
        body = SELECT | {"messages": CROWD, "candidates": ["x" * 4000] * 7, "top": 10_000}
        error(client.post("/v1/select", json={"requests": [body] * 3}), 422, "answer-too-large", "body.top")
        assert answer(client.post("/v1/select", json={"requests": [body | {"top": 2}] * 3}))
        said(client, channel, CROWD)
        question = {"responder": "ada", "candidates": ["x" * 4000] * 20, "top": 10_000}
        error(client.post(f"{channel}/select", json=question), 422, "answer-too-large", "body.top")

    def test_settings_set_them(self, start: Start) -> None:
        server = start(
            "--max-text", "3", "--max-messages", "2", "--max-mentions", "4", TOWHOM_SERVE_MAX_CANDIDATES="1"
        )
        post = server.client.post
        error(
            post("/v1/threads", json={"messages": talk("ada> four")}),
            422,
            "text-too-long",
            "body.messages[0].text",
        )
        error(post("/v1/threads", json={"messages": CHAT}), 422, "too-many-messages", "body.messages")
        body = SELECT | {"candidates": ["a", "b"]}
        error(post("/v1/select", json=body), 422, "too-many-candidates", "body.candidates")
        schemas = answer(server.client.get("/openapi.json"))["components"]["schemas"]
        assert schemas["Message"]["properties"]["text"]["maxLength"] == 3
        assert schemas["Message"]["properties"]["mentions"]["maxItems"] == 4
        assert schemas["Message"]["properties"]["mentions"]["items"]["maxLength"] == 200
        assert schemas["Rename"]["properties"]["text"]["maxLength"] == 200
        assert schemas["Person"]["properties"]["aliases"]["maxItems"] == 20
        assert schemas["Chat"]["properties"]["messages"]["maxItems"] == 2
        assert schemas["Question"]["properties"]["candidates"]["maxItems"] == 1

    def test_channels(self, start: Start) -> None:
        server = start("--max-channels", "2")
        for name in ("a", "b"):
            said(server.client, f"/v1/channels/{name}", CHAT)
        for method in ("POST", "PUT"):
            response = server.client.request(method, "/v1/channels/c/messages", json={"messages": CHAT})
            error(response, 409, "too-many-channels", "path.id")
        said(server.client, "/v1/channels/a", CHAT)
        assert server.client.delete("/v1/channels/b").status_code == 204
        said(server.client, "/v1/channels/c", CHAT)


class TestBody:
    def test_too_large(self, start: Start) -> None:
        client = start("--max-body", "1000").client
        body = b'{"messages": []}' + b" " * 1000
        kind = {"Content-Type": "application/json"}
        error(client.post("/v1/addressees", content=body, headers=kind), 413, "body-too-large", "body")

        def pieces() -> Iterator[bytes]:
            yield body[:600]
            yield body[600:]

        # In pieces, so that its size is not known before.
        response = client.post("/v1/addressees", content=pieces(), headers=kind)
        error(response, 413, "body-too-large", "body")
        assert answer(client.post("/v1/addressees", content=body[:1000], headers=kind)) == {
            "observations": []
        }

    @pytest.mark.parametrize(
        "kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"]
    )
    def test_that_is_not_said_to_be_json(self, kind: str, client: httpx.Client) -> None:
        response = client.post("/v1/addressees", content=b'{"messages": []}', headers={"Content-Type": kind})
        error(response, 415, "not-json", "header.Content-Type")

    @pytest.mark.parametrize(
        "body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"messages": [' + b"1" * 5000 + b"]}"]
    )
    def test_that_is_no_json(self, body: bytes, client: httpx.Client) -> None:
        kind = {"Content-Type": "application/json; charset=utf-8"}
        response = client.post("/v1/addressees", content=body, headers=kind)
        assert response.status_code in (400, 422)
        assert response.json()["error"]["code"] in ("invalid-json", "invalid-request")

    @pytest.mark.parametrize(
        ("body", "where", "sentence"),
        [
            ([], "body", "The body must be an object; "),
            (None, "body", "The body must be an object; "),
            ({}, "body.messages", "This field is missing."),
            ({"messages": 3}, "body.messages", "This must be a list."),
            ({"messages": [3]}, "body.messages[0]", "This must be an object."),
            ({"messages": [{"text": "x"}]}, "body.messages[0].speaker", "This field is missing."),
            (chat(speaker=True), "body.messages[6].speaker", "This must be a text or a whole number."),
            (chat(speaker=3.5), "body.messages[6].speaker", "This must be a text or a whole number."),
            (chat(speaker=10**20 + 1), "body.messages[6].speaker", "A whole number has at most 20 digits"),
            (chat(addressee=False), "body.messages[6].addressee", "This must be a text or a whole number."),
            (chat(id=True), "body.messages[6].id", "This must be a text or a whole number."),
            (chat(reply_to=True), "body.messages[6].reply_to", "This must be a text or a whole number."),
            (
                chat(mentions=[1, True]),
                "body.messages[6].mentions[1]",
                "This must be a text or a whole number.",
            ),
            (chat(mentions=[""]), "body.messages[6].mentions[0]", "This must not be empty."),
            (chat(mentions="bob"), "body.messages[6].mentions", "This must be a list."),
            (chat(name=17), "body.messages[6].name", "This must be a text."),
            (chat(bot=1), "body.messages[6].bot", "This must be true or false."),
            (chat(text=17), "body.messages[6].text", "This must be a text."),
            (chat(kind="day"), "body.messages[6].kind", "This kind is not known; "),
            (chat(kind=3), "body.messages[6].kind", "This kind is not known; "),
            (chat(kind="rename", text=""), "body.messages[6].text", "This must not be empty."),
            (chat(kind="edit"), "body.messages[6].id", "This field is missing."),
            (chat(kind="delete"), "body.messages[6].id", "This field is missing."),
            ({"messages": [{"speaker": "ada"}]}, "body.messages[0].text", "This field is missing."),
            (
                {"messages": [{"speaker": "ada", "kind": "edit", "id": 1}]},
                "body.messages[0].text",
                "This field is missing.",
            ),
            ({"messages": [], "people": [{}]}, "body.people[0].id", "This field is missing."),
            ({"messages": [], "people": [{"id": ""}]}, "body.people[0].id", "This must not be empty."),
            (chat(speaker=""), "body.messages[6].speaker", "This must not be empty."),
            (chat(spaeker="x"), "body.messages[6]", "There is a field in here that is not known; "),
            (chat(time="yesterday"), "body.messages[6].time", "A time is a text in ISO 8601, "),
            (chat(time=17), "body.messages[6].time", "A time is a text in ISO 8601, "),
            (chat(text="\ud800"), "body.messages[6].text", "This text has half a surrogate pair in it"),
            ({"requests": []}, "body.requests", "There must be one or more of these."),
            ({"requests": [{"messages": 3}]}, "body.requests[0].messages", "This must be a list."),
        ],
    )
    def test_that_is_wrong(self, body: Any, where: str, sentence: str, client: httpx.Client) -> None:
        content = json.dumps(body).encode()  # httpx would not send half a surrogate pair
        response = client.post(
            "/v1/addressees", content=content, headers={"Content-Type": "application/json"}
        )
        found = error(response, 422, "invalid-request", where)
        assert found.startswith(sentence)

    @pytest.mark.parametrize(
        ("body", "where"),
        [
            ({}, "body.messages"),
            ({"messages": []}, "body.messages"),
            ({"message": {}}, "body.message.speaker"),
        ],
    )
    def test_next_messages(self, body: Any, where: str, client: httpx.Client) -> None:
        error(client.post(CHANNEL, json=body), 422, "invalid-request", where)


class TestAddress:
    @pytest.mark.parametrize(
        "path", ["/v1/nothing", "/v1", "/v1/select/", "/../etc/passwd", "/app.js/x", "/%2e%2e"]
    )
    def test_nothing_there(self, path: str, client: httpx.Client) -> None:
        error(client.get(path), 404, "not-found")

    def test_method(self, client: httpx.Client) -> None:
        response = client.get("/v1/select")
        error(response, 405, "method-not-allowed")
        assert response.headers["Allow"] == "POST"

    @pytest.mark.parametrize("name", ["a b", "%C3%A4", "a%00", "x" * 129, "a!", "%2E", "%2E%2E", "..."])
    def test_channel_that_cannot_be(self, name: str, client: httpx.Client) -> None:
        sentence = error(client.get(f"/v1/channels/{name}/messages"), 422, "invalid-request", "path.id")
        assert "1 to 128" in sentence

    @pytest.mark.parametrize(
        "query", ["after=x", "after=-2", "limit=0", "limit=1001", "after=99999999999999999999"]
    )
    def test_query(self, query: str, client: httpx.Client) -> None:
        where = f"query.{query.split('=')[0]}"
        error(client.get(f"/v1/channels/a/messages?{query}"), 422, "invalid-request", where)

    @pytest.mark.parametrize("key", ["", "x" * 201])
    def test_key(self, key: str, client: httpx.Client) -> None:
        response = client.post(CHANNEL, json={"messages": CHAT}, headers={"Idempotency-Key": key})
        error(response, 422, "invalid-request", "header.Idempotency-Key")


def test_overloaded(start: Start) -> None:
    server = start("--max-waiting", "1")
    halted = server.halt(-1)
    with httpx.Client(base_url=server.client.base_url, timeout=30) as other:
        job = threading.Thread(
            target=other.post, args=("/v1/addressees",), kwargs={"json": {"messages": CHAT}}
        )
        job.start()
        wait_for(lambda: counted(server.client, "towhom_jobs") == 1)
        refused = server.client.get("/v1/sample")
        os.kill(halted, signal.SIGCONT)
        job.join()
    error(refused, 503, "overloaded")
    assert refused.headers["Retry-After"] == "1"
    answer(server.client.get("/v1/sample"))
