"""Conversations of a busy channel, pulled apart: which message answers which.

`towhom.crosstalk` finds it, and `towhom.live` follows channels. Here, `placed` is what is found of a message,
`talks` gathers what belongs together, and `page` shows it. `baselines` are rules of thumb.
"""

from towhom.threads.placed import Placed

__all__ = ["Placed"]
