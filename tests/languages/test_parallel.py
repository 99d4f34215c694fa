"""The same chat in seven languages: what is found in one is found in the others."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import towhom
from towhom.evaluation.addressees import describe_addressees, follow_logs, follow_model
from towhom.evaluation.reply_links import LinkedLog, read_linked_logs
from towhom.evaluation.threads import describe_threads
from towhom.evaluation.threads import follow_logs as place_logs

LOGS = {log.name: log for log in read_linked_logs(Path(__file__).parent)}
OTHERS = sorted(set(LOGS) - {"en"})
POINTS = 10
ENGLISH = 86
"""Percent of addressees that were found in English when the distance was set: all have to keep it."""
LINKS = 75


@cache
def measured(language: str) -> tuple[float, float, float]:
    """Percent of addressees, of messages in the right conversation, one-to-one, and of links."""
    model, logs = towhom.load(), [LOGS[language]]
    addressees = describe_addressees(follow_logs(follow_model(model), logs))
    threads = describe_threads(logs, place_logs(model.threads, logs))
    return addressees["accuracy"], threads["conversations"]["one_to_one"], threads["links"]["f1"]


def test_they_are_parallel() -> None:
    assert sorted(LOGS) == ["ar", "de", "en", "es", "ja", "ru", "zh"]
    english = LOGS["en"]
    for log in LOGS.values():
        assert log.links == english.links
        assert [(m.speaker, m.time) for m in log.lines] == [(m.speaker, m.time) for m in english.lines]
        assert len(log.lines) == 100


@pytest.mark.parametrize("language", OTHERS)
def test_addressees(language: str) -> None:
    assert measured(language)[0] >= ENGLISH - POINTS


@pytest.mark.parametrize("language", sorted(LOGS))
def test_links(language: str) -> None:
    assert measured(language)[2] >= LINKS


@pytest.mark.xfail(reason="starts are missed where no word is known, which joins conversations", strict=False)
@pytest.mark.parametrize("language", OTHERS)
def test_conversations(language: str) -> None:
    assert measured(language)[1] >= measured("en")[1] - POINTS


@pytest.mark.parametrize("language", sorted(LOGS))
def test_no_script_makes_drafts_the_same(language: str) -> None:
    log: LinkedLog = LOGS[language]
    session = towhom.load().session()
    for message in log.lines[:20]:
        session.observe(message)
    drafts = [message.text for message in log.lines[20:40]]
    selected = session.select("wren", drafts)
    best = {
        place: max(s.probability for s in selected if s.candidate == place) for place in range(len(drafts))
    }
    assert len(set(best.values())) == len(drafts)
