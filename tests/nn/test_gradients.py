"""Gradients of the parts of the models, by finite differences in double precision."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from tests.models.systems import batcher, neural
from towhom.models.sirnn import IGRU
from towhom.testing.chats import Line, word_vectors, write_corpus
from towhom.text.vocabulary import ModelVocabulary

CHAT = (
    Line("ann", None, "amber birch"),
    Line("ben", "ann", "cedar", ("amber",)),
    Line("cat", "ben", "birch"),
    Line("ann", "cat", "amber cedar", ("cedar",), 1),
)
ENCODERS = ("static-rnn", "static-hier-rnn", "dynamic-rnn", "sirnn", "sirnn-shared")
ROOM = ModelVocabulary.of(word_vectors(3), ("amber", "birch", "cedar"))


def doubles(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(shape, generator=generator, dtype=torch.float64) - 0.5).requires_grad_()


def test_igru() -> None:
    unit = IGRU(3).double()
    with torch.no_grad():
        for seed, parameter in enumerate(unit.parameters()):
            parameter.copy_(doubles(*parameter.shape, seed=seed))
    arguments = (doubles(2, 3), doubles(2, 3, seed=1), doubles(2, 6, seed=2), *unit.parameters())
    assert gradcheck(lambda own, other, said, *_: unit(own, other, said), arguments)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("system", ENCODERS)
def test_encoders(system: str, plain: bool, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, [CHAT])
    model = neural(system, ROOM, hidden=3, plain=plain).double()
    inputs = model.inputs(batcher(system, corpus, ROOM, context=3).questions(np.arange(2)))
    utterances = doubles(len(inputs.offsets) - 1, 3)
    used = [value for name, value in model.named_parameters() if not name.startswith(("w_a", "w_r", "utter"))]
    arguments = (utterances, *used)
    assert gradcheck(lambda said, *_: model.encode(inputs, said), arguments)
