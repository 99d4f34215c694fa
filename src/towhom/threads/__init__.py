"""Conversations of a busy channel, pulled apart: which message answers which.

`hearing` makes of a message what can be known of it by itself, `signals` compares it with each message before
it, `network` scores these, and `threader` does it as messages come. `talks` gathers what belongs together,
and `page` shows it. `baselines` are rules of thumb.
"""

from towhom.threads.threader import Placed, Threader, place_channels

__all__ = ["Placed", "Threader", "place_channels"]
