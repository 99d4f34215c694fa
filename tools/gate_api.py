"""Prints the part of the server's OpenAPI description from which the TypeScript client's types are made.

python tools/gate_api.py > clients/typescript/openapi.json
"""

from __future__ import annotations

import json
import re
from typing import Any

from fastapi import FastAPI

from towhom.serve.app import router
from towhom.serve.describe import describe
from towhom.serve.settings import Settings

_PATH = "/v1/gate"


def gate_api(described: dict[str, Any]) -> dict[str, Any]:
    """The part for `/v1/gate` of a description with its schemas, without bounds, which depend on settings."""
    path = described["paths"][_PATH]
    schemas, wanted = described["components"]["schemas"], set[str]()
    new = _named(path)
    while new:
        wanted |= new
        new = {name for each in new for name in _named(schemas[each])} - wanted
    return {
        "openapi": described["openapi"],
        "info": {"title": "towhom gate", "version": "1"},
        "paths": {_PATH: path},
        "components": {"schemas": {name: _unbounded(schemas[name]) for name in sorted(wanted)}},
    }


def _named(schema: Any) -> set[str]:
    return set(re.findall(r"#/components/schemas/(\w+)", json.dumps(schema)))


def _unbounded(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: _unbounded(value) for key, value in schema.items() if key not in ("maxLength", "maxItems")
        }
    return [_unbounded(each) for each in schema] if isinstance(schema, list) else schema


def main() -> None:
    """Print the description."""
    app = FastAPI()
    app.include_router(router)
    print(json.dumps(gate_api(describe(app, Settings())), indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
