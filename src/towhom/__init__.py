"""towhom: who says what to whom, in conversations with many speakers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from towhom.chat import Conversation, Message
from towhom.readers import read_conversations as read
from towhom.version import __version__

if TYPE_CHECKING:
    from towhom.live import Model

__all__ = ["Conversation", "Message", "__version__", "load", "read"]


def load(folder: str | Path | None = None) -> Model:
    """A model to follow channels with.

    Args:
        folder: What `towhom train` or `towhom package` made; None for the model that comes with towhom.

    Raises:
        ModelFormatError: The folder is no model, or one of another version.
    """
    from towhom.live.model import load_live  # here, so that `import towhom` loads no NumPy

    return load_live(folder)
