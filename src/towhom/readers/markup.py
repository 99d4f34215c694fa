"""Convert the HTML of messages to plain text with the people it mentions."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

# Possessive, so that a tag that never ends takes no longer to match than one that does.
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-zA-Z][\w:-]*+)(?P<rest>[^<>]*+)>")
_ATTRIBUTE = re.compile(r"""(?<![\w:-])([\w:-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
_BREAKS = {"br", "p", "div", "li", "tr", "pre", "ul", "ol", "h1", "h2", "h3", "blockquote"}
_QUOTES = {"blockquote", "quote", "legacyquote"}


class Marked(NamedTuple):
    """A text without tags, and the people it marks as mentioned."""

    text: str
    mentions: list[tuple[str, str | None]]
    """For each mention, how the text shows it, and the platform's identifier of the person, if any."""


def plain_text(markup: str) -> Marked:
    """The visible text of a message in HTML, without quotations of other messages.

    >>> plain_text('<p><span class="user-mention" data-user-id="7">@Ada</span> done &amp; dusted</p>')
    Marked(text='@Ada done & dusted', mentions=[('@Ada', '7')])
    """
    pieces: list[str] = []
    mentions: list[tuple[str, str | None]] = []
    open_mention: tuple[int, str | None, str] | None = None
    quoted = place = 0
    for tag in _TAG.finditer(markup):
        if not quoted:
            pieces.append(html.unescape(markup[place : tag.start()]))
        place = tag.end()
        name, ends = tag["name"].lower(), bool(tag["end"])
        if name in _QUOTES:
            quoted = max(0, quoted + (-1 if ends else 1))
        if quoted:
            continue
        if name in _BREAKS:
            pieces.append("\n")
        elif open_mention and ends and name == open_mention[2]:
            shown = "".join(pieces[open_mention[0] :]).strip()
            mentions.append((shown, open_mention[1]))
            open_mention = None
        elif name in ("at", "span", "img") and not ends:
            found = {key.lower(): one or two for key, one, two in _ATTRIBUTE.findall(tag["rest"])}
            if name == "img":
                pieces.append(html.unescape(found.get("alt", "")))
            elif name == "at" or _marks_person(found):
                person = found.get("data-user-id") or found.get("id") or found.get("itemid")
                open_mention = len(pieces), person, name
    if not quoted:
        pieces.append(html.unescape(markup[place:]))
    lines = (line.strip() for line in "".join(pieces).replace("\xa0", " ").split("\n"))
    return Marked("\n".join(filter(None, lines)), [each for each in mentions if each[0]])


def _marks_person(attributes: dict[str, str]) -> bool:
    classes = attributes.get("class", "").split()
    return "user-mention" in classes or attributes.get("itemtype", "").endswith("/Mention")
