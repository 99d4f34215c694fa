"""The documentation site is built, every link leads somewhere, and the reference leaves nothing out."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from tools.drawings import DRAWINGS, FOLDER
from tools.reference import PAGES, commands, openapi
from tools.site import OUTSIDE, build, find_problems

import towhom
from towhom.cli import main
from towhom.serve.settings import PREFIX, known_settings

NEEDLESS = ("<factory>", " object at 0x", "Traceback")
"""What a page of the reference must not show."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "out"
    build(out)
    return out


def test_it_is_built_and_has_all_pages(site: Path) -> None:
    docs = Path(__file__).parents[1] / "docs"
    pages = [path.relative_to(docs) for path in docs.rglob("*.md")]
    expected = {str(page.with_suffix(".html")).replace("README", "index") for page in pages}
    expected |= {str(Path(place).with_suffix(".html")) for place in OUTSIDE.values()}
    expected |= {f"reference/{name}.html" for name in PAGES}
    assert expected <= {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert (site / "results" / "gate.json").is_file()
    assert "SI-RNN" in (site / "search.json").read_text("utf-8")


def test_what_is_wrong_with_a_site_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">x</a><a href="b.html#not">x</a><a href="c.html">x</a><img src="d.png">'
        '<script src="https://example.org/x.js"></script><a href="https://example.org/">x</a>'
    )
    (tmp_path / "b.html").write_text('<h1 id="there">x</h1>')
    assert list(find_problems(tmp_path)) == [
        "a.html: loads https://example.org/x.js",
        "a.html: b.html#not leads to no place of that page",
        "a.html: c.html leads nowhere",
        "a.html: d.png leads nowhere",
    ]


@pytest.mark.parametrize("page", PAGES)
def test_the_reference_can_be_read(page: str) -> None:
    text = PAGES[page]()
    assert not [needless for needless in NEEDLESS if needless in text]


def test_every_public_name_is_described() -> None:
    text = PAGES["python"]()
    for name in towhom.__all__:
        assert name == "__version__" or f"### `{name}`" in text
    assert "#### `Session.observe`" in text


def test_every_command_and_option_is_described() -> None:
    text = PAGES["command-line"]()
    found = list(commands(main))
    assert len(found) > 30
    for path, command in found:
        section = text[text.index(f" {path}\n") :]
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.opts[-1] in section, f"{path} {parameter.opts[-1]}"
                assert parameter.help, f"{path} {parameter.opts[-1]} has no help"


def test_every_path_and_setting_is_described() -> None:
    text = PAGES["http"]()
    described = openapi()
    for path, methods in described["paths"].items():
        for method in methods:
            assert f"## {method.upper()} {path}\n" in text
    for name, schema in described["components"]["schemas"].items():
        section = text[text.index(f"### {name}\n") :]
        assert all(f"| `{field}` |" in section for field in schema.get("properties", ())), json.dumps(schema)
    for name in known_settings():
        assert f"`{PREFIX}{name.upper()}`" in PAGES["settings"]()


def test_the_drawings_are_those_of_the_program() -> None:
    for name, draw in DRAWINGS.items():
        assert (FOLDER / f"{name}.svg").read_text("utf-8") == draw().svg(), "run python -m tools.drawings"
