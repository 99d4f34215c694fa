"""What the page makes of a chat, without a browser: names, edits, deletions, renames."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

import towhom.serve
from tests.serve.conftest import JSON, answer, message, talk
from towhom.threads.questions import Turn, asked

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node on this machine")
FOLDER = Path(str(towhom.serve.__file__)).parent / "page"
SCRIPT = """
const {{ Chat, lastMessages }} = await import({module});
const chat = new Chat();
for (const observation of {given}) chat.take(observation);
const line = ({{ speaker, text, to, gone, open, target, position }}) =>
  ({{ speaker, text, to, gone, open, target: target?.position ?? null, position }});
console.log(JSON.stringify({{
  lines: chat.lines.map(line), last: lastMessages(chat, 100), spoken: chat.spoken.length,
  unanswered: chat.unanswered, speakers: [...chat.speakers.keys()], persons: chat.persons,
}}));
"""


def run(script: str) -> Any:
    """What a script prints, as JSON."""
    assert NODE is not None
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def page_of(observations: list[JSON]) -> Any:
    """What the page knows of a chat."""
    module = json.dumps((FOLDER / "chat.js").as_uri())
    return run(SCRIPT.format(module=module, given=json.dumps(observations)))


def followed(client: httpx.Client, *messages: JSON) -> Any:
    """A channel, as the page shows it."""
    found = answer(client.post("/v1/addressees", json={"messages": list(messages)}))["observations"]
    return page_of(found)


def test_names_are_shown(client: httpx.Client) -> None:
    page = followed(
        client,
        message(17, "is the kettle on?", name="Ada"),
        message(23, "Ada: since noon", name="Bob"),
        message(17, "Bob: thanks"),
    )
    assert [each["speaker"] for each in page["lines"]] == ["Ada", "Bob", "Ada"]
    assert [(each["to"], each["target"]) for each in page["lines"][1:]] == [("Ada", 0), ("Bob", 1)]
    assert page["speakers"] == ["Ada", "Bob"]


def test_edits_and_deletions_are_shown_where_the_message_stands(client: httpx.Client) -> None:
    page = followed(
        client,
        message("ada", "is the kettle on?", id=1),
        message("bob", "is the window shut?", id=2),
        message("ada", "is the kettle off?", id=1, kind="edit"),
        {"speaker": "bob", "id": 2, "kind": "delete"},
        message("system", "cyd has joined", kind="system"),
        message("cyd", "ada: it is off"),
    )
    assert [(each["text"], each["gone"], each["position"]) for each in page["lines"]] == [
        ("is the kettle off?", False, 0),
        ("(taken back)", True, 1),
        ("cyd has joined", False, 4),
        ("it is off", False, 5),
    ]
    assert page["spoken"] == 3
    # What ada asked is answered, and what bob asked is gone.
    assert (page["unanswered"], [each["open"] for each in page["lines"]]) == (0, [False] * 4)


def test_what_is_open_is_what_is_defined() -> None:
    random = Random(5)
    texts = ("is it on?", "why?", "本当？", "it is not", "")
    given: list[JSON] = []
    threads = [0]
    for number in range(600):
        thread = random.choice([number, *threads[-6:]])
        threads.append(thread)
        text = random.choice(texts)
        said = message(random.choice("abc"), text, bot=random.random() < 0.2)
        given.append({
            "number": number, "message": said, "asks": "?" in text or "？" in text, "how": "inferred",
            "reason": "", "addressees": [{"name": None, "probability": 1.0}], "replies_to": [thread],
            "thread": thread,
        })  # fmt: skip
    expected = []
    for thread in dict.fromkeys(threads):
        lines = [each for each in given if each["thread"] == thread]
        turns = ((each["message"], each["asks"]) for each in lines)
        found = asked(Turn(said["speaker"], said["text"], asks, not said["bot"]) for said, asks in turns)
        if found is not None and found.open:
            expected.append(lines[found.question]["number"])
    page = page_of(given)
    assert [each["position"] for each in page["lines"] if each["open"]] == sorted(expected)
    assert page["unanswered"] == len(expected) > 20


def test_who_is_renamed_stays_who_they_are(client: httpx.Client) -> None:
    page = followed(
        client,
        message("ada", "is the kettle on?"),
        message("ada", "ada_away", kind="rename"),
        message("ada_away", "or is it not?", id=2),
        message("bob", "since noon", reply_to=2),
    )
    assert (page["lines"][-1]["to"], page["lines"][-1]["target"]) == ("ada_away", 2)
    assert page["persons"] == 2


def test_what_an_earlier_version_kept(client: httpx.Client) -> None:
    """Observations without the fields that are new."""
    found = answer(client.post("/v1/addressees", json={"messages": talk("ada> hi", "bob> ada: hi")}))
    old = [
        {
            **{key: value for key, value in each.items() if key not in ("audience", "asks")},
            "message": {key: each["message"][key] for key in ("speaker", "text", "addressee", "time", "id")},
            "addressees": [{k: v for k, v in one.items() if k != "id"} for one in each["addressees"]],
        }
        for each in found["observations"]
    ]
    lines = page_of(old)["lines"]
    assert [(each["speaker"], each["to"], each["target"]) for each in lines[1:]] == [("bob", "ada", 0)]


def test_what_comes_next_is_asked_within_the_limits(client: httpx.Client) -> None:
    log = [
        message("U1", "x" * 5000, id="a" * 300, name="n" * 300, mentions=["m" * 300] * 150, bot=True),
        message("", "ada has joined", kind="system"),
        message("U1", "y" * 300, kind="rename"),
        message("U1", "", kind="rename"),
        message("U1", "no identifier", kind="edit"),
        {**message("U1", "", kind="delete"), "id": "a" * 300},
        message("U2", "yes", reply_to="a" * 300),
    ]
    content = "".join(f"{json.dumps(line)}\n" for line in log).encode()
    kind = {"Content-Type": "application/octet-stream"}
    lines = client.post("/v1/logs", content=content, headers=kind).text.splitlines()
    found = page_of([each for each in map(json.loads, lines) if each["type"] == "message"])
    assert [each["text"] for each in found["lines"] if each["gone"]] == ["(taken back)"]
    assert [each["kind"] for each in found["last"]] == ["message", "rename", "delete", "message"]
    body = {"messages": found["last"], "responder": "ada", "candidates": ["yes"]}
    answer(client.post("/v1/select", json=body))


MARKS = """
globalThis.document = {{ createElement: (tag) => ({{
  tag, attributes: {{}}, children: [],
  setAttribute(name, value) {{ this.attributes[name] = value; }}, removeAttribute() {{}},
  append(...children) {{ this.children.push(...children); }},
}}) }};
const {{ Chat }} = await import({chat});
const {{ plain, render }} = await import({marks});
const kind = (node) => node.attributes.class ? `.${{node.attributes.class}}` : "";
const shown = (node) => typeof node === "string" ? node
  : `<${{node.tag}}${{kind(node)}}>${{node.children.map(shown).join("")}}</>`;
