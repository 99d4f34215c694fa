"""Words of any script: tokens of scripts with and without spaces, emoji, and whether a text asks.

A text in ASCII has the Treebank tokens that it always had (`towhom.text.tokenizer`), but for `:shortcodes:`,
which are one token each. In all others, full-width forms and typographic marks become plain ones, vowel marks
of Arabic and Hebrew and invisible controls are left out, emoji stand alone, and Chinese, Japanese and Thai,
which have no spaces, are cut into phrases (by budoux) and where scripts meet.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

import regex

from towhom.text.tokenizer import tokenize

TOKENIZER = "any-script-1"
"""The name and version of these tokens. A model keeps it: other tokens need another model."""

_INVISIBLE = regex.compile(
    r"[\u00ad\u061c\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
    r"\u0307\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]"
)
"""Soft hyphens, direction marks, zero width; Arabic vowel marks and tatweel, Hebrew points; the dot of İ."""

_PLAIN = str.maketrans(
    {
        "؟": "?", "\u037e": "?", "՞": "?", "፧": "?", "،": ",", "、": ",", "؛": ";", "。": ".", "۔": ".",
        "।": ".",
        "’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "「": '"', "」": '"',
        "『": '"', "』": '"', "–": "-", "—": "-", "―": "-", "‐": "-", "〜": "~", "・": " ",
    }
)  # fmt: skip

NO_SPACES = r"\p{Han}\p{Hiragana}\p{Katakana}ー々〆\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Scripts whose words are not set apart, as part of a character class."""
EMOJI = (
    r"\p{Regional_Indicator}{2}"
    r"|[\p{Emoji_Presentation}\p{Extended_Pictographic}][\ufe0f\p{Emoji_Modifier}]*"
    r"(?:\u200d[\p{Emoji_Presentation}\p{Extended_Pictographic}][\ufe0f\p{Emoji_Modifier}]*)*"
)
SHORTCODE = r"(?<![\w:]):[A-Za-z+\-][\w+\-]*:(?![\w:])"

_SHORTCODE = regex.compile(rf"({SHORTCODE})")
_PART = regex.compile(rf"({SHORTCODE}|{EMOJI}|[{NO_SPACES}]+)")
_RUNS = regex.compile(
    r"[\p{Han}々〆]+|[\p{Katakana}ー]+|\p{Hiragana}+|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+"
)
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
_THAI = regex.compile(r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_LONGEST = 64
"""Characters of a run that are cut into phrases at once."""
# Not that of a link to "page?id=3".
_ASKS = regex.compile(r"\?(?=$|[\s\"')\]!?.,:;]|[^\p{ASCII}])")


# Particles that make a question at the end of a sentence, where writers leave out the mark.
_ASKS_WITHOUT = regex.compile(
    r"(?:(?:です|ます|ません|でしょう|だろう|の)か|かな|かしら|っけ|[吗嗎呢]|습니까|ㅂ니까|나요|까요?|인가요|는지요?|(?:ไหม|มั้ย|หรือเปล่า|รึเปล่า|หรือยัง)(?:คะ|ครับ)?"
    r"|(?<=\s)(?:mi|mı|mu|mü)(?:sin|sın|sun|sün|yim|yım|yiz|yız)?)[\s.!~。)\"']*$"
)


def normalized(text: str) -> str:
    """A text in lower case and plain forms, so that what people read as the same is the same.

    >>> normalized("Ｒｏｂｏ，重启一下？")
    'robo,重启一下?'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_PLAIN)).translate(_PLAIN)
        text = _INVISIBLE.sub("", text.lower())
        return unicodedata.normalize("NFC", text)
    return text.lower()


def words(text: str) -> list[str]:
    """The tokens of a text, lower-cased.

    >>> words("Don't panic :tada: it's fine")
    ['do', "n't", 'panic', ':tada:', 'it', "'s", 'fine']
    >>> words("サーバーを再起動してください")
    ['サーバー', 'を', '再起動', 'してください']
    >>> words("打印机坏了吗？"), words("مرحبا، كيف الحال؟ 👍🏽")
    (['打', '印机坏', '了', '吗', '?'], ['مرحبا', ',', 'كيف', 'الحال', '?', '👍🏽'])
    """
    if text.isascii():
        if text.count(":") < 2 or _SHORTCODE.search(text) is None:
            return tokenize(text)
        parts = _SHORTCODE.split(text.lower())
    else:
        parts = _PART.split(normalized(text))
    japanese = len(parts) > 1 and _KANA.search(text) is not None
    found: list[str] = []
    for place, part in enumerate(parts):
        if not place % 2:
            found += tokenize(part) if part else ()
        elif _RUNS.match(part):
            found += _phrases(part, japanese=japanese)
        else:
            found.append(part)
    return found


def asks(text: str) -> bool:
    """Whether a text asks: it has a question mark of any script, or ends as questions do.

    A question mark within a link is none.

    >>> asks("is it up?"), asks("動きますか"), asks("see http://a.org/page?id=3")
    (True, True, False)
    """
    plain = normalized(text)
    if "?" in plain and _ASKS.search(plain) is not None:
        return True
    return not plain.isascii() and _ASKS_WITHOUT.search(plain) is not None


def _phrases(run: str, *, japanese: bool) -> list[str]:
    found: list[str] = []
    for start in range(0, len(run), _LONGEST):
        found += _cut(run[start : start + _LONGEST], japanese)
    return found


@lru_cache(maxsize=1 << 14)
def _cut(run: str, japanese: bool) -> tuple[str, ...]:
    language = "th" if _THAI.search(run) else "ja" if japanese else "zh-hans"
    return tuple(part for phrase in _parser(language)(run) for part in _RUNS.findall(phrase))


@cache
def _parser(language: str) -> Callable[[str], list[str]]:
    # Read only where there is something to cut.
    import budoux

    start = {
        "ja": budoux.load_default_japanese_parser,
        "zh-hans": budoux.load_default_simplified_chinese_parser,
        "th": budoux.load_default_thai_parser,
    }[language]
    parse: Callable[[str], list[str]] = start().parse
    return parse
