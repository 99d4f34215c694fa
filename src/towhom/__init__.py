"""towhom: who says what to whom, in conversations with many speakers."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from towhom.chat import Conversation, Kind, Message, Presence
from towhom.frames import frame
from towhom.loading import load
from towhom.readers import read_conversations as read
from towhom.version import __version__

if _TYPE_CHECKING:
    from towhom.bots import Gate

__all__ = ["Conversation", "Gate", "Kind", "Message", "Presence", "__version__", "frame", "load", "read"]


def __getattr__(name: str) -> object:
    """Import `towhom.Gate` on first use, so that `import towhom` needs no NumPy."""
    if name == "Gate":
        from towhom.bots import Gate

        return Gate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
