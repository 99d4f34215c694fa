"""Reply links of a model beside those that a chat model gave for the same lines.

    python benchmarks/side_by_side.py RECORD LOGS ANSWERS.jsonl [--model FOLDER]

LOGS is a folder of logs with reply links; ANSWERS has, for windows of 50 lines of them, the line that each
answers: {"chunk_id": "DATE_OFFSET", "parents": [...]}, offsets counted from line 1000. Lines are compared of
which a true answer lies in their own window, since a model that sees windows can find no other. Whom a
message is for is read off the links: the speaker of what it answers; an own line leads on; nobody where it
starts a conversation.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import towhom
from towhom.evaluation.reply_links import LinkedLog, read_linked_logs
from towhom.hearing.utterance import SPOKEN
from towhom.records import circumstances, describe_data, write_record

FIRST, WINDOW = 1000, 50
_DEEPEST = 20
_MISTAKES = "mistakes"


def answers_of(path: Path) -> dict[str, list[int]]:
    """The answers of a chat model, by window."""
    records = map(json.loads, path.read_text("utf-8").splitlines())
    return {record["chunk_id"]: record["parents"] for record in records if "parents" in record}


def addressee(links: Mapping[int, int], log: LinkedLog, line: int) -> str | None:
    """The addressee of a line, by links."""
    for _ in range(_DEEPEST):
        to = links.get(line, line)
        if to == line or any(log.lines[each].kind not in SPOKEN for each in (to, line)):
            return None
        if log.lines[to].speaker != log.lines[line].speaker:
            return log.lines[to].speaker
        line = to
    return None


def kind_of(log: LinkedLog, line: int, window: int) -> str:
    """The kind of a line, by the true answers."""
    right = log.links[line]
    if line in right:
        return "starts something"
    near = max(each for each in right if each >= window)
    back = "1" if line - near == 1 else "2 to 5" if line - near <= 5 else "6 and more"
    if log.lines[near].speaker == log.lines[line].speaker:
        return f"goes on with an own line, {back} back"
    return f"answers somebody, {'names them' if line in log.named else 'names nobody'}, {back} back"


def mistake_of(log: LinkedLog, line: int, ours: int) -> str:
    """The kind of a wrong link: what the line truly does, and what the link takes it for."""
    right, speaker, other = log.links[line], log.lines[line].speaker, log.lines[ours].speaker
    people = {log.lines[each].speaker for each in right}
    does = "starts" if line in right else "goes on" if speaker in people else "answers"
    if ours == line:
        return f"{does}: taken for a start"
    if other == speaker:
        return f"{does}: taken to go on with an own line"
    whom = "another line of the same person" if other in people else "somebody else"
    return f"{does}: taken to answer {whom}"


def compare(log: LinkedLog, ours: Mapping[int, int], theirs: Mapping[int, int]) -> dict[str, Counter[str]]:
    """By kind of line: the number of lines, and of correct links."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    truth = {line: max(right) for line, right in log.links.items()}
    for line in sorted(theirs):
        window = FIRST + (line - FIRST) // WINDOW * WINDOW
        right = log.links[line]
        if not any(each >= window for each in right):
            continue
        both = {"model": ours, "chat_model": theirs}
        hits = {name: int(links.get(line, line) in right) for name, links in both.items()}
        kinds = ["links"]
        if hits["chat_model"] > hits["model"] and log.lines[line].kind in SPOKEN:
            found[_MISTAKES][mistake_of(log, line, ours.get(line, line))] += 1
        if log.lines[line].kind in SPOKEN:
            kinds.append(kind_of(log, line, window))
        for kind in kinds:
            found[kind].update(lines=1, **hits)
        if log.lines[line].kind in SPOKEN and line not in log.named:
            want = addressee(truth, log, line)
            met = {name: int(addressee(links, log, line) == want) for name, links in both.items()}
            found["addressees, nobody is named"].update(lines=1, **met)
    return found


def main() -> None:
    """Compare, and write a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("record", type=Path)
    parser.add_argument("logs", type=Path)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--model")
    options = parser.parse_args()
    model, answers = towhom.load(options.model), answers_of(options.answers)
    total: dict[str, Counter[str]] = defaultdict(Counter)
    for log in read_linked_logs(options.logs):
        date = log.name.rsplit("_", 1)[0]
        theirs = {}
        for line in log.links:
            offset = (line - FIRST) // WINDOW * WINDOW
            parents = answers.get(f"{date}_{offset:06}")
            place = line - FIRST - offset
            if line >= FIRST and parents is not None:
                theirs[line] = FIRST + offset + parents[place] if place < len(parents) else line
        ours = {placed.line: placed.replies_to[0] for placed in model.threads(log.lines)}
        for kind, count in compare(log, ours, theirs).items():
            total[kind].update(count)
    mistakes = dict(total.pop(_MISTAKES).most_common())
    for kind, lines in mistakes.items():
        print(f"only the chat model is right: {kind:60} {lines:4}")
    result: dict[str, Any] = {
        kind: {
            "lines": count["lines"],
            **{name: round(100 * count[name] / count["lines"], 2) for name in ("model", "chat_model")},
        }
        for kind, count in sorted(total.items())
    }
    for kind, row in result.items():
        print(f"{kind:50} {row['lines']:5} {row['model']:6.1f} {row['chat_model']:6.1f}")
    data = describe_data([options.logs, options.answers])
    write_record(
        options.record, {**circumstances(), "data": data, "lines": result, "only_chat_model_right": mistakes}
    )


if __name__ == "__main__":
    main()
