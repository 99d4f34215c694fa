"""Builds the documentation site: `python -m tools.site OUT` writes it, and fails if a link is broken.

The guides are also read in the repository, where they link to records, code and the changelog. The site is
made from a copy: `results/` and pages outside of `docs/` get a place in it, linked files are copied
unchanged, a link to a folder becomes plain text, and the reference is generated from the code
(`tools/reference.py`). Zensical then makes HTML from it, with the settings in `mkdocs.yml`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools.reference import PAGES

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "clients/typescript/README.md": "bots/typescript.md",
    "tests/languages/README.md": "parallel-chat.md",
}
"""Pages outside of `docs/`, and their places in the site."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_CODE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def prepare(folder: Path) -> None:
    """Write all pages and files of the site into a folder, as Markdown."""
    shutil.copytree(ROOT / "docs", folder)
    shutil.copytree(ROOT / "results", folder / "results")
    for name, make in PAGES.items():
        (folder / "reference").mkdir(exist_ok=True)
        (folder / "reference" / f"{name}.md").write_text(make(), "utf-8")
    for outside, place in OUTSIDE.items():
        if place != "index.md":
            shutil.copy(ROOT / outside, folder / place)
    for page in sorted(folder.rglob("*.md")):
        uri = page.relative_to(folder).as_posix()
        page.write_text(_relinked(page.read_text("utf-8"), uri, folder), "utf-8")


def _relinked(markdown: str, uri: str, folder: Path) -> str:
    """A page with its links changed to the places in the site."""
    inside = uri if uri.startswith("results/") else f"docs/{uri}"
    home = next((each for each, place in OUTSIDE.items() if place == uri and uri != "index.md"), inside)

    def change(found: re.Match[str]) -> str:
        mark, text, target = found.groups()
        name, _, anchor = target.partition("#")
        if not name or "://" in name or name.startswith("mailto:"):
            return found[0]
        path = os.path.normpath(Path(home).parent / name)
        if (ROOT / path).is_dir():
            return text
        inside = path.startswith(("docs/", "results/"))
        place = path.removeprefix("docs/") if inside else OUTSIDE.get(path)
        if place is None:
            place = f"files/{path}"
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, folder / place)
        relative = os.path.relpath(place, Path(uri).parent)
        return f"{mark}[{text}]({relative}{'#' + anchor if anchor else ''})"

    parts = _CODE.split(markdown)
    return "".join(part if number % 2 else _LINK.sub(change, part) for number, part in enumerate(parts))


def build(out: Path) -> None:
    """Write the site into a folder.

    Raises:
        RuntimeError: The site has problems; the message lists them.
    """
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        prepare(work / "docs")
        shutil.copy(ROOT / "mkdocs.yml", work)
        command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(_COLOUR.sub("", done.stdout + done.stderr))
        problems = list(find_problems(work / "site"))
        if problems:
            raise RuntimeError("\n".join(problems))
        shutil.rmtree(out, ignore_errors=True)
        shutil.move(work / "site", out)


class _Page(HTMLParser):
    """Collects the links of a page, what it loads, and its anchors."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the links and the anchor of a tag."""
        values = {name: value for name, value in attrs if value is not None}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.append(values.get("href", ""))
        elif tag in ("img", "script", "iframe", "source", "video", "audio") and "src" in values:
            self.loaded.append(values["src"])


def find_problems(site: Path) -> Iterator[str]:
    """Broken links and pictures of a site, and files that it loads from other hosts."""
    pages = {path: _Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        for target in page.loaded:
            if urlsplit(target).netloc:
                yield f"{name}: loads {target}"
        for target in (*page.links, *page.loaded):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or name.name == "404.html":
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            goal = goal / "index.html" if goal.is_dir() else goal
            if not goal.exists():
                yield f"{name}: {target} leads nowhere"
            elif parts.fragment and goal in pages and unquote(parts.fragment) not in pages[goal].anchors:
                yield f"{name}: {target} leads to no place of that page"


if __name__ == "__main__":
    build(Path(sys.argv[1]))
