"""The people of a room: identifiers and names, aliases, renames, bots, and people who were introduced.

Memory is bounded: the speakers who have been silent longest are forgotten.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import regex

from towhom.hearing.spelling import (
    SHORTEST_LOOSE,
    TAIL,
    folded,
    name_parts,
    one_slip,
    short_forms,
    shown_name,
    visible_name,
)
from towhom.hearing.states import flag_of, text_of, texts_of
from towhom.hearing.words import NO_SPACES, normalized, words

REMEMBERED = 1000
"""Number of speakers who are remembered: more than speak in a day in the busiest channels."""
_MOST_LOOSE = 2
"""A part of a name that fits more people than this means nobody."""
_SHORTEST_PREFIX = 4
_SHORTEST_TYPED = 6
"""The least number of letters of a name in which one typing error is allowed."""
_MOST_KEYS = 20
"""Number of earlier names that are remembered per person."""
_ATTACHED = regex.compile(rf"[{NO_SPACES}\p{{Hangul}}]")
"""Characters of scripts in which a name may have a word directly before or after it."""
FIRST_CHUNK = regex.compile(r"[^\s,;:!?()<>\"|/&+\\]*")
"""The text up to a space or a sign that ends a word: `fay` of `fay|afk`."""


@dataclass(slots=True)
class Person:
    """Somebody who may speak or be addressed."""

    id: str
    name: str
    """The name that people see and use."""
    aliases: tuple[str, ...] = ()
    """Their other names."""
    bot: bool = False
    introduced: bool = False
    """Whether they were introduced, so that they are never forgotten."""
    here: bool = False
    """Whether they are known to be in the room without having spoken."""
    spoken: bool = False
    keys: tuple[str, ...] = ()
    """Other identifiers under which they have spoken: earlier or later nicks."""

    @property
    def names(self) -> tuple[str, ...]:
        """All of their names."""
        return tuple(dict.fromkeys((self.name, *self.aliases, *self.keys)))


class People:
    """The people who have spoken in a room, the latest last, and those who were introduced.

    >>> people = People()
    >>> people.introduce("U17", name="Hermes Bot", aliases=["hb"], bot=True).name
    'Hermes Bot'
    >>> people.find("hb").id
    'U17'
    """

    def __init__(self) -> None:
        self._people: dict[str, Person] = {}
        """By identifier; the latest speaker is last."""
        self._ids: dict[str, str] = {}
        """By name: the identifier of the person who speaks under it now."""
        self._exact: dict[str, list[str]] = {}
        self._loose: dict[str, list[str]] = {}
        """Identifiers by short forms of names, such as a nick without its tail."""
        self._first_words: dict[str, list[str]] = {}
        """Names of several words, or with signs that end a word, by their first word."""
        self._attached: Counter[str] = Counter()
        """Names in scripts that do not separate words, or attach endings to them."""
        self._sorted: list[str] = []
        self._parts: Counter[str] = Counter()
        self._spoken = 0

    def __len__(self) -> int:
        return len(self._people)

    def __iter__(self) -> Iterator[Person]:
        return iter(self._people.values())

    @property
    def spoken(self) -> int:
        """Number of people who have spoken."""
        return self._spoken

    @property
    def speakers(self) -> list[str]:
        """The names of the people who have spoken, the latest last."""
        return [person.name for person in self._people.values() if person.spoken]

    @property
    def introduced(self) -> list[Person]:
        """The people who were introduced."""
        return [person for person in self._people.values() if person.introduced]

    def only_other(self, speaker: str) -> str | None:
        """The identifier of the only other person, if they were introduced and are in the room."""
        if len(self._people) + (speaker not in self._people) != 2:
            return None
        other = next((person for person in self._people.values() if person.id != speaker), None)
        return other.id if other is not None and other.introduced and other.here else None

    def introduce(
        self,
        id: str,
        *,
        name: str | None = None,
        aliases: Iterable[str] = (),
        bot: bool = False,
        here: bool = True,
    ) -> Person:
        """Register somebody who may not have spoken, with all of their names.

        Args:
            id: Their name, or their identifier on the platform.
            name: The name that people see.
            aliases: Their other names.
            bot: Whether they are a program.
            here: Whether they are known to be in the room.
        """
        person = self._person(id)
        person.introduced, person.here = True, here
        person.bot = person.bot or bot
        self._call(person, visible_name(name) or person.name, (*person.aliases, *aliases))
        return person

    def leave(self, id: str) -> None:
        """Record that somebody has left the room. Those who have not spoken are forgotten."""
        person = self.get(id)
        if person is None:
            return
        person.introduced = person.here = False
        if not person.spoken:
            self._forget(person)

    def hear(self, id: str, *, name: str | None = None, bot: bool = False) -> Person:
        """Record that somebody speaks."""
        person = self._person(id)
        person.bot = person.bot or bot
        if visible_name(name) not in ("", person.name):
            self._call(person, visible_name(name), person.aliases)
        del self._people[person.id]
        self._people[person.id] = person
        if not person.spoken:
            person.spoken = True
            self._spoken += 1
            if self._spoken > REMEMBERED:
                self._forget_one()
        return person

    def rename(self, old: str, new: str) -> bool:
        """Rename somebody; returns whether that was possible."""
        person = self._people.get(self._ids.get(old, old)) or self.find(old)
        if person is None or old == new or not visible_name(new):
            return False
        other = self._people.get(self._ids.get(new, new))
        if other is not None and other is not person:
            self._speak_as(other, [key for key in other.keys if key != new])
        if new != person.id:
            self._speak_as(person, [*(key for key in person.keys if key != new), new][-_MOST_KEYS:])
        self._call(person, new, (*person.aliases, person.name)[-_MOST_KEYS:])
        return True

    def id_of(self, key: str) -> str:
        """The identifier of the person who speaks under a name or identifier; else `key` itself."""
        return self._ids.get(key, key)

    def get(self, id: str) -> Person | None:
        """The person with an identifier; None if nobody is known."""
        return self._people.get(self._ids.get(id, id))

    def name_of(self, id: str) -> str:
        """The name that people use for an identifier."""
        person = self._people.get(id) or self.get(id)
        return shown_name(id) if person is None else person.name

    def find(self, name: str) -> Person | None:
        """The person with a name or identifier: exactly, else ignoring case; the latest of several."""
        bare = name.removeprefix("@")
        for each in (name, bare or name):
            person = self.get(each)
            if person is not None:
                return person
        found = self._exact.get(normalized(bare), [])
        same = [id for id in found if bare in self._people[id].names]
        return self._latest(same or found)

    def called(self, name: str) -> tuple[str, ...]:
        """The identifiers of people with a normalized name; else of those with a similar one.

        >>> people = People()
        >>> people.hear("noor_").id, people.called("noor"), people.called("noo")
        ('noor_', ('noor_',), ())
        """
        found = self._exact.get(name)
        if found:
            return tuple(found)
        loosely = self._loose.get(folded(name))
        if not loosely:
            trimmed = folded(name.rstrip(TAIL))
            if trimmed != name and len(trimmed) >= SHORTEST_LOOSE:
                loosely = self._exact.get(trimmed) or self._loose.get(trimmed)
        # "guest" is nobody in particular where there are guest1 to guest20.
        return tuple(loosely) if loosely and len(loosely) <= _MOST_LOOSE else ()

    def meant(self, name: str, *, slips: bool = True) -> tuple[str, ...]:
        """The person whose name begins so, or (`slips`) differs by one typing error, if only one fits."""
        found: set[str] = set()
        if len(name) >= _SHORTEST_PREFIX:
            at = bisect_left(self._sorted, name)
            while at < len(self._sorted) and self._sorted[at].startswith(name):
                found.update(self._exact.get(self._sorted[at], ()))
                at += 1
        if slips and not found and len(name) >= _SHORTEST_TYPED:
            # One error leaves the first two letters or the last two as they are.
            head, tail = name[:2], name[-2:]
            near = [known for known in self._sorted if known.endswith(tail) or known.startswith(head)]
            for known in near:
                if abs(len(known) - len(name)) <= 1 and one_slip(name, known):
                    found.update(self._exact[known])
        return tuple(found) if len(found) == 1 else ()

    def latest(self, ids: Iterable[str]) -> str | None:
        """Of some identifiers, that of the person who spoke last, or was introduced last."""
        person = self._latest(ids)
        return None if person is None else person.id

    def knows(self, word: str) -> bool:
        """A quick test of whether a normalized word may be a name, or the beginning of one."""
        return word in self._exact or word in self._loose or word in self._first_words or not word.isascii()

    def long_names(self, first_word: str) -> list[str]:
        """Normalized names of several words that begin with a word, the longest first."""
        return self._first_words.get(first_word, [])

    @property
    def attached(self) -> Iterable[str]:
        """Normalized names that may have a word directly before or after them, such as Chinese ones."""
        return self._attached

    def is_name(self, word: str) -> bool:
        """Whether a lower-cased word is, or is part of, somebody's name."""
        return word in self._parts

    def state(self) -> list[dict[str, Any]]:
        """All people as a JSON value."""
        return [
            {
                "id": person.id, "name": person.name, "aliases": list(person.aliases), "bot": person.bot,
                "introduced": person.introduced, "here": person.here, "spoken": person.spoken,
                "keys": list(person.keys),
            }
            for person in self._people.values()
        ]  # fmt: skip

    def resume(self, state: Iterable[dict[str, Any]]) -> None:
        """Continue from a `state`."""
        for each in state:
            id, name = text_of(each["id"]), text_of(each["name"])
            bot, introduced, here, spoken = (
                flag_of(each[key]) for key in ("bot", "introduced", "here", "spoken")
            )
            # Not by `_person`: somebody else may speak under this identifier by now.
            aliases, keys = texts_of(each["aliases"]), texts_of(each["keys"])
            person = Person(id, name, aliases, bot, introduced, here, spoken, keys)
            if id in self._people:
                raise ValueError(f"{id!r} is there twice")
            self._people[id] = person
            self._ids.update(dict.fromkeys(keys, id))
            self._spoken += person.spoken
            self._index(person)

    # -- inside

    def _person(self, key: str) -> Person:
        id = self._ids.get(key, key)
        person = self._people.get(id)
        if person is None:
            # The identifier itself is a name only as long as there is no other.
            person = self._people[id] = Person(id, shown_name(id))
            self._index(person)
        return person

    def _call(self, person: Person, name: str, aliases: Iterable[str]) -> None:
        self._index(person, forget=True)
        person.name = shown_name(name)
        shown = (shown_name(alias) for alias in aliases)
        person.aliases = tuple(dict.fromkeys(alias for alias in shown if alias and alias != person.name))
        self._index(person)

    def _speak_as(self, person: Person, keys: Iterable[str]) -> None:
        """Set the names under which somebody speaks, besides their identifier."""
        self._index(person, forget=True)
        for key in person.keys:
            if self._ids.get(key) == person.id:
                del self._ids[key]
        person.keys = tuple(keys)
        self._ids.update(dict.fromkeys(person.keys, person.id))
        self._index(person)

    def _latest(self, ids: Iterable[str]) -> Person | None:
        wanted = set(ids)
        if not wanted:
            return None
        if len(wanted) == 1:
            return self._people[wanted.pop()]
        return next(person for person in reversed(self._people.values()) if person.id in wanted)

    def _index(self, person: Person, *, forget: bool = False) -> None:
        for name in person.names:
            plain = normalized(name)
            if not plain:
                continue
            self._set(self._exact, plain, person.id, forget=forget)
            forms = short_forms(plain)
            for loose in forms:
                self._set(self._loose, loose, person.id, forget=forget)
            first = FIRST_CHUNK.match(plain)
            start = first[0] if first else ""
            if len(start) < len(plain) and not (forget and plain in self._exact):  # kept if others have it
                self._set(self._first_words, start, plain, forget=forget)
                self._first_words.get(start, []).sort(key=len, reverse=True)
            for form in (plain, *forms):
                if not form.isascii() and _ATTACHED.search(form):
                    self._count(self._attached, form, forget=forget)
            place = bisect_left(self._sorted, plain)
            there = place < len(self._sorted) and self._sorted[place] == plain
            if plain in self._exact and not there:
                insort(self._sorted, plain)
            elif plain not in self._exact and there:
                del self._sorted[place]
            for part in name_parts(name, words):
                self._count(self._parts, part, forget=forget)

    @staticmethod
    def _count(counts: Counter[str], key: str, *, forget: bool) -> None:
        counts[key] += -1 if forget else 1
        if counts[key] <= 0:
            del counts[key]

    @staticmethod
    def _set(index: dict[str, list[str]], key: str, value: str, *, forget: bool) -> None:
        found = index.setdefault(key, [])
        if not forget:
            if value not in found:
                found.append(value)
        elif value in found:
            found.remove(value)
        if not found:
            index.pop(key, None)

    def _forget_one(self) -> None:
        for person in self._people.values():
            if person.spoken:
                break
        person.spoken = False
        self._spoken -= 1
        if not person.introduced:
            self._forget(person)

    def _forget(self, person: Person) -> None:
        self._index(person, forget=True)
        del self._people[person.id]
        for key in person.keys:
            if self._ids.get(key) == person.id:
                del self._ids[key]
