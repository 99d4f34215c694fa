"""Induce the pattern of time, speaker and text in a log of unknown format from its first lines.

Candidate patterns are built from what the lines have in common, and judged by what they find. A chat has few
speakers who take turns and say different things in words; a server's log, a program, a table of numbers, a
list of settings and prose do not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from towhom.readers.template import Template, is_rule, speaker_name, without_files
from towhom.readers.times import CLOCKS, FORMS, day_of, time_of

_LINES, _LENGTH = 200, 400
_FEWEST = 3
"""Fewest messages that a pattern must find."""
_FEWEST_BARE = 4
"""The same if nothing separates names from texts."""
_ENOUGH = 0.5
"""Least certainty with which a pattern is accepted."""
_IN_FRONT = 48
"""Most characters before a time: brackets, or a name."""
_FORMS = {
    name: re.compile(rf"(?<![^\W_])(?<![.:/-]){form}(?![^\W_]|/|:\w)")
    for name, form in FORMS.items()
    if "clock" in name or "seconds" in name
}
"""Forms of times. Days without a clock time are left out, since they precede too many other texts."""
_CLOSING = tuple("])>|-–—:,;.~")
_NAMED = re.compile(
    r"(?P<opened>(?:[-*+] |#{1,6} )?[\[(<*@_]{0,2})[^\W\d_].{0,40}?"
    r"(?P<closed>[\])>*:_]{0,2}[ \t]{0,4}[\[(<|–—•·,;_*-]{0,1}(?: ?\b(?:at|on) )? ?)"
)
"""A name before a time, with the marks around it."""
_BEFORE = ("On ", "Am ", "Le ", "El ", "Il ")
"""Words that mail programs write before a time."""
_COUNT = re.compile(r"[#(\[]?[0-9]{1,12}[)\]:.,;|]? {1,4}[(\[]?")
"""The number of a message before its time."""
_NAMED_TO = re.compile(r"From .{1,60} to .{1,60}: ?")
"""Speaker and addressee before a time, as in Webex."""
_TRIED_FIRST = 60
_SEPARATORS = (
    *(
        "<{speaker}> ",
        "[{speaker}] ",
        "[{speaker}]: ",
        "({speaker}) ",
        "({speaker}): ",
        "**{speaker}**: ",
        "**{speaker}:** ",
        "**{speaker}** ",
        "*{speaker}*: ",
    ),
    *(
        "@{speaker}: ",
        "<{speaker}>: ",
        "{speaker}: ",
        "{speaker} : ",
        "{speaker} says: ",
        "{speaker} said: ",
        "{speaker} wrote: ",
        "< {speaker}: ",
        "[{skip}] {speaker}: ",
        "[{skip}] <{speaker}> ",
    ),
    *(
        "{speaker}\\t",
        "{speaker} | ",
        "{speaker} > ",
        "{speaker}> ",
        "{speaker} >> ",
        "{speaker} » ",
        "{speaker} - ",
    ),
    *(
        "{speaker} – ",
        "{speaker} — ",
        "{speaker} -> ",
        "{speaker} ~ ",
        "{speaker} = ",
        "{speaker} :: ",
        "{speaker}|",
        "{speaker};",
    ),
    *("{speaker} ", '"{speaker}" ', "From {speaker} to {skip}: ", "From {speaker} : ", "{skip}<{speaker}> "),
    *(
        "{speaker} wrote:\\n",
        "{speaker} said:\\n",
        "{speaker}\\n",
        "{speaker}:\\n",
        "From {speaker} to {skip}:\\n",
        "**{speaker}**\\n",
        "**{speaker}**:\\n",
        "**{speaker}:**\\n",
    ),
)
"""Marks around a name and before a text."""
LEVELS = {
    *(
        "debug",
        "info",
        "notice",
        "warn",
        "warning",
        "error",
        "err",
        "crit",
        "critical",
        "fatal",
        "trace",
        "alert",
    ),
    *("log", "statement", "detail", "emerg", "verbose", "severe", "panic", "audit", "stdout", "stderr"),
}
"""Log levels of programs, in the place where a chat has a name."""
_NO_NAMES = {
    *(
        "def",
        "class",
        "if",
        "else",
        "elif",
        "for",
        "while",
        "try",
        "except",
        "finally",
        "return",
        "import",
        "from",
    ),
    *(
        "case",
        "default",
        "public",
        "private",
        "protected",
        "switch",
        "with",
        "function",
        "var",
        "let",
        "const",
        "int",
    ),
    *(
        "to",
        "cc",
        "bcc",
        "subject",
        "date",
        "reply-to",
        "received",
        "sent",
        "note",
        "todo",
        "fixme",
        "hint",
        "tip",
    ),
    *(
        "example",
        "usage",
        "returns",
        "args",
        "raises",
        "parameters",
        "title",
        "author",
        "version",
        "description",
    ),
    *(
        "name",
        "type",
        "id",
        "key",
        "value",
        "http",
        "https",
        "ftp",
        "file",
        "line",
        "chapter",
        "section",
        "figure",
    ),
    *(
        "table",
        "step",
        "item",
        "total",
        "address",
        "phone",
        "email",
        "content-type",
        "host",
        "user-agent",
        "path",
    ),
    *(
        "q",
        "a",
        "kernel",
        "cron",
        "sshd",
        "systemd",
        "kubelet",
        "scheduler",
        "dockerd",
        "nginx",
        "postgres",
        "mysqld",
    ),
    *(
        "redis",
        "web",
        "db",
        "app",
        "api",
        "client",
        "proxy",
        "sudo",
        "systemd-logind",
        "networkmanager",
        "root",
    ),
    *(
        "main",
        "worker",
        "thread",
        "host",
        "server",
        "status",
        "message",
        "result",
        "output",
        "input",
        "command",
        "cmd",
        "url",
        "license",
    ),
}
_NO_NAME = re.compile(
    r"\s[\W_]+$|^[\W_]+\s|^The topic for "
    r"|[/\\={}()\[\];$%^`\"<>]|(?<![\w#.-])\d{3}|^\W+$|^[\d.,:-]+$|\.\w+\.\w+|^[0-9a-f]{8,}$"
)
_PHONE_OR_ADDRESS = re.compile(r"\+[0-9][0-9 ()-]{5,20}|[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,60}){1,4}")
_NUMBERED = re.compile(r" (?:[0-9]{1,3}|[A-Z])$")
"""The end of names of people unknown to a transcript: "Speaker 1"."""
_DIGITS = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"[0-9]{3}")
_CLOCK_ALONE = re.compile(r"\s*[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?\s*")
_ROLE = re.compile(r" \([^()]{1,30}\)$")
_BY_PROGRAM = re.compile(
    r"[\[(<]?(?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|FATAL|TRACE|SEVERE)\b"
    r"|[a-z_]\w*\.\w+\.\w+ |(?:GET|POST|PUT|HEAD) /"
)
"""The beginning of texts written by programs."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_LINK = re.compile(r"\bhttps?://\S+")
_SENTENCE = re.compile(
    r"[.?!,;:)…。？！，]|\b(?:I|you|we|it|is|the|a|ok|yes|no|hi|hello|hey|bye|thanks|thank|please|sorry|me)\b",
    re.IGNORECASE,
)


