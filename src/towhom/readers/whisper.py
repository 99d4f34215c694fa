"""JSON transcripts of whisperX and similar programs: segments, each with its speaker."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from towhom.chat import Kind
from towhom.readers.json_export import name_in, text_at
from towhom.readers.posts import Post, Posts, iso, object_of

_START = datetime(1, 1, 1)
_UNKNOWN = "UNKNOWN"


class Whisper(Posts):
    """Segments of a recording. Segments without a speaker get one name for all unknown speakers."""

    name = "whisper"
    title = "transcript with speakers (JSON of whisperX: segments with start, text and speaker)"
    ordered = True
    paths = ("segments.item", "item", "")
    signs = (("start", "end", "text", "speaker"),)

    def post(self, value: Any) -> Post:
        """Turn a segment into a post; times are seconds since the start of the recording."""
        value = object_of(value)
        start = value.get("start")
        if not isinstance(start, int | float) or not 0 <= start < 1e9:
            raise ValueError('"start" is missing or not a number of seconds')
        return Post(
            text=text_at(value, "text").strip(),
            speaker=name_in(value, "speaker") or _UNKNOWN,
            time=iso(_START + timedelta(seconds=start)),
            kind=Kind.MESSAGE,
        )
