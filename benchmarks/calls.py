"""What each manner of calling somebody is worth, and whether calls are heard in any dress.

    python benchmarks/calls.py RECORD LINKS DEV_LINKS [--seed 0]

LINKS are logs with human reply links beside them. For everybody who is named in an annotated message, in
whatever manner, the links say whether they are meant: that is how sure the manner is.
`towhom.hearing.manners.SURE` has these shares, rounded, those of rare manners drawn towards a name in front
by `PRIOR` messages.

In DEV_LINKS, every `nick: text` is dressed in the manners of other chats, after some messages of others; the
addressee has not spoken, but was introduced. Counted is how often they are heard as called, and how often
anybody else is.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import towhom
from towhom.evaluation.reply_links import LinkedLog, read_linked_logs
from towhom.hearing.calls import listen
from towhom.hearing.manners import CALLING, SURE, Manner
from towhom.hearing.people import People
from towhom.hearing.utterance import CALLED, SPOKEN
from towhom.records import circumstances, describe_data, write_record

PRIOR = 100
"""Weight of the rate of a name in front, in messages, towards which rare manners are drawn."""
DRESSES = (
    "{name}: {text}", "{name}, {text}", "{name} - {text}", "{name}> {text}", "@{name} {text}",
    "@{name}: {text}", "hey {name}, {text}", "hi {name} {text}", "thanks {name}, {text}",
    "ok {name}: {text}", "{text}, {name}", "{text}, {name}?", "{text} @{name}", "{name} {text}",
    "({name}) {text}", "{name}, bob: {text}", "@{name} @bob {text}",
)  # fmt: skip


def worth(logs: list[LinkedLog], model: towhom.live.Model) -> dict[str, dict[str, Any]]:
    """By manner, the number of people named in it, and the share who are meant."""
    named, meant = Counter[Manner](), Counter[Manner]()
    for log in logs:
        people = People()
        for message in log.lines:
            if message.kind not in SPOKEN:
                continue
            people.hear(message.speaker)
            if message.line in log.truth:
                heard = listen(message.text, people, message.speaker, weight=model.lexicon.weight)
                for call in heard.calls:
                    named[call.manner] += 1
                    meant[call.manner] += call.who in log.truth[message.line]
    front = meant[Manner.FRONT] / named[Manner.FRONT]
    table = {}
    for manner in Manner:
        if named[manner]:
            prior = PRIOR if manner in CALLING and manner is not Manner.FRONT else 0
            drawn = (meant[manner] + prior * front) / (named[manner] + prior)
            table[manner.value] = {
                "named": named[manner],
                "meant": round(100 * meant[manner] / named[manner], 1),
                "sure": round(drawn, 2),
                "used": SURE[manner],
            }
    return table


def dressed(logs: list[LinkedLog], model: towhom.live.Model) -> dict[str, dict[str, Any]]:
    """By form of the call, how often the addressee is recognised, and how often somebody else is."""
    table = {}
    for dress in DRESSES:
        count = heard_right = others = 0
        for log in logs:
            by_line = {message.line: message for message in log.lines}
            for line, name in log.named.items():
                message = by_line[line]
                people = People()
                for each in (name, "bob", "carol_", "Dave"):
                    people.introduce(each)
                text = message.text.lstrip()[len(name) :].lstrip(" :,;")
                if not text or name in ("bob", "Dave"):
                    continue
                heard = listen(
                    dress.format(name=name, text=text), people, message.speaker, weight=model.lexicon.weight
                )
                called = {call.who for call in heard.calls if call.sure >= CALLED}
                wanted = {name, "bob"} if "bob" in dress else {name}
                count += 1
                heard_right += wanted <= called
                others += bool(called - wanted)
        table[dress] = {
            "messages": count,
            "heard": round(100 * heard_right / count, 1),
            "somebody_else": round(100 * others / count, 1),
        }
    return table


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("record", type=Path)
    parser.add_argument("links", type=Path)
    parser.add_argument("dev_links", type=Path)
    arguments = parser.parse_args()
    model = towhom.load()
    record = {
        **circumstances(),
        "data": describe_data([arguments.links, arguments.dev_links]),
        "worth": worth(list(read_linked_logs(arguments.links)), model),
        "dressed": dressed(list(read_linked_logs(arguments.dev_links)), model),
    }
    for part in ("worth", "dressed"):
        for name, row in record[part].items():
            print(f"{name:24} " + "  ".join(f"{key} {value}" for key, value in row.items()))
    write_record(arguments.record, record)


if __name__ == "__main__":
    main()
