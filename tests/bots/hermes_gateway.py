"""Messages of a group go through the real gateway of Hermes Agent; prints which of them reach the agent."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from gateway.config import Platform
from gateway.platforms.base import MessageEvent
from gateway.run import GatewayRunner
from gateway.session import SessionSource
from hermes_cli.plugins import get_plugin_manager, invoke_hook

LINES = json.loads(sys.argv[1])
reached: list[str] = []


class Reached(Exception):  # noqa: N818
    """A message has passed the hook."""


def authorized(source: SessionSource) -> bool:
    raise Reached


async def main() -> None:
    get_plugin_manager().discover_and_load()
    runner: Any = object.__new__(GatewayRunner)
    runner.session_store = None
    runner._scale_to_zero_note_real_inbound = lambda: None
    runner._is_user_authorized = authorized
    for number, (speaker, text, kind, answer) in enumerate(LINES):
        source = SessionSource(
            platform=Platform.TELEGRAM,
            chat_id="-5",
            chat_type=kind,
            user_id=f"id-{speaker}",
            user_name=speaker,
        )
        event = MessageEvent(text=text, source=source, message_id=str(number))
        try:
            await runner._handle_message(event)
        except Reached:
            reached.append(text)
            if answer:
                invoke_hook(
                    "post_llm_call",
                    session_id="s",
                    user_message=f"[{speaker}] {text}",
                    assistant_response=answer,
                )
    print(json.dumps(reached))  # noqa: T201


asyncio.run(main())
