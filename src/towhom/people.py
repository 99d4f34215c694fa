"""Who can be addressed in a channel, and by which names. Bounded: who was silent for long is forgotten."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from towhom.addressing import prefix_pattern
from towhom.corpus.vocabulary import name_parts

REMEMBERED = 1000
"""People who are known by name: more than speak in a day of the busiest channels."""

NAME_LIKE = 0.7
"""A name is recognised inside a text only if, as a word, it tells more than this."""

_ONE_WORD = prefix_pattern([])
_SEPARATOR = re.compile(r"\s*[:,;]\s+(?=\S)")


class People:
    """Names of those who have spoken, the most recent last, and of those who were introduced.

    >>> people = People()
    >>> people.introduce("helper", ["hb"])
    >>> people.named_in_front("hb: are you there?")
    ('helper', 'are you there?')
    """

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        """Those who have spoken; a set that knows its order."""
        self.introduced: dict[str, tuple[str, ...]] = {}
        """Those who may be addressed although they have not spoken, with their other names."""
        self.spoken: dict[str, str] = {}
        """Those who have spoken, by their names in lower-cased letters."""
        self._aliases: dict[str, str] = {}
        self._parts: Counter[str] = Counter()
        # Names of several words, by the first of them.
        self._long: defaultdict[str, list[str]] = defaultdict(list)

    def introduce(self, name: str, aliases: Iterable[str] = ()) -> None:
        """Make somebody known who may not have spoken, by all their names."""
        others = tuple(dict.fromkeys(alias for alias in aliases if alias != name))
        self.introduced[name] = others
        for each in (name, *others):
            self._aliases[each.lower()] = name
            self._add(each)

    def heard(self, name: str) -> bool:
        """Somebody speaks; returns whether they are new."""
        if name in self.names:
            del self.names[name]
            self.names[name] = None
            self.spoken[name.lower()] = name  # of two who differ in case, who spoke last is meant
            return False
        self.names[name] = None
        self.spoken[name.lower()] = name
        self._add(name)
        if len(self.names) > REMEMBERED:
            self._forget(next(iter(self.names)))
        return True

    def is_name(self, word: str) -> bool:
        """Whether a lower-cased word is, or is part of, somebody's name."""
        return word in self._parts

    def known_as(self, name: str) -> str | None:
        """Who is called so. For those who were introduced, in any case of letters."""
        bare = name.removeprefix("@")
        for each in (name, bare):
            if each in self.names:
                return each
        return self._aliases.get(bare.lower())

    def named_in_front(self, text: str) -> tuple[str, str] | None:
        """Who is named at the start of a text, a separator after it; and the rest of the text."""
        start = text.lstrip()
        words = start.split(None, 1)
        for name in self._long.get(words[0], ()) if words else ():
            after = _SEPARATOR.match(start, len(name)) if start.startswith(name) else None
            who = self.known_as(name)
            if after is not None and who is not None:
                return who, start[after.end() :]
        found = _ONE_WORD.match(text)
        who = None if found is None else self.known_as(found[1])
        return None if found is None or who is None else (who, text[found.end() :])

    def mentioned(self, words: Iterable[str], rare: Iterable[str]) -> set[str]:
        """Those whose names are among the lower-cased words of a text.

        Args:
            words: In which those who were introduced are looked for.
            rare: In which all others are: somebody may be called "cool".
        """
        found = {self._aliases[word] for word in words if word in self._aliases}
        return found | {self.spoken[word] for word in rare if word in self.spoken}

    def _add(self, name: str) -> None:
        self._parts.update(name_parts(name))
        words = name.split()
        if len(words) > 1 and name not in self._long[words[0]]:
            self._long[words[0]].append(name)
            self._long[words[0]].sort(key=len, reverse=True)  # "Ada L. B." is not "Ada L."

    def _forget(self, name: str) -> None:
        del self.names[name]
        if self.spoken.get(name.lower()) == name:
            del self.spoken[name.lower()]
        for part in name_parts(name):
            self._parts[part] -= 1
            if not self._parts[part]:
                del self._parts[part]
        words = name.split()
        if len(words) > 1 and name not in self._aliases.values():
            self._long[words[0]].remove(name)
            if not self._long[words[0]]:
                del self._long[words[0]]
