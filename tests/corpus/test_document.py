"""One document to its columns: the protocol, rule by rule, on chats of a few lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from towhom.chat import Kind, Message
from towhom.corpus.document import NO_TIME, Built, DocumentColumns, DocumentSettings, build_document
from towhom.errors import LogError
from towhom.readers import Document, Reader
from towhom.readers.irc import Irc
from towhom.readers.jsonl import JsonLines
from towhom.readers.reference import Reference
from towhom.wire import to_json

ANY = DocumentSettings(min_addressed=0, candidates=(2,))


def built(reader: Reader, lines: Sequence[str], settings: DocumentSettings) -> Built:
    records = tuple((number, line.encode()) for number, line in enumerate(lines))
    return build_document(Document("room", "room.txt", reader, records), settings)


def columns_of(result: Built) -> DocumentColumns:
    assert result.columns is not None
    return result.columns


def irc(*lines: str, settings: DocumentSettings = ANY) -> DocumentColumns:
    """The columns of what is said, given as `nick> text` or as a whole line of a log."""
    return columns_of(
        built(Irc(), [line if line[0] in "[=" else f"[10:00] <{line}" for line in lines], settings)
    )


def jsonl(*messages: Message, settings: DocumentSettings = ANY) -> DocumentColumns:
    records = tuple((number, json.loads(to_json(message))) for number, message in enumerate(messages))
    return columns_of(build_document(Document("room", "room.jsonl", JsonLines(), records), settings))


def said(columns: DocumentColumns) -> list[str]:
    return [text.decode() for text in columns.texts]


def words_of(columns: DocumentColumns) -> list[list[str]]:
    words = [columns.words[token] for token in columns.tokens.tolist()]
    ends = np.cumsum(columns.lengths).tolist()
    starts = [0, *ends[:-1]]
    return [words[start:end] for start, end in zip(starts, ends, strict=True)]


class TestAddressees:
    @pytest.mark.parametrize("mark", [":", ",", ";"])
    @pytest.mark.parametrize("space", ["", " "])
    def test_a_nick_and_a_lone_mark_are_cut_off(self, mark: str, space: str) -> None:
        columns = irc("ada> hi", f"bob> ada{space}{mark} are you in?")
        assert columns.speakers == ("ada", "bob")
        assert columns.speaker.tolist() == [0, 1]
        assert columns.addressee.tolist() == [-1, 0]
        assert said(columns) == ["hi", "are you in?"]
        assert columns.sample_message.tolist() == [1]

    @pytest.mark.parametrize(
        "text",
        [
            "ada:",  # nothing follows
            "ada: ",
            "ada hello",  # no mark
            "ada! hello",
            "ada- hello",
            "ada:: hello",  # no lone mark
            "ada :) hello",
            "ada:) hello",
            "ada;",
            "hello ada: hello",  # not the first token
            "hello, ada",
            "@ada: hello",
            "adam: hello",  # nobody of this name
            "Ada: hello",
            ": hello",
        ],
    )
    def test_nobody_is_addressed(self, text: str) -> None:
        columns = irc("ada> hi", f"bob> {text}")
        assert columns.addressee.tolist() == [-1, -1]
        assert said(columns) == ["hi", text]
        assert columns.sample_message.tolist() == []

    def test_only_who_speaks_in_the_document_is_addressed(self) -> None:
        columns = irc("ada> hi", "=== bob [~b@example.org] has joined #room", "ada> bob: hi there")
        assert columns.addressee.tolist() == [-1, -1]
        assert said(columns) == ["hi", "bob: hi there"]

    def test_only_the_first_of_two_names_is_cut_off(self) -> None:
        columns = irc("ada> hi", "bob> hi", "cyd> ada: bob: hi, you two")
        assert columns.addressee.tolist() == [-1, -1, 0]
        assert said(columns)[2] == "bob: hi, you two"

    def test_who_addresses_themselves_is_addressed_but_that_is_no_sample(self) -> None:
        columns = irc("ada> hi", "ada> ada: hi to myself")
        assert columns.addressee.tolist() == [-1, 0]
        assert columns.sample_message.tolist() == []

    def test_who_speaks_only_later_is_addressed_but_that_is_no_sample(self) -> None:
        columns = irc("ada> bob: are you there?", "bob> ada: now I am", "ada> bob: good")
        assert columns.addressee.tolist() == [1, 0, 1]
        assert columns.sample_message.tolist() == [1, 2]

    def test_case_counts_unless_told(self) -> None:
        lines = ("ada> hi", "bob> Ada: hello", "ada> BOB, hello")
        assert irc(*lines).addressee.tolist() == [-1, -1, -1]
        ignoring = irc(*lines, settings=DocumentSettings(min_addressed=0, candidates=(2,), ignore_case=True))
        assert ignoring.addressee.tolist() == [-1, 0, 1]
        assert said(ignoring) == ["hi", "hello", "hello"]

    def test_what_the_platform_says_stays(self) -> None:
        columns = jsonl(
            Message("ada", "hi"), Message("bob", "cyd: hello", addressee="ada"), Message("cyd", "?")
        )
        assert columns.addressee.tolist() == [-1, 0, -1]
        assert said(columns)[1] == "cyd: hello"

    def test_an_addressee_who_never_speaks_is_none(self) -> None:
        columns = jsonl(Message("ada", "hi"), Message("bob", "hello", addressee="zoe"))
        assert columns.addressee.tolist() == [-1, -1]
        assert columns.speakers == ("ada", "bob")


class TestWhatIsAMessage:
    lines = (
        "[10:00] <ada> hi",
        "=== bob [~b@example.org] has joined #room",
        "[10:01]  * ada bob: waves",
        "[10:02] <bob> ada: hello",
        "[10:03] -notifier- ada: three days to go",
        "[10:04] <bob> bye",
    )

    def test_system_lines_actions_and_notices_are_none(self) -> None:
        columns = irc(*self.lines)
        assert said(columns) == ["hi", "hello", "bye"]
        assert columns.speakers == ("ada", "bob")
        assert columns.sample_distance.tolist() == [1]

    def test_actions_count_if_asked_for(self) -> None:
        kinds = (Kind.MESSAGE, Kind.ACTION)
        columns = irc(*self.lines, settings=DocumentSettings(min_addressed=0, candidates=(2,), kinds=kinds))
        assert said(columns) == ["hi", "bob: waves", "hello", "bye"]
        assert columns.addressee.tolist() == [-1, -1, 0, -1]

    def test_lines_are_counted_by_kind(self) -> None:
        result = built(Irc(), [*self.lines, "gibberish"], ANY)
        assert result.report.kinds == {Kind.MESSAGE: 3, Kind.SYSTEM: 1, Kind.ACTION: 1, Kind.NOTICE: 1}
        assert (result.report.malformed, result.report.problems) == (
            1,
            ["room.txt:7: not a line of an IRC log"],
        )

    def test_strict_stops_at_a_bad_line(self) -> None:
        with pytest.raises(LogError, match=r"room\.txt:2: not a line of an IRC log"):
            built(Irc(), ["[10:00] <ada> hi", "gibberish"], DocumentSettings(strict=True))


class TestWhatIsLeftOut:
    lines = ("[10:00] <ada> hi", *["[10:01] <bob> ada: hello"] * 3)

    @pytest.mark.parametrize(("least", "kept"), [(3, True), (4, False)])
    def test_too_few_addressed(self, least: int, kept: bool) -> None:
        result = built(Irc(), self.lines, DocumentSettings(min_addressed=least, candidates=(2,)))
        assert (result.messages, result.addressed) == (4, 3)
        assert (result.columns is not None) is kept

    def test_addressed_messages_count_even_if_they_are_no_samples(self) -> None:
        to_themselves = ["[10:00] <ada> ada: hi"] * 10
        result = built(Irc(), to_themselves, DocumentSettings())
        assert columns_of(result).sample_message.tolist() == []
        assert columns_of(result).candidates[10].shape == (0, 10)

    @pytest.mark.parametrize(("size", "kept"), [(4, True), (5, False)])
    def test_fewer_messages_than_candidates(self, size: int, kept: bool) -> None:
        result = built(Irc(), self.lines, DocumentSettings(min_addressed=0, candidates=(2, size)))
        assert (result.columns is not None) is kept

    def test_nothing_said(self) -> None:
        result = built(
            Irc(), ["=== ada has joined #room"], DocumentSettings(min_addressed=0, candidates=(2,))
        )
        assert (result.columns, result.messages, result.addressed) == (None, 0, 0)


class TestColumns:
    def test_distance_is_to_the_addressees_last_message(self) -> None:
        columns = irc(
            "ada> one",
            "bob> two",
            "bob> three",
            "cyd> ada: four",
            "cyd> bob: five",
            "ada> cyd: six",
            "bob> ada: 7",
        )
        assert columns.sample_message.tolist() == [3, 4, 5, 6]
        assert columns.sample_distance.tolist() == [3, 2, 1, 1]

    def test_speakers_are_numbered_as_they_come(self) -> None:
        columns = irc("cyd> bob: hi", "ada> hi", "bob> hi", "cyd> hi")
        assert columns.speakers == ("cyd", "ada", "bob")
        assert columns.speaker.tolist() == [0, 1, 2, 0]
        assert columns.addressee.tolist() == [2, -1, -1, -1]

    def test_tokens_are_those_of_the_text_without_the_addressee(self) -> None:
        columns = irc("ada> Don't panic.", "bob> ada: I DON'T", "ada> ")
        assert words_of(columns) == [["do", "n't", "panic", "."], ["i", "do", "n't"], []]
        assert columns.words == ("do", "n't", "panic", ".", "i")
        assert columns.tokens.tolist() == [0, 1, 2, 3, 4, 0, 1]
        assert columns.lengths.tolist() == [4, 3, 0]

    def test_times(self) -> None:
        noon = datetime(2024, 5, 31, 12)
        columns = jsonl(
            Message("ada", "naive, taken for UTC", time=noon),
            Message("ada", "aware", time=noon.replace(tzinfo=UTC)),
            Message("ada", "aware, elsewhere", time=noon.replace(tzinfo=timezone(timedelta(hours=2)))),
            Message("ada", "none"),
            Message("ada", "before 1970", time=datetime(1969, 12, 31, 23, 59)),
        )
        assert columns.time.tolist() == [1717156800, 1717156800, 1717149600, NO_TIME, -60]

    def test_candidates_are_messages_of_the_document(self) -> None:
        lines = ["ada> hi", *[f"bob> ada: number {i}" for i in range(30)]]
        columns = irc(*lines, settings=DocumentSettings(min_addressed=0, candidates=(2, 10)))
        for size in (2, 10):
            candidates, labels = columns.candidates[size], columns.labels[size]
            assert candidates.shape == (30, size)
            assert candidates[np.arange(30), labels].tolist() == columns.sample_message.tolist()
            assert 0 <= candidates.min() <= candidates.max() < 31

    def test_the_seed_and_the_name_make_the_candidates(self) -> None:
        lines = ["[10:00] <ada> hi", *[f"[10:01] <bob> ada: number {i}" for i in range(30)]]
        records = tuple((number, line.encode()) for number, line in enumerate(lines))

        def drawn(name: str, seed: int) -> list[list[int]]:
            document = Document(name, "room.txt", Irc(), records)
            columns = columns_of(build_document(document, DocumentSettings(seed=seed)))
            candidates: list[list[int]] = columns.candidates[10].tolist()
            return candidates

        assert drawn("monday", 0) == drawn("monday", 0)
        assert drawn("monday", 0) != drawn("tuesday", 0)
        assert drawn("monday", 0) != drawn("monday", 1)


class TestRenames:
    lines = (
        "[10:00] <ada> hi",
        "=== ada is now known as ada_away",
        "[10:01] <bob> ada_away: hello",
        "[10:02] <ada_away> bob: hello",
        "[10:03] <bob> ada: are you away?",
    )

    def test_two_names_are_two_speakers(self) -> None:
        columns = irc(*self.lines)
        assert columns.speakers == ("ada", "bob", "ada_away")
        assert columns.speaker.tolist() == [0, 1, 2, 1]
        assert columns.addressee.tolist() == [-1, 2, 1, 0]
        assert columns.sample_message.tolist() == [2, 3]

    def test_or_one_if_followed(self) -> None:
        settings = DocumentSettings(min_addressed=0, candidates=(2,), follow_renames=True)
        columns = irc(*self.lines, settings=settings)
        assert columns.speakers == ("ada", "bob")
        assert columns.speaker.tolist() == [0, 1, 0, 1]
        assert columns.addressee.tolist() == [-1, 0, 1, 0]
        assert columns.sample_message.tolist() == [1, 2, 3]


def published(*lines: str, strict: bool = False) -> Built:
    fields = ["\t".join(line.split(" | ")) for line in lines]
    return built(Reference(), fields, DocumentSettings(strict=strict))


class TestPublished:
    """Documents of the published corpus, `|` for a tab."""

    lines = (
        "[10:00] | <ada> | - | is it plugged in ? | - | -",
        "[10:01] | <bob> | ada | it is | never said here | 0",
        "[10:02] | <ada> | bob | is it plugged in ? | it is | 1",
        "[10:03] | <bob> | ada | never said here | Yes | 1",
    )

    def test_candidates_and_labels_stay(self) -> None:
        columns = columns_of(published(*self.lines))
        assert said(columns) == ["is it plugged in ?", "it is", "it is", "Yes", "never said here"]
        assert columns.speaker.tolist() == [0, 1, 0, 1]
        assert columns.addressee.tolist() == [-1, 0, 1, 0]
        assert columns.sample_message.tolist() == [1, 2, 3]
        assert columns.sample_distance.tolist() == [1, 1, 1]
        assert columns.labels[2].tolist() == [0, 1, 1]
        # Sample 1 says what message 1 says too: its true candidate is message 2 all the same.
        assert columns.candidates[2].tolist() == [[1, 4], [0, 2], [4, 3]]
        assert list(columns.candidates) == [2]

    def test_words_come_as_they_are_in_lower_case(self) -> None:
        columns = columns_of(published("[10:00] | <ada> | - | Do n't (well) panic | - | -"))
        assert words_of(columns) == [["do", "n't", "(well)", "panic"]]

    def test_a_false_candidate_that_is_said_often_is_its_first_saying(self) -> None:
        columns = columns_of(
            published(
                "[10:00] | <ada> | - | yes | - | -",
                "[10:01] | <bob> | - | yes | - | -",
                "[10:02] | <ada> | bob | yes | no | 1",
            )
        )
        assert columns.candidates[2].tolist() == [[0, 2]]

    def test_documents_are_never_too_small(self) -> None:
        result = published(self.lines[0])
        assert (result.messages, result.addressed) == (1, 0)
        columns = columns_of(result)
        assert (columns.candidates, columns.labels, len(columns.sample_message)) == ({}, {}, 0)

    def test_another_number_of_candidates_is_malformed(self) -> None:
        odd = "[10:04] | <ada> | bob | one | two | three | 2"
        result = published(*self.lines, odd)
        columns = columns_of(result)
        assert columns.sample_message.tolist() == [1, 2, 3]
        assert said(columns)[4] == "three"  # still a message
        assert result.report.malformed == 1
        (problem,) = result.report.problems
        assert problem.endswith(":5: 3 candidates; the other samples have 2")
        with pytest.raises(LogError, match="3 candidates; the other samples have 2"):
            published(*self.lines, odd, strict=True)

    def test_an_addressee_without_a_label_is_context(self) -> None:
        columns = columns_of(published(self.lines[0], "[10:01] | <bob> | ada | it is | - | -"))
        assert columns.addressee.tolist() == [-1, 0]
        assert columns.sample_message.tolist() == []

    def test_an_addressee_who_was_silent_is_at_no_distance(self) -> None:
        columns = columns_of(
            published("[10:00] | <ada> | bob | hi | ho | 0", "[10:01] | <bob> | - | hi | - | -")
        )
        assert columns.sample_message.tolist() == [0]
        assert columns.sample_distance.tolist() == [0]
        assert columns.addressee.tolist() == [1, -1]
