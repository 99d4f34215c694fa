"""Follows a chat message by message: who is each message for, and which response to select, for whom?"""

from towhom.live.answers import Addressee, Audience, How, Observation, Selection, Verdict
from towhom.live.model import Model
from towhom.live.responding import Proposal
from towhom.live.session import Session

__all__ = [
    "Addressee",
    "Audience",
    "How",
    "Model",
    "Observation",
    "Proposal",
    "Selection",
    "Session",
    "Verdict",
]
