"""Makes texts of others safe to show: characters that would control a terminal are escaped."""

from __future__ import annotations

import re

# Control characters except tab and line feed; marks of writing direction; separators of lines and paragraphs;
# half surrogate pairs, which cannot be encoded. Joiners are kept, since emoji and Persian need them.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""A text with its control characters escaped.

    >>> print(visible("a\x1b[2Jb \u202egnp.exe"))
    a\x1b[2Jb \u202egnp.exe
    """
    if text.isprintable():
        return text
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
