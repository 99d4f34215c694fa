"""A group chat of AutoGen whose agents call each other; prints who spoke, and how often a model was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_agentchat.teams import SelectorGroupChat
from autogen_core import CancellationToken
from autogen_core.models import CreateResult, ModelFamily, RequestUsage

from towhom.bots import selector

SAID = {
    "planner": ["coder: please write the parser", "that is all, we are done: TERMINATE"],
    "coder": ["critic, would you look at the parser?", "planner: the quotes are mended"],
    "critic": ["coder: the quotes are wrong"],
}


class Scripted(BaseChatAgent):
    """Says its lines, one a turn."""

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], token: CancellationToken) -> Response:
        return Response(chat_message=TextMessage(content=SAID[self.name].pop(0), source=self.name))

    async def on_reset(self, token: CancellationToken) -> None:
        pass


class Asked:
    """A language model that always chooses the planner, and counts."""

    calls = 0
    model_info = {  # noqa: RUF012
        "vision": False, "function_calling": False, "json_output": False,
        "family": ModelFamily.UNKNOWN, "structured_output": False,
    }  # fmt: skip

    async def create(self, *_: object, **__: object) -> CreateResult:
        self.calls += 1
        usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        return CreateResult(finish_reason="stop", content="planner", usage=usage, cached=False)


async def main() -> None:
    model = Asked()
    agents = [Scripted(name, f"the {name}") for name in SAID]
    team = SelectorGroupChat(
        agents,
        model_client=model,
        termination_condition=TextMentionTermination("TERMINATE"),
        selector_func=selector(SAID),
    )
    result = await team.run(task="we need a parser for csv files")
    speakers = [message.source for message in result.messages]
    print(json.dumps({"speakers": speakers, "model calls": model.calls}))  # noqa: T201


asyncio.run(main())
