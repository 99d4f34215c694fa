"""Writes conversations as folders for other tools: a ConvoKit corpus or a Hugging Face dataset."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from towhom.chat import seconds_since_1970
from towhom.errors import TowhomError
from towhom.files import atomic_folder
from towhom.hearing.utterance import SPOKEN
from towhom.live.reading import Answered, record

_CARD = """\
---
configs:
- config_name: default
  data_files:
  - split: train
    path: messages.jsonl
---

# {title}

{count:,} messages, written by towhom {version}. Each has an `id`; `replies_to` is the id of what it answers,
its own if it starts a conversation; `thread` is the id of the message that started the conversation.
`addressee` is who the message is for, as it says itself (`how` is `named`) or as the model reads it
(`inferred`).

    from datasets import load_dataset
    messages = load_dataset("{folder}", split="train")
"""
_DATASET = (
    "id", "room", "day", "time", "file", "line", "speaker", "name", "addressee", "how", "probability",
    "audience", "replies_to", "link_probability", "thread", "text",
)  # fmt: skip
_META = ("room", "addressee", "how", "probability", "link_probability", "file", "line", "kind")


def write_export(to: str, answers: Iterable[Answered], out: Path | None) -> int:
    """Write conversations as a folder.

    Args:
        to: A name from `EXPORTS`.
        answers: Messages with the model's answers.
        out: The folder, which appears when it is complete.

    Returns:
        The number of messages in it.

    Raises:
        TowhomError: No folder is given, or it exists already.
    """
    if out is None:
        raise TowhomError(f"--to {to} needs a folder to write to: -o FOLDER")
    if out.exists():
        raise TowhomError(f"{out}: already exists; choose another folder or remove it")
    spoken = (each for each in answers if each.message.kind in SPOKEN)
    with atomic_folder(out) as folder:
        return EXPORTS[to](spoken, folder, out.name)


def _convokit(answers: Iterator[Answered], folder: Path, title: str) -> int:
    """Write the files of a ConvoKit corpus; a conversation has the id of its first message."""
    speakers: dict[str, dict[str, Any]] = {}
    conversations: dict[str, dict[str, Any]] = {}
    begun: dict[str, str] = {}
    written: set[str] = set()
    with (folder / "utterances.jsonl").open("w", encoding="utf-8") as file:
        for answered in answers:
            found, message = record(answered), answered.message
            if found["thread"] not in conversations:  # its start may not be among the chosen messages
                begun[found["thread"]] = found["id"]
                conversations[found["thread"]] = {"meta": {"room": found["room"]}, "vectors": []}
            first = begun[found["thread"]]
            answers_to = found["replies_to"] if found["replies_to"] in written else first
            written.add(found["id"])
            speakers.setdefault(message.speaker, {"meta": {}, "vectors": []})["meta"]["name"] = found["name"]
            utterance = {
                "id": found["id"],
                "conversation_id": found["thread"],
                "text": message.text,
                "speaker": message.speaker,
                "meta": {name: found[name] for name in _META},
                "reply-to": None if first == found["id"] else answers_to,
                "timestamp": None if message.time is None else seconds_since_1970(message.time),
                "vectors": [],
            }
            _line(file.write, utterance)
    _json(folder / "speakers.json", speakers)
    _json(folder / "conversations.json", conversations)
    _json(folder / "corpus.json", {"name": title})
    types = {"probability": "float", "link_probability": "float", "line": "int"}
    index = {
        "utterances-index": {name: [f"<class '{types.get(name, 'str')}'>"] for name in _META},
        "speakers-index": {"name": ["<class 'str'>"]},
        "conversations-index": {"room": ["<class 'str'>"]},
        "overall-index": {"name": ["<class 'str'>"]},
        "version": 1,
        "vectors": [],
    }
    _json(folder / "index.json", index)
    return len(written)


def _datasets(answers: Iterator[Answered], folder: Path, title: str) -> int:
    """Write `messages.jsonl` and a card, for `load_dataset`."""
    from towhom.version import __version__

    count = 0
    with (folder / "messages.jsonl").open("w", encoding="utf-8") as file:
        for answered in answers:
            found = record(answered)
            _line(file.write, {name: found[name] for name in _DATASET})
            count += 1
    card = _CARD.format(title=title, folder=title, count=count, version=__version__)
    (folder / "README.md").write_text(card, "utf-8")
    return count


def _line(write: Callable[[str], object], value: Mapping[str, Any]) -> None:
    write(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n")


def _json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value), "utf-8")


EXPORTS: dict[str, Callable[[Iterator[Answered], Path, str], int]] = {
    "convokit": _convokit,
    "datasets": _datasets,
}
"""Name -> the function that writes this kind of folder."""
