"""Words of any script: tokens in scripts with and without spaces, emoji, and a test for questions.

A text in ASCII has Treebank tokens (`towhom.text.tokenizer`), except that each `:shortcode:` is one token.
In all other texts, full-width forms and typographic marks become plain ones, vowel marks
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
"""Name and version of these tokens. A model stores it, since it works only with its own tokens."""

_UNSEEN = frozenset(
    chr(code)
    for first, last in (
        (0xAD, 0xAD), (0x61C, 0x61C), (0x200B, 0x200C), (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064),
        (0x2066, 0x2069), (0xFEFF, 0xFEFF), (0x307, 0x307), (0x610, 0x61A), (0x640, 0x640), (0x64B, 0x65F),
        (0x670, 0x670), (0x6D6, 0x6DC), (0x591, 0x5BD), (0x5BF, 0x5BF), (0x5C1, 0x5C2), (0x5C4, 0x5C5),
        (0x5C7, 0x5C7),
    )
    for code in range(first, last + 1)
)  # fmt: skip
"""Soft hyphens, direction marks, zero width; Arabic vowel marks and tatweel, Hebrew points; the dot of İ."""
_LEFT_OUT = dict.fromkeys(map(ord, _UNSEEN))

_PLAIN = str.maketrans(
    {
        "؟": "?", "\u037e": "?", "՞": "?", "፧": "?", "،": ",", "、": ",", "؛": ";", "。": ".", "۔": ".",
        "।": ".",
        "’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "「": '"', "」": '"',
        "『": '"', "』": '"', "–": "-", "—": "-", "―": "-", "‐": "-", "〜": "~", "・": " ",
    }
)  # fmt: skip

_SPECIAL = frozenset(map(chr, _PLAIN))
_FIRST_UNSPACED = "\u0e00"
"""Code points of Thai, Chinese, Japanese and emoji start here."""

NO_SPACES = r"\p{Han}\p{Hiragana}\p{Katakana}ー々〆\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Scripts that do not separate words by spaces, as part of a character class."""
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
"""Number of characters that are cut into phrases at a time."""
_GROWTH, _SHORT = 2, 64
"""Limits of how long plain forms may get: one character may become eighteen."""
# Not the question mark in a link to "page?id=3".
_ASKS = regex.compile(r"\?(?=$|[\s\"')\]!?.,:;]|[^\p{ASCII}])")


# Particles that mark a question at the end of a sentence, where writers leave out the question mark.
_ASKS_WITHOUT = regex.compile(
    r"(?:(?:です|ます|ません|でしょう|だろう|の)か|かな|かしら|っけ|[吗嗎呢]|습니까|ㅂ니까|나요|까요?|인가요|는지요?|(?:ไหม|มั้ย|หรือเปล่า|รึเปล่า|หรือยัง)(?:คะ|ครับ)?"
    r"|(?<=\s)(?:mi|mı|mu|mü)(?:sin|sın|sun|sün|yim|yım|yiz|yız)?)[\s.!~。)\"']*$"
)


def normalized(text: str) -> str:
    """A text in lower case and plain forms, so that texts that look the same are equal.

    >>> normalized("Ｒｏｂｏ，重启一下？")
    'robo,重启一下?'
    """
    if text.isascii():
        return text.lower()
    if not _SPECIAL.isdisjoint(text):
        text = text.translate(_PLAIN)
    if not unicodedata.is_normalized("NFKC", text):
        most = max(_GROWTH * len(text), _SHORT)
        text = unicodedata.normalize("NFKC", text)[:most].translate(_PLAIN)
    text = text.lower()
    if not _UNSEEN.isdisjoint(text):
        text = unicodedata.normalize("NFC", text.translate(_LEFT_OUT))
    return text


def words(text: str) -> list[str]:
    """The tokens of a text, lower-cased.

    >>> words("Don't panic :tada: it's fine")
    ['do', "n't", 'panic', ':tada:', 'it', "'s", 'fine']
    >>> words("サーバーを再起動してください")
    ['サーバー', 'を', '再起動', 'してください']
    >>> words("打印机坏了吗？"), words("مرحبا، كيف الحال؟ 👍🏽")
    (['打', '印机坏', '了', '吗', '?'], ['مرحبا', ',', 'كيف', 'الحال', '?', '👍🏽'])
    """
    plain = text if text.isascii() else normalized(text)
    if plain.isascii() or max(plain) < _FIRST_UNSPACED:
        if plain.count(":") < 2 or _SHORTCODE.search(plain) is None:
            return tokenize(plain)
        parts = _SHORTCODE.split(plain.lower())
    else:
        parts = _PART.split(plain)
    japanese = len(parts) > 1 and _KANA.search(plain) is not None
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
    """Whether a text is a question: it has a question mark of any script, or ends with a question particle.

    A question mark within a link does not count.

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
    # Imported only if there is something to cut.
    import budoux

    start = {
        "ja": budoux.load_default_japanese_parser,
        "zh-hans": budoux.load_default_simplified_chinese_parser,
        "th": budoux.load_default_thai_parser,
    }[language]
    parse: Callable[[str], list[str]] = start().parse
    return parse
