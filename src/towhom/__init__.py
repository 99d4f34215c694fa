"""towhom: who says what to whom, in conversations with many speakers."""

from towhom.chat import Conversation, Message
from towhom.readers import read_conversations as read

__version__ = "0.1.0.dev0"

__all__ = ["Conversation", "Message", "__version__", "read"]
