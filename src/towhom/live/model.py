"""A trained model, ready to follow channels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from hashlib import blake2b
from importlib.resources import as_file, files
from math import exp
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from towhom.corpus.vocabulary import NAME
from towhom.errors import ModelFormatError
from towhom.live.addressees import AddresseeRanker, Features, ModelScores, Said
from towhom.live.calibration import Calibration
from towhom.live.session import Session
from towhom.persistence import SavedModel, load_model
from towhom.selection import Scores
from towhom.text.vocabulary import UNKNOWN_ID


class Model:
    """What `towhom.load` returns. It does not change, and can be shared by any number of threads.

    Args:
        saved: What a model folder holds.
    """

    def __init__(self, saved: SavedModel) -> None:
        self.saved = saved
        self.context = saved.context
        self.runtime = saved.runtime
        self.word_ids = saved.vocabulary.places
        self.unknown_id = UNKNOWN_ID
        self.name_id = self.word_ids.get(NAME, UNKNOWN_ID)
        # The words come in the order of their frequency: what is rare tells more.
        scale = np.log1p(len(self.word_ids) + 1)
        self.word_weights = {
            word: float(weight)
            for word, weight in zip(
                saved.vocabulary.words, np.log1p(np.arange(1, len(self.word_ids) + 1)) / scale, strict=True
            )
        }
        self._pairs = Calibration(**saved.live.get("pairs", {}))
        self._addressees = Calibration(**saved.live.get("addressees", {}))
        self._named = float(saved.live.get("named", 1.0))
        self._ranker: AddresseeRanker | None = None
        if saved.live_weights:
            self._ranker = AddresseeRanker(saved.live_weights)

    @cached_property
    def fingerprint(self) -> str:
        """Of the words: token ids mean the same in two models that have the same."""
        words = "\n".join(self.saved.vocabulary.words).encode("utf-8", "replace")
        return blake2b(words, digest_size=8).hexdigest()

    def session(self) -> Session:
        """A new channel."""
        return Session(self)

    def rank(self, found: Features, said: Said, model: Mapping[str, ModelScores]) -> NDArray[np.float64]:
        """(N + 1,) How likely each candidate is meant, and last, nobody in particular.

        A model that was only trained, not packaged, knows nothing of messages to nobody.
        """
        if self._ranker is not None and said.state is not None:
            probabilities = self._addressees(self._ranker(found, self.runtime.embedding(said.state)))
        else:
            probabilities = np.zeros(len(found.names) + 1)
            odds = [exp(model[name].given) if name in model else 0.0 for name in found.names]
            probabilities[:-1] = odds
            if not any(odds):
                probabilities[-1] = 1.0
            probabilities /= probabilities.sum()
        if said.addressee in found.names:
            # A name is believed as often as names are right, whoever else is likely.
            place = found.names.index(said.addressee)
            probabilities[place] = 0.0
            if not probabilities.any():
                probabilities[-1] = 1.0
            probabilities *= (1.0 - self._named) / probabilities.sum()
            probabilities[place] = self._named
        return probabilities

    def pair_probabilities(self, scores: Scores, allowed: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(P, C) How likely each pair of a single question is, -1 for those that cannot be.

        Args:
            scores: What the system says.
            allowed: (P, C) Which pairs there may be; the first row is for nobody, where nobody is there.
        """
        logarithms = np.where(allowed, scores.logarithms(self.runtime.rule)[0], -np.inf)
        probabilities = self._pairs(logarithms.reshape(-1)).reshape(allowed.shape)
        result: NDArray[np.float64] = np.where(allowed, probabilities, -1.0)
        return result


def load_live(folder: str | Path | None = None) -> Model:
    """See `towhom.load`."""
    if folder is None:
        with as_file(files("towhom") / "bundled") as path:
            return load_live(path)
    saved = load_model(folder)
    try:
        return Model(saved)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise ModelFormatError(f"{folder}: what sessions need of the model is damaged ({error!r})") from error
