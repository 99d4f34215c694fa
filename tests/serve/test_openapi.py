"""The description at /openapi.json, and requests that are made up from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from schemathesis.specs.openapi.schemas import OpenApiSchema

from tests.serve.conftest import Server, answer

ROUTES = {
    "/v1/select": {"post"},
    "/v1/addressees": {"post"},
    "/v1/threads": {"post"},
    "/v1/answered": {"post"},
    "/v1/logs": {"post"},
    "/v1/gate": {"post"},
    "/v1/formats": {"get"},
    "/v1/sample": {"get"},
    "/v1/channels": {"get"},
    "/v1/channels/{id}": {"delete"},
    "/v1/channels/{id}/messages": {"get", "put", "post", "delete"},
    "/v1/channels/{id}/people": {"get", "put"},
    "/v1/channels/{id}/people/{person}": {"delete"},
    "/v1/people/{person}": {"delete"},
    "/v1/channels/{id}/select": {"post"},
    "/v1/channels/{id}/respond": {"post"},
    "/v1/channels/{id}/events": {"get"},
    "/healthz": {"get"},
    "/readyz": {"get"},
    "/metrics": {"get"},
}


def test_all_routes_are_described(client: httpx.Client) -> None:
    described = answer(client.get("/openapi.json"))
    assert {path: set(methods) for path, methods in described["paths"].items()} == ROUTES
    for methods in described["paths"].values():
        for operation in methods.values():
            assert operation["summary"]
            assert operation["description"].endswith((".", "?"))
            for status in ("4XX", "5XX"):
                content = operation["responses"][status]["content"]["application/json"]
                assert content["schema"]["$ref"] == "#/components/schemas/Error"


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenApiSchema]:
    """Of a server that takes little, so that what is made up soon reaches its bounds."""
    small = ("--max-messages", "8", "--max-text", "40", "--max-name", "22", "--max-candidates", "4")
    server = Server(tmp_path_factory.mktemp("fuzzed"), "--workers", "1", "--rate", "0", *small)
    yield schemathesis.openapi.from_url(f"{server.client.base_url}openapi.json")
    assert " 500 " not in server.log
    server.stop()


NOT_SAID = ("unreadable-log", "too-many-messages", "unknown-event")
"""What a schema cannot say: whether a file is a log, or an object an event, how many
messages several lists have together."""
NOTHING_TO_SEND = ("/healthz", "/readyz", "/metrics", "/v1/formats", "/v1/sample", "/v1/people/{person}")


def made_up() -> Iterator[tuple[str, str, GenerationMode]]:
    for path, methods in ROUTES.items():
        # Streams do not end; they are left to the tests that know how to read them.
        for method in methods if not path.endswith("/events") else ():
            yield path, method, GenerationMode.POSITIVE
            if path not in NOTHING_TO_SEND:
                yield path, method, GenerationMode.NEGATIVE


@pytest.mark.parametrize(("path", "method", "mode"), sorted(made_up()))
def test_made_up_requests(path: str, method: str, mode: GenerationMode, described: OpenApiSchema) -> None:
    """What fits the description is answered, what does not is refused, both as it says."""

    @given(described[path][method.upper()].as_strategy(mode))
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    def call(case: Any) -> None:
        response = case.call()
        refused = response.status_code == 422 and response.json()["error"]["code"] in NOT_SAID
        case.validate_response(response, excluded_checks=[positive_data_acceptance] if refused else [])

    call()