const chat = new Chat({{ format: {format} }});
chat.speakers.set("Kenji Watanabe", 1);
const line = {{ text: {text}, gone: false, chat, message: {{ mentions: ["Mira"] }} }};
console.log(JSON.stringify([render(line).map(shown).join(""), plain(line)]));
"""


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        ("slack", "is *this* _really_ ~so~?", "is <strong>this</> <em>really</> <s>so</>?"),
        ("slack", "2*3*4 snake_case_name a * b * c", "2*3*4 snake_case_name a * b * c"),
        ("slack", "*bold _and italic_*", "<strong>bold <em>and italic</></>"),
        ("slack", "run `rm *.txt *.log` now", "run <code>rm *.txt *.log</> now"),
        ("slack", "see\n```\nmake *all*\n```\nthen", "see<code.block>make *all*</>then"),
        ("slack", ":tada: :not_a_name: 10:30:45", "<span>🎉</> :not_a_name: 10:30:45"),
        ("slack", ":wave::skin-tone-3: hi", "<span>👋</> hi"),
        ("slack", "ask @Kenji Watanabe or @Mira, @nobody", "ask <span.mention>@Kenji Watanabe</> or "
         "<span.mention>@Mira</>, @nobody"),
        ("slack", "<!channel> @here ann@all.example", "<!channel> <span.mention>@here</> ann@all.example"),
        ("discord", "**a** *b* __c__ ~~d~~ ||e||", "<strong>a</> <em>b</> <u>c</> <s>d</> "
         "<span.spoiler>e</>"),
        ("discord", "```py\nprint(1)\n```", "<code.block>print(1)</>"),
        ("discord", "<:partyblob:12345> <a:tada:99>", ":partyblob: <span>🎉</>"),
        ("whatsapp", "*hi* :tada:", "<strong>hi</> :tada:"),
        ("irc", "*hi* _there_ :tada: `ls`", "*hi* _there_ :tada: <code>ls</>"),
        (None, "http://a.example/x_y_z, (https://b.example)", "<a>http://a.example/x_y_z</>, "
         "(<a>https://b.example</>)"),
        (None, "see https://a.example/b_(c).", "see <a>https://a.example/b_(c)</>."),
        ("slack", "javascript:alert(1) <script>x</script>", "javascript:alert(1) <script>x</script>"),
        ("slack", "*" * 5000 + "_" * 5000 + "`" * 5001, None),
        ("discord", "**" * 4000 + "||" * 3000 + "x", None),
    ],
)  # fmt: skip
def test_marks(format: str | None, text: str, expected: str | None) -> None:
    modules = {name: json.dumps((FOLDER / f"{name}.js").as_uri()) for name in ("chat", "marks")}
    shown, plain = run(MARKS.format(**modules, format=json.dumps(format), text=json.dumps(text)))
    if expected is not None:
        assert shown == expected
        bare = re.sub(r"<(?:strong|em|s|u|a|span|code)(?:\.\w+)?>|</>", " ", expected)
        assert plain.replace(" ", "") == bare.replace(" ", "")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("naive", True), ("NAÏVE cafe", True), ('"a café"', True), ('"café a"', False), ("wren", True),
        ("noor key", False), ("ｃａｆé", True), ("   ", True),
    ],
)  # fmt: skip
def test_search(query: str, expected: bool) -> None:
    module = json.dumps((FOLDER / "search.js").as_uri())
    line = json.dumps({"spoken": True, "text": "a naïve key, in a café", "speaker": "Wren", "to": "Jón"})
    script = f"""
    const {{ matches, termsOf }} = await import({module});
    console.log(JSON.stringify(matches({line}, termsOf({json.dumps(query)}))));
    """
    assert run(script) is expected
