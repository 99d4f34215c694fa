"""Who can be addressed in a channel, and by which names. Bounded: who was silent for long is forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from towhom.addressing import prefix_pattern
from towhom.corpus.vocabulary import name_parts

REMEMBERED = 1000
"""People who are known by name: more than speak in a day of the busiest channels."""


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
        self._aliases: dict[str, str] = {}
        self._parts: Counter[str] = Counter()
        self._prefix = prefix_pattern([])

    def introduce(self, name: str, aliases: Iterable[str] = ()) -> None:
        """Make somebody known who may not have spoken, by all their names."""
        others = tuple(dict.fromkeys(alias for alias in aliases if alias != name))
        self.introduced[name] = others
        for each in (name, *others):
            self._aliases[each.lower()] = name
            self._parts.update(name_parts(each))
        self._renew()

    def heard(self, name: str) -> bool:
        """Somebody speaks; returns whether they are new."""
        if name in self.names:
            del self.names[name]
            self.names[name] = None
            return False
        self.names[name] = None
        self._parts.update(name_parts(name))
        if len(self.names) > REMEMBERED:
            forgotten = next(iter(self.names))
            del self.names[forgotten]
            for part in name_parts(forgotten):
                self._parts[part] -= 1
                if not self._parts[part]:
                    del self._parts[part]
        if len(name.split()) > 1:
            self._renew()
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

    def in_front(self, text: str) -> tuple[str, str] | None:
        """What may be a name at the start of a text, a separator after it; and the rest of the text."""
        found = self._prefix.match(text)
        return None if found is None else (found[1], text[found.end() :])

    def named_in_front(self, text: str) -> tuple[str, str] | None:
        """Who is named at the start of a text, and the rest of it."""
        found = self.in_front(text)
        if found is None:
            return None
        name = self.known_as(found[0])
        return None if name is None else (name, found[1])

    def mentioned(self, words: set[str]) -> set[str]:
        """Those introduced whose names are among some lower-cased words."""
        return {self._aliases[word] for word in words & self._aliases.keys()}

    def _renew(self) -> None:
        others = (alias for aliases in self.introduced.values() for alias in aliases)
        self._prefix = prefix_pattern([*self.names, *self.introduced, *others])
