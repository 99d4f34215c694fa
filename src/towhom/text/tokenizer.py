"""Split messages into lower-cased Penn Treebank tokens, as in the published corpus.

That corpus was made with NLTK's `TreebankWordTokenizer`, which runs some twenty substitutions over every
message. None of its rules looks across a space for more than the space itself, so here a message is first
split at white space, and the rules run on one chunk at a time. Chat is repetitive: nearly every chunk has
been seen before, and its tokens are cached. Only the last chunk is special, because a period counts as the
end of a sentence only there.

Two differences from NLTK are intentional:

- Quotes stay `"`. The Treebank writes two backticks or two apostrophes; files of word vectors have `"`.
- All white space is the same, and is ignored at both ends. NLTK needs a space after a clitic: with a tab or
  a line break after it, `don't` stays whole.
"""

from __future__ import annotations

import re
from itertools import chain

TREEBANK = "treebank-1"
"""Name and version of this tokenization, which is recorded in corpora."""

_MEMO_CHUNKS = 1 << 16
_MEMO_LENGTH = 32
"""Longest chunk cached; longer ones are links and paths, which rarely recur and could be of any size."""

_FINAL_PERIOD = re.compile(r"""([^.])\.([\])}>"']*)$""")
# A match includes the character after the mark, so that only the first comma of `,,x` is split off.
_COMMA = re.compile(r"([:,])(\D|$)")
_MARK = re.compile(r"(\.\.\.|[;@#$%&?!])")
_CLOSING = re.compile(r"([^'])' ")
_BRACKET = re.compile(r"(--|[\[\](){}<>])")
_CLITICS = (re.compile(r"([^' ])('[smd]|') "), re.compile(r"([^' ])('ll|'re|'ve|n't) "))
_TWO_IN_ONE = re.compile(
    r"\b(can(?=not\b)|gim(?=me\b)|lem(?=me\b)|gon(?=na\b)|wan(?=na )|got(?=ta\b)|d(?='ye\b)|more(?='n\b))"
    r"(not|me|na|ta|'ye|'n)"
)
_IT = (re.compile(r" ('t)(is)\b"), re.compile(r" ('t)(was)\b"))


def _split(chunk: str, *, last: bool) -> tuple[str, ...]:
    """The tokens of a chunk without white space; `last` if it ends the message.

    Each rule works on the result of the one before, in an order that gives the same tokens as NLTK's. A rule
    runs only if its character is present: a substitution without a match costs more than all these tests.
    """
    text = f" {chunk}" if last else f" {chunk} "
    if not chunk.isalnum():
        text = _split_marks(text, last=last)
    if last:
        text += " "
    if "'" in text:
        for clitics in _CLITICS:
            text = clitics.sub(r"\1 \2 ", text)
    if _TWO_IN_ONE.search(text):
        text = _TWO_IN_ONE.sub(r" \1 \2 ", text)
    if "'t" in text:
        for it in _IT:
            text = it.sub(r" \1 \2 ", text)
    return tuple(text.split())


def _split_marks(text: str, *, last: bool) -> str:
    """Put spaces around everything that is not part of a word."""
    if last and "." in text:
        text = _FINAL_PERIOD.sub(r"\1 .\2 ", text)
    text = text.replace("``", ' " ')
    if "," in text or ":" in text:
        text = _COMMA.sub(r" \1 \2", text)
    text = " ".join(_MARK.split(text))
    if "'" in text:
        text = _CLOSING.sub(r"\1 ' ", text)
    text = " ".join(_BRACKET.split(text))
    return text.replace("''", ' " ').replace('"', ' " ')


class _Memo(dict[str, tuple[str, ...]]):
    """Cache of the tokens of chunks seen before. When it is full, it is cleared.

    It is a `dict` that fills itself, so that a hit runs no Python code. Threads may share it, since every
    thread stores the same tokens for a chunk.
    """

    def __init__(self, *, last: bool) -> None:
        super().__init__()
        self._last = last

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        tokens = _split(chunk, last=self._last)
        if len(chunk) <= _MEMO_LENGTH:
            if len(self) >= _MEMO_CHUNKS:
                self.clear()
            self[chunk] = tokens
        return tokens


_inner = _Memo(last=False)
_last = _Memo(last=True)


def tokenize(text: str) -> list[str]:
    """The lower-cased Treebank tokens of a message.

    >>> tokenize("Don't panic (it's only 3,000 files).")
    ['do', "n't", 'panic', '(', 'it', "'s", 'only', '3,000', 'files', ')', '.']
    >>> tokenize('he said "no..." twice')
    ['he', 'said', '"', 'no', '...', '"', 'twice']
    """
    chunks = text.lower().split()
    if not chunks:
        return []
    end = _last[chunks.pop()]
    tokens = list(chain.from_iterable(map(_inner.__getitem__, chunks)))
    tokens += end
    return tokens
