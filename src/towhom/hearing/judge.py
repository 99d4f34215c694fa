"""Judges how the names in a text are used: as a call, and in which manner, or to talk about somebody.

The rules are the same for all languages; `towhom.hearing.languages` has the words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import regex

from towhom.hearing.languages import LATIN, Language, Phrases
from towhom.hearing.manners import CALLING, Manner
from towhom.hearing.names import AND, COMMON, SET_OFF, Place
from towhom.hearing.words import EMOJI, SHORTCODE

_SHORTEST_NAME = 3
_LONGER_THAN_WORDS = 8
"""A name with at least so many letters is taken to be no ordinary word."""

# A colon may begin a smiley; an exclamation or a question mark after a name belongs to the call.
_SEPARATOR = regex.compile(
    r"\s*(?:->|=>|>+|[,;]|:(?![)(dp/|\]\\3*'-])|\.{2,}|!+|\?+|~+|-+(?=[\s\p{L}])|\n)\s*"
)
_CUT_OFF = regex.compile(r"[\"')\]*_>]*\s*(?:(?:->|=>|>+|[,;:]|\.{2,}|-+(?=\s))\s*)?")
"""The marks that are removed after a name in front. `!` and `?` stay, since they mean something."""
MARKS = regex.compile(rf"(?:[\s\p{{P}}\p{{S}}]|{EMOJI}|{SHORTCODE}|(?<!\p{{L}})x?[:;=]-?[dp)(](?!\p{{L}}))*")
_MARKS_BEFORE = regex.compile(rf"(?:[\s\p{{P}}\p{{S}}]|{EMOJI}|{SHORTCODE})*$", regex.REVERSE)
_SENTENCE_END = regex.compile(r"(?:[.!?;]|\n|\.{2,}|:\w+:|\p{Extended_Pictographic})[\s\"')\]]*$")
_COMMA_AFTER = regex.compile(r"\s*(?:[,;.!?)]|-+\s|$)")
_CLAUSE_END = regex.compile(r"\s*[,.!?;)]")
_CLOSING = regex.compile(r"^[\"')\]*_`]+(?=[\s,:;!?]|$)")
_BRACKETS = frozenset({"()", "[]", "{}", "<>", "**", "__"})
_LIST = regex.compile(r"\s*(?:[,/&+]\s*)?@?\s*")
_WORD = regex.compile(r"[\p{L}\p{M}'-]+")
_NEXT_WORD = regex.compile(r"\s*([\p{L}\p{M}']+)")
_HONOUR = regex.compile(r"さん|くん|ちゃん|様|さま|先生|님|씨|-\w+")
"""Honorifics that a word may follow directly."""
_LAUGHS = regex.compile(
    r"(?:k{2,}|(?:h[aeiuo]|j[aei]|ha?h|a?hah|х[аеи]){2,}\p{L}?|rs(?:rs)*|5{3,}|[ㅋㅎㅠㅜ]+|w{2,}|笑+|草|x+d+|ه{2,}"
    r"|ח{3,}|哈+|ฮ่า+)(?!\p{L})"
)
_ENGLISH_THIRD = regex.compile(r"\p{L}{3,}(?:s|ed)\b")


@dataclass(slots=True, kw_only=True)
class _Around:
    """The text around a name, or around several names that are called together."""

    word: str
    before: str
    after: str
    at: bool
    """Whether there is an @ before it."""
    in_front: bool
    """Whether only greetings, fillers and other names come before it."""
    starts_sentence: bool
    greeted: bool
    particle: bool
    """Whether a particle or title before it makes it a call."""
    honored: bool
    ordinary: bool
    """Whether the name is a common word."""
    filler: bool
    """Whether the name is also a filler at the front of messages: `cool, thanks`."""
    after_a_call: bool
    """Whether somebody else was called before."""
    several: bool
    separated: bool = False
    alone: bool = False
    """Whether nothing follows."""
    third: int = 0
    """Length of the phrase after it that talks about somebody; 0 if there is none."""
    request: int = 0
    """Length of the phrase after it that asks somebody for something; 0 if there is none."""

    @property
    def talked_about(self) -> bool:
        """Whether the text after it talks about somebody."""
        return self.third > self.request


class Judge:
    """Judges how each name in a text is used.

    Args:
        plain: The normalized text.
        places: The places of the names; at least one.
        languages: The languages that the text may be in, the likeliest first.
        weight: Gives how informative a word is.
    """

    def __init__(
        self,
        plain: str,
        places: Sequence[Place],
        languages: tuple[Language, ...],
        weight: Callable[[str], float],
    ) -> None:
        self._plain = plain
        self._places = places
        self.languages = languages
        self._main = languages[0]
        self._weight = weight
        words = _WORD.findall(plain)
        self._you = any(each.you.inside(plain, words) for each in languages)
        self._ends = [self._after_honorific(place) for place in places]

    def manners(self) -> list[Manner]:
        """The manner in which each name is used."""
        found: list[Manner] = [Manner.ABOUT] * len(self._places)
        first = 0
        while first < len(self._places):
            last = self._last_of_list(first)
            together = self._manner(first, last) if last > first else Manner.ABOUT
            if together in CALLING and self._is_called_together(first, last):
                found[first : last + 1] = [together] * (last + 1 - first)
            else:
                for each in range(first, last + 1):
                    after_a_call = any(manner in CALLING for manner in found[:each])
                    found[each] = self._manner(each, each, after_a_call=after_a_call)
            first = last + 1
        return found

    def rest(self, manners: list[Manner]) -> int:
        """Where the text begins after the names in front and their separator; 0 if they are kept."""
        if self._plain[: self._places[0].start].strip("@ \t\"'([*_<"):
            return 0
        if manners[0] not in (Manner.FRONT, Manner.MENTION):
            return 0
        last = 0
        while last + 1 < len(manners) and manners[last + 1] is manners[0] and self._are_joined(last):
            last += 1
        cut = _CUT_OFF.match(self._plain, self._ends[last])
        end = cut.end() if cut else self._ends[last]
        return end if any(character.isalnum() for character in self._plain[end:]) else 0

    # -- a name, or several together

    def _manner(self, first: int, last: int, *, after_a_call: bool = False) -> Manner:
        if self._is_quoted(self._places[first]):
            return Manner.ABOUT
        around = self._around(first, last, after_a_call=after_a_call)
        if self._is_object(around):
            return Manner.ABOUT
        if around.at:
            return self._mentioned(around)
        return self._in_front(around) if around.in_front else self._inside(around)

    def _around(self, first: int, last: int, *, after_a_call: bool) -> _Around:
        place, plain = self._places[first], self._plain
        before = plain[: place.start].rstrip("@").rstrip("\"'([*_`<").rstrip()
        after = _CLOSING.sub("", plain[self._ends[last] :])
        lead, greeted, particle, starts_sentence = self._lead(before, first)
        around = _Around(
            word=place.word, before=before, after=after, at=place.at, in_front=not lead,
            starts_sentence=starts_sentence, greeted=greeted, particle=particle,
            honored=self._ends[last] > self._places[last].end,
            ordinary=any(self._is_ordinary(each.word) for each in self._places[first : last + 1]),
            filler=self._is_filler(place.word), after_a_call=after_a_call, several=last > first,
        )  # fmt: skip
        around.third, around.request = self._follows(after.lstrip(" \t"))
        # In scripts that do not separate words, a space is a separator.
        spaced_off = not self._main.spaced and after[:1].isspace() and not around.talked_about
        bracketed = plain[place.start - 1 : place.start] + plain[self._ends[last] : self._ends[last] + 1]
        around.separated = spaced_off or bracketed in _BRACKETS or _SEPARATOR.match(after) is not None
        around.alone = MARKS.fullmatch(after) is not None
        return around

    def _follows(self, following: str) -> tuple[int, int]:
        """Lengths of the phrases that follow: one that talks about somebody, and one that asks them.

        The likeliest language that has either decides: `was` is a verb in English and a question in German.
        """
        for language in self.languages:
            third = language.third.starting(following)
            request = max(language.request.starting(following), language.you.starting(following))
            if "?" in following:
                request = max(request, language.inverted.starting(following))
            if third or request:
                return third, request
        return 0, 0

    def _mentioned(self, around: _Around) -> Manner:
        if around.in_front:  # a notification to them, whatever the text says
            return Manner.MENTION
        if around.starts_sentence or SET_OFF.search(around.before):
            return Manner.MENTION
        about = self._precedes(around.before) or (around.talked_about and not self._ends_there(around.after))
        return Manner.ABOUT if about else Manner.MENTION_INSIDE

    def _in_front(self, around: _Around) -> Manner:
        after = around.after
        if around.filler and not (around.greeted or around.particle or after.lstrip().startswith(":")):
            return Manner.ABOUT
        emphasised = around.after_a_call and after.lstrip()[:1] in ("!", "?", "~")
        if around.alone or (around.separated and not emphasised):
            return Manner.GREETING if around.greeted else Manner.FRONT
        if around.particle:
            return Manner.VOCATIVE
        touched = around.before[-1:].isalnum()
        if around.greeted and (not around.talked_about or self._you or touched):
            return Manner.GREETING
        if around.talked_about or around.after_a_call:
            return Manner.ABOUT
        return self._bare(around)

    def _bare(self, around: _Around) -> Manner:
        """The manner of a name in front without a separator."""
        after = around.after
        if around.honored:
            return Manner.FRONT
        if around.request:
            plain = around.ordinary and (not self._you or self._begins_phrase(around))
            return Manner.ABOUT if plain else Manner.BARE
        if around.ordinary or around.several:
            return Manner.BARE if self._you and not around.ordinary else Manner.ABOUT
        word = _NEXT_WORD.match(after)
        if word is None:
            return Manner.BARE
        english = self._main.code == "en"
        if english and _ENGLISH_THIRD.match(word[1]) and word[1] not in self._main.not_third:
            return Manner.BARE if self._you and "?" in after else Manner.ABOUT
        asked = self._you or "?" in after or self._is_polite()
        return Manner.BARE if asked or english else Manner.ABOUT

    def _begins_phrase(self, around: _Around) -> bool:
        """Whether the name and the words after it form a request: `will you`, `can you`."""
        text = around.word + around.after
        return any(each.request.starting(text) > len(around.word) for each in self.languages)

    def _inside(self, around: _Around) -> Manner:
        after = around.after
        about = self._precedes(around.before)
        at_end = self._ends_there(after)
        set_off = SET_OFF.search(around.before) is not None
        if around.filler and not (set_off and at_end and "?" in after):
            return Manner.INSIDE
        if around.particle or (at_end and around.starts_sentence):
            return Manner.VOCATIVE
        if set_off and (at_end or (_COMMA_AFTER.match(after) and not around.talked_about)):
            return Manner.VOCATIVE
        if around.greeted and not around.talked_about:
            return Manner.GREETING
        if (set_off or around.starts_sentence) and not around.ordinary:
            return self._starts_clause(around)
        if (at_end or _CLAUSE_END.match(after)) and not about and not around.ordinary:
            return self._ends_clause(around)
        return Manner.ABOUT if about or around.talked_about else Manner.INSIDE

    def _starts_clause(self, around: _Around) -> Manner:
        if around.talked_about:
            return Manner.ABOUT
        if around.separated:
            return Manner.VOCATIVE
        asked = self._you or "?" in around.after or around.request > _SHORTEST_NAME
        return Manner.BARE if around.request and asked else Manner.INSIDE

    def _ends_clause(self, around: _Around) -> Manner:
        if around.honored:
            return Manner.VOCATIVE
        if not self._you and self._asks_who(around.before):
            return Manner.ABOUT  # "who wrote robo?"
        word, before = around.word, around.before
        # A name in another script than the text is no word of it; a short name in the same script may be.
        foreign = word.isascii() and self._main.code not in LATIN
        may_be_word = self._weight(word) < 1.0 or (word.isalpha() and len(word) < _LONGER_THAN_WORDS)
        asked = self._you or "?" in self._plain or self._begins_with_request()
        spaced_off = self._main.spaced or self._plain[len(before) : len(before) + 1].isspace()
        apart = foreign or spaced_off or any(each.asks.ending(before) for each in self.languages)
        return Manner.END if apart and (asked or foreign or not may_be_word) else Manner.INSIDE

    # -- what stands before and after

    def _lead(self, before: str, first: int) -> tuple[str, bool, bool, bool]:
        """The text before a name, without fillers and greetings.

        Also whether the name is greeted, has a particle that calls, and starts a sentence.
        """
        greeted = particle = False
        rest, touching, closed = before, True, False
        while rest:
            bare = rest.rstrip()
            marks = _MARKS_BEFORE.search(bare)
            bare = bare[: marks.start()] if marks else bare
            if len(bare) < len(rest.rstrip()):
                if _SENTENCE_END.search(rest) and bare and not self._is_lead(bare):
                    return bare, greeted, particle, True
                rest = bare
                continue
            step = 0
            for language in self.languages:
                vocative = language.vocative.ending(bare) if touching else 0
                greeting = _ending(language.greeting, bare)
                step = max(vocative, greeting, _ending(language.filler, bare))
                if step:
                    greeted = greeted or (greeting == step and not closed)
                    particle = particle or (vocative == step and greeting < step)
                    break
            if not step:
                name = next((place for place in self._places[:first] if place.end == len(bare)), None)
                if name is None:
                    return bare, greeted, particle, False
                step = len(bare) - name.start
                closed = True  # a greeting before another name is for that person
            rest = bare[:-step]
            touching = False
        return "", greeted, particle, True

    def _is_lead(self, text: str) -> bool:
        """Whether a text has only fillers and greetings."""
        for language in self.languages:
            rest = text
            while rest:
                rest = rest.rstrip(" ,.!?~-\n")
                step = max(language.filler.ending(rest), language.greeting.ending(rest))
                if not step:
                    break
                rest = rest[:-step]
            if not rest:
                return True
        return False

    def _precedes(self, before: str) -> bool:
        """Whether the text before a name talks about it."""
        return any(each.before.ending(before) for each in self.languages)

    def _ends_there(self, after: str) -> bool:
        """Whether only marks, laughter and fillers follow."""
        rest = after
        while True:
            marks = MARKS.match(rest)
            rest = rest[marks.end() :] if marks else rest
            if not rest:
                return True
            laughs = _LAUGHS.match(rest)
            step = laughs.end() if laughs else 0
            for each in self.languages:
                step = max(step, each.filler.starting(rest), each.greeting.starting(rest))
            if not step:
                return False
            rest = rest[step:]

    def _is_object(self, around: _Around) -> bool:
        """Whether the name has an ending that makes it an object, a topic or an owner."""
        after = around.after
        if not after or after[0].isspace():
            return False
        if after[0] in "'-" and after[1:2].isalpha():
            return after[0] == "'" or not around.honored
        attached = any(each.third.starting(after) for each in self.languages if each.code in ("ja", "ko"))
        return attached or (after[0].isalpha() and self._main.code == "ko")

    def _asks_who(self, before: str) -> bool:
        first_words = _WORD.findall(before)[:4]
        return any(word in each.who for each in self.languages for word in first_words)

    def _is_polite(self) -> bool:
        """Whether a text ends like a request: `prends du lait stp`."""
        rest = self._plain.rstrip(" .!?")
        return any(each.request.ending(rest) or each.you.ending(rest) for each in self.languages)

    def _begins_with_request(self) -> bool:
        start = self._plain.lstrip()
        first = _WORD.match(start)
        if first is not None and any(first[0] in each.not_asked for each in self.languages):
            return False
        return any(each.request.starting(start) for each in self.languages)

    def _after_honorific(self, place: Place) -> int:
        """Where a name ends, including an honorific."""
        plain, best = self._plain, place.end
        start = place.end + (plain[place.end : place.end + 1] == " ")
        for language in self.languages:
            length = language.honorific.starting(plain[start:])
            if not length:
                continue
            phrase, rest = plain[start : start + length], plain[start + length :]
            free = not rest[:1].isalpha() or _HONOUR.fullmatch(phrase) is not None
            particle = language.code in ("ja", "ko") and language.third.starting(rest) > 0
            apart = language.code != "en" or start == place.end or phrase not in ("man", "san", "dear")
            if (free or particle) and apart:
                best = max(best, start + length)
        return best

    def _is_ordinary(self, word: str) -> bool:
        common = (word.isascii() and len(word) < _SHORTEST_NAME) or self._weight(word) <= COMMON
        return common or self._is_filler(word) or any(word in each.common for each in self.languages)

    def _is_filler(self, word: str) -> bool:
        return any(word in each.filler or word in each.greeting for each in self.languages)

    def _is_quoted(self, place: Place) -> bool:
        """Whether a name is in a longer quotation, in code, or in a link."""
        before, after = self._plain[: place.start], self._plain[place.end :]
        if before.rpartition("\n")[2].lstrip().startswith(">"):
            return True
        for mark in '"`':
            if before.count(mark) % 2 and mark in after:
                inside = before.rpartition(mark)[2] + after.partition(mark)[0]
                if inside.strip(" @"):
                    return True
        return "://" in before.rpartition(" ")[2] or (not place.at and "/" in (before[-1:], after[:1]))

    # -- several names

    def _are_joined(self, one: int) -> bool:
        """Whether a name and the next are a list: a comma, an `and` or nothing between them."""
        return self._between(one) is not None

    def _between(self, one: int) -> str | None:
        between = self._plain[self._ends[one] : self._places[one + 1].start]
        word = between.strip(" ,@")
        joined = _LIST.fullmatch(between) or word in AND or any(word in each.joins for each in self.languages)
        return between if joined else None

    def _last_of_list(self, first: int) -> int:
        last = first
        while last + 1 < len(self._places) and self._are_joined(last):
            last += 1
        return last

    def _is_called_together(self, first: int, last: int) -> bool:
        """Whether several names are called together; otherwise one person is told about another."""
        if all(each.at for each in self._places[first : last + 1]):
            return True
        after = self._plain[self._ends[last] :]
        if _SEPARATOR.match(after) or MARKS.fullmatch(after):
            return True
        if self._ends[last] > self._places[last].end and not after[:1].isalpha():
            return True  # an honorific sets them off
        if not self._main.spaced and after[:1].isspace():
            return True
        following = after.lstrip()
        you = any(each.you.starting(following) for each in self.languages)
        if you and not any(each.third.starting(following) for each in self.languages):
            return True
        return any(character.isalpha() for character in self._between(last - 1) or "")


def _ending(phrases: Phrases, text: str) -> int:
    """Length of the phrase at the end of a text, which may have its last letter drawn out: `heyyy`."""
    found = phrases.ending(text)
    if found or len(text) < 3 or not text[-1] == text[-2] == text[-3]:
        return found
    short = text.rstrip(text[-1]) + text[-1]
    found = phrases.ending(short)
    return found + len(text) - len(short) if found else 0
