"""The OpenAPI description, with the limits from the settings."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from towhom.serve.settings import Settings
from towhom.serve.uploads import LogResponse

_SETTINGS = {
    "speaker": "max_name",
    "addressee": "max_name",
    "id": "max_name",
    "reply_to": "max_name",
    "name": "max_name",
    "responder": "max_name",
    "mentions": "max_mentions",
    "people": "max_people",
    "aliases": "max_aliases",
    "text": "max_text",
    "Rename.text": "max_name",
    "messages": "max_messages",
    "candidates": "max_candidates",
    "requests": "max_batch",
}
"""Field of a request -> setting that limits it; with a schema's name in front, only in that schema."""
_ITEMS = {"candidates": "max_text", "mentions": "max_name", "aliases": "max_name"}
"""List field -> setting that limits each of its items."""
_KEYWORDS = {"string": "maxLength", "array": "maxItems"}


def describe(app: FastAPI, settings: Settings) -> dict[str, Any]:
    """The content of `/openapi.json`."""
    description = get_openapi(
        title="towhom",
        version=app.version,
        summary="Who says what to whom, in conversations with many speakers.",
        routes=app.routes,
    )
    schemas = description["components"]["schemas"]
    content = description["paths"]["/v1/logs"]["post"]["responses"]["200"]["content"]
    content[LogResponse.media_type] = content.pop("application/json")  # one record per line
    # Schemas of requests are those that refuse unknown fields.
    requests = {name: each for name, each in schemas.items() if each.get("additionalProperties") is False}
    for title, schema in requests.items():
        for name, field in schema["properties"].items():
            setting = _SETTINGS.get(f"{title}.{name}") or _SETTINGS.get(name)
            if setting is not None:
                _bound(field, getattr(settings, setting))
            if name in _ITEMS:
                _bound(field["items"], getattr(settings, _ITEMS[name]))
    if settings.token is not None or settings.token_file is not None:
        description["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        description["security"] = [{"token": []}]
    return description


def _bound(field: dict[str, Any], most: int) -> None:
    for each in field.get("anyOf", [field]):
        kinds = each.get("type")
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if kind in _KEYWORDS:
                each[_KEYWORDS[kind]] = most
