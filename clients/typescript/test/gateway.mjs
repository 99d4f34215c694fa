// Runs the built plugin with the real OpenClaw: its loader says what is registered, its hook runner runs the hooks.
// node test/gateway.mjs URL LINES
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { initializeGlobalHookRunner } from "openclaw/plugin-sdk/hook-runtime";
import plugin from "../dist/openclaw.js";

const [url, lines] = process.argv.slice(2);
const here = dirname(dirname(fileURLToPath(import.meta.url)));
const openclaw = dirname(dirname(dirname(fileURLToPath(import.meta.resolve("openclaw/plugin-sdk/hook-runtime")))));
const pluginConfig = { url, bot: "claw", aliases: ["openclaw"] };

function inspected() {
  const home = mkdtempSync(join(tmpdir(), "openclaw-"));
  const config = join(home, "openclaw.json");
  writeFileSync(config, JSON.stringify({
    plugins: { load: { paths: [here] }, entries: { towhom: { enabled: true, config: pluginConfig } } },
  }));
  const env = { ...process.env, HOME: home, OPENCLAW_STATE_DIR: home, OPENCLAW_CONFIG_PATH: config };
  const program = join(openclaw, "openclaw.mjs");
  const told = execFileSync(process.execPath, [program, "plugins", "inspect", "towhom", "--runtime", "--json"], { env });
  const found = JSON.parse(told.toString().slice(told.toString().indexOf("{")));
  return { status: found.plugin?.status, hooks: found.typedHooks?.map((hook) => hook.name) };
}

async function runner() {
  const typedHooks = [];
  plugin.register({
    pluginConfig,
    logger: { info() {}, warn: console.error, error: console.error },
    on: (hookName, handler) => typedHooks.push({ pluginId: "towhom", hookName, handler, source: "test" }),
  });
  initializeGlobalHookRunner({ hooks: [], typedHooks, plugins: [{ id: "towhom", status: "loaded" }] });
  const dist = join(openclaw, "dist");
  for (const file of readdirSync(dist).filter((name) => /^hook-runner-global-.*\.m?js$/.test(name))) {
    const exported = Object.values(await import(pathToFileURL(join(dist, file)).href));
    const get = exported.find((each) => each?.name === "getGlobalHookRunner");
    if (get?.()) return get();
  }
  throw new Error("OpenClaw has no hook runner where it used to be");
}

const hooks = await runner();
const reached = [];
let number = 0;
for (const [sender, text, isGroup, answer] of JSON.parse(lines)) {
  const context = { channelId: "telegram", conversationId: "-5" };
  const senderId = `id-${sender}`, messageId = String(number++);
  await hooks.runMessageReceived(
    { from: senderId, senderId, messageId, content: text, metadata: { senderName: sender } }, context);
  const result = await hooks.runBeforeDispatch({ content: text, senderId, messageId, isGroup, timestamp: Date.now() }, context);
  if (!result?.handled) {
    reached.push(text);
    if (answer) await hooks.runMessageSent({ to: "-5", content: answer, success: true, messageId: `a${number}` }, context);
  }
}
console.log(JSON.stringify({ reached, inspected: inspected() }));
process.exit(0);
