"""towhom: who says what to whom, in conversations with many speakers."""

from towhom.chat import Conversation, Kind, Message
from towhom.loading import load
from towhom.readers import read_conversations as read
from towhom.version import __version__

__all__ = ["Conversation", "Kind", "Message", "__version__", "load", "read"]
