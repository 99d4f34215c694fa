r"""Corpora: labelled samples on disk, built once from messages by the protocol and opened quickly.

>>> import tempfile
>>> from pathlib import Path
>>> from towhom.wire import to_json
>>> from towhom.chat import Message
>>> folder = Path(tempfile.mkdtemp())
>>> chat = [Message("ada", "ready?"), Message("bob", "ada: yes"), Message("ada", "bob: go then")] * 4
>>> _ = (folder / "chat.jsonl").write_text("\n".join(map(to_json, chat)))
>>> settings = CorpusSettings(document=DocumentSettings(min_addressed=1))
>>> corpus = build_corpus(folder / "corpus", [folder / "chat.jsonl"], settings=settings)
>>> len(corpus.samples.message), corpus.samples.candidates[10].shape
(8, (8, 10))
"""

from towhom.corpus.build import CorpusSettings, Names, build_corpus
from towhom.corpus.document import DocumentSettings
from towhom.corpus.splits import Split, SplitBy
from towhom.corpus.store import Corpus

__all__ = ["Corpus", "CorpusSettings", "DocumentSettings", "Names", "Split", "SplitBy", "build_corpus"]
