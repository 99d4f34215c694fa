"""Tables in Markdown and HTML, and self-contained pages: light and dark, no request to other hosts."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from towhom.visible import visible

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em }}
table {{ border-collapse: collapse; margin: 1em 0 }}
td, th {{ padding: .25em .7em; border-bottom: 1px solid #8884; vertical-align: top }}
.numbers {{ font-variant-numeric: tabular-nums }}
.numbers td + td, .numbers th + th {{ text-align: right }}
th {{ text-align: left }}
img {{ max-width: 100%; background: white }}
</style></head><body>
{body}
</body></html>
"""


def page(title: str, parts: Sequence[str]) -> str:
    """An HTML page made of parts in HTML."""
    return _PAGE.format(title=html.escape(title), body="\n".join(parts))


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> str:
    """A table of texts, which are escaped. With `numbers`, columns after the first are aligned right."""

    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    kind = ' class="numbers"' if numbers else ""
    body = "\n".join(line("td", row) for row in rows)
    return f"<table{kind}><thead>{line('th', header)}</thead><tbody>\n{body}\n</tbody></table>"


_MARKS = re.compile(r"[\\`*_\[\]~|]|(?<=:)//|(?<=www)\.", re.IGNORECASE)
"""Characters that begin a link, a picture, code or emphasis, or make an address a link."""


def markdown_text(text: str) -> str:
    r"""A text escaped for one line of Markdown or a table cell: without links, pictures, HTML or borders.

    >>> print(markdown_text("a|b <enter> ![x](http://example.org/x.png)"))
    a\|b &lt;enter&gt; !\[x\](http:\//example.org/x.png)
    """
    line = visible(" ".join(text.splitlines()))
    return _MARKS.sub(r"\\\g<0>", html.escape(line, quote=False))


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> str:
    r"""A table in Markdown; see `html_table`.

    >>> print(markdown_table(["a", "b"], [["x", "1|2"]], numbers=True))
    | a | b |
    |---|---:|
    | x | 1\|2 |
    """

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(map(markdown_text, cells)) + " |"

    rule = "|---" + ("|---:" if numbers else "|---") * (len(header) - 1) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])
