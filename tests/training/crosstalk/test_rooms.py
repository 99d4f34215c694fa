"""Rooms are heard once, and kept."""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.crosstalk.chats import LEXICON, chatter
from tests.crosstalk.chats import heard as heard_by_ear
from towhom.chat import Kind
from towhom.crosstalk.columns import NOBODY, Columns, Numbers, columns_of
from towhom.errors import ConfigError, TrainingError
from towhom.training.crosstalk import rooms
from towhom.training.crosstalk.rooms import UNKNOWN, HeardRoom, Source, hear_room, read_recipe
from towhom.wire import to_json

RECIPE = Path(__file__).parents[3] / "recipes" / "rooms.toml"


def hear(tmp_path: Path, path: str, **more: Any) -> HeardRoom:
    source = Source("room", path, "CC0", **more)
    return hear_room(source, tmp_path, tmp_path / "heard" / "room", LEXICON)


def write_days(path: Path, days: Sequence[Sequence[str]]) -> None:
    lines = []
    for day, said in enumerate(days, 1):
        lines += [f"# 202401{day:02}", *(f"[10:{minute:02}] {line}" for minute, line in enumerate(said))]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def write_json(path: Path, records: Sequence[dict[str, Any]]) -> None:
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode()) if path.suffix == ".xz" else text.encode())


def said(room: HeardRoom) -> list[list[str]]:
    words, at = [room.words[number] for number in room.said.tolist()], room.said_at.tolist()
    return [words[first:last] for first, last in pairwise(at)]


class TestLog:
    DAY = ("<ann> hi there", "<bob> ann: is the tea open ?", "<cyd> tea with ann and bob")

    def test_by_days(self, tmp_path: Path) -> None:
        write_days(tmp_path / "log.txt", [self.DAY] * 5)
        room = hear(tmp_path, "log.txt")
        assert room.parts == ["train", "dev", "test"]
        assert room.segments("train") == [(0, 9)]
        assert room.segments("dev") == [(9, 12)]
        assert room.segments("test") == [(12, 15)]

    def test_a_share_of_many_days(self, tmp_path: Path) -> None:
        write_days(tmp_path / "log.txt", [["<ann> hi"]] * 31)
        write_days(tmp_path / "more.txt", [["<ann> hi"]] * 31)
        more = (tmp_path / "more.txt").read_text("utf-8").replace("# 202401", "# 202403")
        with (tmp_path / "log.txt").open("a", encoding="utf-8") as file:
            file.write(more)
        room = hear(tmp_path, "log.txt")
        assert [last - first for part in rooms.PARTS for first, last in room.segments(part)] == [56, 3, 3]

    def test_two_days_are_all_learned_from(self, tmp_path: Path) -> None:
        write_days(tmp_path / "log.txt", [self.DAY] * 2)
        assert hear(tmp_path, "log.txt").parts == ["train"]

    def test_packed(self, tmp_path: Path) -> None:
        write_days(tmp_path / "log.txt", [self.DAY] * 5)
        whole = (tmp_path / "log.txt").read_bytes()
        (tmp_path / "log.txt.xz").write_bytes(lzma.compress(whole))
        assert hear(tmp_path, "log.txt.xz").segments("dev") == [(9, 12)]

    def test_what_is_said(self, tmp_path: Path) -> None:
        write_days(tmp_path / "log.txt", [self.DAY])
        room = hear(tmp_path, "log.txt")
        assert said(room) == [
            ["hi", "there"],
            ["is", "the", "tea", "open", "?"],
            ["tea", "with", "<name>", "and", "<name>"],
        ]
        assert room.asks.tolist() == [False, True, False]
        assert {"ann", "bob", "cyd"} <= room.nicks

    def test_who_is_named(self, tmp_path: Path) -> None:
        write_days(tmp_path / "log.txt", [self.DAY])
        room = hear(tmp_path, "log.txt")
        ann, bob, cyd = room.speaker.tolist()
        assert len({ann, bob, cyd}) == 3
        assert room.named.tolist() == [NOBODY, ann, NOBODY]
        assert set(room.mentions[2].tolist()) == {ann, bob, NOBODY}

    def test_nothing_else_is_known(self, tmp_path: Path) -> None:
        write_days(tmp_path / "log.txt", [self.DAY])
        room = hear(tmp_path, "log.txt")
        assert room.topic.tolist() == [NOBODY] * 3
        assert room.reply.tolist() == [0] * 3
        assert room.meant.tolist() == [UNKNOWN] * 3
        assert room.links.shape == (0, 2)

    def test_only_what_somebody_says(self, tmp_path: Path) -> None:
        day = ["<ann> hi", "*** eve has joined", " * bob waves", "*** ann is now known as anna", "<anna> so"]
        write_days(tmp_path / "log.txt", [day])
        room = hear(tmp_path, "log.txt")
        assert len(room.speaker) == 3
        assert room.speaker[0] == room.speaker[2] != room.speaker[1]
        assert room.action.tolist() == [False, True, False]
        assert {"ann", "anna", "bob", "eve"} <= room.nicks

    def test_pieces_evenly_spread(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rooms, "SEGMENT", 4)
        days = [[f"<ann> w{day}x{line}" for line in range(4)] for day in range(12)]
        write_days(tmp_path / "log.txt", days)
        room = hear(tmp_path, "log.txt", most=12)
        assert room.parts == ["train"] * 3 + ["dev", "test"]
        assert [text[0] for text in said(room)[::4]] == ["w0x0", "w4x0", "w9x0", "w10x0", "w11x0"]

    def test_whom_a_segment_forgets(self, tmp_path: Path) -> None:
        """Each segment is heard for itself."""
        write_days(tmp_path / "log.txt", [self.DAY, self.DAY, self.DAY, ["<eve> bob: hi"]])
        room = hear(tmp_path, "log.txt")
        first, _ = room.segments("test")[0]
        assert room.own[first] == room.called[first] == 0
        assert room.named[first] < 0

    def test_nothing_in_it(self, tmp_path: Path) -> None:
        (tmp_path / "log.jsonl").write_text("", "utf-8")
        with pytest.raises(TrainingError, match="there is no message to learn from"):
            hear(tmp_path, "log.jsonl")
        assert not (tmp_path / "heard" / "room").exists()


