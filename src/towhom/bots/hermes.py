"""A plugin for Hermes Agent: the agent answers only messages that are for it.

Hermes finds it by the entry point group `hermes_agent.plugins`, and loads it if `plugins.enabled` of its
config.yaml has `towhom`. The section `towhom` there has the bot's names and the policy.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from towhom.bots.gate import Gate
from towhom.chat import Message
from towhom.errors import TowhomError

log = logging.getLogger("towhom.gate")

_BOT = "hermes"
"""Default name of the agent."""
_ALLOWED = 200
"""Maximum number of messages that are remembered until the agent answers them."""


def register(context: Any) -> None:
    """Called by Hermes when it loads the plugin."""
    plugin = HermesGate(_settings())
    context.register_hook("pre_gateway_dispatch", plugin.before)
    context.register_hook("post_llm_call", plugin.after)


class HermesGate:
    """The hooks.

    Args:
        settings: `bot`, `aliases`, `bots`, `folder`, and the settings of `towhom.bots.Policy`.

    Raises:
        ConfigError: A setting is unknown or invalid.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        settings = dict(settings)
        bot, aliases = str(settings.pop("bot", _BOT)), settings.pop("aliases", ())
        folder = settings.pop("folder", None)
        self._bot = bot
        self.gate = Gate(
            bot,
            *aliases,
            bots=settings.pop("bots", ()),
            folder=folder and Path(folder).expanduser(),
            **settings,
        )
        self._allowed: deque[Message] = deque(maxlen=_ALLOWED)

    def before(self, event: Any, **_: Any) -> dict[str, str] | None:
        """Hook `pre_gateway_dispatch`: whether a message reaches the agent.

        Commands and direct chats always do. Hermes waits for the answer, which takes some milliseconds.
        """
        source = event.source
        if source.chat_type == "dm" or event.is_command():
            return None
        message = Message(
            source.user_id or source.user_name or "somebody",
            event.text or "",
            self._bot if event.reply_to_is_own_message else None,
            event.timestamp.astimezone(),
            event.message_id,
            event.reply_to_message_id,
            channel=_room(source),
            name=source.user_name,
            bot=bool(source.is_bot),
        )
        verdict = self.gate.hear_now(message)
        if not verdict:
            return {"action": "skip", "reason": verdict.reason}
        self._allowed.append(message)
        return None

    def after(self, user_message: Any = None, assistant_response: Any = None, **_: Any) -> None:
        """Hook `post_llm_call`: pass the agent's answer to the gate, too."""
        asked, answer = str(user_message or ""), str(assistant_response or "")
        for message in reversed(self._allowed):
            if answer and message.text and message.text in asked:
                self._allowed.remove(message)
                self.gate.hear_now(
                    Message(self._bot, answer, message.speaker, channel=message.channel, bot=True)
                )
                return


def _room(source: Any) -> str:
    platform = getattr(source.platform, "value", source.platform)
    thread = f"/{source.thread_id}" if source.thread_id else ""
    return f"{platform}:{source.chat_id}{thread}"


def _settings() -> Mapping[str, Any]:
    """The section `towhom` of Hermes' config.yaml."""
    from hermes_cli.config import load_config

    settings = (load_config() or {}).get("towhom") or {}
    if not isinstance(settings, Mapping):
        raise TowhomError("config.yaml of Hermes: `towhom` is not a section with settings")
    return settings
