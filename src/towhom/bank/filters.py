"""Decides which messages are worth keeping as responses: those that other people could say to others."""

from __future__ import annotations

from enum import StrEnum

import regex

from towhom.bank.slots import MAIL, OTHER
from towhom.chat import Kind, Message
from towhom.hearing.utterance import Utterance
from towhom.hearing.words import normalized

LIKELY = 0.4
"""Minimum probability of a reply link for the question and its answer to be kept."""
_WORDS, _TELLING = 4, 2
"""Minimum words, and minimum informative words; shorter messages were for their moment: `ok thanks`."""
_LONGEST = 1000
"""Maximum characters; longer messages are usually pasted text."""
_BOT = regex.compile(r"(?:^|[\W_\d])bot(?:$|[\W_\d])|(?:bot|serv)[\d_^`|-]*$")
_MOMENT = regex.compile(
    r"^\W*(?:(?:ok(?:ay)?|yes|no|yeah|yep|nope|well|ah|oh|hm+|thanks?|thx|ty|thank you|cheers|sorry|np|lol"
    r"|haha+|brb|bbl|afk|back|hi|hello|hey|good (?:morning|evening|night)|gn|bye|later|see you|cu|gtg|wb"
    r"|(?:i am|i'm|i'll|i will) (?:back|off|leaving|going|away|be back)|you'?re welcome|no problem"
    r"|let me (?:check|try|see|look)|one (?:sec|second|moment|min|minute)|just a (?:sec|second|moment|minute)"
    r"|a lot|so much|very much|for (?:that|the help|your help|all)|then|now|all|there|it worked|that worked)"
    r"\b\W*)+$"
)
_THANKS = regex.compile(
    r"\b(?:thanks?|thx|thanx|tnx|cheers|thank (?:you|u)"
    r"|(?:it|that|this) (?:did|does|fixed|fixes|worked|works|solved)"
    r"|works? now|working now|got it working|solved|perfect|awesome|brilliant|you rock|lifesaver)\b"
)
_NO_THANKS = regex.compile(
    r"\bno,? thanks?\b|\b(?:thanks?|thank you),? (?:anyway|though|but)\b"
    r"|\b(?:not|n't|didnt|doesnt|dont|never)\b"
)
_NO_HELP = regex.compile(
    r"\b(?:google (?:it|for it|that|is your friend)|just google|use google|try google|lmgtfy|rtfm|stfw"
    r"|ask in #|wrong channel|off[- ]?topic|(?:i )?(?:do not|don'?t|dunno) know|no (?:idea|clue)|not sure"
    r"|be patient|patience|anyone else|someone else|just ask|ask your question|don'?t ask to ask"
    r"|beats me|what do you mean|please repeat|pastebin|paste ?bin|try /join)\b"
)


class Left(StrEnum):
    """The reason why a message is left out."""

    NO_ANSWER = "no answer"
    """It starts a conversation, continues the speaker's own message, or what it answers is unknown."""
    SHORT = "too short"
    MOMENT = "only for its moment"
    LONG = "too long"
    BOT = "by a bot"
    OTHERS = "names others"
    """It mentions another person by name, or contains a mail address."""
    OPTED_OUT = "opted out"
    MATCHES = "left out by pattern"
    REPEATED = "said before"


def is_bot(message: Message) -> bool:
    """Whether a message is by a bot, according to the platform or the speaker's name.

    >>> is_bot(Message("ubottu", "")), is_bot(Message("buildbot2", "")), is_bot(Message("abbott", ""))
    (False, True, False)
    """
    if message.bot or message.kind is Kind.NOTICE:
        return True
    return _BOT.search(normalized(message.name or message.speaker)) is not None


def reason_to_leave(utterance: Utterance, text: str) -> Left | None:
    """The reason to leave out a message; None if it is worth keeping.

    Args:
        utterance: The message as an utterance.
        text: The text of the message, with slots.
    """
    if utterance.command:
        return Left.BOT
    if len(text) > _LONGEST:
        return Left.LONG
    if OTHER in text or MAIL in text:
        return Left.OTHERS
    if len(utterance.tokens) < _WORDS:
        return Left.SHORT
    if utterance.telling < _TELLING or _MOMENT.match(normalized(text)):
        return Left.MOMENT
    return None


def thanks(text: str) -> bool:
    """Whether somebody says that an answer has helped.

    >>> thanks("that worked, thank you"), thanks("thanks but it did not help")
    (True, False)
    """
    plain = normalized(text)
    return _THANKS.search(plain) is not None and _NO_THANKS.search(plain) is None


def is_no_help(text: str) -> bool:
    """Whether an answer sends people away, or says that its speaker does not know.

    >>> is_no_help("just google it"), is_no_help("mount it with the cifs type")
    (True, False)
    """
    return _NO_HELP.search(normalized(text)) is not None
