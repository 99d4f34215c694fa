"""What reading costs: time grows with the length of a log, not with its square, whatever is in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time, sleep

import pytest

from tests.readers.exports import (
    Files,
    discord,
    discord_message,
    discord_person,
    matrix,
    matrix_event,
    matrix_member,
    matrix_reply,
    matrix_text,
    slack,
    slack_message,
    telegram,
    telegram_message,
    write,
)
from towhom.readers import READERS, read_conversations

_LENGTH = 12_000
_NOISE = 0.005
"""Seconds below which a measurement says nothing."""
_ATTEMPTS, _PAUSE = 10, 0.2
"""A busy machine may disturb some of them, and for some seconds; the best counts."""

UNITS = [
    *(" ", "\t", "<", ">", "@", ":", "[", "]", "(", "9", "a", ".", "-", "\\", '"', "_"),
    *("* ", "> ", ">\n", "\n", "\r", "a ", "a.b", "-:", "[]", "[[", "{}", '{"a":', "=== ", "# ", "9:"),
    *("<mx-reply>", "</mx-reply>", '"https://matrix.to/#/@', '"https://matrix.to/#/@a"', "<@1>", "<@U1>"),
    *("<|", "<!date^", "&amp;", "@ada", "@ada, ", "\u200e", "\u200e<", " \u200e<a>", "\u2068", "@\u2068"),
    *("@\u2068a\u2069", "\x03", "\x041", " is now known as ", "e\u0301", "\U0001f468\u200d"),
]
"""What hostile texts repeat."""


def _jsonl(text: str) -> Iterator[bytes]:
    fields = ("text", "speaker", "addressee", "channel", "time", "name", "id")
    lines: list[dict[str, object]] = [{"speaker": "ada", "text": "hi"}]
    lines += [{"speaker": "ada", "text": "hi", field: text} for field in fields]
    lines.append({"speaker": "ada", "text": "hi", "mentions": [text] * 3})
    yield "\n".join(map(json.dumps, lines)).encode()
    yield json.dumps(lines[0]).encode() + b"\n" + text.encode() + b'\n{"a":' + text.encode()


def _slack(text: str) -> Iterator[Files]:
    messages = [
        slack_message("1717142400.000000", "U1", text),
        slack_message("1717142401.000000", "U1", f"<@U1>{text}"),
        slack_message("1717142402.000000", "U2", f"<@U1|{text}> <{text}>"),
        slack_message("1717142403.000000", "U9", "hi", user_profile={"display_name": text}),
        slack_message("1717142404.000000", None, "hi", username=text, thread_ts=text),
    ]
    yield slack({"general/2024-05-31": messages})


def _discord(text: str) -> Iterator[bytes]:
    ada = discord_person(1, "ada")
    yield discord(
        [
            discord_message(1, ada, text),
            discord_message(2, ada, f"@ada{text}", mentions=[ada, discord_person(2, text)]),
            discord_message(3, discord_person(3, text), "hi", type=text, reference={"messageId": text}),
        ]
    )


def _telegram(text: str) -> Iterator[bytes]:
    pieces = [{"type": "mention", "text": f"@{text}"}, text, {"type": "mention_name", "text": text}]
    yield telegram(
        [
            telegram_message(1, "ada", text),
            telegram_message(2, text, "hi"),
            telegram_message(3, "ada", pieces),
            telegram_message(4, "ada", [{"type": "mention", "text": "@ada"}] * 3 + list(text[:20_000])),
            telegram_message(5, "ada", "hi", type=text, date=text),
        ]
    )


def _matrix(text: str) -> Iterator[bytes]:
    yield matrix(
        [
            matrix_event(1, "ada", matrix_text(text)),
            matrix_event(2, "ada", matrix_text(f"> <@ada>{text}", **matrix_reply(1))),
            matrix_event(3, "ada", matrix_text(f"> <@ada>\n{text}", **matrix_reply(1))),
            matrix_event(4, "ada", matrix_text("hi", formatted_body=text)),
            matrix_event(5, text, matrix_text("hi", **{"m.mentions": {"user_ids": [text, "@ada:a"]}})),
            matrix_member(6, "ada", text, before="ada"),
        ]
    )


def _reference(text: str) -> Iterator[bytes]:
    line = "2024-05-31T[10:00]\tada\t-\thi\t-\t-"
    fields = line.split("\t")
    lines = ["\t".join([*fields[:place], text, *fields[place + 1 :]]) for place in range(len(fields))]
    yield "\n".join([line] * 60 + lines).encode()


def _irc(text: str) -> Iterator[bytes]:
    bodies = [
        *(f"<ada> {text}", f"<{text}> hi", f"<{text}", f"* {text}", f" * ada {text}", f"*** {text}"),
        *(f"-{text}", f"-ada:{text}", f"-!- {text}", f"*** ada [{text}", f"*** Nick change: {text}", text),
    ]
    for stamp in ("[10:00] ", "10:00 ", "2024-05-31 10:00:00\t", ""):
        first = f"{stamp}ada\thi" if "\t" in stamp else f"{stamp}<ada> hi"
        marks = (f"=== {text}", f"--- {text}", f"--- Day changed {text}", f"--- Log opened Fri May {text}")
        lines = [first] * 60 + [stamp + body for body in bodies] + list(marks)
        yield "\n".join([*lines, f"# {text}", f"--> \t{text}"]).encode()


def _whatsapp(text: str) -> Iterator[bytes]:
    stamp = "31/05/24, 10:00 - "
    bodies = [
        *(
            f"Ada: {text}",
            f"Ada L: @{text}",
            f"{text}: hi",
            text,
            f"Ada: \u200e{text}",
            f"Ada: hi{text}\u200e<",
        ),
        *(f"Ada: {text}.jpg (file", f"Ada: <{text}", f"Ada: @\u2068{text}", f"Ada: @Ada L{text}"),
    ]
    yield "\n".join([*(stamp + body for body in bodies), text, f"[{text}", f"\u200e{text}"]).encode()


HOSTILE: dict[str, Callable[[str], Iterator[bytes | Files]]] = {
    "jsonl": _jsonl,
    "slack": _slack,
    "discord": _discord,
    "telegram": _telegram,
    "matrix": _matrix,
    "reference": _reference,
    "irc": _irc,
    "whatsapp": _whatsapp,
}
"""Format -> logs in it that have a text in every place where there can be one."""


def test_every_format_has_hostile_logs() -> None:
    assert set(HOSTILE) == set(READERS)


def cost(log: bytes | Files, format: str, folder: Path) -> float:
    """Seconds of the processor that reading takes."""
    path = write(folder, log if isinstance(log, dict) else {"log": log})
    start = process_time()
    sum(1 for _ in read_conversations(path, format=format))
    return process_time() - start


@pytest.mark.parametrize(
    ("format", "unit"),
    # Where a line is a message, a text of many lines is none.
    [
        (each, unit)
        for each in HOSTILE
        for unit in UNITS
        if "\n" not in unit or each not in ("irc", "reference")
    ],
    ids=ascii,
)
def test_the_cost_of_a_log_grows_with_its_length(format: str, unit: str, tmp_path: Path) -> None:
    costs = {1: float("inf"), 4: float("inf")}
    for attempt in range(_ATTEMPTS):
        sleep(_PAUSE * attempt)
        for times in costs:
            logs = HOSTILE[format](unit * (times * _LENGTH // len(unit)))
            folder = tmp_path / f"{attempt} {times}"
            seconds = sum(cost(log, format, folder / str(place)) for place, log in enumerate(logs))
            costs[times] = min(costs[times], seconds)
        if costs[4] < 10 * max(costs[1], _NOISE):
            return
    raise AssertionError(f"four times the length cost {costs[4] / costs[1]:.0f} times as much")
