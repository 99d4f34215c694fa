"""Drafts for a bot from a bank, beside its own."""

from __future__ import annotations

import asyncio

from towhom import Gate, Message
from towhom.bank import Bank

OWN = "I do not know that error, sorry"


def test_drafts_of_a_bank_beside_ones_of_its_own(bank: Bank) -> None:
    async def run() -> None:
        gate = Gate("helper")
        question = "helper, my dishwasher says E18 and there is water standing in it, any idea?"
        assert await gate.hear(Message("kurt", question, id="1", channel="repair"))
        found = await gate.drafts("repair", bank)
        assert found[0].response.startswith("E18 means that it cannot drain")
        assert found[0].addressee == "kurt"
        choice = await gate.choose("repair", [OWN, *(each.response for each in found)])
        assert choice.draft == found[0].response
        assert choice.to is not None
        assert choice.to.name == "kurt"

    asyncio.run(run())


def test_a_bank_that_has_nothing_gives_no_drafts(bank: Bank) -> None:
    async def run() -> None:
        gate = Gate("helper")
        assert await gate.drafts("repair", bank) == []  # nothing has been said there
        await gate.hear(Message("kurt", "helper, who won the chess tournament?", id="1", channel="repair"))
        assert await gate.drafts("repair", bank) == []

    asyncio.run(run())
