"""Replace names with pseudonyms that stay the same in every report with the same chat and secret."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from unicodedata import combining, normalize

from towhom.report.columns import Columns

_FIRST = (
    "Amber", "Ashen", "Azure", "Brisk", "Bronze", "Calm", "Clever", "Copper", "Coral", "Crimson", "Curious",
    "Dapper", "Dusky", "Eager", "Early", "Ebony", "Fabled", "Fair", "Fleet", "Gentle", "Gilded", "Golden",
    "Hazel", "Hidden", "Humble", "Indigo", "Ivory", "Jolly", "Keen", "Lively", "Lofty", "Lucid", "Lunar",
    "Merry", "Mellow", "Misty", "Modest", "Nimble", "Noble", "Ochre", "Olive", "Patient", "Placid", "Plucky",
    "Proud", "Quick", "Quiet", "Rapid", "Ruby", "Rustic", "Sable", "Scarlet", "Serene", "Silver", "Solar",
    "Steady", "Sunny", "Swift", "Tawny", "Teal", "Velvet", "Vivid", "Wise", "Zesty",
)  # fmt: skip
_SECOND = (
    "Badger", "Beaver", "Bison", "Bobcat", "Condor", "Crane", "Curlew", "Dingo", "Dolphin", "Dove", "Egret",
    "Elk", "Falcon", "Ferret", "Finch", "Fox", "Gecko", "Gibbon", "Goose", "Grouse", "Hare", "Heron",
    "Hornet", "Ibex", "Ibis", "Jackal", "Jay", "Kestrel", "Kiwi", "Koala", "Lark", "Lemur", "Linnet",
    "Lynx", "Magpie", "Marmot", "Marten", "Mole", "Moose", "Newt", "Ocelot", "Orca", "Oriole",
    "Osprey", "Otter", "Owl", "Panda", "Petrel", "Pika", "Plover", "Puffin", "Quail", "Raven", "Robin",
    "Seal", "Shrew", "Siskin", "Stoat", "Swan", "Tapir", "Tern", "Thrush", "Vole", "Wren",
)  # fmt: skip
_LEAST = 3
"""Fewest letters for a part of a name to be hidden when it stands alone."""
_COMMON = 5_000
"""Number of the model's most frequent words that count as words even if they are also names."""
_EVERYBODY = {"here", "channel", "everyone", "all", "room"}
"""Mentions that address a group and not a person."""
_WORD = re.compile(r"\w+")
_PART = re.compile(r"[^\W\d_]+")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w.])\+?[0-9](?:[ ()./-]?[0-9]){7,14}(?!\w)")
"""Mail addresses and telephone numbers."""


def hide_names(columns: Columns, *, secret: str = "") -> Callable[[str], str]:
    """Replace names with pseudonyms: those of speakers, in texts, ids, and names of rooms and files.

    Mail addresses and telephone numbers in texts become "[hidden]". Names of people who never speak stay,
    unless the platform marks them as mentioned, and so does anything else that identifies a person.

    Args:
        columns: The messages; they are changed in place.
        secret: Key of the pseudonyms; without it, anyone who guesses a name can compute its pseudonym.

    Returns:
        A function that hides the same names in other texts.
    """
    silent = (name for name, number in columns.also.items() if number is None and name not in _EVERYBODY)
    given = pseudonyms((name for name in (*columns.people, *silent) if name.strip()), secret=secret)
    for name, number in columns.also.items():
        if number is not None and name.strip() and columns.people[number] in given:
            given.setdefault(name, given[columns.people[number]])
    names = _Names(given)
    columns.texts = [names.hidden(text) for text in columns.texts]
    columns.rooms = [names.hidden(room, addresses=False) for room in columns.rooms]
    columns.files = [names.hidden(file, addresses=False) for file in columns.files]
    columns.ids = [names.hidden(id, addresses=False) for id in columns.ids]
    columns.people = [given.get(name, name) for name in columns.people]
    columns.also = {}
    return names.hidden


def pseudonyms(names: Iterable[str], *, secret: str = "") -> dict[str, str]:
    """A pseudonym for each name; two names never share one.

    >>> pseudonyms(["ada", "grace"]) == pseudonyms(["grace", "ada"])
    True
    """
    given: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(set(names)):
        digest = hashlib.blake2b(name.encode("utf-8", "replace"), key=secret.encode()[:64], digest_size=8)
        number = int.from_bytes(digest.digest(), "big")
        plain = f"{_FIRST[number % 64]} {_SECOND[number // 64 % 64]}"
        free, count = plain, 2
        while free in taken:
            free, count = f"{plain} {count}", count + 1
        taken.add(free)
        given[name] = free
    return given


@cache
def _common_words() -> frozenset[str]:
    """The most frequent words of our model's vocabulary, which leaves out names."""
    words = files("towhom.bundled").joinpath("vocab.json").read_text("utf-8")
    return frozenset(json.loads(words)[:_COMMON])


def _plain(word: str) -> str:
    """A word in lower case and without accents, as people write it in a hurry."""
    if word.isascii():
        return word.lower()
    return "".join(char for char in normalize("NFKD", word.casefold()) if not combining(char))


class _Names:
    """Finds names in texts, both whole names and their parts.

    A part of a name in lower case that is also a common word counts as that word.
    """

    def __init__(self, given: dict[str, str]) -> None:
        self._whole: dict[str, list[tuple[str, str]]] = {}
        self._parts: dict[str, str] = {}
        for name, pseudonym in given.items():
            words = _WORD.findall(name)
            if not words:
                continue
            self._whole.setdefault(words[0].casefold(), []).append((name.casefold(), pseudonym))
            for word in _PART.findall(name):
                if len(word) >= _LEAST and word != name:
                    self._parts.setdefault(_plain(word), pseudonym)
        for names in self._whole.values():
            names.sort(key=lambda pair: -len(pair[0]))

    def hidden(self, text: str, *, addresses: bool = True) -> str:
        """A text with names replaced by pseudonyms and, unless told otherwise, addresses by "[hidden]"."""
        if addresses:
            text = _ADDRESS.sub("[hidden]", text)
        pieces, end = [], 0
        folded = text.casefold()
        same = len(folded) == len(text)
        for found in _WORD.finditer(text):
            if found.start() < end:
                continue
            word = found[0]
            for name, pseudonym in self._whole.get(word.casefold(), ()) if same else ():
                start = found.start() - (len(name) - len(name.lstrip("@#+~&%")))
                stop = max(start, 0) + len(name)
                if folded.startswith(name, max(start, 0)) and not folded[stop : stop + 1].isalnum():
                    pieces += [text[end : max(start, end, 0)], pseudonym]
                    end = stop
                    break
            else:
                pseudonym = self._parts.get(_plain(word), "")
                if pseudonym and (word[0].isupper() or word.casefold() not in _common_words()):
                    pieces += [text[end : found.start()], pseudonym]
                    end = found.end()
        return "".join((*pieces, text[end:]))
