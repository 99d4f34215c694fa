"""Facebook Messenger and Instagram: `message_1.json` of their data downloads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import ijson

from towhom.chat import Kind
from towhom.readers.base import Folder, Source
from towhom.readers.json_export import name_in, read_json
from towhom.readers.posts import Post, Posts, iso_milliseconds, object_of

_FILE = re.compile(r"message_[0-9]{1,4}\.json|.*_[0-9]{1,4}\.json")
_EVENTS = {"call_duration", "users"}
"""Keys of calls, and of events where people come or go."""
_NOTHING_SAID = re.compile(
    r"Liked a message|Reacted .{1,20} to your message ?|.{1,100} sent an attachment\.", re.DOTALL
)


class Facebook(Posts):
    """A conversation, or a folder of them. Texts are UTF-8 wrongly decoded as Latin-1, which is corrected."""

    name = "facebook"
    title = "Facebook Messenger or Instagram messages (message_1.json, or the folder or zip of the download)"
    paths = ("messages.item", "item.messages.item")
    signs = (("sender_name", "timestamp_ms"), ("senderName", "timestamp"))

    @classmethod
    def files(cls, folder: Folder) -> Iterator[Source]:
        """Yield the message files in the folders of conversations."""
        for file in folder.files:
            if _FILE.fullmatch(PurePosixPath(file.name).name):
                if cls.where(file) is not None:
                    yield file
                file.forget_head()

    def file_values(self, file: Source, source: Source | Folder) -> Iterator[tuple[int, Any]]:
        """Yield messages with the title of their conversation, which comes after them in the file."""
        room = next((title for title in _titles(file) if isinstance(title, str) and title.strip()), None)
        if room is None and isinstance(source, Folder):
            room = PurePosixPath(file.name).parent.name.rpartition("_")[0] or None
        for number, value in super().file_values(file, source):
            yield number, {**value, "room": room} if isinstance(value, dict) else value

    def post(self, value: Any) -> Post:
        """Turn a message into a post; pictures, calls and joins have no content, or one from Facebook."""
        value = object_of(value)
        text = name_in(value, "content", "text") or ""
        said = value.get("type") in (None, "Generic", "Share", "text", "link")
        said = (
            said and not value.get("is_unsent") and not value.get("isUnsent") and not value.keys() & _EVENTS
        )
        text, speaker = mended(text), mended(name_in(value, "sender_name", "senderName") or "")
        room = name_in(value, "room")
        time = value.get("timestamp_ms", value.get("timestamp"))
        return Post(
            text=text,
            speaker=speaker or None,
            time=iso_milliseconds(time, "timestamp_ms"),
            kind=Kind.MESSAGE if said and not _NOTHING_SAID.fullmatch(text) else Kind.SYSTEM,
            room=mended(room) if room else None,
        )


def _titles(file: Source) -> Iterator[Any]:
    for key in ("title", "threadName"):
        # The path of messages is given, so that each message around the title may have the full length.
        yield from read_json(file, partial(ijson.items, prefix=key, use_float=True), "messages.item")


def mended(text: str) -> str:
    """Correct a text whose UTF-8 bytes were decoded as Latin-1; leave any other unchanged.

    >>> mended("caf\u00c3\u00a9"), mended("caf\u00e9")
    ('café', 'café')
    """
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