class TestJson:
    RECORDS = (
        {"speaker": "ann", "text": "where is the tea", "id": "1", "thread": "tea", "addressees": ["bob"]},
        {"speaker": "bob", "text": "who has milk", "id": "2", "thread": "milk", "addressees": ["ann", "cyd"]},
        {"speaker": "cyd", "text": "over there", "id": "3", "thread": "tea", "reply_to": "1"},
        {"speaker": "dee", "text": "hello all", "id": "4", "addressees": ["ann", "bob", "cyd"]},
        {"speaker": "ann", "text": "thanks", "id": "5", "thread": "tea", "reply_to": "9"},
    )

    @pytest.fixture(params=["room.jsonl", "room.jsonl.xz"])
    def room(self, tmp_path: Path, request: pytest.FixtureRequest) -> HeardRoom:
        write_json(tmp_path / request.param, self.RECORDS)
        return hear(tmp_path, request.param)

    def test_topic(self, room: HeardRoom) -> None:
        tea, milk = room.topic[:2].tolist()
        assert tea != milk
        assert room.topic.tolist() == [tea, milk, tea, NOBODY, tea]

    def test_reply(self, room: HeardRoom) -> None:
        assert room.reply.tolist() == [0, 0, 2, 0, 0]

    def test_meant(self, room: HeardRoom) -> None:
        bob = int(room.speaker[1])
        assert room.meant.tolist() == [bob, UNKNOWN, UNKNOWN, NOBODY, UNKNOWN]

    def test_what_is_answered_is_not_called(self, room: HeardRoom) -> None:
        assert room.named.tolist() == [NOBODY] * 5

    def test_nor_who_is_given(self, tmp_path: Path) -> None:
        write_json(tmp_path / "x.jsonl", [
            {"speaker": "ann", "text": "hi"},
            {"speaker": "bob", "text": "yes", "addressee": "ann"},
        ])  # fmt: skip
        assert hear(tmp_path, "x.jsonl").named.tolist() == [NOBODY, NOBODY]

    def test_numbers_as_identifiers(self, tmp_path: Path) -> None:
        write_json(tmp_path / "x.jsonl", [
            {"speaker": 17, "text": "hi", "id": 1}, {"speaker": 18, "text": "yes", "id": 2, "reply_to": 1},
        ])  # fmt: skip
        assert hear(tmp_path, "x.jsonl").reply.tolist() == [0, 1]

    def test_channels_are_apart(self, tmp_path: Path) -> None:
        records = [
            {"speaker": f"p{place}", "text": f"w{place}", "channel": "ab"[place % 2],
             "time": f"2024-01-0{place // 4 + 1}T10:0{place}:00"}
            for place in range(8)
        ]  # fmt: skip
        write_json(tmp_path / "x.jsonl", records)
        room = hear(tmp_path, "x.jsonl")
        assert room.segments("train") == [(0, 4), (4, 8)]
        assert [text[0] for text in said(room)] == ["w0", "w2", "w4", "w6", "w1", "w3", "w5", "w7"]

    def test_in_the_order_of_time(self, tmp_path: Path) -> None:
        times = ["2024-01-01T10:03:00", "2024-01-01T10:01:00", "2024-01-01T10:02:00"]
        write_json(
            tmp_path / "x.jsonl",
            [{"speaker": "ann", "text": f"w{place}", "time": time} for place, time in enumerate(times)],
        )
        assert [text[0] for text in said(hear(tmp_path, "x.jsonl"))] == ["w1", "w2", "w0"]

    def test_meetings(self, tmp_path: Path) -> None:
        for number in range(10):
            write_json(tmp_path / "ami" / f"m{number}.jsonl", self.RECORDS[: 2 + number % 2])
        room = hear(tmp_path, "ami")
        assert room.parts == ["train"] * 8 + ["dev"] * 2
        assert [last - first for first, last in room.segments("dev")] == [2, 3]


