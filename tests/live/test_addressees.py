"""What is known of a message and of everybody who may be meant, and what the ranker makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.live.conftest import HIDDEN, random_ranker
from towhom.hearing.calls import Call
from towhom.hearing.manners import SURE, Manner
from towhom.hearing.utterance import Bearing, Utterance
from towhom.live.addressees import (
    CANDIDATE_FEATURES,
    MESSAGE_FEATURES,
    REACH,
    AddresseeRanker,
    Features,
    ModelScores,
    Turn,
    features,
)


def said(
    speaker: str,
    addressee: str | None = None,
    *,
    mentions: tuple[str, ...] = (),
    about: tuple[str, ...] = (),
    time: float | None = None,
    meant: dict[str | None, float] | None = None,
    pieces: dict[int, float] | None = None,
    **others: Any,
) -> Turn:
    manners = (
        ((addressee,) if addressee else (), Manner.FRONT),
        (mentions, Manner.INSIDE),
        (about, Manner.ABOUT),
    )
    calls = tuple(Call(who, manner, SURE[manner]) for whose, manner in manners for who in whose)
    turn = Turn.of(Utterance(speaker, "", calls, time=time, **others))
    turn.meant, turn.pieces = meant or {}, pieces or {}
    return turn


def known(
    past: list[Turn],
    new: Turn,
    *,
    model: dict[str, ModelScores] | None = None,
    others: tuple[str, ...] = (),
) -> Features:
    return features(past, new, model=model or {}, others=others)


def of(found: Features, name: str, feature: str) -> float:
    return float(found.candidates[found.names.index(name), list(CANDIDATE_FEATURES).index(feature)])


def of_message(found: Features, feature: str) -> float:
    return float(found.message[list(MESSAGE_FEATURES).index(feature)])


class TestCandidates:
    def test_everybody_who_spoke_was_named_or_is_introduced(self) -> None:
        past = [said("ada"), said("bob", "cyd"), said("ada", "dee")]
        found = known(past, said("ada", "eve", mentions=("fay",)), others=("helper",))
        assert set(found.names) == {"bob", "dee", "eve", "helper", "fay"}
        assert found.candidates.shape == (5, len(CANDIDATE_FEATURES))
        assert found.message.shape == (len(MESSAGE_FEATURES),)

    def test_never_the_speaker(self) -> None:
        past = [said("ada"), said("bob", "ada")]
        found = known(past, said("ada"), others=("ada",))
        assert found.names == ("bob",)

    def test_nobody(self) -> None:
        found = known([], said("ada"))
        assert found.names == ()
        assert found.candidates.shape == (0, len(CANDIDATE_FEATURES))
        assert np.isfinite(found.message).all()


class TestFeatures:
    def test_who_spoke_when(self) -> None:
        found = known([said("bob"), said("cyd"), said("bob"), said("dee"), said("ada")], said("ada"))
        assert [of(found, name, "distance") for name in ("dee", "bob", "cyd")] == pytest.approx(
            np.log1p([2, 3, 4])
        )
        assert [of(found, name, "order") for name in ("dee", "bob", "cyd")] == pytest.approx([0.1, 0.2, 0.3])
        assert of(found, "bob", "recent messages") == pytest.approx(0.4)
        assert of(found, "dee", "I spoke since") == 1
        assert of(found, "dee", "previous speaker") == 0
        assert of_message(found, "I am the previous speaker") == 1

    def test_who_named_whom(self) -> None:
        past = [said("bob", "ada"), said("ada", "bob"), said("cyd", "ada"), said("dee", "bob")]
        found = known(past, said("ada", "cyd"))
        assert [of(found, name, "named me") for name in ("bob", "cyd", "dee")] == [1, 1, 0]
        assert [of(found, name, "named me last of all") for name in ("bob", "cyd", "dee")] == [0, 1, 0]
        assert [of(found, name, "I named them") for name in ("bob", "cyd", "dee")] == [1, 0, 0]
        assert [of(found, name, "my last message names them") for name in ("bob", "cyd", "dee")] == [1, 0, 0]
        assert [of(found, name, "last message names another") for name in ("bob", "cyd", "dee")] == [0, 0, 1]
        assert [of(found, name, "called") for name in ("bob", "cyd", "dee")] == [0, 1, 0]
        assert of(found, "cyd", "named me, nearness") > of(found, "bob", "named me, nearness") > 0

    def test_what_the_ranker_said_before(self) -> None:
        past = [said("bob", meant={"ada": 0.8}), said("ada", meant={"bob": 0.5, None: 0.25})]
        found = known(past, said("ada"))
        assert of(found, "bob", "last message meant me") == pytest.approx(0.8)
        assert of(found, "bob", "my last message meant them") == pytest.approx(0.5 * np.exp(-1 / 20))
        assert of_message(found, "my last meant nobody") == pytest.approx(0.25 * np.exp(-1 / 20))

    def test_what_is_common(self) -> None:
        """The pieces 1 and 2, of which the first tells less; 3 tells nothing."""
        past = [
            said("bob", pieces={1: 1.0, 2: 1.0}),
            said("cyd", pieces={3: 1.0, 4: 1.0}),
            said("bob", pieces={4: 1.0}),
        ]
        found = known(past, said("ada", pieces={1: 0.5, 2: 1.0, 3: 0.3}))
        assert of(found, "cyd", "in common") == 0
        assert of(found, "bob", "in common") == pytest.approx((1 - np.exp(-1.5)) * np.exp(-3 / 20))
        assert of(found, "bob", "in common, last message") == 0
        assert of_message(found, "most in common") == of(found, "bob", "in common")

    def test_who_is_talked_about(self) -> None:
        new = said("ada", mentions=("bob",), about=("cyd",))
        found = known([said("bob"), said("cyd"), said("dee")], new)
        people = ("bob", "cyd", "dee")
        assert [of(found, name, "mentioned") for name in people] == [1, 1, 0]
        assert [of(found, name, "talked about") for name in people] == [0, 1, 0]
        assert [of(found, name, "called") for name in people] == [0, 0, 0]
        assert of_message(found, "somebody is mentioned") == 1
        assert of_message(found, "somebody is called") == 0

    def test_several_who_are_called(self) -> None:
        calls = tuple(Call(who, Manner.FRONT, SURE[Manner.FRONT]) for who in ("ada", "cyd"))
        both = Turn.of(Utterance("bob", "", calls))
        found = known([said("cyd"), both], said("ada"))
        assert of(found, "bob", "last message names me") == 1
        assert of(found, "bob", "named me last of all") == 1
        found = known([said("cyd"), said("ada"), both], Turn.of(Utterance("bob", "")))
        assert [of(found, name, "my last message names them") for name in ("ada", "cyd")] == [1, 1]

    @pytest.mark.parametrize(
        ("bearing", "feature"),
        [
            (Bearing(anybody=True), "asks anybody"),
            (Bearing(greets=True), "greets"),
            (Bearing(answers=True), "begins like an answer"),
            (Bearing(you=True), "says you"),
        ],
    )
    def test_bearing(self, bearing: Bearing, feature: str) -> None:
        found = known([said("bob", bearing=bearing)], said("ada", bearing=bearing))
        assert of_message(found, feature) == 1
        assert of_message(known([said("bob")], said("ada")), feature) == 0
        assert of(found, "bob", "last message asks anybody") == bearing.anybody

    def test_the_model(self) -> None:
        model = {"bob": ModelScores(-1.0, 0.5), "cyd": ModelScores(0.0, 0.5)}
        found = known([said("bob"), said("cyd"), said("dee")], said("ada"), model=model)
        assert [of(found, name, "in the context") for name in ("bob", "cyd", "dee")] == [1, 1, 0]
        assert [of(found, name, "model") for name in ("bob", "cyd", "dee")] == [-1, 0, 0]
        assert [of(found, name, "model, among all") for name in ("bob", "cyd", "dee")] == [0.5, 0.5, 0]

    @pytest.mark.parametrize(
        ("before", "now", "since"),
        [(None, 5.0, 1.0), (5.0, None, 1.0), (5.0, 5.0, 0.0), (9.0, 5.0, 0.0), (0.0, 100.0, np.log(101) / 5)],
    )
    def test_time(self, before: float | None, now: float | None, since: float) -> None:
        found = known([said("bob", time=before)], said("ada", time=now))
        assert of(found, "bob", "time since") == pytest.approx(since)
        assert of_message(found, "the time is known") == (now is not None)

    def test_out_of_reach(self) -> None:
        found = known([said("bob")] * REACH, said("ada"), others=("helper",))
        assert of(found, "helper", "distance") > of(found, "bob", "distance")
        assert of(found, "helper", "order") == 2
        assert np.isfinite(found.candidates).all()


class TestRanker:
    def test_nobody_there(self) -> None:
        found = known([], said("ada"))
        assert AddresseeRanker(random_ranker())(found, np.ones(HIDDEN, np.float32)).shape == (1,)

    def test_is_what_it_says(self) -> None:
        """Two hidden layers, written out."""
        weights = random_ranker(seed=3)
        found = known([said("bob"), said("cyd", "ada")], said("ada", "bob"))
        state = np.linspace(-1, 1, HIDDEN, dtype=np.float32)
        scores = []
        for row in found.candidates:
            hidden = np.concatenate([row, found.message]) @ weights["candidate.w"] + weights["candidate.b"]
            scores.append(np.maximum(hidden, 0) @ weights["candidate.out"])
        hidden = np.concatenate([found.message, state]) @ weights["nobody.w"] + weights["nobody.b"]
        scores.append(np.maximum(hidden, 0) @ weights["nobody.out"])
        assert len(set(scores)) == 3
        assert_allclose(AddresseeRanker(weights)(found, state), scores, rtol=0, atol=1e-5)

    def test_the_order_of_candidates_does_not_matter(self) -> None:
        found = known([said("bob"), said("cyd", "ada")], said("ada"), others=("helper",))
        order = np.array([2, 0, 1])
        other = Features(tuple(found.names[place] for place in order), found.candidates[order], found.message)
        ranker, state = AddresseeRanker(random_ranker()), np.ones(HIDDEN, np.float32)
        assert_allclose(ranker(other, state)[:3], ranker(found, state)[order], rtol=0, atol=1e-5)

    @pytest.mark.parametrize("name", list(random_ranker()))
    def test_weights_that_do_not_fit(self, name: str) -> None:
        with pytest.raises(ValueError, match=r"is \(2, 2\), expected|expected \("):
            AddresseeRanker({**random_ranker(), name: np.zeros((2, 2), np.float32)})
