from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import datetime

import pytest

from towhom.chat import Conversation, Kind, Message


def test_messages_show_what_is_known() -> None:
    assert repr(Message("ada", "hi")) == "Message('ada', 'hi')"
    full = Message("ada", "hi", "bob", datetime(2024, 5, 31), "1", "0", Kind.ACTION, "lounge", 7)
    assert repr(full) == (
        "Message('ada', 'hi', addressee='bob', time=datetime.datetime(2024, 5, 31, 0, 0), id='1', "
        "reply_to='0', channel='lounge', line=7, kind='action')"
    )


def test_where_a_message_stood_does_not_make_it_another() -> None:
    assert Message("ada", "hi", line=1) == Message("ada", "hi", line=2)
    assert hash(Message("ada", "hi", line=1)) == hash(Message("ada", "hi"))
    assert Message("ada", "hi") != Message("ada", "hi", addressee="bob")


def test_messages_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Message("ada", "hi").text = "ho"  # type: ignore[misc]


def test_conversations() -> None:
    messages = (Message("bob", "a"), Message("ada", "b"), Message("bob", "c"))
    chat = Conversation(messages, "lounge")
    assert chat.speakers == ("bob", "ada")
    assert (len(chat), tuple(chat), chat[-1]) == (3, messages, messages[2])
    assert Conversation(()).speakers == ()
