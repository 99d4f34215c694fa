"""Patterns of lines as users write them: `[{time}] <{speaker}> {text}`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from towhom.readers.times import FORMS

_FIELD = re.compile(r"\{(\w*)\}")
_SPACES = re.compile(r"(\s+)")
_FIELDS = ("time", "speaker", "text", "skip")
# The length of a name is bounded, so that matching takes time linear in the length of a line.
_SPEAKER = r"(?P<speaker>[^\s:<>\[\]|](?:[^\n\t]{0,58}?[^\s])??)"
_LONGEST = 1000
_BEHIND = re.compile(
    r"\s*(?:[(<](?:[0-9]{4,15}|wxid_\w{1,40}|[^\s()<>@]{1,60}@[^\s()<>]{1,60}"
    r"|pinned|edited|guest|external|unverified|privately|direct message)[)>]"
    r"|:[\w+-]{1,40}:|(?<=[^\s#])#[0-9]{4})$",
    re.IGNORECASE,
)
_OPENING = '<[(*@"'
"""Marks that open a name."""
_RULE = re.compile(r"\s*(?:={10,}|-{10,}|_{10,}|\*{10,})\s*")
_BESIDE = re.compile(r"(?<!\S)(?:\{(?:Attachments|Embed|Stickers|Reactions)\}|Tapbacks:)(?=\s|$)")
_PRIVATELY = re.compile(
    r"(.{1,40}?)\s{1,4}to\s{1,4}(?:.{1,60}\((?:privately|direct message)\)|everyone)", re.IGNORECASE
)
_MASK = re.compile(r"(?<=[^\s!])![^\s!@]{1,60}@[^\s@]{1,100}$")
"""The user and host that IRC clients append to a nick."""
_ADDRESS = re.compile(r"([^\s@/]{1,60}@[\w.-]{1,60})/.{0,60}")
_AROUND = {"'": "'", '"': '"', "“": "”", "‘": "’", "«": "»", "`": "`", "_": "_"}


def speaker_name(text: str) -> str:
    """A name without quotes around it, or a number, label or client's address after it.

    >>> [speaker_name(text) for text in ("'Ada'", "Ada(12345678)", "ada#1234 (pinned)", "ada@x.org/Home")]
    ['Ada', 'Ada', 'ada', 'ada@x.org']
    """
    name = text.strip()
    privately = _PRIVATELY.fullmatch(name)
    name = privately[1].rstrip() if privately else _BEHIND.sub("", _BEHIND.sub("", name))
    name = _MASK.sub("", name)
    address = _ADDRESS.fullmatch(name)
    if address is not None:
        return address[1]
    if len(name) > 2 and _AROUND.get(name[0]) == name[-1]:
        name = name[1:-1]
    return name.rstrip(":").rstrip() or text.strip()


def is_rule(line: str) -> bool:
    """Whether a line is only a separator of other lines."""
    return _RULE.fullmatch(line) is not None


def without_files(text: str) -> str:
    """A text without the files and reactions that exporters append to it."""
    found = _BESIDE.search(text)
    return text[: found.start()].rstrip() if found else text


class Template:
    """A compiled pattern of lines.

    Args:
        text: The pattern.
        form: The form of its times: a name from `towhom.readers.times.FORMS`.

    Raises:
        ValueError: The pattern is invalid: it has no speaker or no text, for example, or an unknown field.

    >>> Template("[{time}] {speaker}: {text}", "clock").match("[10:00] Ada: hi")["speaker"]
    'Ada'
    """

    def __init__(self, text: str, form: str | None = None) -> None:
        self.text = text
        self.form = form
        self._line, self._beginning = _compiled(text, form)
        header = text.replace("\\n", "\n").partition("{text}")[0]
        self.own_line = header.endswith("\n")
        """Whether the text begins on its own line."""
        self.two_lines = header.count("\n") == 2
        """Whether there are two lines before the text."""
        self._speaker_first = text.find("{speaker}") < text.find("{time}")

    def match(self, line: str) -> re.Match[str] | None:
        """Match a line against the pattern."""
        return self._line.match(line)

    def joined(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """Yield numbered lines; the two lines before a text, if the pattern has two, are joined into one."""
        if not self.two_lines:
            yield from lines
            return
        held: tuple[int, bytes] | None = None
        speaker: bytes | None = None
        said = True
        for number, line in lines:
            both = b"" if held is None else held[1] + b"\n" + line
            if held is not None and len(both) <= _LONGEST and self._is_match(both):
                if said or not self._speaker_first:
                    yield held[0], both
                    speaker, said = held[1], False
                else:  # below a name and a time is a text; a time alone means that they go on
                    yield held
                    yield number, (speaker or held[1]) + b"\n" + line
                held = None
                continue
            if held is not None:
                said = said or bool(held[1].strip())
                yield held
            held = number, line
        if held is not None:
            yield held

    def _is_match(self, line: bytes) -> bool:
        return self.match(line.decode("utf-8", errors="replace")) is not None

    def begin(self, line: str) -> re.Match[str] | None:
        """Match a line that has at least the time and the marks around it, such as a join or a topic."""
        return self._line.match(line) or (self._beginning.match(line) if self._beginning else None)


@lru_cache(maxsize=64)
def _compiled(text: str, form: str | None) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    text = text.replace("\\n", "\n").replace("\\t", "\t")
    pieces = _FIELD.split(text)
    names = pieces[1::2]
    unknown = [name for name in names if name not in _FIELDS]
    if unknown:
        raise ValueError(
            f"{{{unknown[0]}}} is unknown; there are {', '.join(f'{{{name}}}' for name in _FIELDS)}"
        )
    if "speaker" not in names or "text" not in names or names[-1] != "text":
        raise ValueError("it needs {speaker}, and {text} at its end")
    if any(names.count(name) > 1 for name in ("time", "speaker", "text")) or len(names) > 8:
        raise ValueError("each field stands in it once")
    if len(text) > _LONGEST:
        raise ValueError("it is too long")
    own_line = "\n" in pieces[-3]
    parts = {
        "time": f"(?:{FORMS[form]})" if form else r"\S+",
        "speaker": _SPEAKER,
        "text": "" if own_line else r"(?P<text>.*)",
        "skip": r"[^\n]{0,80}?",
    }
    regex = ""
    beginning = None
    for place, piece in enumerate(pieces):
        if place % 2:
            regex += parts[piece]
        else:
            time_first = "speaker" not in pieces[:place] and "time" in pieces[:place]
            if beginning is None and time_first and form and not own_line:
                # Without marks that open a name, since these are absent if there is no name.
                beginning = regex + _literal(piece.rstrip(_OPENING), place, pieces)
            after_text = place == len(pieces) - 1
            regex += _literal(piece, place, pieces) if not after_text or piece else ""
    line = re.compile(rf"[ \t]*{regex}\s*$" if own_line else rf"{regex}$", re.DOTALL)
    return line, re.compile(rf"{beginning}(?P<text>.*)$", re.DOTALL) if beginning else None


def _literal(piece: str, place: int, pieces: list[str]) -> str:
    """A regular expression for the text between fields; one space in the pattern matches any number."""
    regex = ""
    for part in _SPACES.split(piece):
        if "\n" in part:
            regex += "" if place + 1 < len(pieces) and pieces[place + 1] == "text" else r"[ \t]*\n[ \t]*"
        elif "\t" in part:
            regex += r"(?= *\t)[ \t]++"
        else:
            regex += r"[ \t]+" if part.isspace() else re.escape(part)
    before_text = place + 1 < len(pieces) and pieces[place + 1] == "text"
    if before_text and regex.endswith(r"[ \t]+") and regex != r"[ \t]+":
        regex = regex.removesuffix(r"[ \t]+") + r"(?:[ \t]+|$)"
    return regex
