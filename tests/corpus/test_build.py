"""Building a corpus: the same bytes for any number of processes, and all or nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from tests.conftest import LogWriter, irc_days
from towhom.corpus import (
    Corpus,
    CorpusSettings,
    DocumentSettings,
    Names,
    Split,
    SplitBy,
    build,
    build_corpus,
    writer,
)
from towhom.corpus.build import Progress
from towhom.errors import CorpusError, LogError

Snapshot = dict[str, tuple[int, int, bytes]]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def snapshot(folder: Path) -> Snapshot:
    """Everything that would change if somebody wrote the files again."""
    return {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.iterdir())
    }


def settings(
    *, min_addressed: int = 1, candidates: tuple[int, ...] = (2, 10), **others: object
) -> CorpusSettings:
    document = {key: others.pop(key) for key in ("seed", "strict") if key in others}
    return CorpusSettings(
        document=DocumentSettings(min_addressed=min_addressed, candidates=candidates, **document),  # type: ignore[arg-type]
        **others,  # type: ignore[arg-type]
    )


@pytest.fixture
def nothing_new(tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Checks at the end, and when asked, that a failed build has left neither a folder nor a temporary."""
    logs = tmp_path / "logs"

    def check() -> None:
        assert [path.name for path in tmp_path.iterdir() if path != logs] == []

    yield check
    check()


