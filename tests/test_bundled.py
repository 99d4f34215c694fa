"""The model that comes with towhom: what is in its folder, and what is not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import towhom
from tests.test_import import loaded_by
from towhom import Message
from towhom.chat import Kind
from towhom.crosstalk.folder import read_crosstalk
from towhom.evaluation.reply_links import LinkedLog, read_linked_logs
from towhom.hearing.spelling import name_parts
from towhom.live.model import bundled_lexicon
from towhom.model_folder import CARD, CONFIG, TRAINING, WEIGHTS, WORDS
from towhom.text.tokenizer import tokenize
from towhom.text.vocabulary import NAME

FOLDER = Path(towhom.__file__).parent / "bundled"
LOGS = Path(__file__).parents[2] / "shared" / "data" / "ubuntu-irc"
MEGABYTE = 1_000_000
COMMON = 2000
"""So many words are words, whoever is called so."""


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text("utf-8"))


class TestFolder:
    def test_its_files(self) -> None:
        """Data that are read as such: nothing that runs when it is loaded."""
        names = {path.name for path in FOLDER.iterdir()}
        assert names == {CONFIG, WEIGHTS, WORDS, TRAINING, CARD}

    def test_it_is_small(self) -> None:
        assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 12 * MEGABYTE

    def test_it_says_where_it_comes_from(self) -> None:
        training = read(TRAINING)
        assert training.keys() >= {"command", "commit", "rooms", "dev", "settings", "versions"}
        assert training["command"].startswith("towhom train-crosstalk ")
        assert (FOLDER / CARD).read_text("utf-8").startswith("# Crosstalk")

    def test_its_rooms_and_their_licences(self) -> None:
        rooms = read(TRAINING)["rooms"]
        card = (FOLDER / CARD).read_text("utf-8")
        assert len({room["name"] for room in rooms}) == len(rooms) > 3
        for room in rooms:
            assert room["licence"]
            assert f"- {room['name']}: {room['licence']}" in card

    def test_how_good_it_is(self) -> None:
        dev = read(TRAINING)["dev"]
        assert dev
        for found in dev.values():
            assert found["links"]["f1"] > 50
            assert found["addressees"] > 60
            assert found.keys() >= {"conversations", "addressees_where_nobody_is_named", "calibration"}

    def test_it_is_of_the_format_that_is_read(self) -> None:
        assert read(CONFIG)["format"] == "towhom-crosstalk"
        assert read_crosstalk(FOLDER).fingerprint == towhom.load().saved.fingerprint

    def test_its_words(self) -> None:
        words = read(WORDS)
        assert len(set(words)) == len(words) > COMMON
        assert NAME in words


class TestAnswers:
    def test_a_name_in_front(self) -> None:
        session = towhom.load().session()
        session.observe(Message("ada", "is the parser merged?"))
        session.observe(Message("linus", "the docs are not"))
        seen = session.observe(Message("grace", "ada: since noon"))
        assert (seen.addressee, seen.how.value) == ("ada", "named")

    def test_thanks_for_an_answer(self) -> None:
        session = towhom.load().session()
        session.observe(Message("ada", "is the parser merged?"))
        session.observe(Message("linus", "who has the docs?"))
        session.observe(Message("grace", "ada: since noon"))
        assert session.observe(Message("ada", "great, thanks")).addressee == "grace"

    def test_what_it_answers(self) -> None:
        """Two conversations at once."""
        session = towhom.load().session()
        chat = (
            ("ada", "does anybody know how to install the nvidia driver?"),
            ("bob", "where can i buy a good kettle?"),
            ("cyd", "ada: which nvidia card do you have?"),
            ("dee", "bob: any shop has a kettle"),
            ("ada", "cyd: a very old one"),
            ("bob", "dee: thanks"),
        )
        found = [session.observe(Message(*each)).placed for each in chat]
        assert [each.replies_to for each in found] == [(0,), (1,), (0,), (1,), (2,), (3,)]
        assert [each.thread for each in found] == [0, 1, 0, 1, 0, 1]

    def test_a_question_to_the_room(self) -> None:
        session = towhom.load().session()
        session.observe(Message("ada", "is the parser merged?"))
        session.observe(Message("grace", "ada: since noon"))
        session.observe(Message("ada", "grace: thanks"))
        seen = session.observe(Message("linus", "does anybody know where the docs are?"))
        assert (seen.addressee, seen.placed.starts) == (None, True)

    def test_an_answer_to_a_question(self) -> None:
        session = towhom.load().session()
        session.observe(Message("ada", "does anyone know which port postgres listens on?"))
        seen = session.observe(Message("linus", "5432 by default"))
        assert (seen.addressee, seen.placed.replies_to) == ("ada", (0,))

    def test_which_draft_and_to_whom(self) -> None:
        session = towhom.load().session()
        session.observe(Message("ada", "does anyone know which port postgres listens on?"))
        session.observe(Message("bob", "where can i buy a good kettle?"))
        best = session.select("linus", ["postgres listens on port 5432", "i like the weather in spring"])[0]
        assert (best.addressee, best.candidate) == ("ada", 0)

    def test_who_is_called_is_answered(self) -> None:
        """The message goes to the conversation of who is called, however far back they spoke."""
        session = towhom.load().session()
        session.observe(Message("bob", "i have lost my keys"))
        for number in range(30):
            session.observe(Message(("ada", "cyd")[number % 2], f"step {number} of the build is done"))
        seen = session.observe(Message("dee", "bob: have you looked under the sofa?"))
        assert (seen.addressee, seen.placed.replies_to) == ("bob", (0,))

    def test_loaded_twice_it_answers_the_same(self) -> None:
        chat = [Message("ada", "is it on?"), Message("bob", "yes"), Message("cyd", "ada: since noon")]
        first, second = (
            [session.observe(message) for message in chat]
            for session in (towhom.load().session(), towhom.load().session())
        )
        assert first == second


class TestImports:
    def test_importing_towhom_loads_neither_numpy_nor_torch(self) -> None:
        assert not {"numpy", "torch", "towhom.live"} & loaded_by("import towhom")

    def test_it_runs_without_torch(self) -> None:
        """Where torch cannot be imported at all."""
        program = (
            "import sys; sys.modules['torch'] = None\n"
            "import towhom\n"
            "session = towhom.load().session()\n"
            "session.observe(towhom.Message('ada', 'tea?'))\n"
            "print(session.observe(towhom.Message('bob', 'ada: yes')).addressee)\n"
            "print(session.select('ada', ['fine', 'two'])[0].addressee)\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("ada\nbob\n", "")

    def test_it_does_not_look_for_torch(self) -> None:
        loaded = loaded_by("import towhom; towhom.load().session().observe(towhom.Message('ada', 'tea?'))")
        assert "towhom.crosstalk.mind" in loaded
        assert not {"torch", "towhom.nn", "click", "rich"} & loaded


@pytest.fixture(scope="module")
def train() -> list[LinkedLog]:
    return list(read_linked_logs(LOGS / "train"))


@pytest.fixture(scope="module")
def rare() -> set[str]:
    return set(read(WORDS)[COMMON:]) - {NAME}


@pytest.mark.skipif(not LOGS.is_dir(), reason="the logs are not there")
class TestNicks:
    """Beyond the commonest words, none that is somebody's nick in the logs that it was trained on."""

    def test_of_a_speaker(self, train: list[LinkedLog], rare: set[str]) -> None:
        """But for words that are said in many logs in which nobody is called so."""
        logs = [*train, *read_linked_logs(LOGS / "dev")]
        nicks: set[str] = set()
        elsewhere: Counter[str] = Counter()
        for log in logs:
            messages = [message for message in log.lines if message.kind is Kind.MESSAGE]
            here = {part for name in {message.speaker for message in messages} for part in name_parts(name)}
            nicks |= here
            elsewhere.update({word for message in messages for word in tokenize(message.text)} - here)
        assert len(nicks) > 10_000
        assert {word for word in rare & nicks if elsewhere[word] < 10} == set()

    def test_of_somebody_who_joins_or_is_called(self, train: list[LinkedLog], rare: set[str]) -> None:
        nicks: set[str] = set()
        called: Counter[str] = Counter()
        uses: Counter[str] = Counter()
        for message in (message for log in train for message in log.lines):
            if message.kind is Kind.SYSTEM and message.text.strip():
                nicks |= name_parts(message.text.split()[0])
            elif message.kind is Kind.MESSAGE:
                words = tokenize(message.text)
                uses.update(words)
                called.update(words[:1] if len(words) > 2 and words[1] == ":" else [])
        assert len(nicks) > 10_000
        assert rare & nicks == set()
        # A word of other rooms may stand there once or twice.
        assert {word for word in rare if called[word] > max(0.5 * uses[word], 2)} == set()


def test_its_words_are_read_without_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training starts from them, also where the network is to have another shape."""
    expected = towhom.load().lexicon.fingerprint

    def refuse(*arguments: object) -> None:
        raise AssertionError("the weights are read")

    monkeypatch.setattr("towhom.crosstalk.folder.read_weights", refuse)
    assert bundled_lexicon().fingerprint == expected
