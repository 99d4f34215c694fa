"""Read HTML and XML pages of any size, even if malformed, as a stream of tags and texts."""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from towhom.files import DAMAGED
from towhom.readers.base import HEAD_BYTES, MAX_MESSAGE, Source, utf8_stream

# Possessive, so that a tag that never ends takes no longer to match than one that does.
_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>[a-zA-Z][\w:.-]*+)"
    r"(?P<rest>(?:[^<>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+'|(?![\"'])))*+)(?P<close>>)?"
)
_ATTRIBUTE = re.compile(r"""(?<![\w:-])([\w:-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>=]++))""")
_NUMBER = re.compile(r"&#(?:x[0-9a-f]{9,}|[0-9]{9,});?", re.IGNORECASE)
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_UNREAD = ("script", "style")
_BREAKS = frozenset(
    (
        "br",
        "p",
        "div",
        "li",
        "tr",
        "pre",
        "ul",
        "ol",
        "h1",
        "h2",
        "h3",
        "h4",
        "blockquote",
        "hr",
        "table",
        "title",
    )
)
_LONGEST_ENTITY = 40


@dataclass(frozen=True)
class Tag:
    """A tag of a page.

    Args:
        name: The tag's name in lower case.
        ends: Whether it is an end tag.
        alone: Whether its element is empty and has no end tag.
        rest: Its attributes, as written in the page.
    """

    name: str
    ends: bool
    alone: bool
    rest: str

    @cached_property
    def attributes(self) -> dict[str, str]:
        """The tag's attributes; if a name is repeated, the first one counts."""
        found = reversed(_ATTRIBUTE.findall(self.rest))
        return {name.lower(): unescaped(one or two or bare) for name, one, two, bare in found}

    @property
    def breaks(self) -> bool:
        """Whether a new line begins at this tag."""
        return self.name in _BREAKS


def unescaped(text: str) -> str:
    """A text of a page with character references replaced by characters.

    >>> unescaped("caf&eacute; &amp; &#8217;")
    'café & ’'
    """
    if "&" not in text:
        return text
    return html.unescape(_NUMBER.sub("\ufffd", text))


def looks_like_page(head: bytes) -> bool:
    """Whether a file begins like an HTML or XML page."""
    start = head.lstrip()[:200].lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<?xml", b"<div", b"<meta"))


def tags_and_texts(source: Source) -> Iterator[str | Tag]:
    """Yield the tags and texts of a page in order, without scripts, styles and comments.

    Raises:
        LogError: A tag is megabytes long, or the archive is damaged.
    """
    cut = _Cutter(source)
    with source.open() as stream:
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        plain = utf8_stream(stream)
        try:
            while piece := plain.read(HEAD_BYTES):
                yield from cut.take(decode(piece))
        except (*DAMAGED, OSError) as error:
            raise source.damaged(error) from error
        yield from cut.take(decode(b"", final=True), final=True)


def page_lines(source: Source) -> Iterator[str]:
    """Yield the visible lines of a page, except empty ones."""
    line: list[str] = []
    length = 0
    for each in chain(tags_and_texts(source), (Tag("hr", False, True, ""),)):
        if isinstance(each, str):
            line.append(each)
            length += len(each)
            if length > MAX_MESSAGE:
                raise source.too_long("line", line=1)
        elif each.breaks and line:
            whole = "".join(line).replace("\xa0", " ")
            line, length = [], 0
            yield from (" ".join(part.split()) for part in whole.split("\n") if part.strip())


class _Cutter:
    """Cuts a page into tags and texts, and holds the part read but not yet cut."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._left = ""
        self._until: str | None = None
        """The text that ends a comment or script being skipped; None if none is."""

    def take(self, piece: str, *, final: bool = False) -> Iterator[str | Tag]:
        """Yield the tags and texts of the next piece, as far as they are complete."""
        text, place = self._left + piece, 0
        while place < len(text):
            if self._until is not None:
                place, complete = self._skip(text, place)
            elif text[place] != "<":
                end = self._text_end(text, place, final=final)
                if end > place:
                    yield unescaped(text[place:end])
                place, complete = end, text[end : end + 1] != "&"
            elif text.startswith(("<!", "<?"), place):
                complete = final or len(text) - place >= len("<!--")
                if complete:
                    self._until = "-->" if text.startswith("<!--", place) else ">"
                    place += 2
            else:
                found, end = self._tag(text, place, final=final)
                complete = end > place
                if found is not None:
                    yield found
                place = end
            if not complete:
                break
        self._left = text[place:]
        if len(self._left) > MAX_MESSAGE:
            raise self._source.too_long("tag", line=1)

    def _tag(self, text: str, place: int, *, final: bool) -> tuple[str | Tag | None, int]:
        """The tag that begins at a place, or the text there if it is not a tag; and its end, if known."""
        found = _TAG.match(text, place)
        if found is None:
            return ("<", place + 1) if final or len(text) - place > len("</") else (None, place)
        end = found.end()
        if not found["close"]:
            if not final and (end == len(text) or text[end] == "="):
                return None, place
            # Another tag begins or the page ends before this one is closed, so it is not a tag.
            end += end < len(text) and text[end] != "<"
            return unescaped(text[place:end]), end
        name, ends, rest = found["name"].lower(), bool(found["end"]), found["rest"]
        alone = name in _VOID or rest.endswith("/")
        if name in _UNREAD and not ends and not alone:
            self._until = f"</{name}"
            return None, end
        return Tag(name, ends, alone, rest), end

    def _skip(self, text: str, place: int) -> tuple[int, bool]:
        """Where the skipped part ends, or where its end may begin; and whether the end was found."""
        until = self._until or ""
        end = text.find(until, place)
        if end < 0 and until.startswith("</"):
            end = text.find(until.upper(), place)
        if end < 0:
            return max(place, len(text) - len(until) + 1), False
        self._until = ">" if until.startswith("</") else None
        return end + len(until), True

    def _text_end(self, text: str, place: int, *, final: bool) -> int:
        end = text.find("<", place)
        if end >= 0:
            return end
        if final:
            return len(text)
        entity = text.rfind("&", max(place, len(text) - _LONGEST_ENTITY))
        return entity if entity >= 0 else len(text)