class TestSameBytes:
    def test_for_any_number_of_workers(
        self, write_log: LogWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(build, "_BATCH_RECORDS", 50)  # so that there is work for all
        logs = [write_log("a.txt", days=7, lines=60, bad=2), write_log("b.txt", days=5, lines=80, seed=1)]
        built = [
            content(build_corpus(tmp_path / f"corpus-{workers}", logs, workers=workers).folder)
            for workers in (1, 2, 3)
        ]
        assert len(Corpus(tmp_path / "corpus-1").documents.names) == 12
        assert built[0] == built[1] == built[2]

    def test_when_built_again_elsewhere(self, write_log: LogWriter, tmp_path: Path) -> None:
        first = build_corpus(tmp_path / "one", [write_log("here/room.txt")])
        second = build_corpus(tmp_path / "two", [write_log("there/room.txt")])
        assert content(first.folder) == content(second.folder)

    def test_a_document_keeps_its_candidates_whatever_is_beside_it(
        self, write_log: LogWriter, tmp_path: Path
    ) -> None:
        ours, others = write_log("ours.txt", lines=60), write_log("others.txt", lines=60, seed=5)

        def drawn(corpus: Corpus) -> dict[str, list[list[int]]]:
            documents, samples = corpus.documents, corpus.samples
            found = {}
            for number, name in enumerate(documents.names):
                start, stop = documents.samples[number : number + 2].tolist()
                local = samples.candidates[10][start:stop].astype(int) - documents.messages[number]
                found[name] = local.tolist()
            return found

        alone = drawn(build_corpus(tmp_path / "1", [ours]))
        before = drawn(build_corpus(tmp_path / "2", [ours, others]))
        after = drawn(build_corpus(tmp_path / "3", [others, ours]))
        assert before == after
        assert alone == {name: drawn for name, drawn in after.items() if name in alone}
        assert len(alone) == 3 < len(after) == 6

    def test_the_seed_changes_candidates_alone(self, write_log: LogWriter, tmp_path: Path) -> None:
        log = write_log(days=2)
        one, two = (
            build_corpus(tmp_path / str(seed), [log], settings=settings(seed=seed)) for seed in (1, 2)
        )
        differing = {name for name, data in content(one.folder).items() if content(two.folder)[name] != data}
        sets = {f"samples.{column}-{size}.npy" for column in ("candidates", "label") for size in (2, 10)}
        assert differing == {"manifest.json", *sets}


class TestSecondRun:
    def test_does_nothing(self, write_log: LogWriter, tmp_path: Path) -> None:
        log = write_log()
        folder = build_corpus(tmp_path / "corpus", [log]).folder
        before, inode = snapshot(folder), folder.stat().st_ino
        seen: list[Progress] = []
        again = build_corpus(folder, [log], workers=2, replace=True, progress=seen.append)
        assert (snapshot(folder), folder.stat().st_ino, seen) == (before, inode, [])
        assert len(again.documents.names) == 3

    def test_strict_or_not_is_the_same_corpus(self, write_log: LogWriter, tmp_path: Path) -> None:
        log = write_log()
        folder = build_corpus(tmp_path / "corpus", [log], settings=settings()).folder
        before = snapshot(folder)
        build_corpus(folder, [log], settings=settings(strict=True))
        assert snapshot(folder) == before

    @pytest.mark.parametrize(
        "other",
        [
            {"seed": 1},
            {"min_addressed": 2},
            {"candidates": (2,)},
            {"names": Names.KEEP},
            {"split_by": SplitBy.TIME},
            {"dev_share": 0.1},
        ],
        ids=str,
    )
    def test_other_settings(self, write_log: LogWriter, tmp_path: Path, other: dict[str, object]) -> None:
        log = write_log()
        folder = build_corpus(tmp_path / "corpus", [log], settings=settings()).folder
        before = snapshot(folder)
        with pytest.raises(CorpusError, match=r"holds a corpus of other logs or settings; .* --force"):
            build_corpus(folder, [log], settings=settings(**other))  # type: ignore[arg-type]
        assert snapshot(folder) == before

    def test_the_order_of_the_candidates_is_no_other_setting(
        self, write_log: LogWriter, tmp_path: Path
    ) -> None:
        log = write_log()
        folder = build_corpus(tmp_path / "corpus", [log], settings=settings(candidates=(10, 2, 2))).folder
        before = content(folder)
        build_corpus(folder, [log], settings=settings(candidates=(10, 2, 2)))
        other = build_corpus(tmp_path / "other", [log], settings=settings(candidates=(2, 10))).folder
        assert before == content(folder) == content(other)

    def test_other_logs(self, write_log: LogWriter, tmp_path: Path) -> None:
        log = write_log()
        folder = build_corpus(tmp_path / "corpus", [log]).folder
        before = snapshot(folder)
        log.write_text(log.read_text() + "[23:59] <ada> one more\n")
        with pytest.raises(CorpusError, match="other logs"):
            build_corpus(folder, [log])
        assert snapshot(folder) == before

    def test_another_split_of_the_same_log(self, write_log: LogWriter, tmp_path: Path) -> None:
        log = write_log()
        build_corpus(tmp_path / "corpus", splits={Split.TRAIN: [log]})
        with pytest.raises(CorpusError, match="other logs"):
            build_corpus(tmp_path / "corpus", splits={Split.DEV: [log]})

    def test_replaced_if_asked_for(self, write_log: LogWriter, tmp_path: Path) -> None:
        log = write_log()
        build_corpus(tmp_path / "corpus", [log], settings=settings(seed=1))
        build_corpus(tmp_path / "corpus", [log], settings=settings(seed=2), replace=True)
        fresh = build_corpus(tmp_path / "fresh", [log], settings=settings(seed=2))
        assert content(tmp_path / "corpus") == content(fresh.folder)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "fresh", "room.txt"]

    def test_a_failed_replacement_leaves_the_old_corpus(self, write_log: LogWriter, tmp_path: Path) -> None:
        folder = build_corpus(tmp_path / "corpus", [write_log()]).folder
        before = snapshot(folder)
        with pytest.raises(LogError, match="not a line"):
            build_corpus(folder, [write_log("bad.txt", bad=1)], settings=settings(strict=True), replace=True)
        assert snapshot(folder) == before
        assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.txt", "corpus", "room.txt"]

    @pytest.mark.parametrize("replace", [False, True])
    def test_what_is_no_corpus_is_not_replaced(
        self, write_log: LogWriter, tmp_path: Path, replace: bool
    ) -> None:
        folder = tmp_path / "photos"
        folder.mkdir()
        (folder / "cat.jpg").write_bytes(b"meow")
        before = snapshot(folder)
        with pytest.raises(CorpusError, match="photos: this is not a corpus"):
            build_corpus(folder, [write_log()], replace=replace)
        assert snapshot(folder) == before