class Induced(NamedTuple):
    """A pattern, the form of its times, and the certainty that it is the file's pattern."""

    template: str
    form: str | None
    sure: float


@lru_cache(maxsize=4)
def induce(head_lines: tuple[bytes, ...]) -> Induced | None:
    r"""Induce the pattern of a file from its first lines; None if they are not a chat.

    >>> induce((b"10:00 | ada | hi there, bob", b"10:01 | bob | hello, ada!", b"10:02 | ada | how is it?"))
    Induced(template='{time} | {speaker} | {text}', form='clock', sure=0.8)
    """
    lines = [line.decode("utf-8", errors="replace")[:_LENGTH] for line in head_lines[:_LINES]]
    if len(lines) < _FEWEST or any("\0" in line for line in lines):
        return None
    best: Induced | None = None
    candidates = dict.fromkeys(_candidates(lines))
    for template, form in candidates:
        sure = _judged(Template(template, form), lines)
        if best is None or sure > best.sure:
            best = Induced(template, form, sure)
    return best if best is not None and best.sure >= _ENOUGH else None


def _candidates(lines: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield candidate patterns: with a time in front or after the name, then without a time."""
    around = Counter(place for line in lines[:_TRIED_FIRST] for place in _around_time(line))
    for (form, before, after), count in around.most_common(12):
        if count * 10 < min(len(lines), _TRIED_FIRST):
            continue
        if before is not None and not (before + after).strip():
            yield from ((template, form) for template in _TWO_LINES)
        if before is not None:
            for separator in _SEPARATORS:
                yield f"{before}{{time}}{after}{separator}{{text}}", form
        else:
            yield from ((template, form) for template in _behind_name(after))
    for separator in _SEPARATORS:
        if separator not in ("{speaker}\\n", "{speaker} "):  # a line with only a name or a word is too little
            yield f"{separator}{{text}}", None


def _around_time(line: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield the form of a line's first time, the text before it, and the marks after it.

    If a name comes before the time, the text before is None, and the third value is a pattern with both.
    """
    for form, pattern in _FORMS.items():
        found = pattern.search(line, 0, _IN_FRONT + 60)
        if found is None or found.start() > _IN_FRONT or "{" in line[: found.end() + 8]:
            continue
        if form not in CLOCKS and time_of(found.groupdict()) is None:
            continue
        before, after = line[: found.start()], _between(line[found.end() :])
        if _COUNT.fullmatch(before):
            yield form, "{skip}", after
            continue
        if not any(char.isalnum() for char in before) or before in _BEFORE:
            yield form, before, after
            continue
        if _NAMED_TO.fullmatch(before):
            yield form, None, f"From {{speaker}} to {{skip}}: {{time}}{after}"
            continue
        named = _NAMED.fullmatch(before)
        if named is not None:
            closed = re.sub(r" +", " ", named["closed"]).replace("\t", "\\t")
            yield form, None, f"{named['opened']}{{speaker}}{closed}{{time}}{after}"


def _between(after: str) -> str:
    """The spaces and closing marks directly after a time."""
    end = len(after[:3]) - len(after[:3].lstrip("_*"))  # marks that close a time in italics or bold
    while end < min(len(after), 6) and (after[end] in " \t" or after[end] in _CLOSING):
        end += 1
    return re.sub(r" +", " ", after[:end]).replace("\t", "\\t")


_TWO_LINES = (
    "{speaker}\\n{time}\\n{text}",
    "{time}\\n{speaker}\\n{text}",
    "{time}{skip}\\n{speaker}\\n{text}",
)
"""Patterns with one line for the name and one for the time."""


def _behind_name(template: str) -> Iterator[str]:
    """Yield patterns with the name first, and the text on the next lines or on the same line."""
    yield f"{template.rstrip()}\\n{{text}}"
    if template.rstrip()[-1:] in _CLOSING:
        yield f"{template}{{text}}"


def _judged(template: Template, lines: Sequence[str]) -> float:
    """The certainty that a pattern is that of a chat, from 0 to 0.99."""
    own_line, timed = template.own_line, template.form is not None
    speakers: list[str] = []
    texts: list[str] = []
    minutes: list[int] = []
    begun = headings = 0
    joined = template.joined(enumerate(line.encode() for line in lines)) if template.two_lines else None
    for line in lines if joined is None else (line.decode() for _, line in joined):
        found = template.match(line)
        if found is not None and not is_name(found["speaker"], timed=timed):
            found = None
        if found is not None:
            speakers.append(speaker_name(found["speaker"]))
            texts.append("" if own_line else found["text"])
            minutes += [int(found["m"])] if "m" in found.groupdict() and not found["s"] else []
        elif line.startswith("# ") or _CLOCK_ALONE.fullmatch(line) or day_of(line) is not None:
            headings += 1
        elif template.begin(line) is not None:
            begun += 1
        elif texts and (own_line or not texts[-1]) and not is_rule(line):
            texts[-1] += " " + line
    messages, others = len(speakers), len(lines) - len(speakers) - begun - headings
    # If every line matches the pattern, few lines are enough.
    whole = messages == len(lines) - headings and all(name[:1].isupper() for name in speakers)
    sure_names = timed or "**{speaker}" in template.text
    if messages < _FEWEST or not take_turns(speakers, timed=sure_names, whole=whole):
        return 0.0
    undated = template.form in CLOCKS
    if undated and len(minutes) > 3 and not any(minute % 5 for minute in minutes):  # a schedule of events
        return 0.0
    bare = "{speaker} {text}" in template.text
    words = bare and (begun or others > messages or not _are_names(speakers))
    loose = bare or "[{skip}] " in template.text
    if (
        words
        or (loose and _are_written_by_program(texts))
        or not are_said(texts, timed=timed and not bare, whole=whole)
    ):
        return 0.0
    if own_line:
        covered = _covered_below(texts, len(lines), template)
    elif timed:
        covered = (messages + begun + 0.7 * min(others, 2 * messages)) / (len(lines) - headings)
        # A few lines with a time and no speaker come from a client; many, from a server's log.
        covered *= (messages / (messages + begun)) ** (0.25 if "<{speaker}>" in template.text else 0.5)
    else:
        covered = (messages + 0.2 * min(others, messages)) / (len(lines) - headings)
    # A name with only spaces or a punctuation mark around it may be a word of the text.
    bracketed = any(mark in template.text for mark in ("<{", "[{speaker", "({speaker", "**{", "@{"))
    clear = 0.8 if bare else 1.0 if bracketed or timed else 0.9
    few = 0.3 if whole else 0.6
    return round(min(0.99, covered * clear * (1 - few / messages)), 2)


def _are_written_by_program(texts: Sequence[str]) -> bool:
    """Whether texts differ in little but their numbers, as in a program's log."""
    return len({_DIGITS.sub("0", text) for text in texts}) * 3 < len(texts)


def _are_names(words: Sequence[str]) -> bool:
    """Whether the first words of lines are names and not words of texts: names are often repeated."""
    return len(words) >= max(_FEWEST_BARE, 1.5 * len(set(words)))


def _covered_below(texts: Sequence[str], lines: int, template: Template) -> float:
    """The extent to which heads with texts below them make up all lines, from 0 to 1."""
    messages = len(texts)
    full = sum(bool(text) for text in texts[:-1]) >= 0.9 * (messages - 1)
    if not full or messages * (3 if template.two_lines else 2) > lines + 2:
        return 0.0
    # Without times: prose also has lines that end with a colon, but not every few lines.
    return 1.0 if template.form is not None else min(1.0, 4 * messages / lines)


def is_name(text: str, *, timed: bool = True) -> bool:
    """Whether a text can be a speaker's name; the test is less strict if a time is next to it."""
    name = speaker_name(text)
    if not timed and _NUMBER.search(name):
        return False
    if _PHONE_OR_ADDRESS.fullmatch(name):
        return True
    name = _ROLE.sub("", name)
    words = name.lower().split()
    if not words or len(words) > 4 or len(name) > 40 or _NO_NAME.search(name):
        return False
    parts = {part for word in words for part in word.split(":")}
    return not (parts & LEVELS or words[0].rstrip("_-0123456789") in _NO_NAMES) and any(
        char.isalpha() for char in name
    )


def take_turns(speakers: Sequence[str], *, timed: bool, whole: bool) -> bool:
    """Whether a few speakers take turns, more than once on average and not always in the same order."""
    counts = Counter(speakers)
    if len(counts) < 2 or len(speakers) < (1.25 if timed else 1.5 if whole else 2.0) * len(counts):
        return False
    first_words = {speaker.split()[0] for speaker in counts}
    numbered = all(_NUMBERED.search(speaker) for speaker in counts)
    if len(first_words) == 1 and not numbered:  # the name of a machine, before the names of its programs
        return False
    pairs = list(pairwise(speakers))
    changes = sum(one != two for one, two in pairs)
    if changes < (1 if len(speakers) < 6 else 2):
        return False
    if timed:
        return True
    if changes * 4 < len(pairs):  # a list grouped by kind
        return False
    # A list of settings has the same keys in the same order.
    following: dict[str, set[str]] = {}
    for one, two in pairs:
        following.setdefault(one, set()).add(two)
    return (
        len(counts) < 3 or len(speakers) < 2 * len(counts) or any(len(two) > 1 for two in following.values())
    )


def are_said(texts: Iterable[str], *, timed: bool, whole: bool) -> bool:
    """Whether texts look like what people say: mostly words, and not always the same."""
    texts = [_LINK.sub("", without_files(text)).strip() for text in texts]
    full = [text for text in texts if text]
    if len(full) * 2 < len(texts) or len(full) < _FEWEST:
        return False
    words = [len(_WORD.findall(text)) for text in full]
    letters = sum(sum(char.isalpha() or char.isspace() for char in text) for text in full)
    enough_letters = letters >= 0.65 * sum(map(len, full))
    levels = sum(_BY_PROGRAM.match(text) is not None for text in full)
    sentences = sum(_SENTENCE.search(text) is not None for text in full)
    # In scripts without spaces between words, the number of words does not matter.
    wordy = sum(words) / len(full) >= (1.0 if timed or whole else 2.0) or any(
        ord(char) > 0x2E80 for char in full[0]
    )
    code = sum(text.endswith((";", "{", "}")) or "://" in text[:12] for text in full)
    return (
        enough_letters
        and wordy
        and len(set(full)) * 3 >= len(full)
        and levels * 4 <= len(full)
        and (timed or sentences * 10 >= len(full) * 4)
        and code * 3 <= len(full)
        and sum("\t" in text for text in full) * 2 <= len(full)
    )
