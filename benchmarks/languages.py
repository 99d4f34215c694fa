"""One chat told in several languages: how well is each followed?

    python benchmarks/languages.py RECORD [FOLDER] [--chats-only]

FOLDER (tests/languages) has `CODE.txt` with reply links beside it, the same people, times and replies in
each. For each language: who messages are for, which they answer, the conversations, and the selection of what
was really said next among ten messages of the same chat. Beside them, how many of the cases of calls in
tests/hearing/cases are right.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random
from typing import Any

import towhom
from towhom.evaluation.addressees import describe_addressees, follow_logs, follow_model
from towhom.evaluation.reply_links import LinkedLog, read_linked_logs
from towhom.evaluation.threads import describe_threads
from towhom.evaluation.threads import follow_logs as place_logs
from towhom.live import Model
from towhom.records import circumstances, describe_data, write_record

ROOT = Path(__file__).parents[1]
_CANDIDATES = 10
_FIRST = 10
"""Number of messages before the first question."""


def measure(model: Model, log: LinkedLog) -> dict[str, float]:
    """The results for one chat, in percent."""
    addressees = describe_addressees(follow_logs(follow_model(model), [log]))
    threads = describe_threads([log], place_logs(model.threads, [log]))
    return {
        "addressees": addressees["accuracy"],
        "names_nobody": addressees["names_nobody"]["accuracy"],
        "links_f1": threads["links"]["f1"],
        "one_to_one": threads["conversations"]["one_to_one"],
        **selection(model, log),
    }


def selection(model: Model, log: LinkedLog) -> dict[str, float]:
    """How often the true next message is selected, and how many drafts tie."""
    session, random = model.session(), Random(0)
    said = [message for message in log.lines if message.text]
    right = ties = asked = 0
    for place, message in enumerate(said):
        if place >= _FIRST and log.truth.get(message.line or 0, {None}) != {None}:
            others = random.sample(said[:place] + said[place + 1 :], _CANDIDATES - 1)
            drafts = [message.text, *(other.text for other in others)]
            selected = session.select(message.speaker, drafts)
            best = {each.candidate: 0.0 for each in selected}
            for each in selected:
                best[each.candidate] = max(best[each.candidate], each.probability)
            asked += 1
            right += selected[0].candidate == 0
            ties += len(set(best.values())) < len(set(drafts))
        session.observe(message)
    return {"response_of_ten": round(100 * right / asked, 1), "ties": ties}


def cases(model: Model) -> dict[str, list[int]]:
    """By language, the number of correct cases of calls, and the number of all cases."""
    sys.path.insert(0, str(ROOT))
    # Imported here, since the measured version may not have any cases yet.
    from tests.hearing.case_files import mistakes_in, read_cases

    found: dict[str, list[int]] = {}
    for case in read_cases():
        row = found.setdefault(case.language, [0, 0])
        row[0] += not mistakes_in(case, model)
        row[1] += 1
    return found


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("record", type=Path)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "tests" / "languages")
    parser.add_argument("--chats-only", action="store_true", help="without the cases of calls")
    arguments = parser.parse_args()
    model = towhom.load()
    logs = {log.name: log for log in read_linked_logs(arguments.folder)}
    chats: dict[str, Any] = {name: measure(model, log) for name, log in logs.items()}
    record = {
        **circumstances(),
        "data": describe_data([arguments.folder.relative_to(Path.cwd())]),
        "chats": chats,
        **({} if arguments.chats_only else {"cases": cases(model)}),
    }
    for name, row in chats.items():
        print(name, row)
    print(record.get("cases"))
    write_record(arguments.record, record)


if __name__ == "__main__":
    main()
