"""The page: files of the folder beside this one, with a policy that lets it load nothing from elsewhere."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import Response

from towhom.report.page import hashes
from towhom.serve.problems import of_status

_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
_SCRIPT, _STYLE = hashes()
_HEADERS = {
    # A report is shown in a frame that inherits this policy: only the report's own script and style may run.
    "Content-Security-Policy": f"default-src 'self'; img-src 'self' data:; script-src 'self' '{_SCRIPT}'; "
    f"style-src 'self' '{_STYLE}'; frame-src blob:",
    "Cache-Control": "no-cache",
}
_FOLDER = files("towhom.serve") / "page"

router = APIRouter(include_in_schema=False)


@router.get("/")
def index() -> Response:
    """The page."""
    return page_file("index.html")


@router.get("/{name}")
def page_file(name: str) -> Response:
    """A file of the page. Only names that are in the folder count, so that no path leads out of it."""
    if name not in {each.name for each in _FOLDER.iterdir()}:
        raise of_status(404)
    kind = _TYPES[name.rpartition(".")[2]]
    return Response((_FOLDER / name).read_bytes(), media_type=kind, headers=_HEADERS)
