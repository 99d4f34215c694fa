"""NumPy's threads: one inside, as before outside."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from threading import Barrier, Thread

import pytest

import towhom
from towhom import blas
from towhom.blas import one_thread
from towhom.chat import Message
from towhom.crosstalk.mind import Mind, Texts
from towhom.hearing.utterance import Utterance
from towhom.live import Session


class Numbers:
    """How many threads there are; `set` changes it."""

    def __init__(self, threads: blas._Threads) -> None:
        self.now = threads.number
        self.set = threads.set_number


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Numbers]:
    """Four threads, and nobody has said how many there are to be."""
    for name in blas._TOLD:
        monkeypatch.delenv(name, raising=False)
    blas._threads.cache_clear()
    found = blas._threads()
    if found is None:
        pytest.skip("NumPy has no OpenBLAS here")
    before = found.number()
    found.set_number(4)
    yield Numbers(found)
    found.set_number(before)
    blas._threads.cache_clear()


def test_one_inside_and_as_before_outside(threads: Numbers) -> None:
    assert threads.now() == 4
    with one_thread():
        assert threads.now() == 1
        with one_thread():
            assert threads.now() == 1
        assert threads.now() == 1
    assert threads.now() == 4


def test_after_an_error(threads: Numbers) -> None:
    with pytest.raises(ValueError, match="no such"), one_thread():
        raise ValueError("no such message")
    assert threads.now() == 4


@pytest.mark.parametrize("name", ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"])
def test_what_the_user_has_said_stays(name: str, threads: Numbers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "4")
    blas._threads.cache_clear()
    with one_thread():
        assert threads.now() == 4


def test_what_others_set_meanwhile_stays(threads: Numbers) -> None:
    with one_thread():
        threads.set(3)
    assert threads.now() == 3


def test_the_last_one_out_puts_it_back(threads: Numbers) -> None:
    seen: list[int] = []
    both, gone = Barrier(2), Barrier(2)

    def other() -> None:
        with one_thread():
            both.wait()
            gone.wait()
            seen.append(threads.now())

    thread = Thread(target=other)
    thread.start()
    with one_thread():
        both.wait()
    seen.append(threads.now())
    gone.wait()
    thread.join()
    assert seen == [1, 1]
    assert threads.now() == 4


def test_another_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_threads", lambda: None)
    with one_thread():
        pass


CHAT = [Message(*said) for said in (("ann", "is it up?"), ("ben", "ann: yes"), ("cat", "it is slow"))]


@pytest.mark.parametrize(
    "use",
    [
        lambda session: session.observe(Message("ann", "ben: hello")),
        lambda session: session.rank_addressees("ann", "hello"),
        lambda session: session.select("ann", ["hello", "no"]),
        lambda session: list(session.model.threads(CHAT)),
        lambda session: list(session.model.observations(CHAT)),
    ],
    ids=["observe", "rank_addressees", "select", "threads", "observations"],
)
def test_where_messages_are_processed(
    use: Callable[[Session], object], threads: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = towhom.load().session()
    session.observe_all(CHAT)
    seen: list[int] = []
    read = Mind.read

    def watched(mind: Mind, messages: Sequence[Utterance]) -> Texts:
        if messages:  # and not a new room, which is empty
            seen.append(threads.now())
        return read(mind, messages)

    monkeypatch.setattr(Mind, "read", watched)
    use(session)
    assert set(seen) == {1}
    assert threads.now() == 4


def test_a_stream_is_followed_with_the_readers_own_threads(threads: Numbers) -> None:
    """Between two answers, it is the caller's program that runs."""
    for answers in (towhom.load().threads(CHAT), towhom.load().observations(CHAT)):
        assert {threads.now() for _ in answers} == {4}


def test_in_a_process_of_its_own(threads: Numbers) -> None:
    """With the number that OpenBLAS begins with."""
    script = (
        "from towhom import blas\n"
        "threads = blas._threads()\n"
        "before = threads.number()\n"
        "with blas.one_thread(): inside = threads.number()\n"
        "print(before, inside, threads.number())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    before, inside, after = map(int, done.stdout.split())
    assert (inside, after) == (1, before)


_WORK = """
import time, towhom
from towhom.chat import Message
model = towhom.load()
texts = ("is the printer on fire?", "bob: no", "which one, the old one or the new one?", "it works now")
chat = [Message(("ada", "bob", "cy")[n % 3], f"{texts[n % 4]} {n % 9}") for n in range(600)]
process, thread = time.process_time(), time.thread_time()
session = model.session()
session.observe_all(chat)
session.select("ada", [*texts] * 16)
print((time.process_time() - process) / (time.thread_time() - thread))
"""


def test_the_work_is_done_by_the_thread_that_asks() -> None:
    """Whatever else the machine does: threads that work, or wait by spinning, cost the processor's time."""
    environment = {name: value for name, value in os.environ.items() if name not in blas._TOLD}
    done = subprocess.run(
        [sys.executable, "-c", _WORK], env=environment, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 1.05
