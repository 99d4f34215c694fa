"""For bots in group chats: when to speak, to whom, and what to read before."""

from towhom.bots.context import Context, rough_tokens
from towhom.bots.gate import Choice, Gate
from towhom.bots.policy import Policy
from towhom.bots.speakers import next_speaker, selector
from towhom.bots.verdict import GateVerdict, ReplyTo

__all__ = [
    "Choice",
    "Context",
    "Gate",
    "GateVerdict",
    "Policy",
    "ReplyTo",
    "next_speaker",
    "rough_tokens",
    "selector",
]
