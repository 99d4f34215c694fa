"""The single format of errors: a code for programs, a sentence for people, and the field that is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

_OF_STATUS = {
    400: ("invalid-json", "The body is not valid JSON.", "body"),
    404: ("not-found", "There is nothing at this address; /openapi.json lists what there is.", None),
    405: ("method-not-allowed", "This address knows other methods; the header Allow lists them.", None),
}
"""Status of a refusal by the framework -> code, sentence, field."""
_CHANNEL = "A channel's id has 1 to 128 characters, letters, digits and ._~#@:+- only, not all of them dots."
_TIME = "A time is a text in ISO 8601, like 2024-05-31T10:00:00Z."
_OF_TYPE = {
    "missing": "This field is missing.",
    "extra_forbidden": "There is a field in here that is not known; /openapi.json lists those that are.",
    "string_type": "This must be a text.",
    "identifier_type": "This must be a text or a whole number.",
    "identifier_size": "A whole number has at most 20 digits here; send a longer one as a text.",
    "bool_type": "This must be true or false.",
    "literal_error": "This kind is not known; /openapi.json lists those that are.",
    "string_too_short": "This must not be empty.",
    "string_unicode": "This text has half a surrogate pair in it, which no text can have.",
    "string_pattern_mismatch": _CHANNEL,
    "datetime_type": _TIME,
    "datetime_parsing": _TIME,
    "datetime_from_date_parsing": _TIME,
    "list_type": "This must be a list.",
    "too_short": "There must be one or more of these.",
    "model_attributes_type": "This must be an object.",
}
"""Type of a validation error -> sentence; others use pydantic's message. None quotes the content."""


class Problem(HTTPException):
    """A request that cannot be answered.

    Args:
        status: HTTP status.
        code: What is wrong, for programs; in kebab case.
        message: What is wrong and what to do, in one sentence. Never quotes a chat, never names a path.
        where: The field that is wrong, like `body.messages[3].text`.
        headers: Additional headers of the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        where: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, code, headers)
        self.code, self.message, self.where = code, message, where

    def response(self) -> JSONResponse:
        """The answer to the request."""
        return JSONResponse({"error": self._record()}, self.status_code, self.headers)

    def line(self) -> str:
        """The last line of a stream that ends with this problem."""
        return json.dumps({"type": "error", "error": self._record()})

    def _record(self) -> dict[str, str | None]:
        return {"code": self.code, "message": self.message, "where": self.where}


def of_status(status: int, headers: Mapping[str, str] | None = None) -> Problem:
    """The problem for a refusal by the framework: unknown address or method, or a body that is not JSON."""
    code, sentence, where = _OF_STATUS.get(status, ("bad-request", "The request cannot be read.", None))
    return Problem(status, code, sentence, where, headers)


def of_validation(errors: Sequence[Mapping[str, Any]]) -> Problem:
    """The problem for the first validation error in a request's content."""
    error = errors[0]
    kind, place = str(error["type"]), tuple(error["loc"])
    if kind == "json_invalid":
        return of_status(400)
    if kind == "extra_forbidden":  # its last part is a name that the client made up
        place = place[:-1]
    sentence = _CHANNEL if place == ("path", "id") else _OF_TYPE.get(kind, f"{error['msg']}.")
    if place == ("body",):
        sentence = "The body must be an object; /openapi.json says of what kind."
    return Problem(422, "invalid-request", sentence, _where(place))


def internal() -> Problem:
    """The problem for an error in our code."""
    return Problem(500, "internal", "The server made an error; its log has it under the id in X-Request-Id.")


def stopping() -> Problem:
    """The problem for a server that stops before it has answered."""
    return Problem(503, "stopping", "The server stops, and did not finish this; send it again later.")


def _where(place: Sequence[str | int]) -> str:
    """A field like `body.messages[3].text`; parts in angle brackets (alternatives of a body) are left out."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in place]
    return "".join(part for part in parts if not part.startswith(".<")).removeprefix(".")
