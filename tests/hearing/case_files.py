"""Reads the cases of calls: small chats, and who the last message is for.

A case begins with `## kind · language`. Lines `name (bot)`, `name (person)`, `name (bot, also a, b)`
introduce somebody; `speaker: text` says something, `speaker ^2: text` as a reply to the second message. The
last message has `=> expectation`: names that it is for, `!name` whom it is not for, `everybody`, `nobody`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from towhom import Message
from towhom.live import Audience, Model

FOLDER = Path(__file__).parent / "cases"
_WHO = re.compile(r"(.+?) \((bot|person)(?:, also (.+))?\)")
_SAID = re.compile(r"(.+?)(?: \^(\d+))?: (.*)")


@dataclass
class Introduced:
    name: str
    bot: bool
    aliases: tuple[str, ...]


@dataclass
class Case:
    file: str
    line: int
    kind: str
    language: str
    people: list[Introduced] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    wanted: list[str] = field(default_factory=list)
    unwanted: list[str] = field(default_factory=list)
    audience: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def read_cases(folder: Path = FOLDER) -> list[Case]:
    return [case for path in sorted(folder.glob("*.txt")) for case in _read(path)]


def _read(path: Path) -> list[Case]:
    cases: list[Case] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.startswith("## "):
            kind, language = line[3:].split(" · ")
            cases.append(Case(path.name, number, kind, language))
        elif line.strip() and not line.startswith("#"):
            _add(cases[-1], line, number)
    return cases


def _add(case: Case, line: str, number: int) -> None:
    who = _WHO.fullmatch(line)
    if who is not None:
        aliases = tuple(who[3].split(", ")) if who[3] else ()
        case.people.append(Introduced(who[1], who[2] == "bot", aliases))
        return
    said, _, expected = line.partition("  => ")
    found = _SAID.fullmatch(said)
    assert found is not None, f"{case.file}:{number}: neither who is there nor what is said"
    place = str(len(case.messages) + 1)
    case.messages.append(Message(found[1], found[3], id=place, reply_to=found[2]))
    for each in expected.split(", ") if expected else ():
        if each in ("everybody", "nobody"):
            case.audience = each
        elif each.startswith("!"):
            case.unwanted.append(each[1:])
        else:
            case.wanted.append(each)


def mistakes_in(case: Case, model: Model) -> list[str]:
    """What a session gets wrong about the last message of a case."""
    session = model.session()
    for each in case.people:
        session.introduce(each.name, *each.aliases, bot=each.bot)
    for message in case.messages:
        seen = session.observe(message)
    found = [f"not for {name}" for name in case.wanted if not session.is_for(name)]
    found += [f"for {name}" for name in case.unwanted if session.is_for(name)]
    if case.audience == "everybody" and seen.audience is not Audience.EVERYBODY:
        found.append(f"for {seen.audience.value}, not everybody")
    if case.audience == "nobody":
        found += [f"for {each.name}" for each in seen.addressees if each.id and each.probability >= 0.5]
    return found
