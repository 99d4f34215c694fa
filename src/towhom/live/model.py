"""A trained model, ready to follow channels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import as_file, files
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towhom.chat import Message
from towhom.errors import ModelFormatError
from towhom.hearing.lexicon import Lexicon
from towhom.hearing.manners import SURE, Manner
from towhom.hearing.utterance import CALLED
from towhom.live.addressees import AddresseeRanker, Features, ModelScores, Turn
from towhom.live.calibration import Calibration
from towhom.live.session import Session
from towhom.persistence import SavedModel, load_model
from towhom.selection import Scores
from towhom.threads import Placed, Threader, place_channels
from towhom.threads.network import load_networks
from towhom.threads.threader import CHUNK

_ROOM_OF_TWO = 0.8
"""How likely a message is for the only other one who is known to be there."""


_AT_MOST = {Manner.ABOUT: SURE[Manner.ABOUT], Manner.INSIDE: 0.4}
"""How likely somebody is meant, at most, who is named and not called."""


def _capped(probabilities: NDArray[np.float64], place: int, most: float) -> NDArray[np.float64]:
    """Probabilities of which one is at most so high; the others share what it loses."""
    if probabilities[place] <= most:
        return probabilities
    rest = 1.0 - probabilities[place]
    if rest <= 0:
        probabilities[-1] = 1.0
    else:
        probabilities *= (1.0 - most) / rest
    probabilities[place] = most
    return probabilities


class Model:
    """What `towhom.load` returns. It does not change, and can be shared by any number of threads.

    Args:
        saved: What a model folder holds.
    """

    def __init__(self, saved: SavedModel) -> None:
        self.saved = saved
        self.context = saved.context
        self.runtime = saved.runtime
        self.lexicon = Lexicon(saved.vocabulary, saved.max_words)
        self._pairs = Calibration(**saved.live.get("pairs", {}))
        self._addressees = Calibration(**saved.live.get("addressees", {}))
        self._ranker: AddresseeRanker | None = None
        if saved.live_weights:
            self._ranker = AddresseeRanker(saved.live_weights)
        self._threads = load_networks(saved.thread_weights, self.runtime)

    def threader(self, state: Any = None) -> Threader:
        """A channel whose messages are placed in conversations as they come.

        Args:
            state: Of a threader, to go on where it was; None for a new channel.

        Raises:
            ModelFormatError: The model does not know how.
            SessionError: The state is none.
        """
        if not self._threads:
            reason = "this model places no messages in conversations; `towhom package` makes one that does"
            raise ModelFormatError(reason)
        threader = Threader(self, self._threads)
        if state is not None:
            threader.resume(state)
        return threader

    def threads(self, messages: Iterable[Message], *, at_once: int = CHUNK) -> Iterator[Placed]:
        """Messages with what they answer and their conversation, in order; any number, in bounded memory.

        Args:
            messages: Of one channel or several.
            at_once: How many are waited for before any is answered: 1 to follow a chat as it runs, more to be
                fast. The answers are the same.
        """
        return place_channels(self.threader, messages, at_once=at_once)

    def session(self, state: Any = None) -> Session:
        """A new channel, or one that goes on where the `state` of a session was."""
        session = Session(self)
        if state is not None:
            session.resume(state)
        return session

    def rank(
        self,
        found: Features,
        turn: Turn,
        model: Mapping[str, ModelScores],
        *,
        only_other: str | None = None,
    ) -> NDArray[np.float64]:
        """(N + 1,) How likely each candidate is meant, and last, nobody in particular.

        Whoever is called is believed as surely as calls are right, whoever else is likely; several may be. A
        model that was only trained, not packaged, knows nothing of messages to nobody.

        Args:
            found: What is known of everybody who may be meant.
            turn: The message, encoded.
            model: What the selector makes of those in its context.
            only_other: Whoever is in a room of two with the speaker.
        """
        if self._ranker is not None and turn.embedding is not None:
            probabilities = self._addressees(self._ranker(found, self.runtime.embedding(turn.embedding)))
        else:
            probabilities = np.zeros(len(found.names) + 1)
            odds = [exp(model[name].given) if name in model else 0.0 for name in found.names]
            probabilities[:-1] = odds
            if not any(odds):
                probabilities[-1] = 1.0
            probabilities /= probabilities.sum()
        said = turn.utterance
        sure = {call.who: call.sure for call in said.calls if call.sure >= CALLED}
        if not sure and only_other is not None and not (said.mentions or said.everybody or said.stranger):
            sure = {only_other: _ROOM_OF_TWO}
        for call in said.calls:
            if call.manner in _AT_MOST and call.who in found.names:
                place = found.names.index(call.who)
                probabilities = _capped(probabilities, place, _AT_MOST[call.manner])
        if not sure:
            return probabilities
        called = np.array([name in sure for name in found.names] + [False])
        probabilities[called] = 0.0
        if not probabilities.any():
            probabilities[-1] = 1.0
        probabilities *= (1.0 - max(sure.values())) / probabilities.sum()
        probabilities[called] = [sure[name] for name in found.names if name in sure]
        return probabilities

    def pair_probabilities(
        self, scores: Scores, allowed: NDArray[np.bool_], more: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(P, C) How likely each pair of a single question is, -1 for those that cannot be.

        Args:
            scores: What the system says.
            allowed: (P, C) Which pairs there may be; the first row is for nobody, where nobody is there.
            more: (P, C) What else speaks for a pair, as a logarithm.
        """
        logarithms = np.where(allowed, scores.logarithms(self.runtime.rule)[0] + more, -np.inf)
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
