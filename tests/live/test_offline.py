"""A session gives the answer that the selector gives for the same sample of a corpus."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from numpy.testing import assert_allclose

from towhom.chat import Message
from towhom.corpus import Corpus, CorpusSettings, DocumentSettings, build_corpus
from towhom.hearing.utterance import REACH
from towhom.live import Model
from towhom.models.crosstalk import Crosstalk

PEOPLE = ("ada", "bob", "cyd", "dee", "eve", "fay", "gus")
WORDS = ("the", "is", "tea", "milk", "door", "kettle", "open", "thanks", "solder", "reboot", "yes", "?")
CANDIDATES = 3


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Everybody says whom they talk to; nobody is named besides."""
    folder, random = tmp_path_factory.mktemp("corpus"), Random(7)
    lines = []
    for day, (count, here) in enumerate(((40, 3), (150, 7))):
        lines.append(f"# 202401{day + 1:02}")
        for place in range(count):
            speaker, other = random.sample(PEOPLE[:here], 2)
            text = " ".join(random.choices(WORDS, k=random.randint(1, 7)))
            lines.append(f"[{10 + place // 60}:{place % 60:02}] <{speaker}> {other}: {text}")
    (folder / "room.txt").write_text("\n".join(lines) + "\n", "utf-8")
    settings = CorpusSettings(document=DocumentSettings(candidates=(CANDIDATES,)))
    return build_corpus(folder / "corpus", [folder / "room.txt"], settings=settings)


def test_every_sample(model: Model, corpus: Corpus) -> None:
    """Where all that is said is within reach, and no times are known."""
    selector = Crosstalk(model.mind, model.lexicon)
    ask = selector.batcher(corpus, context=REACH, candidates=CANDIDATES, words=None)
    every = np.arange(len(corpus.samples.message))
    questions = ask.questions(every)
    scores = selector.score_many(questions).joint
    assert scores is not None
    starts, seen = corpus.documents.messages, 0
    for document in range(len(starts) - 1):
        chat, session = corpus.conversation(document), model.session()
        for person in chat.speakers:
            session.introduce(person)
        here = {
            int(corpus.samples.message[number]) - int(starts[document]): int(number)
            for number in every
            if starts[document] <= corpus.samples.message[number] < starts[document + 1]
        }
        for place, message in enumerate(chat):
            if place in here:
                number = here[place]
                texts = [
                    corpus.utterances.text[each] for each in corpus.samples.candidates[CANDIDATES][number]
                ]
                before = [each.speaker for each in chat.messages[max(place - REACH, 0) : place]][::-1]
                names = list(dict.fromkeys(each for each in before if each != message.speaker))
                pairs = np.zeros((len(names), CANDIDATES))
                for each in session.select(message.speaker, texts):
                    pairs[names.index(str(each.addressee)), each.candidate] = each.probability
                assert_allclose(pairs, scores[number, 1 : len(names) + 1], atol=1e-4)
                seen += 1
            session.observe(Message(message.speaker, message.text, message.addressee))
    assert seen == len(every) > 50


def test_evaluated_from_a_folder(model: Model, tmp_path: Path, corpus: Corpus) -> None:
    """What a session loads is what the task loads."""
    from towhom.crosstalk.folder import read_crosstalk, write_crosstalk

    write_crosstalk(tmp_path / "m", model.saved, card="")
    loaded = Model(read_crosstalk(tmp_path / "m"))
    again = Model(read_crosstalk(tmp_path / "m"))
    some = np.arange(10)
    one, other = (Crosstalk(each.mind, each.lexicon) for each in (loaded, again))
    found = [
        each.score_many(
            each.batcher(corpus, context=15, candidates=CANDIDATES, words=None).questions(some)
        ).joint
        for each in (one, other)
    ]
    assert found[0] is not None
    assert found[1] is not None
    assert_allclose(found[0], found[1])
