"""The protocol once more, as plainly as it can be put: what the corpus build is measured against.

Regular expressions over the text of an IRC log, one loop, nothing of towhom.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DAY = re.compile(r"# \d{8}$")
MESSAGE = re.compile(r"\[\d\d:\d\d\] <([^>]+)> (.*)$")
TO_SOMEBODY = re.compile(r"\s*(\S+?)\s*[:,;]\s+\S")


@dataclass
class Counts:
    documents: int = 0
    messages: int = 0
    addressed: int = 0
    samples: int = 0
    usable: int = 0


def count(log: bytes, *, context: int, min_addressed: int = 10) -> Counts:
    """What a corpus of this log should hold; usable are the samples for training with so much context."""
    total = Counts()
    for day in days(log):
        speakers = {speaker for speaker, _ in day}
        addressees = []
        for _, text in day:
            found = TO_SOMEBODY.match(text)
            addressees.append(found[1] if found and found[1] in speakers else None)
        addressed = len(addressees) - addressees.count(None)
        if not day or addressed < min_addressed:
            continue
        total.documents += 1
        total.messages += len(day)
        total.addressed += addressed
        for place, addressee in enumerate(addressees):
            before = [speaker for speaker, _ in day[:place]]
            if addressee in before and addressee != day[place][0]:
                total.samples += 1
                total.usable += len(before) >= context and addressee in before[-context:]
    return total


def days(log: bytes) -> list[list[tuple[str, str]]]:
    """Speaker and text of the messages of each day."""
    found: list[list[tuple[str, str]]] = [[]]
    for raw in log.split(b"\n"):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            line = raw.decode("cp1252", "replace")
        if DAY.match(line):
            found.append([])
        elif message := MESSAGE.match(line):
            found[-1].append((message[1].strip(), message[2]))  # some logs pad nicks
    return found
