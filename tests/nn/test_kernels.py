"""Kernels are optional: without them, torch comes to the same scores."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.models.systems import NEURAL, batcher, neural
from towhom.corpus import Corpus
from towhom.nn.compiling import load_library
from towhom.nn.kernels import Kernels, choose_kernels, cuts, load_kernels, pointer
from towhom.testing.chats import Line, word_vectors, write_corpus
from towhom.text.vocabulary import ModelVocabulary

CHAT = (
    Line("ann", None, "amber birch cedar"),
    Line("ben", "ann", "delta amber"),
    Line("cat", "ben", "cedar", ("birch birch",)),
    Line("ann", "cat", "amber delta", ("cedar",), 1),
)
ROOM = ModelVocabulary.of(word_vectors(4), ("amber", "birch", "cedar", "delta"))


def scores(corpus: Corpus) -> list[float]:
    """Everything that all systems which have kernels say about the chat."""
    found: list[float] = []
    for system in NEURAL:
        questions = batcher(system, corpus, ROOM, context=3).questions(np.arange(2))
        said = neural(system, ROOM).score_many(questions)
        arrays = (said.addressee, said.response, said.addressee_given, said.response_given)
        found += [value for array in arrays if array is not None for value in array.ravel().tolist()]
    return found


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("chat"), [CHAT])


@pytest.fixture
def _fresh() -> Iterator[None]:
    """Kernels are looked for anew, and again when the test is over."""
    choose_kernels.cache_clear()
    yield
    choose_kernels.cache_clear()


def test_switched_off(corpus: Corpus) -> None:
    script = (
        "import sys; from towhom.corpus import Corpus; from towhom.nn.kernels import load_kernels\n"
        "from tests.nn.test_kernels import scores\n"
        "print(load_kernels(7)); print(scores(Corpus(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(corpus.folder)],
        env={**os.environ, "TOWHOM_KERNELS": "off"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    kernels, printed = done.stdout.splitlines()
    assert kernels == "None"
    found = [float(value) for value in printed.strip("[]").split(",")]
    np.testing.assert_allclose(found, scores(corpus), rtol=0, atol=1e-6)


@pytest.mark.usefixtures("_fresh")
def test_no_compiler(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = scores(corpus)
    choose_kernels.cache_clear()
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert choose_kernels(7).record() == {"used": False, "why": "no C compiler was found"}
    np.testing.assert_allclose(scores(corpus), expected, rtol=0, atol=1e-6)


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("compiler", ["/no/such/compiler", "false"])
def test_a_compiler_that_does_not_work(
    compiler: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    choice = choose_kernels(7)
    assert choice.kernels is None
    assert compiler in choice.why or "No such file" in choice.why
    assert not list(tmp_path.rglob("*.so"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, and a compiler that works."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new"))
    monkeypatch.delenv("TOWHOM_KERNELS", raising=False)
    choose_kernels.cache_clear()
    if not (os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")):
        pytest.skip("there is no compiler")
    yield tmp_path / "new" / "towhom"
    choose_kernels.cache_clear()


def works(kernels: Kernels | None) -> bool:
    """Whether a library counts dialogs: one of no samples."""
    if kernels is None:
        return False
    nothing = torch.zeros(16, dtype=torch.int64)
    kernels.code.dialog_count(pointer(nothing), None, None)
    return kernels.width % kernels.lanes == 0


class TestCache:
    def test_it_is_the_users_alone_whatever_other_files_are(self, cache: Path) -> None:
        before = os.umask(0)
        try:
            load_library(7)
        finally:
            os.umask(before)
        assert cache.stat().st_mode & 0o777 == 0o700
        (library,) = cache.iterdir()
        assert library.stat().st_mode & 0o777 == 0o600

    def test_what_is_there_is_used_again(self, cache: Path) -> None:
        load_library(7)
        (library,) = cache.iterdir()
        made = library.stat().st_mtime_ns
        load_library(7)
        assert library.stat().st_mtime_ns == made

    def test_a_damaged_library_is_built_anew(self, cache: Path) -> None:
        name = plant(cache, b"not a library").name
        assert works(choose_kernels(7).kernels)
        assert (cache / name).read_bytes().startswith(b"\x7fELF") or sys.platform != "linux"

    def test_where_nothing_can_be_written_it_is_built_for_one_run(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        blocked = tmp_path / "file"
        blocked.write_text("not a folder")
        monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
        assert works(Kernels.of(load_library(7).code))
        assert load_library(7).notes is None

    @pytest.mark.parametrize("loose", ["folder", "library"])
    def test_what_others_can_write_is_not_loaded(self, cache: Path, tmp_path: Path, loose: str) -> None:
        ran = tmp_path / "ran"
        harm = harmful(tmp_path, ran)
        planted = plant(cache, harm)
        (cache if loose == "folder" else planted).chmod(0o777)
        assert works(Kernels.of(load_library(7).code))
        assert not ran.exists()
        # In a folder of one's own it is replaced.
        assert (planted.read_bytes() == harm) == (loose == "folder")

    def test_what_belongs_to_somebody_else_is_not_loaded(
        self, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ran = tmp_path / "ran"
        plant(cache, harmful(tmp_path, ran))
        me = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: me + 1)
        assert works(Kernels.of(load_library(7).code))
        assert not ran.exists()
        monkeypatch.undo()
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent))
        with pytest.raises(ValueError, match="row_width"):  # it would have been
            Kernels.of(load_library(7).code)
        assert ran.exists()


def plant(cache: Path, content: bytes) -> Path:
    """Put something in the place of the library, which must not have been loaded in this process."""
    script = "from towhom.nn.compiling import load_library; load_library(7)"
    subprocess.run([sys.executable, "-c", script], check=True)
    (library,) = cache.iterdir()
    library.write_bytes(content)
    return library


def harmful(folder: Path, leaves: Path) -> bytes:
    """A library that leaves a file when it is loaded."""
    code = folder / "harmful.c"
    code.write_text(
        "#include <stdio.h>\n"
        f'__attribute__((constructor)) void run(void) {{ fclose(fopen("{leaves}", "w")); }}\n'
    )
    compiler = os.environ.get("CC") or "cc"
    library = folder / "harmful.so"
    command = [*shlex.split(compiler), "-shared", "-fPIC", "-o", str(library), str(code)]
    subprocess.run(command, check=True)
    return library.read_bytes()


class TestChoice:
    def test_a_trial_decides_once(self, cache: Path) -> None:
        first = choose_kernels(7)
        assert "times as fast as torch" in first.why
        notes = {path: path.read_text("utf-8") for path in cache.glob("*.json")}
        assert len(notes) == len(list(cache.glob("*.so"))) > 0
        choose_kernels.cache_clear()
        again = choose_kernels(7)
        assert again.record() == first.record()
        assert notes == {path: path.read_text("utf-8") for path in cache.glob("*.json")}

    def test_slower_kernels_are_not_used(self, cache: Path) -> None:
        choose_kernels(7)
        for path in cache.glob("*.json"):
            path.write_text('{"seconds": 3, "torch_seconds": 1.5}')
        choose_kernels.cache_clear()
        why = "0.5 times as fast as torch in a trial on this machine"
        assert choose_kernels(7).record() == {"used": False, "why": why}
        assert load_kernels(7) is None

    def test_the_faster_width_is_used(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Vectors twice as wide as the processor's are several times slower: a kernel that was made for
        another processor."""
        compiler = os.environ.get("CC") or shutil.which("gcc")
        if platform.machine() != "x86_64" or compiler is None:
            pytest.skip("of gcc's flags for x86-64")
        monkeypatch.setenv("CC", f"{compiler} -mno-avx512f -DLANES=16")
        choose_kernels.cache_clear()
        found = choose_kernels(50).record()
        assert (found["used"], found["lanes"]) == (True, 8)

    def test_damaged_notes_are_written_anew(self, cache: Path) -> None:
        first = choose_kernels(7)
        for path in cache.glob("*.json"):
            path.write_text("{")
        choose_kernels.cache_clear()
        assert choose_kernels(7).why.endswith(first.why[-20:])
        assert all("torch_seconds" in path.read_text("utf-8") for path in cache.glob("*.json"))

    def test_a_trial_leaves_threads_and_random_numbers_alone(self, cache: Path) -> None:
        torch.set_num_threads(2)
        before = torch.get_rng_state()
        with torch.inference_mode():
            choose_kernels(7)
            assert torch.is_inference_mode_enabled()
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.get_rng_state(), before)

    def test_told_to(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TOWHOM_KERNELS", "on")
        choice = choose_kernels(7)
        assert works(choice.kernels)
        assert choice.why == "TOWHOM_KERNELS=on"
        assert not list(cache.glob("*.json"))

    @pytest.mark.parametrize(("size", "lanes", "row"), [(1, 4, 4), (16, 4, 16), (17, 8, 24), (50, 16, 64)])
    def test_rows_are_whole_vectors(self, size: int, lanes: int, row: int, cache: Path) -> None:
        kernels = Kernels.of(load_library(size, lanes).code)
        assert (kernels.width, kernels.lanes) == (row, lanes)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("weights", [[], [5], [0, 0], [9, 1, 1, 1, 1, 1], [1] * 10, [0, 0, 8, 0]])
def test_cuts_leave_nothing_out(threads: int, weights: list[int]) -> None:
    torch.set_num_threads(threads)
    found = cuts(torch.tensor(weights, dtype=torch.int64)).tolist()
    assert (found[0], found[-1]) == (0, len(weights))
    assert found == sorted(found)
    assert len(found) - 1 == max(1, min(threads, len(weights)))


def test_cuts_share_the_work() -> None:
    torch.set_num_threads(2)
    assert cuts(torch.tensor([4, 1, 1, 1, 1])).tolist() in ([0, 0, 5], [0, 1, 5])
    assert cuts(torch.tensor([1] * 10)).tolist() in ([0, 4, 10], [0, 5, 10])


def test_only_contiguous_tensors_have_a_pointer() -> None:
    tensor = torch.zeros(3, 4)
    assert pointer(tensor).value == tensor.data_ptr()
    with pytest.raises(ValueError, match="not contiguous"):
        pointer(tensor.T)
