"""States of sessions that are damaged in every way that comes to mind, and what comes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

from tests.live.chats import Platform
from tests.live.conftest import ruled_model, saved_model, through_json
from towhom.chat import Kind, Message
from towhom.errors import SessionError
from towhom.hearing.utterance import REACH
from towhom.live import Model


def leaves(state: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where there is something in a state."""
    keys = state if isinstance(state, dict) else range(len(state)) if isinstance(state, list) else ()
    return [path, *(leaf for key in keys for leaf in leaves(state[key], (*path, key)))]


def somewhere(state: Any, random: Random) -> tuple[Any, ...]:
    """A place in a state: of any kind, and then any of the kind."""
    kinds: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for leaf in leaves(state)[1:]:
        kinds.setdefault(tuple("*" if isinstance(key, int) else key for key in leaf), []).append(leaf)
    return random.choice(random.choice(list(kinds.values())))


FUZZED = Model(ruled_model()), Model(saved_model(1))


def states() -> Iterator[Any]:
    """Of an empty channel, of a room of two, of one of another language, of short and long ones."""
    chinese = ("这个怎么用", "请帮帮我", "谢谢你 p1", "好的", "p0: 明天见")
    for lines in (
        [],
        [Message("ada", "is it up?", id="m1"), Message("helper", "yes", id="m2")],
        [Message(f"p{place % 3}", chinese[place % 5], id=f"m{place}") for place in range(20)],
        Platform(3, replies=0.4).lines(24),
        Platform(4, replies=0.4, numbered=True).lines(REACH + 30),
    ):
        session = FUZZED[0].session()
        session.introduce("helper", "hb")
        session.observe_all(lines)
        yield through_json(session.state())


STATES = tuple(states())
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 7, REACH, REACH + 1, 10**6, 1 << 31, 1 << 32, 1 << 53, 1 << 63, 10**30, 10**400,
    0.5, -1.5, 1e300, float("inf"), float("nan"), "", "ada", "x", "\ud800", "m3", "zh", "named", "a" * 5000,
    [], [0], [-1], [[]], [None], {}, {"a": 1}, ["ada"], [["ada", 0.5]], [1, 2, 3], [["ada", 0.5, "ada"]],
)  # fmt: skip
SAID = (
    Message("ada", "bob: tea", id="n1", reply_to="m3"),
    Message("zoe", "is it open ?", reply_to="m1"),
    Message("ada", "milk", id="m15", kind=Kind.EDIT),
    Message("", "", id="m16", kind=Kind.DELETE),
    Message("ada", "lovelace", kind=Kind.RENAME),
    Message("bob", "so", reply_to="n1"),
    Message("p1", "谢谢你 p0", id="m3"),
)


def damaged(random: Random) -> Any:
    """A state with one or two things put elsewhere, taken away, or replaced."""
    whole = random.choice(STATES)
    state = through_json(whole)
    for _ in range(random.randint(1, 2)):
        path, other = somewhere(whole, random), somewhere(whole, random)
        try:
            there, key = inside(state, path[:-1]), path[-1]
            how = random.choice(("value", "value", "gone", "twice", "swapped"))
            if how == "value":
                there[key] = deepcopy(random.choice(VALUES))
            elif how == "gone":
                del there[key]
            elif how == "twice":
                there.insert(key, through_json(there[key]))
            else:
                elsewhere = inside(state, other[:-1])
                there[key], elsewhere[other[-1]] = elsewhere[other[-1]], through_json(there[key])
        except (LookupError, TypeError, AttributeError):
            continue  # what was done before has taken that away
    return state


def inside(state: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        state = state[key]
    return state


def is_likely(probability: object) -> bool:
    return isinstance(probability, float) and -1e-6 <= probability <= 1 + 1e-6


def assert_refused_or_works(model: Model, state: Any) -> None:
    """It is no state, or the session works: nothing comes to light later, nor when it is saved again."""
    try:
        session = model.session(state)
    except SessionError:
        return
    assert session.history is not None
    for who in ("ada", "bob", "helper", "p1"):
        assert is_likely(session.is_for(who).probability)
    assert all(is_likely(each.probability) for each in session.select("ada", ["tea", "bob: milk"]))
    session.rank_addressees("bob", "is the tea open ?")
    session.introduce("zed", "zz", bot=True)
    for message in SAID:
        found = session.observe(message)
        assert isinstance(found.placed.thread, int)
        assert all(isinstance(line, int) for line in found.placed.replies_to)
        assert is_likely(found.placed.probability)
        assert all(is_likely(each.probability) for each in found.addressees)
    session.observe_all(Platform(9, replies=0.5).lines(20))
    model.session(json.loads(json.dumps(session.state(), allow_nan=False)))
