"""What an earlier version wrote is opened: docs/compatibility.md promises it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import towhom
from tests.compatibility.make import CHAT, NEXT, WORDS, weigh_model
from tests.serve.conftest import Server, answer
from towhom import Message
from towhom.batching import Batcher
from towhom.corpus import Corpus
from towhom.persistence import load_model
from towhom.testing.chats import varied_documents, write_corpus

WRITTEN = Path(__file__).parent / "written"


@pytest.fixture
def expected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((WRITTEN / "expected.json").read_text("utf-8"))
    return found


def test_a_model(expected: dict[str, Any], tmp_path: Path) -> None:
    saved = load_model(WRITTEN / "model")
    assert (saved.system, saved.context, saved.vocabulary.words) == ("sirnn", 5, WORDS)
    assert weigh_model(WRITTEN / "model") == expected["weights"]
    corpus: Corpus = write_corpus(tmp_path, varied_documents(), candidates=3)
    words = saved.vocabulary.ids(list(corpus.vocabulary.words))
    scores = saved.runtime.score_many(
        Batcher(corpus, context=5, candidates=3, words=words).questions(np.arange(5))
    )
    assert np.isfinite(scores.response).all()


def test_the_state_of_a_session(expected: dict[str, Any]) -> None:
    session = towhom.load().session()
    session.restore(WRITTEN / "session.json")
    assert [(message.speaker, message.text) for message in session.history][:2] == list(CHAT)[:2]
    assert session.observe(Message(*NEXT)).addressee == expected["addressee"]


def test_a_database(expected: dict[str, Any], tmp_path: Path) -> None:
    content = gzip.decompress((WRITTEN / "channels.sqlite.gz").read_bytes())
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "channels.sqlite").write_bytes(content)
    server = Server(tmp_path, "--workers", "1")
    try:
        kept = answer(server.client.get("/v1/channels/room/messages"))["observations"]
        assert [(each["message"]["speaker"], each["message"]["text"]) for each in kept][:2] == list(CHAT)[:2]
        message = {"message": {"speaker": NEXT[0], "text": NEXT[1]}}
        observed = answer(server.client.post("/v1/channels/room/messages", json=message), 201)["observations"]
        assert observed[0]["addressees"][0]["name"] == expected["addressee"]
    finally:
        server.end()
