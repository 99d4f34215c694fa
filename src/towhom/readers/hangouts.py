"""Google Hangouts: `Hangouts.json` of Google Takeout, with all conversations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from towhom.chat import Kind
from towhom.readers.base import Folder, Source
from towhom.readers.json_export import head_values, items_below, name_in, part, since_epoch
from towhom.readers.posts import Post, Posts, identifier, iso, object_of, objects

_SHAPES = {
    # Path of events -> path of their conversation, in the layouts that Takeout has used over time.
    "conversations.item.events.item": "conversations.item.conversation.conversation",
    "conversation_state.item.conversation_state.event.item": (
        "conversation_state.item.conversation_state.conversation"
    ),
    "conversation_state.event.item": "conversation_state.conversation",
}
_LONGEST_ROOM = 200
_TEXTS = ("TEXT", "LINK", "LINE_BREAK")


class Hangouts(Posts):
    """Conversations, each with its people followed by its events."""

    name = "hangouts"
    title = "Google Hangouts (Hangouts.json of Google Takeout)"
    paths = tuple(_SHAPES)

    @classmethod
    def where(cls, source: Source) -> str | None:
        """The path of the events, recognized by the people of the first conversation, which come first."""
        head = head_values(source)
        return next((path for path, beside in _SHAPES.items() if f"{beside}.participant_data" in head), None)

    @classmethod
    def files(cls, folder: Folder) -> Iterator[Source]:
        """Yield `Hangouts.json`."""
        for file in folder.files:
            if file.name.endswith("/Hangouts.json"):
                if cls.where(file) is not None:
                    yield file
                file.forget_head()

    def file_values(self, file: Source, source: Source | Folder) -> Iterator[tuple[int, Any]]:
        """Yield events with the names of their conversation and speaker."""
        path = self.path if file is source else self.where(file)
        file.forget_head()
        beside = _SHAPES[path or self.path]
        conversation, people, room = None, dict[str | None, str | None](), ""
        for number, (around, value) in enumerate(items_below(file, path or self.path, beside)):
            if around.get(beside) is not conversation:
                conversation = around.get(beside)
                listed = objects(part(conversation, "participant_data"))
                people = {_person(each.get("id")): name_in(each, "fallback_name") for each in listed}
                names = ", ".join(sorted(filter(None, people.values())))
                room = name_in(conversation, "name") or names[:_LONGEST_ROOM]
            if isinstance(value, dict):
                speaker = people.get(_person(value.get("sender_id")))
                value = {**value, "room": room or None, "speaker": speaker}
            yield number, value

    def post(self, value: Any) -> Post:
        """Turn an event into a post; one without text is a picture, a call, a join or a leave."""
        value = object_of(value)
        content = part(value, "chat_message", "message_content")
        pieces = [
            "\n" if piece.get("type") == "LINE_BREAK" else piece.get("text")
            for piece in objects(part(content, "segment"))
            if piece.get("type") in _TEXTS
        ]
        sent = identifier(value.get("timestamp"))
        if sent is None or not sent.isdecimal() or len(sent) > 18:
            raise ValueError('"timestamp" is missing or not a time in microseconds')
        text = "".join(piece for piece in pieces if isinstance(piece, str))
        return Post(
            text=text or name_in(value, "event_type") or "",
            person=_person(value.get("sender_id")),
            speaker=name_in(value, "speaker"),
            time=iso(since_epoch(microseconds=int(sent))),
            id=identifier(value.get("event_id")),
            kind=Kind.MESSAGE if text else Kind.SYSTEM,
            room=name_in(value, "room"),
        )


def _person(value: Any) -> str | None:
    return name_in(value, "chat_id", "gaia_id")
