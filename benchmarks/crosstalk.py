"""How good a model is in many rooms: those that it has learned from, by days kept aside, and those left out.

    python benchmarks/crosstalk.py RECORD MODEL ROOMS --data DATA [--room NAME ...] [--most 3000]

ROOMS is the file that `towhom train-crosstalk` takes; of each room, the days that training keeps aside are
taken. Where people name each other in front (`name:` or `@name`), samples of the paper's task are made of
them, in documents of 500 messages: addressee and response are selected with 15 messages of context, beside
Direct-Recent+TF-IDF in the same run. Where there are topics, the room is pulled apart as if it had none:
one-to-one overlap of its conversations with the topics, day by day. Where it was noted whom something is for
(meetings), the share of these that is found; "the group" is nobody in particular.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array

import towhom
from towhom.chat import Kind
from towhom.corpus import Corpus, build_corpus
from towhom.corpus.splits import Split
from towhom.errors import CorpusError
from towhom.evaluation.calibration import reliability
from towhom.evaluation.evaluator import evaluate, summary
from towhom.live import Model
from towhom.models.crosstalk import Crosstalk
from towhom.models.registry import baseline
from towhom.records import circumstances, write_record
from towhom.training.crosstalk.rooms import Segment, Source, Taught, read_recipe, segments

_CONTEXT = 15
_DOCUMENT = 500
"""Messages of a document, from which candidates are drawn."""
_AT = re.compile(r"^\s*@([\w.-]+)[,:]?\s+")


def kept_aside(source: Source, data: Path) -> list[Segment]:
    """The segments of a room that were not used for training."""
    return [segment for segment in segments(source, data) if segment.part != "train"]


def selection(model: Model, room: list[Segment], most: int) -> dict[str, Any] | None:
    """The paper's task, on samples of a room; None if it has too few."""
    with tempfile.TemporaryDirectory() as folder:
        logs: list[Path] = []
        for segment in room:
            for start in range(0, len(segment.messages), _DOCUMENT):
                logs.append(Path(folder) / f"{len(logs):05}.jsonl")
                said = segment.messages[start : start + _DOCUMENT]
                logs[-1].write_text("".join(map(_line, said)), "utf-8")
        try:
            corpus = build_corpus(Path(folder) / "corpus", splits={Split.TEST: logs})
        except CorpusError:
            return None
        return _selected(model, corpus, most)


def _line(taught: Taught) -> str:
    """A line of a log, with names in front written as the protocol requires."""
    message = taught.message
    if message.kind is not Kind.MESSAGE:
        return ""
    text = _AT.sub(r"\1: ", " ".join(message.text.split()))
    return json.dumps({"speaker": message.speaker, "text": text}) + "\n"


def _selected(model: Model, corpus: Corpus, most: int) -> dict[str, Any]:
    samples = corpus.samples_of(Split.TEST)
    every = max(len(samples) // most, 1)
    result: dict[str, Any] = {}
    systems = {
        "crosstalk": Crosstalk(model.mind, model.lexicon),
        "direct-recent-tfidf": baseline("direct-recent-tfidf", corpus),
    }
    for candidates in (2, 10):
        for name, system in systems.items():
            found = evaluate(
                system, corpus, Split.TEST, context=_CONTEXT, candidates=candidates, every=every
            )  # fmt: skip
            result.setdefault(name, {})[str(candidates)] = summary(found)
    return result


def topics(model: Model, room: list[Segment]) -> dict[str, Any]:
    """How well the found conversations match a room's topics, which are hidden from the model."""
    messages, matched = 0, 0.0
    for segment in room:
        chat = [
            replace(each.message, line=line, channel=None, addressee=None, reply_to=None)
            for line, each in enumerate(segment.messages)
        ]
        placed = list(model.threads(chat))
        days = np.array([each.time.date().toordinal() if each.time else 0 for each in chat])
        true = np.unique([str(each.topic) for each in segment.messages], return_inverse=True)[1]
        found = np.unique([each.thread for each in placed], return_inverse=True)[1]
        messages += len(chat)
        matched += sum(one_to_one(true[days == day], found[days == day]) for day in np.unique(days))
    return {"messages": messages, "one_to_one": round(100 * matched / messages, 2)}


def one_to_one(true: NDArray[np.int64], found: NDArray[np.int64]) -> float:
    """The overlap in messages, under the best one-to-one match of conversations and topics."""
    common = coo_array((np.ones(len(true)), (true, found))).toarray()
    rows, columns = linear_sum_assignment(-common)
    return float(common[rows, columns].sum())


def meant(model: Model, room: list[Segment]) -> dict[str, Any]:
    """Accuracy of addressees, in rooms where they were annotated."""
    right: list[bool] = []
    sure: list[float] = []
    truths = Counter[bool]()
    for segment in room:
        observations = model.session().observe_all([each.message for each in segment.messages])
        for taught, seen in zip(segment.messages, observations, strict=True):
            if taught.addressees is not None:
                to = taught.addressees[0] if len(taught.addressees) == 1 else None
                truths[to is None] += 1
                right.append(seen.addressees[0].id == to)
                sure.append(seen.probability)
    return {
        "messages": len(right),
        "right": round(100 * float(np.mean(right)), 2),
        "always_the_group": round(100 * truths[True] / len(right), 2),
        "calibration_error": reliability(np.array(sure), np.array(right))["error"],
    }


def measured(model: Model, source: Source, data: Path, most: int) -> dict[str, Any]:
    """All results for a room."""
    room = kept_aside(source, data)
    result: dict[str, Any] = {}
    if any(each.addressees is not None for segment in room for each in segment.messages):
        result["meant"] = meant(model, room)
    elif any(each.topic is not None for segment in room for each in segment.messages):
        result["topics"] = topics(model, room)
    if "meant" not in result and (found := selection(model, room, most)) is not None:
        result["selection"] = found
    return result


def main() -> None:
    """Measure a model in all rooms, or some."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("record", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("rooms", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--room", action="append", help="only these")
    parser.add_argument("--most", type=int, default=3000, help="samples of a room, about")
    options = parser.parse_args()
    model = towhom.load(options.model)
    learned = {room["name"] for room in model.saved.training.get("rooms", ())}
    found: dict[str, Any] = {}
    for source in read_recipe(options.rooms):
        if options.room is None or source.name in options.room:
            here = measured(model, source, options.data, options.most)
            found[source.name] = {"learned_from": source.name in learned, **here}
            print(source.name, json.dumps(found[source.name]), flush=True)
    write_record(options.record, {**circumstances(), "model": model.saved.fingerprint, "rooms": found})


if __name__ == "__main__":
    main()
