"""Writes the statistics tables of the training and evaluation corpora, as a page with its record.

    python benchmarks/corpora.py ../shared/data CORPORA results

Builds (or finds up to date) in the folder CORPORA: `ubuntu-irc` with the split of its authors, and the two
channels of `web-irc`, split by time, alone and together. Writes corpora.md and corpora.json.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from towhom.corpus import Corpus
from towhom.corpus.stats import split_statistics
from towhom.records import circumstances, write_record

BUILDS = {
    "ubuntu-irc": ["--train", "ubuntu-irc/train", "--dev", "ubuntu-irc/dev"],
    "developers": ["web-irc/developers.txt.xz", "--split-by", "time"],
    "whatwg": ["web-irc/whatwg.txt.xz", "--split-by", "time"],
    "web-irc": ["web-irc/developers.txt.xz", "web-irc/whatwg.txt.xz", "--split-by", "time"],
    "all": [
        "--train", "ubuntu-irc/train", "--dev", "ubuntu-irc/dev",
        "web-irc/developers.txt.xz", "web-irc/whatwg.txt.xz", "--split-by", "time",
    ],
}  # fmt: skip
"""Corpus -> arguments of `towhom corpus build`; one with a slash is a log in the data folder."""


def towhom(*arguments: str) -> str:
    """Run the command and return its output."""
    command = [sys.executable, "-c", "from towhom.cli import main; main()", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Build, describe, write."""
    data, corpora, out = map(Path, sys.argv[1:4])
    record: dict[str, Any] = {**circumstances(), "corpora": {}}
    page = ["# The corpora", "", "Made by `benchmarks/corpora.py`; the record is `corpora.json`.", ""]
    for name, arguments in BUILDS.items():
        located = [str(data / argument) if "/" in argument else argument for argument in arguments]
        folder = corpora / name
        towhom("corpus", "build", str(folder), *located, "--quiet")
        manifest = Corpus(folder).manifest
        command = " ".join(["towhom corpus build", name, *arguments])
        record["corpora"][name] = {
            "command": command,
            "statistics": split_statistics(Corpus(folder)),
            **{key: manifest[key] for key in ("hash", "settings", "left_out", "read", "sources")},
        }
        if len(manifest["sources"]) > 10:
            record["corpora"][name].pop("sources")  # one line per file; the hash covers them
        left_out = manifest["left_out"]
        page += [f"## {name}", "", f"    {command}", "", towhom("corpus", "stats", str(folder), "--markdown")]
        page += [
            f"Left out: {left_out['documents']:,} documents with fewer than ten addressed messages "
            f"({left_out['messages']:,} messages, {left_out['addressed']:,} of them addressed).",
            "",
        ]
    out.mkdir(parents=True, exist_ok=True)
    write_record(out / "corpora.json", record)
    (out / "corpora.md").write_text("\n".join(page), "utf-8")


if __name__ == "__main__":
    main()