class TestLinks:
    def write(self, folder: Path, name: str, links: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        lines = ("[10:00] <ann> hi", "=== eve has joined #x", "[10:01] <bob> ann: tea ?",
                 "[10:02] <cyd> milk", "[10:03] <ann> no")  # fmt: skip
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", "utf-8")
        (folder / f"{name}.links").write_text(links, "utf-8")

    def test_by_messages(self, tmp_path: Path) -> None:
        self.write(tmp_path / "train", "a", "0 0 -\n0 2 -\n1 3 -\n2 4 -\n")
        self.write(tmp_path / "train", "b", "3 3 -\n0 4 -\n2 4 -\n")
        self.write(tmp_path / "dev", "c", "0 3 -\n")
        room = hear(tmp_path, "train", dev="dev")
        assert room.parts == ["train", "train", "dev"]
        assert room.bounds.tolist() == [0, 4, 8, 12]
        links = {tuple(link) for link in room.links.tolist()}
        assert links == {(0, 0), (1, 0), (3, 1), (6, 6), (7, 4), (7, 5), (10, 8)}

    def test_without_dev(self, tmp_path: Path) -> None:
        self.write(tmp_path / "train", "a", "0 2 -\n")
        assert hear(tmp_path, "train").parts == ["train"]


class TestKept:
    def test_as_an_ear_hears_it(self, tmp_path: Path) -> None:
        messages = chatter(1, 120)
        (tmp_path / "x.jsonl").write_text("".join(to_json(each) + "\n" for each in messages), "utf-8")
        room = hear(tmp_path, "x.jsonl")
        spoken = sorted(messages, key=lambda each: each.time.timestamp() if each.time else 0.0)
        assert {each.kind for each in spoken} == {Kind.MESSAGE, Kind.ACTION}
        expected = columns_of(heard_by_ear(spoken), Numbers())
        found = room.columns(0, 120, LEXICON.piece_weights)
        for name in Columns._fields:
            assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
        part, whole = room.columns(40, 90, LEXICON.piece_weights), expected.part(40)
        assert_array_equal(part.speaker, whole.speaker[:50])
        assert_array_equal(part.pieces, whole.pieces[: len(part.pieces)])
        assert_array_equal(part.offsets, whole.offsets[:51])
        assert_allclose(part.weights, whole.weights[: len(part.weights)])

    def test_not_heard_again(self, tmp_path: Path) -> None:
        write_days(tmp_path / "log.txt", [TestLog.DAY])
        first = hear(tmp_path, "log.txt")
        (tmp_path / "log.txt").unlink()
        again = hear(tmp_path, "log.txt")
        assert_array_equal(again.speaker, first.speaker)
        assert again.source == first.source

    def test_another_source(self, tmp_path: Path) -> None:
        write_days(tmp_path / "log.txt", [TestLog.DAY])
        hear(tmp_path, "log.txt")
        with pytest.raises(TrainingError, match="heard from another source"):
            hear(tmp_path, "log.txt", most=7)

    def test_no_such_column(self, tmp_path: Path) -> None:
        write_days(tmp_path / "log.txt", [TestLog.DAY])
        room = hear(tmp_path, "log.txt")
        with pytest.raises(AttributeError):
            _ = room.weather
        assert np.isfinite(room.time).all()

    def test_letters_of_all_scripts(self, tmp_path: Path) -> None:
        write_json(tmp_path / "x.jsonl", [{"speaker": "ann", "text": "hi café 李雷"}])
        assert said(hear(tmp_path, "x.jsonl"))[0][:2] == ["hi", "café"]


class TestRecipe:
    def test_ours(self) -> None:
        found = read_recipe(RECIPE)
        assert len({source.name for source in found}) == len(found) > 5
        ubuntu = next(source for source in found if source.name == "ubuntu")
        assert ubuntu.dev == "ubuntu-irc/dev"
        assert ubuntu.open
        assert not all(source.open for source in found)
        assert replace(ubuntu, licence="none stated").open is False

    @pytest.mark.parametrize(
        "text",
        [
            "this is no toml",
            "",
            "[[rooms]]\nname = 'x'",
            "[[room]]\nname = 'x'",
            "[[room]]\nname = 'x'\npath = 'y'\nlicence = 'z'\ncolour = 'red'",
            "[room]\nname = 'x'\npath = 'y'\nlicence = 'z'",
            "room = 7",
        ],
    )
    def test_broken(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "rooms.toml"
        path.write_text(text, "utf-8")
        with pytest.raises(ConfigError, match=r"rooms\.toml: this is not a list of rooms"):
            read_recipe(path)

    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="this is not a list of rooms"):
            read_recipe(tmp_path / "rooms.toml")

    def test_no_utf8(self, tmp_path: Path) -> None:
        (tmp_path / "rooms.toml").write_bytes(b"\xff\xfe")
        with pytest.raises(ConfigError):
            read_recipe(tmp_path / "rooms.toml")


def test_half_a_character_is_read_again(tmp_path: Path) -> None:
    write_json(tmp_path / "a.jsonl", [{"speaker": "ann", "text": "hi \ud83d there"}])
    assert said(hear(tmp_path, "a.jsonl")) == said(HeardRoom(tmp_path / "heard" / "room"))


def test_whom_it_was_for_by_a_new_name(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"speaker": "ann", "text": "hi"},
        {"speaker": "ann", "text": "anna", "kind": "rename"},
        {"speaker": "bob", "text": "yes", "addressees": ["anna"]},
    ]
    write_json(tmp_path / "a.jsonl", records)
    room = hear(tmp_path, "a.jsonl")
    assert room.meant[1] == room.speaker[0]


@pytest.mark.parametrize(
    ("line", "reason"), [('{"speaker": "ann"}', "line 3"), ("no json", "line 3"), ("[]", "line 3")]
)
def test_what_cannot_be_read_says_where(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"speaker": "ann", "text": "hi"}}\n\n{line}\n', "utf-8")
    with pytest.raises(TrainingError, match=reason):
        hear(tmp_path, "a.jsonl")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no such file"):
        hear(tmp_path, "a.jsonl")


def test_a_room_in_which_nobody_speaks(tmp_path: Path) -> None:
    write_json(tmp_path / "a.jsonl", [{"speaker": "ann", "text": "joins", "kind": "system"}])
    with pytest.raises(TrainingError, match="no message"):
        hear(tmp_path, "a.jsonl")
