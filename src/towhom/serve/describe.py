"""The OpenAPI description, with the bounds that the settings set."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from towhom.serve.settings import Settings

_SETTINGS = {
    "speaker": "max_name",
    "addressee": "max_name",
    "id": "max_name",
    "name": "max_name",
    "responder": "max_name",
    "text": "max_text",
    "messages": "max_messages",
    "candidates": "max_candidates",
    "requests": "max_batch",
}
"""Fields of requests -> what bounds them."""
_KEYWORDS = {"string": "maxLength", "array": "maxItems"}


def describe(app: FastAPI, settings: Settings) -> dict[str, Any]:
    """What `/openapi.json` shows."""
    description = get_openapi(
        title="towhom",
        version=app.version,
        summary="Who says what to whom, in conversations with many speakers.",
        routes=app.routes,
    )
    schemas = description["components"]["schemas"]
    # Requests are those that refuse fields that are not known.
    for schema in (each for each in schemas.values() if each.get("additionalProperties") is False):
        for name, field in schema["properties"].items():
            if name in _SETTINGS:
                _bound(field, getattr(settings, _SETTINGS[name]))
        if "candidates" in schema["properties"]:
            _bound(schema["properties"]["candidates"]["items"], settings.max_text)
    if settings.token is not None or settings.token_file is not None:
        description["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        description["security"] = [{"token": []}]
    return description


def _bound(field: dict[str, Any], most: int) -> None:
    for each in field.get("anyOf", [field]):
        if each.get("type") in _KEYWORDS:
            each[_KEYWORDS[each["type"]]] = most
