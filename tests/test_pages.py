"""Tables and pages: whatever a cell holds, it stays in its cell."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from towhom.pages import html_table, markdown_table, markdown_text, page

CELLS = st.text("ab|\\<>&\"'\n\r -*_`[]!()~:/w.", max_size=8)
ROWS = st.lists(st.tuples(CELLS, CELLS), max_size=4)


class TestMarkdown:
    def test_by_hand(self) -> None:
        table = markdown_table(["name", "said"], [["a|b", "one\ntwo"], ["<b>", "C:\\|&"]], numbers=True)
        assert table.splitlines() == [
            "| name | said |",
            "|---|---:|",
            "| a\\|b | one two |",
            "| &lt;b&gt; | C:\\\\\\|&amp; |",
        ]

    def test_nothing_is_loaded_or_linked(self) -> None:
        text = "![x](https://example.org/x.png) [y]: www.example.org <img src=x> `a` *b* __c__ \x1b[2J\u202e"
        assert markdown_text(text) == (
            r"!\[x\](https:\//example.org/x.png) \[y\]: www\.example.org &lt;img src=x&gt; "
            r"\`a\` \*b\* \_\_c\_\_ \\x1b\[2J\\u202e"
        )

    def test_texts_are_flush_left(self) -> None:
        assert markdown_table(["a", "b", "c"], []).splitlines()[1] == "|---|---|---|"
        assert markdown_table(["a", "b", "c"], [], numbers=True).splitlines()[1] == "|---|---:|---:|"

    @given(ROWS)
    def test_every_row_is_a_line_with_its_cells(self, rows: list[tuple[str, str]]) -> None:
        lines = markdown_table(["x", "y"], rows).splitlines()
        assert len(lines) == 2 + len(rows)
        for line, row in zip(lines[2:], rows, strict=True):
            # Borders are the pipes with no backslash before them that is not itself escaped.
            borders = [match for match in re.findall(r"\\.|\|", line) if match == "|"]
            assert len(borders) == 3
            cells = re.fullmatch(r"\| ((?:\\.|[^|\\])*) \| ((?:\\.|[^|\\])*) \|", line)
            assert cells
            assert "<" not in line
            shown = [unescape(re.sub(r"\\(.)", r"\1", cell)) for cell in cells.groups()]
            assert [cell.split() for cell in shown] == [" ".join(cell.splitlines()).split() for cell in row]


class TestHtml:
    def test_by_hand(self) -> None:
        assert html_table(["a"], [["<b>&"], ["1\n2"]], numbers=True) == (
            '<table class="numbers"><thead><tr><th>a</th></tr></thead><tbody>\n'
            "<tr><td>&lt;b&gt;&amp;</td></tr>\n<tr><td>1\n2</td></tr>\n</tbody></table>"
        )
        assert html_table(["a"], []).startswith("<table><thead>")

    @given(ROWS)
    def test_cells_read_as_they_were(self, rows: list[tuple[str, str]]) -> None:
        found = re.findall(r"<tr><td>([^<]*)</td><td>([^<]*)</td></tr>", html_table(["x", "y"], rows))
        assert [(unescape(first), unescape(second)) for first, second in found] == rows

    def test_page(self) -> None:
        text = page("a <b> {c}", ["<h1>{d}</h1>", "<p>e</p>"])
        assert text.startswith("<!doctype html>")
        assert "<title>a &lt;b&gt; {c}</title>" in text
        assert "<body>\n<h1>{d}</h1>\n<p>e</p>\n</body>" in text