@pytest.mark.usefixtures("nothing_new")
class TestFailure:
    def test_a_bad_line_when_strict(self, write_log: LogWriter, tmp_path: Path) -> None:
        log = write_log("logs/room.txt", bad=1)
        with pytest.raises(LogError, match=r"room\.txt:124: not a line of an IRC log"):
            build_corpus(tmp_path / "corpus", [log], settings=settings(strict=True))

    def test_a_bad_line_when_strict_in_another_process(self, write_log: LogWriter, tmp_path: Path) -> None:
        log = write_log("logs/room.txt", bad=1)
        with pytest.raises(LogError, match=r"room\.txt:124: not a line of an IRC log"):
            build_corpus(tmp_path / "corpus", [log], settings=settings(strict=True), workers=2)

    @pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt(), MemoryError()], ids=repr)
    @pytest.mark.parametrize("where", ["append", "finish"])
    def test_in_the_middle(
        self,
        write_log: LogWriter,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        error: BaseException,
        where: str,
    ) -> None:
        genuine = getattr(writer.CorpusWriter, where)

        def failing(self: writer.CorpusWriter, *args: object, **options: object) -> None:
            if where == "append" and self.documents < 2:
                genuine(self, *args, **options)
            else:
                raise error

        monkeypatch.setattr(writer.CorpusWriter, where, failing)
        with pytest.raises(type(error)):
            build_corpus(tmp_path / "corpus", [write_log("logs/room.txt", days=5)])

    def test_when_progress_is_interrupted(self, write_log: LogWriter, tmp_path: Path) -> None:
        def interrupt(done: Progress) -> None:
            if done.documents == 2:
                raise KeyboardInterrupt

        for workers in (1, 2):
            with pytest.raises(KeyboardInterrupt):
                build_corpus(
                    tmp_path / "corpus",
                    [write_log("logs/room.txt", days=5)],
                    workers=workers,
                    progress=interrupt,
                )

    def test_no_logs(self, tmp_path: Path) -> None:
        with pytest.raises(CorpusError, match="no logs were given"):
            build_corpus(tmp_path / "corpus")

    def test_standard_input(self, tmp_path: Path) -> None:
        with pytest.raises(CorpusError, match="cannot be built from standard input; save the log to a file"):
            build_corpus(tmp_path / "corpus", splits={Split.DEV: ["-"]})

    def test_a_log_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(LogError, match=r"nowhere\.txt: there is no such file or folder"):
            build_corpus(tmp_path / "corpus", [tmp_path / "nowhere.txt"])

    def test_nothing_left(self, tmp_path: Path) -> None:
        log = tmp_path / "logs" / "room.txt"
        log.parent.mkdir()
        log.write_text("[10:00] <ada> hi\n[10:01] <bob> ada: hello\n")
        with pytest.raises(
            CorpusError,
            match=r"no document is left: of 1 documents with 2 messages, 1 of them addressed, none has 10 "
            r"addressed messages \(lower it with --min-addressed\) and the 10 messages",
        ):
            build_corpus(tmp_path / "corpus", [log])

    def test_wrong_settings_are_reported_together(self, tmp_path: Path) -> None:
        wrong = settings(seed=-1, min_addressed=-2, candidates=(1, 10), dev_share=0.5, test_share=0.5)
        with pytest.raises(CorpusError) as caught:
            build_corpus(tmp_path / "corpus", [tmp_path / "not even looked for"], settings=wrong)
        assert str(caught.value) == (
            "candidates must be numbers from 2 to 255, not [1, 10]; "
            "min_addressed must not be negative, is -2; "
            "the shares of dev and test must leave some for train: 0.5, 0.5; "
            "the seed must not be negative, is -1"
        )

    @pytest.mark.parametrize("candidates", [(), (1,), (2, 256), (0,)])
    def test_wrong_candidates(self, candidates: tuple[int, ...]) -> None:
        assert len(settings(candidates=candidates).problems()) == 1

    def test_right_settings(self) -> None:
        assert settings(candidates=(2, 255), dev_share=0.0, test_share=0.0).problems() == []


