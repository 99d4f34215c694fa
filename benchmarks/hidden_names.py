"""Threads in channels of which nobody has drawn reply links: do they lead to the person who was named?

    python benchmarks/hidden_names.py RECORD CORPUS[:SPLIT] ... [--documents 40] [--share 0.2]

Of some messages that name somebody in front, the name is cut off, and the log is pulled apart. A message is
right if what it is said to answer was said by that person; or if it goes on with an own message which names
them or, in turn, answers them. Only messages count whose addressee has spoken within reach. Beside it, what
rules of thumb say of the same messages.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import towhom
from towhom.chat import Message
from towhom.corpus import Corpus, Split
from towhom.hearing.utterance import REACH
from towhom.records import circumstances, write_record
from towhom.threads import Placed
from towhom.threads.baselines import BASELINES, place_by_rule


def hide(
    messages: Iterable[Message], share: float, random: np.random.Generator
) -> tuple[list[Message], dict[int, str]]:
    """The messages, the addressees of some of them cut off; and who these are, by line."""
    chat, hidden = list[Message](), dict[int, str]()
    for line, message in enumerate(messages):
        recent, to = chat[-REACH:], message.addressee
        near = to != message.speaker and any(each.speaker == to for each in recent)
        if near and to is not None and random.random() < share:
            hidden[line], message = to, replace(message, addressee=None)
        chat.append(replace(message, line=line))
    return chat, hidden


def right(placed: Iterable[Placed], chat: list[Message], hidden: dict[int, str]) -> list[bool]:
    """Of each message whose addressee was cut off, whether the link leads to them."""
    parents = {each.line: each.replies_to[0] for each in placed}
    result = []
    for line, name in hidden.items():
        at = parents[line]
        while parents[at] != at and chat[at].speaker == chat[line].speaker and chat[at].addressee is None:
            at = parents[at]
        mine = chat[at].speaker == chat[line].speaker
        result.append(at != line and (chat[at].addressee if mine else chat[at].speaker) == name)
    return result


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("record", type=Path)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--share", type=float, default=0.2)
    options = parser.parse_args()
    model = towhom.load()
    follow: dict[str, Callable[[list[Message]], Iterable[Placed]]] = {
        **{name: partial(place_by_rule, name) for name in BASELINES},
        "towhom": model.threads,
    }
    results: dict[str, Any] = {}
    for name in options.corpora:
        folder, _, split = name.partition(":")
        corpus = Corpus(folder)
        wanted = [Split(split)] if split else list(Split)
        documents = [d for each in wanted for d in corpus.documents_of(each)][: options.documents]
        random = np.random.default_rng(0)
        found: dict[str, list[bool]] = {each: [] for each in follow}
        for document in documents:
            chat, names = hide(corpus.conversation(document), options.share, random)
            for each, place in follow.items():
                found[each] += right(place(chat), chat, names)
        results[name] = {
            "documents": len(documents),
            "messages": len(found["towhom"]),
            **{each: round(100 * float(np.mean(values)), 2) for each, values in found.items()},
        }
        results[name]["corpus"] = corpus.manifest["hash"]
        print(name, results[name], flush=True)
    write_record(options.record, {**circumstances(), "share": options.share, "results": results})


if __name__ == "__main__":
    main()
