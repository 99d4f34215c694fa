"""Who gets in: tokens, hosts, how often."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx
import pytest

from tests.serve.conftest import CHAT, Start, answer, error, said
from towhom.serve.problems import Problem
from towhom.serve.rate import RateLimit

TOKEN, OTHER = "correct-horse-battery", "staple-0123456789"
ROOM = "/v1/channels/room"


def bearing(token: str, scheme: str = "Bearer") -> dict[str, str]:
    return {"Authorization": f"{scheme} {token}"}


class TestToken:
    def test_opens_what_it_should(self, start: Start, tmp_path: Path) -> None:
        file = tmp_path / "tokens"
        file.write_text(f"{OTHER}\n")
        server = start("--host", "0.0.0.0", "--token-file", str(file), TOWHOM_SERVE_TOKEN=TOKEN)
        port = server.client.base_url.port
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
            for path in ("/healthz", "/readyz", "/openapi.json", "/"):
                assert client.get(path).status_code == 200, path
            for path in ("/v1/sample", "/v1/channels", "/v1/nothing", f"{ROOM}/events", "/metrics"):
                response = client.get(path)
                error(response, 401, "unauthorized", "header.Authorization")
                assert response.headers["WWW-Authenticate"] == "Bearer"
            for wrong in (
                bearing(TOKEN[:-1]),
                bearing(f"{TOKEN}x"),
                bearing(TOKEN.upper()),
                bearing(TOKEN, "Basic"),
                {"Authorization": TOKEN},
            ):
                response = client.get("/v1/sample", headers=wrong)
                error(response, 401, "unauthorized", "header.Authorization")
            response = client.get("/v1/sample", headers=[(b"Authorization", b"Bearer \xff\xfe")])
            error(response, 401, "unauthorized", "header.Authorization")
            response = client.post(f"{ROOM}/messages", json={"messages": CHAT})
            error(response, 401, "unauthorized", "header.Authorization")
            for right in (bearing(TOKEN), bearing(OTHER), bearing(TOKEN, "bearer")):
                assert client.get("/v1/sample", headers=right).status_code == 200
                assert client.get("/metrics", headers=right).status_code == 200
            # Another name for the server, as behind a proxy.
            response = client.get("/v1/channels", headers={**bearing(TOKEN), "Host": "chat.example.org"})
            assert answer(response) == {"channels": [], "next": None}
            described = answer(client.get("/openapi.json"))
            assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
        assert TOKEN not in server.log
        assert OTHER not in server.log

    def test_on_loopback_metrics_are_open(self, start: Start) -> None:
        client = start(TOWHOM_SERVE_TOKEN=TOKEN).client
        assert client.get("/metrics").status_code == 200
        error(client.get("/v1/sample"), 401, "unauthorized", "header.Authorization")


class TestHost:
    @pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", ""])
    def test_another_is_refused_without_a_token(self, host: str, client: httpx.Client) -> None:
        for path in ("/v1/sample", "/", "/metrics"):
            error(client.get(path, headers={"Host": host}), 421, "wrong-host", "header.Host")

    @pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8080", "[::1]"])
    def test_this_machine(self, host: str, client: httpx.Client) -> None:
        assert client.get("/v1/sample", headers={"Host": host}).status_code == 200

    def test_listens_on_loopback_only(self, start: Start) -> None:
        port = start().client.base_url.port
        assert port is not None
        with socket.socket() as other:  # were it all addresses, this one would be taken
            other.bind(("127.0.0.2", port))


class TestRate:
    def test_too_many(self, start: Start) -> None:
        server = start("--rate", "2")
        responses = [server.client.get("/v1/sample") for _ in range(8)]
        assert [each.status_code for each in responses[:4]] == [200] * 4
        refused = responses[-1]
        assert "2 requests a second" in error(refused, 429, "too-many-requests")
        assert refused.headers["Retry-After"] == "1"
        assert server.client.get("/healthz").status_code == 200

    def test_fills_evenly(self) -> None:
        now = 0.0
        limit = RateLimit(4.0, lambda: now)
        for _ in range(8):
            limit.take("ada")
        with pytest.raises(Problem) as caught:
            limit.take("ada")
        assert caught.value.headers == {"Retry-After": "1"}
        limit.take("bob")
        now = 0.5
        for _ in range(2):
            limit.take("ada")
        with pytest.raises(Problem):
            limit.take("ada")

    def test_slow_ones(self) -> None:
        limit = RateLimit(0.1, lambda: 0.0)
        limit.take("ada")
        with pytest.raises(Problem) as caught:
            limit.take("ada")
        assert caught.value.headers == {"Retry-After": "10"}

    def test_no_limit(self) -> None:
        limit = RateLimit(0.0)
        for _ in range(1000):
            limit.take("ada")

    def test_clients_are_forgotten(self) -> None:
        limit = RateLimit(1.0, lambda: 0.0)
        for number in range(20_000):
            limit.take(str(number))
        assert len(limit._buckets) <= 10_000


class TestHeaders:
    def test_page(self, client: httpx.Client) -> None:
        for path in ("/", "/app.js", "/style.css"):
            response = client.get(path)
            assert response.status_code == 200
            policy = response.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'self'; img-src 'self' data:; script-src 'self' 'sha256-")
            assert "unsafe" not in policy
            assert "http" not in policy
        assert client.get("/").headers["Content-Type"].startswith("text/html")

    def test_chats_are_not_cached(self, client: httpx.Client, channel: str) -> None:
        said(client, channel, CHAT)
        response = client.get(f"{channel}/messages")
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert len(response.headers["X-Request-Id"]) == 16
        assert "Access-Control-Allow-Origin" not in response.headers
        assert "Server" not in response.headers
