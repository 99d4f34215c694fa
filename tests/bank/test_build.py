"""What of a chat goes into a bank, and how it is built."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bank.conftest import REPAIR
from tests.conftest import LogWriter
from towhom.bank import Bank
from towhom.corpus import build_corpus
from towhom.errors import BankError, LogError
from towhom.live import banking
from towhom.live.banking import Progress, Rules, add_to_bank, build_bank


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def texts(bank: Bank) -> list[str]:
    return [bank[number].text for number in range(len(bank))]


class TestWhatIsKept:
    def test_an_answer_with_its_question_and_place(self, bank: Bank) -> None:
        found = next(each for each in map(bank.__getitem__, range(len(bank))) if "E18 means" in each.text)
        assert found.question.startswith("my washing machine shows E18")
        assert (found.line, found.asked, found.document) == (8, 7, "repair.txt 20240603")
        assert found.time is not None
        assert found.time.isoformat() == "2024-06-03T19:05:00+00:00"
        assert found.link == "https://example.org/2024-06-03#8"

    def test_what_was_for_its_moment_is_left_out(self, bank: Bank) -> None:
        kept = " ".join(texts(bank))
        assert not [word for word in ("brb", "that did it", "reminder", "example.org") if word in kept]
        assert "yes" not in texts(bank)

    def test_bots_are_left_out_by_name_or_as_told(self, small_bank: Callable[..., Bank]) -> None:
        lines = (
            "[10:00] <ada> where is the manual of the laser cutter?",
            "[10:01] <oracle> ada: the manual of the laser cutter is in the second drawer of the desk",
        )
        assert len(small_bank(*lines)) == 1
        assert len(small_bank(*lines, name="told", rules=Rules(bots=("oracle",)))) == 0

    def test_names_become_slots(self, small_bank: Callable[..., Bank]) -> None:
        bank = small_bank(
            "[10:00] <zorabel> how do I resize a partition without losing data?",
            "[10:01] <quentyn> zorabel: boot gparted off a stick, shrink it there, zorabel, backup first",
            "[10:02] <mirko> how do I install the wireless driver for broadcom?",
            "[10:03] <quentyn> mirko: ask zorabel about the wireless firmware cutter package for broadcom",
        )
        assert texts(bank) == ["boot gparted off a stick, shrink it there, {addressee}, backup first"]
        everything = b"".join(contents(bank.folder).values()).lower()
        assert not [name for name in (b"zorabel", b"quentyn", b"mirko") if name in everything]

    def test_what_looks_like_a_slot_is_a_text(self, small_bank: Callable[..., Bank]) -> None:
        bank = small_bank(
            "[10:00] <ada> how do I print a <b>bold</b> name in the template?",
            "[10:01] <bob> ada: write <b>${name}</b> and escape it with \ue000 the html filter of the engine",
        )
        assert texts(bank) == ["write <b>${name}</b> and escape it with  the html filter of the engine"]

    def test_said_twice_is_kept_once(self, small_bank: Callable[..., Bank]) -> None:
        bank = small_bank(
            "[10:00] <ada> how do I mount a windows share?",
            "[10:01] <bob> ada: install cifs utils and mount it with the cifs type",
            "[11:00] <cyd> how can I reach the windows share of the office?",
            "[11:01] <bob> cyd: Install cifs-utils, and mount it with the cifs type!",
        )
        assert len(bank) == 1
        assert bank[0].times == 2

    def test_who_opted_out_is_not_there(self, tmp_path: Path) -> None:
        build_bank(tmp_path / "b", [REPAIR], rules=Rules(opt_outs=("OSKAR", "@tamar")))
        kept = " ".join(texts(Bank(tmp_path / "b")))
        assert "multimeter" not in kept  # by oskar
        assert "E18" not in kept  # in answer to tamar
        assert "staple" in kept

    def test_a_pattern_keeps_things_out(self, tmp_path: Path) -> None:
        build_bank(tmp_path / "b", [REPAIR], rules=Rules(pattern="e18|phone"))
        kept = " ".join(texts(Bank(tmp_path / "b"))).lower()
        assert "e18" not in kept
        assert "hair dryer" not in kept  # answered something about a phone

    def test_edits_and_deletions_count(self, tmp_path: Path) -> None:
        log = tmp_path / "room.jsonl"
        log.write_text(
            '{"speaker": "ada", "text": "how do I clean the nozzle of the printer?", "id": "1"}\n'
            '{"speaker": "bob", "text": "heat the nozzle and pull it out cold, password hunter2", '
            '"id": "2", "reply_to": "1"}\n'
            '{"speaker": "cyd", "text": "use a brass brush on the hot nozzle of the printer", "id": "3", '
            '"reply_to": "1"}\n'
            '{"kind": "edit", "speaker": "bob", "id": "2", "text": "heat the nozzle and pull it out cold"}\n'
            '{"kind": "delete", "speaker": "cyd", "id": "3", "text": ""}\n',
            "utf-8",
        )
        build_bank(tmp_path / "b", [log])
        assert texts(Bank(tmp_path / "b")) == ["heat the nozzle and pull it out cold"]

    def test_what_a_conversation_began_with_and_thanks(self, small_bank: Callable[..., Bank]) -> None:
        bank = small_bank(
            "[10:00] <zorabel> my scanner makes a grinding noise since the move",
            "[10:00] <zorabel> it is a flatbed from a flea market",
            "[10:01] <quentyn> zorabel: is the transport lock of the scanner still on?",
            "[10:02] <zorabel> quentyn: where would I find that lock?",
            "[10:03] <quentyn> zorabel: it is a slider on the bottom, next to the power socket",
            "[10:06] <zorabel> quentyn: that was it, thank you so much",
        )
        found = {each.text.split(",")[0]: each for each in map(bank.__getitem__, range(len(bank)))}
        lock = found["it is a slider on the bottom"]
        assert lock.question == "where would I find that lock?"
        assert lock.opening == (
            "my scanner makes a grinding noise since the move it is a flatbed from a flea market"
        )
        assert lock.thanked
        assert not found["is the transport lock of the scanner still on?"].thanked

    def test_what_a_conversation_began_with_may_be_kept_out(self, small_bank: Callable[..., Bank]) -> None:
        lines = (
            "[10:00] <zorabel> my scanner makes a grinding noise since the move",
            "[10:01] <quentyn> zorabel: is the transport lock of the scanner still on?",
            "[10:02] <zorabel> quentyn: where would I find that lock?",
            "[10:03] <quentyn> zorabel: it is a slider on the bottom, next to the power socket",
        )
        assert "it is a slider" in " ".join(texts(small_bank(*lines)))
        without = small_bank(*lines, name="without", rules=Rules(pattern="grinding"))
        assert "it is a slider" not in " ".join(texts(without))

    def test_any_script(self, tmp_path: Path) -> None:
        log = tmp_path / "room.jsonl"
        log.write_text(
            '{"speaker": "hana", "text": "プリンターが動かないのですが、どうすればいいですか", "id": "1"}\n'
            '{"speaker": "ken", "text": "電源を切って、ドライバーを再インストールしてください", '
            '"id": "2", "reply_to": "1"}\n',
            "utf-8",
        )
        build_bank(tmp_path / "b", [log])
        assert texts(Bank(tmp_path / "b")) == ["電源を切って、ドライバーを再インストールしてください"]


class TestRuns:
    @pytest.fixture(autouse=True)
    def small_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(banking, "_PART", 60)

    def test_the_same_bytes_again_and_with_a_killed_run_between(
        self, write_log: LogWriter, tmp_path: Path
    ) -> None:
        log = write_log(days=6, lines=50)
        build_bank(tmp_path / "one", [log])
        steps = list[Progress]()

        def stop(done: Progress) -> None:
            steps.append(done)
            if len(steps) == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            build_bank(tmp_path / "two", [log], progress=stop)
        kept = sorted((tmp_path / "two.parts").glob("0*"))
        times = [path.stat().st_mtime_ns for path in kept]
        assert len(kept) == 4  # two parts, each with its counts
        seen = []
        build_bank(
            tmp_path / "two", [log], progress=lambda done: seen.append([p.stat().st_mtime_ns for p in kept])
        )
        assert seen[0] == times
        assert contents(tmp_path / "one") == contents(tmp_path / "two")
        assert not (tmp_path / "two.parts").exists()

    def test_parts_of_another_run_are_not_taken(self, write_log: LogWriter, tmp_path: Path) -> None:
        def stop(done: Progress) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            build_bank(tmp_path / "b", [write_log(seed=1)], progress=stop)
        with pytest.raises(BankError, match=r"other logs.*--force starts again"):
            build_bank(tmp_path / "b", [write_log(seed=2)])
        build_bank(tmp_path / "b", [write_log(seed=2)], replace_old=True)

    def test_what_is_there_is_not_replaced(self, bank_folder: Path, tmp_path: Path) -> None:
        with pytest.raises(BankError, match="towhom bank add"):
            build_bank(bank_folder, [REPAIR])
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "thesis.txt").write_text("kept", "utf-8")
        with pytest.raises(BankError, match="not a response bank"):
            build_bank(tmp_path / "mine", [REPAIR], replace_old=True)
        assert (tmp_path / "mine" / "thesis.txt").read_text("utf-8") == "kept"

    def test_a_corpus_is_a_source(self, write_log: LogWriter, tmp_path: Path) -> None:
        build_corpus(tmp_path / "corpus", [write_log(days=3, lines=60)])
        built = build_bank(tmp_path / "b", [tmp_path / "corpus"])
        assert built.messages > 100
        assert len(Bank(tmp_path / "b")) == built.responses > 0

    def test_a_room_with_no_answers_makes_an_empty_bank(self, tmp_path: Path) -> None:
        log = tmp_path / "alone.txt"
        log.write_text("# 20240101\n[10:00] <ada> nobody is here to answer me\n", "utf-8")
        assert build_bank(tmp_path / "b", [log]).responses == 0
        assert len(Bank(tmp_path / "b")) == 0
        assert build_bank(tmp_path / "again", [log]).left_out["no answer"] == 1

    def test_no_such_log(self, tmp_path: Path) -> None:
        with pytest.raises(LogError, match="no such file"):
            build_bank(tmp_path / "b", [tmp_path / "none.txt"])
        assert not (tmp_path / "b").exists()


class TestAdding:
    def test_a_second_segment(self, bank_folder: Path, write_log: LogWriter) -> None:
        before = texts(Bank(bank_folder))
        built = add_to_bank(bank_folder, [write_log(days=2, lines=80)])
        after = Bank(bank_folder)
        assert len(after.segments) == 2
        assert texts(after)[: len(before)] == before
        assert len(after) == len(before) + built.responses
        after.check()

    def test_the_same_log_twice(self, bank_folder: Path, tmp_path: Path) -> None:
        with pytest.raises(BankError, match="already"):
            add_to_bank(bank_folder, [REPAIR])
        longer = tmp_path / "longer.txt"
        longer.write_text(REPAIR.read_text("utf-8") + "[20:00] <ada> good night\n", "utf-8")
        assert add_to_bank(bank_folder, [longer]).responses == 0  # all of it was said before
        assert len(Bank(bank_folder).segments) == 1


_RUN = """
import sys
from pathlib import Path
from towhom.live import banking
banking._PART = 60
def main():
    banking.build_bank(Path(sys.argv[1]), [sys.argv[2]], workers=int(sys.argv[3]))
if __name__ == "__main__":
    main()
"""


def start(folder: Path, log: Path, *, workers: int) -> subprocess.Popen[bytes]:
    program = folder.with_name("run.py")
    program.write_text(_RUN, "utf-8")
    return subprocess.Popen(
        [sys.executable, str(program), str(folder), str(log), str(workers)], start_new_session=True
    )


def test_killed_at_any_time_it_goes_on_and_workers_change_nothing(
    write_log: LogWriter, tmp_path: Path
) -> None:
    log = write_log(days=8, lines=60)
    assert start(tmp_path / "one", log, workers=1).wait(300) == 0
    for parts in (1, 4):
        running = start(tmp_path / "two", log, workers=2)
        deadline = time.monotonic() + 300
        while len(list((tmp_path / "two.parts").glob("0*.safetensors"))) < parts and running.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            assert running.wait(60) == -signal.SIGKILL
    if not (tmp_path / "two").exists():
        assert start(tmp_path / "two", log, workers=2).wait(300) == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