def test_a_killed_build_leaves_no_corpus_and_the_next_one_tidies_up(tmp_path: Path) -> None:
    log, folder = tmp_path / "room.txt", tmp_path / "corpus"
    day = irc_days(Random(0), days=1, lines=300)
    log.write_text("\n".join("\n".join([f"# {20000101 + i}", *day[1:]]) for i in range(400)))
    program = "import sys; from towhom.corpus import build_corpus; build_corpus(sys.argv[1], sys.argv[2:])"
    running = subprocess.Popen([sys.executable, "-c", program, str(folder), str(log)])
    left_over = tmp_path / f".corpus.building-{running.pid}"
    written = left_over / "messages.speaker.npy"
    deadline = time.monotonic() + 300
    while not (written.exists() and written.stat().st_size > 1000) and time.monotonic() < deadline:
        assert running.poll() is None, "the build ended before it could be killed"
        time.sleep(0.001)
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    assert left_over.is_dir()
    assert not folder.exists()
    log.write_text("\n".join(day))
    assert len(build_corpus(folder, [log]).documents.names) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "room.txt"]


class TestSplits:
    def test_given_splits(self, write_log: LogWriter, tmp_path: Path) -> None:
        train, test = write_log("a.txt", days=2), write_log("b.txt", days=1, seed=1)
        free = write_log("c.txt", days=4, seed=2)
        corpus = build_corpus(
            tmp_path / "corpus",
            [free],
            splits={Split.TEST: [test], Split.TRAIN: [train]},
            settings=settings(split_by=SplitBy.TIME),
        )
        names = list(corpus.documents.names)
        assert [names[i] for i in corpus.documents_of(Split.TRAIN)] == [
            "a.txt 20240101", "a.txt 20240102", "c.txt 20240101", "c.txt 20240102",
        ]  # fmt: skip
        assert [names[i] for i in corpus.documents_of(Split.DEV)] == ["c.txt 20240103"]
        assert [names[i] for i in corpus.documents_of(Split.TEST)] == ["b.txt 20240101", "c.txt 20240104"]

    def test_the_manifest_says_what_was_read(self, write_log: LogWriter, tmp_path: Path) -> None:
        log = write_log(days=3, lines=100, bad=3)
        log.write_text(log.read_text() + "# 20240201\n[10:00] <ada> a day alone\n")
        manifest = build_corpus(tmp_path / "corpus", splits={Split.DEV: [log]}).manifest
        assert manifest["sources"] == [
            {
                "name": "room.txt",
                "format": "irc",
                "bytes": log.stat().st_size,
                "sha256": manifest["sources"][0]["sha256"],
                "split": "dev",
            }
        ]
        assert manifest["left_out"] == {"documents": 1, "messages": 1, "addressed": 0}
        assert manifest["read"]["malformed"] == 3
        assert manifest["read"]["problems"][0].endswith("room.txt:304: not a line of an IRC log")
        lines = log.read_text().splitlines()
        said = sum(" <" in line for line in lines)
        assert manifest["read"]["lines"]["message"] == said
        assert manifest["statistics"]["dev"]["messages"] == said - 1
        columns = {path.name: path.stat().st_size for path in (tmp_path / "corpus").glob("*.npy")}
        assert manifest["columns"] == columns


class TestProgress:
    def test_it_ends_at_the_end(self, write_log: LogWriter, tmp_path: Path) -> None:
        seen: list[Progress] = []
        logs = [write_log("a.txt", lines=60), write_log("b.txt", lines=60, seed=1)]
        corpus = build_corpus(tmp_path / "corpus", logs, progress=seen.append)
        assert [done.documents for done in seen] == [1, 2, 3, 4, 5, 6]
        assert seen[-1].messages == len(corpus.messages.speaker)
        shares = [done.share for done in seen]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
