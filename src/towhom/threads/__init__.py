"""Splits a busy channel into conversations: which message answers which.

`towhom.crosstalk` finds the links, and `towhom.live` follows channels. Here, `placed` has the result for one
message, `talks` gathers messages into conversations, `page` shows them, and `baselines` has rules of thumb.
"""

from towhom.threads.placed import Placed

__all__ = ["Placed"]
