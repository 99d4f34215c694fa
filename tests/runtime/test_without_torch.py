"""A model is loaded and runs without torch, seen from a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.models.systems import NEURAL, neural
from towhom.persistence import save_model
from towhom.testing.chats import WORDS, word_vectors
from towhom.text.vocabulary import ModelVocabulary

PROGRAM = """
import json, sys
import numpy as np
from towhom.persistence import load_model
from towhom.batching import Questions
from towhom.selection import choose

def integers(*values):
    return np.array(values, np.int32)

questions = Questions(
    tokens=integers(1, 2, 0, 3), offsets=np.array([0, 2, 3, 3, 4]),
    context=integers([0, 1]), sender=integers([1, 0]), addressee=integers([0, -1]),
    participants=integers(2), candidates=integers([2, 3]), speakers_so_far=integers(2),
)
chosen = []
for folder in sys.argv[1:]:
    runtime = load_model(folder).runtime
    choice = choose(runtime.score_many(questions), runtime.rule)
    chosen.append(choice.addressee.tolist())
print(json.dumps([chosen, sorted(sys.modules)]))
"""


def test_every_system(tmp_path: Path) -> None:
    vocabulary = ModelVocabulary.of(word_vectors(), WORDS)
    for system in NEURAL:
        model = neural(system, vocabulary)
        save_model(tmp_path / system, model, vocabulary, system=system, context=5, training={})
    folders = [str(tmp_path / system) for system in NEURAL]
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *folders], capture_output=True, text=True, check=False
    )
    assert run.stderr == ""
    chosen, modules = json.loads(run.stdout)
    assert chosen == [[1]] * len(NEURAL)
    assert {f"towhom.runtime.{name}" for name in ("sirnn", "static_rnn", "dynamic_rnn")} <= set(modules)
    assert not {"torch", "towhom.models.neural", "towhom.nn"} & set(modules)
