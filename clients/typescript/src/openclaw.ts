/** A plugin for OpenClaw: in group chats, the agent answers what is for it, and nothing else. */
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";
import { channelOf, GateClient, type GateQuestion, type GateVerdict } from "./client.js";

interface Settings {
  url?: string;
  token?: string;
  bot: string;
  aliases?: string[];
  policy?: NonNullable<GateQuestion["policy"]>;
  hook?: "before_dispatch" | "before_agent_run";
  onError?: "silent" | "speak";
}

/** Names of those who have written lately, by identifier: `before_dispatch` has none. */
const NAMES = 10_000;

interface Heard {
  room: string;
  sender: string;
  text: string;
  id?: string | undefined;
  replyTo?: string | undefined;
  time?: number | undefined;
}

export default definePluginEntry({
  id: "towhom",
  name: "towhom gate",
  description: "In group chats, the agent answers what is for it, and nothing else.",
  register(api) {
    const settings = api.pluginConfig as unknown as Settings;
    if (!settings?.bot) {
      api.logger.warn("towhom: plugins.entries.towhom.config.bot is not set, so nothing is kept quiet");
      return;
    }
    const client = new GateClient(settings);
    const names = new Map<string, string>();
    const hook = settings.hook ?? "before_dispatch";

    function question(heard: Heard): GateQuestion {
      const name = names.get(heard.sender);
      return {
        bot: { id: settings.bot, aliases: settings.aliases ?? [] },
        ...(settings.policy ? { policy: settings.policy } : {}),
        room: channelOf(heard.room),
        message: {
          speaker: heard.sender,
          text: heard.text,
          ...(name ? { name } : {}),
          ...(heard.id ? { id: heard.id } : {}),
          ...(heard.replyTo ? { reply_to: heard.replyTo } : {}),
          ...(heard.time ? { time: new Date(heard.time).toISOString() } : {}),
        },
      };
    }

    async function ask(heard: Heard): Promise<Pick<GateVerdict, "speak" | "reason">> {
      try {
        const verdict = await client.hear(question(heard));
        api.logger.info(`towhom: ${verdict.speak ? "speaks" : "keeps quiet"}: ${verdict.reason}`);
        return verdict;
      } catch (error) {
        const speak = settings.onError === "speak";
        api.logger.error(`towhom cannot be asked, so the agent ${speak ? "speaks" : "keeps quiet"}: ${String(error)}`);
        return { speak, reason: "towhom cannot be asked" };
      }
    }

    api.on("message_received", (event) => {
      const name = event.metadata?.["senderName"];
      if (!event.senderId || typeof name !== "string" || !name) return;
      names.delete(event.senderId);
      names.set(event.senderId, name);
      for (const oldest of names.keys()) {
        if (names.size <= NAMES) break;
        names.delete(oldest);
      }
    });

    // The agent's own messages are heard, too: what follows them may be for it.
    api.on("message_sent", async (event, context) => {
      if (!event.success || !event.content) return;
      const room = context.conversationId ?? event.to;
      await ask({ room: roomOf(context.channelId, room), sender: settings.bot, text: event.content, id: event.messageId });
    });

    if (hook === "before_dispatch") {
      api.on("before_dispatch", async (event, context) => {
        if (!event.isGroup || event.content.startsWith("/")) return;
        const verdict = await ask({
          room: roomOf(context.channelId ?? event.channel, context.conversationId ?? event.sessionKey),
          sender: event.senderId ?? "somebody",
          text: event.body ?? event.content,
          id: event.messageId,
          replyTo: event.replyToIdFull ?? event.replyToId,
          time: event.timestamp,
        });
        return verdict.speak ? undefined : { handled: true };
      });
      return;
    }
    api.on("before_agent_run", async (event, context) => {
      const key = context.sessionKey ?? "";
      if (!/:(group|channel)[:/]/.test(key)) return;
      const room = roomOf(event.channelId, key);
      const verdict = await ask({ room, sender: event.senderId ?? "somebody", text: event.prompt });
      return verdict.speak ? { outcome: "pass" } : { outcome: "block", reason: verdict.reason };
    });
  },
});

function roomOf(channel: string | undefined, conversation: string | undefined): string {
  return `${channel ?? "openclaw"}:${conversation ?? "room"}`;
}
