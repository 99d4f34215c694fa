"""Trains the projections by which a bank finds responses, on top of a model that stays as it is.

    python -m towhom.training.bank_head BANK OUT.safetensors

They start as the model's own (`towhom.bank.heads`) and learn to tell what was said from what was said
elsewhere: the response to a message, and both of them for the message with which the same person had begun
the conversation. Others are all other responses of a batch, and then also mined ones, which fit best among
many drawn at random. `towhom.training.bank_vectors` applies new projections to banks.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from towhom.bank import Bank
from towhom.bank.heads import SHARE, Head, own_head
from towhom.bank.slots import without_slots
from towhom.extras import require
from towhom.live import Model
from towhom.loading import load
from towhom.training.bank_vectors import AT_ONCE, states, tokens_of

_BATCH, _MINING = 2048, 512
"""Number of pairs per batch, and number of those that have mined negatives, too."""
_DRAWN, _MINED = 20_000, 8
"""Number of responses drawn for mining, and number of those that are kept for each pair."""
_RATE, _SCALE_RATE = 3e-3, 0.1
"""Learning rates of the projections, and of the factor of their products."""


class States(NamedTuple):
    """The encoded texts of N responses."""

    said: NDArray[np.float16]
    """(N, H) The responses."""
    asked: NDArray[np.float16]
    """(N, H) The messages that they answered."""
    began: NDArray[np.float16]
    """(N, H) What the same person had begun the conversation with, if that was something else."""
    begins: NDArray[np.bool_]
    """(N,) Whether it was."""


def states_of(bank: Bank, model: Model, *, most: int, seed: int = 0) -> States:
    """The encoded texts of a bank, or of `most` responses drawn from it at random."""
    parts: list[States] = []
    numbers = np.sort(np.random.default_rng(seed).permutation(len(bank))[:most])
    for _, rows, whole in bank.at(numbers.tolist()):
        for start in range(0, len(rows), AT_ONCE):
            table = whole.at(rows[start : start + AT_ONCE])
            said = [table.numbers("tokens", row) for row in range(len(table))]
            asked = tokens_of(model, [without_slots(text) for text in table.texts("question")])
            openings = [without_slots(text) for text in table.texts("opening")]
            began = tokens_of(model, openings)
            parts.append(
                States(
                    states(model, said).astype(np.float16),
                    states(model, asked).astype(np.float16),
                    states(model, began).astype(np.float16),
                    np.array([bool(text) for text in openings]),
                )
            )
    return States(*map(np.concatenate, zip(*parts, strict=True)))


def train_head(texts: States, start: Head, *, epochs: int = 6, seed: int = 0) -> Head:
    """Train projections that tell the true response from others; negatives are mined in the second half."""
    torch: Any = require("torch", extra="train", purpose="training")
    torch.manual_seed(seed)
    normalize, entropy = torch.nn.functional.normalize, torch.nn.functional.cross_entropy
    responses, questions, openings, begins = map(torch.from_numpy, texts)
    weights = [torch.nn.Parameter(torch.from_numpy(np.array(each))) for each in start]
    scale = torch.nn.Parameter(torch.tensor(12.0))
    groups = [{"params": weights}, {"params": [scale], "lr": _SCALE_RATE}]
    optimizer = torch.optim.AdamW(groups, _RATE, weight_decay=0.01)
    steps = epochs * -(-len(responses) // _BATCH)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, steps)

    def answers(rows: Any) -> Any:
        return normalize(responses[rows].float() @ weights[0] + weights[1], dim=1)

    def heard(states: Any) -> Any:
        return normalize(states.float() @ weights[2] + weights[3], dim=1)

    for epoch in range(epochs):
        order = torch.randperm(len(responses))
        for rows in order.split(_BATCH):
            asked, said = heard(questions[rows]), answers(rows)
            true = torch.arange(len(rows))
            fits = scale * (asked @ said.T)
            loss = entropy(fits, true) + 0.5 * entropy(fits.T, true)
            begun = begins[rows]
            if begun.any():
                found_by = Head.found_by(said, asked) / (1.0 + SHARE)
                loss = loss + entropy(scale * (heard(openings[rows[begun]]) @ found_by.T), true[begun])
            if epoch >= epochs // 2:
                few = asked[:_MINING]
                with torch.no_grad():
                    drawn = torch.randint(0, len(responses), (_DRAWN,))
                    best = (few @ answers(drawn).T).topk(_MINED, dim=1).indices
                mined = scale * (few @ answers(drawn[best.flatten()]).T)
                loss = loss + entropy(torch.cat([fits[:_MINING], mined], 1), true[:_MINING])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        sys.stderr.write(f"epoch {epoch + 1} of {epochs}: {loss.item():.3f}\n")
    return Head(*(each.detach().numpy() for each in weights))


def main() -> None:
    """Train projections on the responses of a bank and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bank", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--responses", type=int, default=300_000, help="the largest number to learn from")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    model = load(options.model)
    texts = states_of(Bank(options.bank), model, most=options.responses, seed=options.seed)
    head = train_head(texts, own_head(model.saved.weights), epochs=options.epochs, seed=options.seed)
    arrays = {name: np.ascontiguousarray(each, np.float16) for name, each in head._asdict().items()}
    save_file(arrays, options.out, {"model": model.fingerprint, "responses": str(len(texts.said))})


if __name__ == "__main__":
    main()
