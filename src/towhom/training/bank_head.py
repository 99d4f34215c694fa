"""Trains the projections by which a bank finds responses, on top of a model that stays as it is.

    python -m towhom.training.bank_head BANK OUT.safetensors

They start as the model's own (`towhom.bank.heads`) and learn to tell what was said from what was said
elsewhere: from all other responses of a batch, and then also from mined ones, which fit best among many drawn
at random.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from towhom.bank import Bank
from towhom.bank.heads import Head, own_head
from towhom.extras import require
from towhom.hearing.utterance import Utterance
from towhom.hearing.words import words
from towhom.live import Model
from towhom.loading import load

_BATCH, _MINING = 2048, 512
"""Number of pairs per batch, and number of those that have mined negatives, too."""
_DRAWN, _MINED = 20_000, 8
"""Number of responses drawn for mining, and number of those that are kept for each pair."""
_AT_ONCE = 4096


def states_of(bank: Bank, model: Model) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    """(N, H), (N, H) The encoded texts of a bank's responses, and of the messages that they answered."""
    said, asked = [], []
    for segment in bank.segments:
        for table in segment.table.pieces(_AT_ONCE):
            rows = range(len(table))
            said.append([Utterance("", "", tokens=table.numbers("tokens", row)) for row in rows])
            asked.append(
                [
                    Utterance("", "", tokens=model.lexicon.tokens(words(text), lambda word: False))
                    for text in table.texts("question")
                ]
            )
    return tuple(  # type: ignore[return-value]
        np.concatenate([model.mind.read(some).state.astype(np.float16) for some in side])
        for side in (said, asked)
    )


def train_head(
    said: NDArray[np.float16], asked: NDArray[np.float16], start: Head, *, epochs: int = 4, seed: int = 0
) -> Head:
    """Train projections that tell the true response from others; negatives are mined in the second half."""
    torch: Any = require("torch", extra="train", purpose="training")
    torch.manual_seed(seed)
    normalize, entropy = torch.nn.functional.normalize, torch.nn.functional.cross_entropy
    responses, questions = torch.from_numpy(said), torch.from_numpy(asked)
    weights = [torch.nn.Parameter(torch.from_numpy(np.array(each))) for each in start]
    scale = torch.nn.Parameter(torch.tensor(12.0))
    optimizer = torch.optim.AdamW([*weights, scale], 1e-3, weight_decay=0.01)

    def answers(rows: Any) -> Any:
        return normalize(responses[rows].float() @ weights[0] + weights[1], dim=1)

    for epoch in range(epochs):
        order = torch.randperm(len(responses))
        for rows in order.split(_BATCH):
            heard = normalize(questions[rows].float() @ weights[2] + weights[3], dim=1)
            true = torch.arange(len(rows))
            fits = scale * (heard @ answers(rows).T)
            loss = entropy(fits, true) + 0.5 * entropy(fits.T, true)
            if epoch >= epochs // 2:
                few = heard[:_MINING]
                with torch.no_grad():
                    drawn = torch.randint(0, len(responses), (_DRAWN,))
                    best = (few @ answers(drawn).T).topk(_MINED, dim=1).indices
                mined = scale * (few @ answers(drawn[best.flatten()]).T)
                loss = loss + entropy(torch.cat([fits[:_MINING], mined], 1), true[:_MINING])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        sys.stderr.write(f"epoch {epoch + 1} of {epochs}: {loss.item():.3f}\n")
    return Head(*(each.detach().numpy() for each in weights))


def main() -> None:
    """Train projections on the responses of a bank and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bank", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    model = load(options.model)
    said, asked = states_of(Bank(options.bank), model)
    head = train_head(said, asked, own_head(model.saved.weights), epochs=options.epochs, seed=options.seed)
    arrays = {name: np.ascontiguousarray(each, np.float16) for name, each in head._asdict().items()}
    save_file(arrays, options.out, {"model": model.fingerprint, "responses": str(len(said))})


if __name__ == "__main__":
    main()
