"""What every reader has to do, whatever the format: the public contract, and damage of many more kinds."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.readers.exports import write
from tests.readers.hostile import damaged, places
from tests.readers.long import LONG
from towhom.readers import READERS, Report, find_logs, read_conversations, reader_class
from towhom.testing.readers import ReaderContract, assert_survives

FORMATS = list(READERS)
GENERAL = ("table", "pattern")
"""Formats that others can look like; they come last."""
WITHOUT_DAYS = ("reference", "whisper", "subtitles")
# Every example writes a file, and pytest gives one folder to all of them.
fuzzed = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)


@pytest.fixture(params=list(LONG))
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    name, build = LONG[request.param]
    return name, write(tmp_path / "log", build(400))


class TestEveryReader(ReaderContract):
    @pytest.fixture(autouse=True, params=list(LONG))
    def _long(self, request: pytest.FixtureRequest) -> None:
        self.format, self.build = LONG[request.param]

    def write(self, folder: Path, lines: int) -> Path:
        return write(folder, self.build(lines))


def test_every_format_has_a_sample() -> None:
    assert {name for name, _ in LONG.values()} == set(READERS)


def test_only_one_reader_knows_a_log(sample: tuple[str, Path]) -> None:
    source = find_logs(sample[1])[0].source
    knowing = [name for name in READERS if reader_class(name).sniff(source)]
    assert knowing[0] == sample[0]
    assert set(knowing[1:]) <= set(GENERAL)
    assert tuple(READERS)[-2:] == GENERAL


def test_documents_are_the_days_of_a_channel(sample: tuple[str, Path]) -> None:
    documents = [document for log in find_logs(sample[1]) for document in log.documents(Report())]
    names = [each.name for each in documents if any(line.speaker for line in each.messages(Report()))]
    if sample[0] not in WITHOUT_DAYS:
        assert len(names) > 1
        assert {name[-2:] for name in names} == {"31", "01"}


def test_conversations_have_addressees(sample: tuple[str, Path]) -> None:
    if sample[0] != "discord-package":  # where only one speaks
        assert any(message.addressee for chat in read_conversations(sample[1]) for message in chat)


@pytest.mark.parametrize("format", FORMATS)
@fuzzed
@given(content=st.binary(max_size=400))
def test_any_bytes(format: str, content: bytes, tmp_path: Path) -> None:
    assert_survives(write(tmp_path, {"garbage": content}), format)


@pytest.mark.parametrize("format", FORMATS)
@fuzzed
@given(lines=st.lists(st.text(max_size=60), max_size=12))
def test_any_text(format: str, lines: list[str], tmp_path: Path) -> None:
    content = "\n".join(lines).encode("utf-8", errors="surrogatepass")
    assert_survives(write(tmp_path, {"garbage": content}), format)


@pytest.mark.parametrize("what", LONG)
@pytest.mark.parametrize("seed", range(12))
def test_damaged_samples(what: str, seed: int, tmp_path: Path) -> None:
    known_as, build = LONG[what]
    assert_survives(write(tmp_path, damaged(build(12), random.Random(seed))), known_as)


def json_values() -> st.SearchStrategy[Any]:
    scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
    keys = st.sampled_from(["id", "text", "type", "name", "content", "body", "user_ids", "displayname"])
    return st.recursive(
        scalars
        | st.text(max_size=12)
        | st.sampled_from(["message", "Reply", "m.text", "9" * 30, "<@U1>", "@"]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=6,
    )


def _is_json(what: str) -> bool:
    content = next(content for name, content in LONG[what][1](3).items())
    return content.lstrip()[:1] in (b"{", b"[") and LONG[what][0] not in ("irc", "xmpp")


@pytest.mark.parametrize("what", [what for what in LONG if _is_json(what)])
@fuzzed
@given(data=st.data())
def test_fields_of_the_wrong_type(what: str, data: st.DataObject, tmp_path: Path) -> None:
    known_as, build = LONG[what]
    files = build(5)
    name = data.draw(st.sampled_from(sorted(files)))
    try:
        values = [json.loads(files[name])]
    except ValueError:
        values = [json.loads(line) for line in files[name].splitlines() if line[:1] == b"{"]
    for _ in range(data.draw(st.integers(1, 2))):
        found = list(places(values))
        if found:
            holder, key = found[data.draw(st.integers(0, len(found) - 1))]
            if data.draw(st.booleans()):
                holder[key] = data.draw(json_values())
            else:
                del holder[key]
    content = "\n".join(json.dumps(value) for value in values).encode()
    assert_survives(write(tmp_path, files | {name: content}), known_as)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("opening", ["[", '{"messages":[', '{"a":', '{"messages":[{"text":'])
@pytest.mark.parametrize("depth", [90, 950, 20_000])
def test_deep_nesting(format: str, opening: str, depth: int, tmp_path: Path) -> None:
    closing = "".join({"[": "]", "{": "}"}.get(mark, "") for mark in reversed(opening))
    content = opening * depth + "1" + closing * depth
    assert_survives(write(tmp_path, {"deep.json": content.encode()}), format)


@pytest.mark.parametrize("format", FORMATS)
def test_a_message_with_deep_parts(format: str, tmp_path: Path) -> None:
    value: Any = "x"
    for _ in range(900):
        value = [value]
    line = {"speaker": "ada", "text": "hi", "channel": value}
    assert_survives(write(tmp_path, {"deep.json": json.dumps(line).encode()}), format)


@pytest.mark.parametrize("what", LONG)
def test_half_a_surrogate_pair(what: str, tmp_path: Path) -> None:
    """As bytes: no UTF-8, although parsers take it for some."""
    known_as, build = LONG[what]
    half = b"\xed\xa0\x80"
    files = {name: re.sub(b"line |it was ", half, content) for name, content in build(12).items()}
    assert any(half in content for content in files.values())
    assert_survives(write(tmp_path, files), known_as)
