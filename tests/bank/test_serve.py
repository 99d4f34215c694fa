"""A bank over HTTP, with a real server."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

pytest.importorskip("fastapi")

from tests.cli.conftest import run_apart
from tests.serve.conftest import Start, start  # noqa: F401
from towhom.bank import Bank
from towhom.bank.writing import Forgotten, forget

CHANNEL = "/v1/channels/repair"
ASKED = "my dishwasher says E18 and there is water standing in it, any idea?"


def ask(client: httpx.Client, **body: object) -> httpx.Response:
    return client.post(f"{CHANNEL}/respond", json={"responder": "pia", **body})


def test_respond_and_what_was_forgotten(start: Start, bank_folder: Path) -> None:  # noqa: F811
    client = start("--bank", str(bank_folder)).client
    client.post(f"{CHANNEL}/messages", json={"message": {"speaker": "kurt", "text": ASKED}})
    best = ask(client).json()["responses"][0]
    assert best["addressee"] == "kurt"
    assert best["response"].startswith("E18 means")
    assert best["source"]["question"].startswith("my washing machine")
    assert ask(client, least=1.0).json() == {"responses": []}
    assert ask(client, top=0).status_code == 422
    assert ask(client, least="much").status_code == 422
    forget(Bank(bank_folder), Forgotten(pattern="E18"))
    assert "E18" not in ask(client, least=0.0, top=100).text.replace(ASKED, "")
    assert client.post("/v1/channels/none/respond", json={"responder": "pia"}).status_code == 404


def test_answered_before(start: Start, bank_folder: Path) -> None:  # noqa: F811
    client = start("--bank", str(bank_folder)).client

    def answered(**body: object) -> httpx.Response:
        return client.post("/v1/answered", json=body)

    best = answered(question=["hello, can somebody help me?", ASKED]).json()["responses"][0]
    assert best["response"].startswith("E18 means")
    assert best["source"]["question"].startswith("my washing machine")
    assert answered(question=["who won the chess tournament in Reykjavik?"]).json() == {"responses": []}
    assert answered(question=[""]).json() == {"responses": []}
    assert answered(question=[]).status_code == 422
    assert answered(question=["a"] * 11).status_code == 422
    assert answered(question=["a" * 1_000_000]).json()["error"]["code"] == "text-too-long"


def test_a_server_without_a_bank(start: Start) -> None:  # noqa: F811
    client = start().client
    client.post(f"{CHANNEL}/messages", json={"message": {"speaker": "kurt", "text": ASKED}})
    for found in (ask(client), client.post("/v1/answered", json={"question": [ASKED]})):
        assert (found.status_code, found.json()["error"]["code"]) == (404, "no-bank")


def test_a_server_does_not_begin_with_a_bad_bank(tmp_path: Path, bank_folder: Path) -> None:
    told = run_apart("serve", "--port", "0", "--data", tmp_path / "data", "--bank", tmp_path / "none")
    assert told.returncode == 1
    assert "there is no such bank" in told.stderr
    (bank_folder / "segment-0000" / "tokens.npy").unlink()
    told = run_apart("serve", "--port", "0", "--data", tmp_path / "data", "--bank", bank_folder)
    assert told.returncode == 1
    assert "tokens.npy: is missing" in told.stderr
