"""Finds addressees by the rule of the paper's protocol, and by the marks of platforms.

The rule is the strictest manner of calling: the addressee's name in front, a lone separator, something after
it. It finds the labels of a corpus; `towhom.hearing.calls` finds all other manners.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from towhom.chat import Kind, Message

# The addressee's name, a lone separator, white space, something. The white space is required because
# "ada :)" and "std:string" address nobody.
_NAME = r"\S+?"
_PREFIX = r"\s*({name})\s*[:,;]\s+(?=\S)"


def prefix_pattern(names: Iterable[str], *, ignore_case: bool = False) -> re.Pattern[str]:
    """Matches a text that begins with a name and a separator; group 1 is the name, the rest comes after.

    The caller looks up whether a name of one word belongs to somebody, which is faster than a pattern of a
    thousand names. Names of several words are in the pattern; most channels have none.

    >>> prefix_pattern(["grace"]).match("grace: is it merged?")[1]
    'grace'
    >>> prefix_pattern(["Ada L."]).match("Ada L.: is it?")[1]
    'Ada L.'
    >>> prefix_pattern([]).match("is it merged, grace?")
    """
    long_names = sorted((name for name in names if not name.isalnum() and len(name.split()) > 1), key=len)
    any_name = "|".join([*map(re.escape, reversed(long_names)), _NAME])
    return re.compile(_PREFIX.format(name=any_name), re.IGNORECASE if ignore_case else 0)


def choose_addressee(
    speaker: str, *, leading: str | None, replied: str | None, mentioned: Sequence[str]
) -> str | None:
    """The one person a message is for, on platforms that mark mentions and replies.

    A mention at the very start names the addressee. If there is none, the author of the message replied
    to; failing that, the only other person mentioned anywhere. Two mentions inside a text name nobody in
    particular. Nobody addresses themselves by replying to their own message.

    >>> choose_addressee("ada", leading=None, replied="ada", mentioned=["bob", "ada"])
    'bob'
    """
    for name in (leading, replied):
        if name is not None and name != speaker:
            return name
    others = {name for name in mentioned if name != speaker}
    return others.pop() if len(others) == 1 else None


def resolve_addressees(
    messages: Iterable[Message], *, ignore_case: bool = False, follow_renames: bool = False
) -> list[Message]:
    """Fill in the addressees of one document's messages.

    An addressee that the platform gave is kept. Otherwise the rule of the protocol holds: the first token is
    the name of somebody who speaks in the document, a lone ``:``, ``,`` or ``;`` follows, and something
    after it; name and separator are cut from the text.

    Args:
        messages: One document, in order; lines that are not messages may be among them.
        ignore_case: Whether ``Ada:`` addresses ``ada``. The published corpora are case-sensitive.
        follow_renames: Whether a speaker who changes their name stays one speaker, under the first name.

    >>> chat = [Message("ada", "ready?"), Message("bob", "ada: nearly")]
    >>> resolve_addressees(chat)[1]
    Message('bob', 'nearly', addressee='ada')
    """
    written = list(messages)
    document = _under_first_names(written) if follow_renames else written
    first_names: dict[str, str] = {}
    spoken = {m.speaker for m in document if m.kind is Kind.MESSAGE}
    known = {name.lower(): name for name in spoken} if ignore_case else {name: name for name in spoken}
    prefix = prefix_pattern(spoken, ignore_case=ignore_case).match
    resolved = []
    for as_written, message in zip(written, document, strict=True):
        if follow_renames and as_written.kind is Kind.RENAME:
            _rename(as_written, first_names)
        if message.addressee is None and message.kind is Kind.MESSAGE:
            found = prefix(message.text)
            if found is not None:
                name = first_names.get(found[1], found[1])
                addressee = known.get(name.lower() if ignore_case else name)
                if addressee is not None:
                    message = _changed(message, text=message.text[found.end() :], addressee=addressee)
        resolved.append(message)
    return resolved


def _rename(message: Message, first_names: dict[str, str]) -> None:
    """Map a new name to the speaker's first name."""
    first_names[message.text] = first_names.get(message.speaker, message.speaker)


def _under_first_names(document: list[Message]) -> list[Message]:
    """The messages with speakers and addressees under their first names."""
    first_names: dict[str, str] = {}
    renamed = []
    for message in document:
        if message.kind is Kind.RENAME:
            _rename(message, first_names)
        speaker = first_names.get(message.speaker, message.speaker)
        addressee = message.addressee and first_names.get(message.addressee, message.addressee)
        if speaker != message.speaker or addressee != message.addressee:
            message = _changed(message, speaker=speaker, addressee=addressee)
        renamed.append(message)
    return renamed


def _changed(
    message: Message, *, speaker: str | None = None, text: str | None = None, addressee: str | None
) -> Message:
    # Not dataclasses.replace: this runs for every addressed message and is four times faster.
    return Message(
        message.speaker if speaker is None else speaker,
        message.text if text is None else text,
        addressee,
        message.time,
        message.id,
        message.reply_to,
        message.kind,
        message.channel,
        message.line,
        message.name,
        message.mentions,
        message.bot,
    )
