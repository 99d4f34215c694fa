"""Patterns of lines, as people write them: `[{time}] <{speaker}> {text}`."""

from __future__ import annotations

import re
from functools import lru_cache

from towhom.readers.times import FORMS

LONGEST_SPEAKER = 60
"""Characters of a name. A bound, so that a line costs no more than its length."""
_FIELD = re.compile(r"\{(\w*)\}")
_SPACES = re.compile(r"[ \t]+")
_FIELDS = ("time", "speaker", "text", "skip")
_SPEAKER = r"(?P<speaker>[^\s:<>\[\]|](?:[^\n\t]{0,58}?[^\s])??)"
_LONGEST = 1000


class Template:
    """A pattern of lines.

    Args:
        text: The pattern.
        form: How its times are written: a name from `towhom.readers.times.FORMS`.

    Raises:
        ValueError: It has no speaker or no text, or a field that is unknown.

    >>> Template("[{time}] {speaker}: {text}", "clock").match("[10:00] Ada: hi")["speaker"]
    'Ada'
    """

    def __init__(self, text: str, form: str | None = None) -> None:
        self.text = text
        self.form = form
        self._line, self._beginning = _compiled(text, form)

    def match(self, line: str) -> re.Match[str] | None:
        """A line of the pattern."""
        return self._line.match(line)

    def begin(self, line: str) -> re.Match[str] | None:
        """A line that has at least the time and what is around it: somebody came, a topic was set."""
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
            after_text = place == len(pieces) - 1
            regex += _literal(piece, place, pieces) if not after_text or piece else ""
            time_first = "speaker" not in pieces[:place] and "time" in pieces[:place]
            if beginning is None and time_first and form and not own_line:
                beginning = regex
    line = re.compile(rf"{regex}\s*$" if own_line else rf"{regex}$", re.DOTALL)
    return line, re.compile(rf"{beginning}(?P<text>.*)$", re.DOTALL) if beginning else None


def _literal(piece: str, place: int, pieces: list[str]) -> str:
    """What stands between fields; one space is any number of them, and one before an empty text none."""
    piece = piece.replace("\n", "")
    regex = ""
    for number, part in enumerate(_SPACES.split(piece)):
        regex += (r"[ \t]+" if number else "") + re.escape(part)
    tabs = piece.count("\t")
    if tabs:
        regex = r"\t".join(_SPACES.sub(" ", re.escape(part)) for part in piece.split("\t"))
    before_text = place + 1 < len(pieces) and pieces[place + 1] == "text"
    if before_text and regex.endswith(r"[ \t]+") and regex != r"[ \t]+":
        regex = regex.removesuffix(r"[ \t]+") + r"(?:[ \t]+|$)"
    return regex
