"""Small exports of more platforms, invented for the tests; each builder makes one of so many messages."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.readers.exports import NAMES, START, STEP, Files, encoded


def times(count: int) -> Iterator[tuple[int, datetime, str]]:
    """Numbers, times and speakers of messages."""
    return ((number, START + number * STEP, NAMES[number % 3]) for number in range(count))


def milliseconds(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def json_lines(values: list[Any]) -> bytes:
    return "\n".join(json.dumps(value, ensure_ascii=False) for value in values).encode()


def said(number: int) -> str:
    """What is said where the platform marks nobody: sometimes with a name in front."""
    return "ada: is it done?" if number % 4 == 1 else f"line {number}"


# Facebook, Instagram ----------------------------------------------------------------------------------------


def broken(text: str) -> str:
    """As Facebook writes it: every byte of the UTF-8 a character."""
    return text.encode().decode("latin-1")


def facebook(messages: list[Any], title: str | None = "Rowing club") -> bytes:
    people = [{"name": broken(name)} for name in NAMES]
    named = {"title": broken(title)} if title else {}
    return encoded({"participants": people, "messages": messages, **named, "is_still_participant": True})


def facebook_message(time: int, name: str, content: str | None, **more: Any) -> dict[str, Any]:
    text = {} if content is None else {"content": broken(content)}
    return {
        "sender_name": broken(name),
        "timestamp_ms": time,
        **text,
        "is_geoblocked_for_viewer": False,
        **more,
    }


def long_facebook(count: int) -> Files:
    made = [facebook_message(milliseconds(time), name, said(number)) for number, time, name in times(count)]
    return {"message_1.json": facebook(made[::-1])}


def long_facebook_folder(count: int) -> Files:
    made = [facebook_message(milliseconds(time), name, said(number)) for number, time, name in times(count)][
        ::-1
    ]
    folder = "your_activity/messages/inbox/club_1a2b"
    return {
        f"{folder}/message_1.json": facebook(made[: count // 2]),
        f"{folder}/message_2.json": facebook(made[count // 2 :]),
        "your_activity/ads.json": b'{"ads": []}',
    }


# Google Chat ------------------------------------------------------------------------------------------------


def google_message(
    number: int, name: str | None, text: str, topic: int | None = None, **more: Any
) -> dict[str, Any]:
    topic = number if topic is None else topic
    creator = {"name": name, "email": f"{name}@example.org", "user_type": "Human"} if name else {}
    return {
        "creator": creator,
        "created_date": f"{START + number * STEP:%A, %B %d, %Y at %I:%M:%S\u202f%p UTC}",
        "text": text,
        "topic_id": f"t{topic}",
        "message_id": f"s/t{topic}/t{number}",
        **more,
    }


def long_google_chat(count: int) -> Files:
    made = []
    for number, _, name in times(count):
        topic = number - 1 if number % 4 == 1 else None
        made.append(google_message(number, name, f"line {number}", topic))
    info = {"name": "Rowing club", "members": [{"name": name} for name in NAMES]}
    folder = "Takeout/Google Chat/Groups/Space 1"
    return {
        f"{folder}/messages.json": encoded({"messages": made}),
        f"{folder}/group_info.json": encoded(info),
    }


# Zulip ------------------------------------------------------------------------------------------------------


def zulip_message(number: int, sender: int, content: str, **more: Any) -> dict[str, Any]:
    time = (START + number * STEP).timestamp()
    return {"id": number, "sender": sender, "recipient": 20, "subject": "boats", "content": content,
            "rendered_content": f"<p>{content}</p>", "date_sent": time, **more}  # fmt: skip


def zulip(messages: list[Any]) -> Files:
    realm = {
        "zerver_userprofile": [{"id": place, "full_name": name} for place, name in enumerate(NAMES, start=1)],
        "zerver_stream": [{"id": 5, "name": "club"}],
        "zerver_recipient": [{"id": 20, "type": 2, "type_id": 5}, {"id": 21, "type": 1, "type_id": 1}],
    }
    users = {"zerver_usermessage": [], "zerver_message": messages}
    return {"realm.json": encoded(realm), "messages-000001.json": encoded(users)}


def long_zulip(count: int) -> Files:
    made = []
    for number, _, _ in times(count):
        text = "@**ada|1** is it done?" if number % 4 == 1 else f"line {number}"
        made.append(zulip_message(number, number % 3 + 1, text))
    return zulip(made)


def zulip_archived(number: int, name: str, content: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "sender_full_name": name, "sender_id": NAMES.index(name) + 1,
            "timestamp": int((START + number * STEP).timestamp()), "content": content, **more}  # fmt: skip


def long_zulip_api(count: int) -> Files:
    made = []
    for number, _, name in times(count):
        text = f"<p>line {number}</p>"
        if number % 4 == 1:
            text = '<p><span class="user-mention" data-user-id="3">@Cleo D.</span> look</p>'
        made.append(
            zulip_archived(number, name, text, display_recipient="club", subject="boats", type="stream")
        )
    return {"messages.json": encoded({"result": "success", "messages": made})}


# Mattermost -------------------------------------------------------------------------------------------------


def mattermost_post(time: datetime, user: str, message: str, **more: Any) -> dict[str, Any]:
    post = {"team": "crew", "channel": "club", "user": user, "type": "", "message": message, "props": {},
            "create_at": milliseconds(time), "replies": [], "reactions": None}  # fmt: skip
    return {"type": "post", "post": post | more}


def mattermost(posts: list[Any]) -> bytes:
    head = [{"type": "version", "version": 1}, {"type": "team", "team": {"name": "crew"}}]
    return json_lines([*head, {"type": "user", "user": {"username": "ada"}}, *posts])


def long_mattermost(count: int) -> Files:
    made = []
    for number, time, name in times(count):
        text = "@ada look" if number % 4 == 1 else f"line {number}"
        made.append(mattermost_post(time, name.partition(" ")[0].lower(), text))
    return {"import.jsonl": mattermost(made)}


# Rocket.Chat, Gitter ----------------------------------------------------------------------------------------


def rocket_message(number: int, name: str, text: str, **more: Any) -> dict[str, Any]:
    return {"_id": f"m{number}", "rid": "club", "msg": text, "ts": (START + number * STEP).isoformat(),
            "u": {"_id": f"u{name}", "username": name}, "mentions": [], **more}  # fmt: skip


def long_rocketchat(count: int) -> Files:
    made = []
    for number, _, name in times(count):
        more = {"tmid": f"m{number - 1}"} if number % 4 == 1 else {}
        made.append(rocket_message(number, name, f"line {number}", **more))
    return {"messages.json": encoded({"messages": made})}


def long_rocketchat_dump(count: int) -> Files:
    made = []
    for number, time, name in times(count):
        stamp = {"$date": {"$numberLong": str(milliseconds(time))}}
        text, more = f"line {number}", {}
        if number % 4 == 1:
            text, more = "@bob look", {"mentions": [{"_id": "u1", "username": "bob"}]}
        made.append(rocket_message(number, name, text, ts=stamp, **more))
    return {"rocketchat_message.json": json_lines(made)}


def gitter_message(number: int, name: str, text: str, **more: Any) -> dict[str, Any]:
    user = {"id": f"u{name}", "username": name, "displayName": name.upper()}
    return {"id": f"m{number}", "text": text, "html": text, "sent": (START + number * STEP).isoformat(),
            "fromUser": user, "mentions": [], **more}  # fmt: skip


def long_gitter(count: int) -> Files:
    made = []
    for number, _, name in times(count):
        text, more = f"line {number}", {}
        if number % 4 == 1:
            text, more = "@ada look", {"mentions": [{"screenName": "ada", "userId": "u3"}]}
        made.append(gitter_message(number, name, text, **more))
    return {"room.json": encoded(made)}


# Teams and Skype --------------------------------------------------------------------------------------------


def teams_message(number: int, name: str | None, content: str, **more: Any) -> dict[str, Any]:
    author = {"user": {"id": f"u{name}", "displayName": name}} if name else None
    return {"id": str(number), "messageType": "message", "from": author,
            "createdDateTime": f"{START + number * STEP:%Y-%m-%dT%H:%M:%S}.123Z",
            "body": {"contentType": "html", "content": content}, "mentions": [], **more}  # fmt: skip


def teams_mention(name: str) -> dict[str, Any]:
    return {"id": 0, "mentionText": name, "mentioned": {"user": {"id": f"u{name}", "displayName": name}}}


def long_teams(count: int) -> Files:
    made = []
    for number, _, name in times(count):
        content, mentions = f"<div><p>line {number}</p></div>", []
        if number % 4 == 1:
            content, mentions = '<p><at id="0">Cleo</at>, look</p>', [teams_mention("Cleo D.")]
        made.append(teams_message(number, name, content, mentions=mentions))
    return {"messages.json": encoded({"@odata.context": "x", "value": made[::-1]})}


def skype_message(number: int, name: str | None, content: str, **more: Any) -> dict[str, Any]:
    return {"id": str(number), "displayName": name, "from": f"8:{name}", "messagetype": "RichText",
            "originalarrivaltime": f"{START + number * STEP:%Y-%m-%dT%H:%M:%S}.000Z",
            "content": content, **more}  # fmt: skip


def skype(conversations: dict[str, list[Any]]) -> bytes:
    made = [{"id": f"19:{name}@thread.skype", "displayName": name, "properties": {"x": {"y": 1}},
             "MessageList": found}
            for name, found in conversations.items()]  # fmt: skip
    return encoded({"userId": "8:ada", "exportDate": "2024-06-03T10:00", "conversations": made})


def long_skype(count: int) -> Files:
    made = []
    for number, _, name in times(count):
        content = '<at id="8:bob">bob</at> look' if number % 4 == 1 else f"line {number}"
        made.append(skype_message(number, name, content))
    return {"messages.json": skype({"Club": made[::-1]})}


# Signal -----------------------------------------------------------------------------------------------------


def signal_envelope(number: int, name: str, message: str | None, **more: Any) -> dict[str, Any]:
    time = milliseconds(START + number * STEP)
    data = {"timestamp": time, "message": message, "groupInfo": {"groupId": "club="}, **more}
    return {"envelope": {"source": f"+1{len(name)}", "sourceName": name, "timestamp": time,
                         "dataMessage": data},
            "account": "+19"}  # fmt: skip


def long_signal(count: int) -> Files:
    made = []
    for number, time, name in times(count):
        more: dict[str, Any] = (
            {"quote": {"id": milliseconds(time - STEP), "text": "x"}} if number % 4 == 1 else {}
        )
        made.append(signal_envelope(number, name, f"line {number}", **more))
    return {"received.json": json_lines(made)}


def long_signal_export(count: int) -> Files:
    made = [{"date": f"{time:%Y-%m-%d %H:%M:%S}", "sender": name, "body": said(number), "quote": "",
             "reactions": []}
            for number, time, name in times(count)]  # fmt: skip
    return {"data.json": json_lines(made)}


# Discord's data package -------------------------------------------------------------------------------------


def package_message(number: int, text: str) -> dict[str, Any]:
    return {"ID": 1000 + number, "Timestamp": f"{START + number * STEP:%Y-%m-%d %H:%M:%S}", "Contents": text,
            "Attachments": ""}  # fmt: skip


def package(files: Files) -> Files:
    user, channel = {"id": "1", "username": "ada"}, {"id": "7", "name": "club", "guild": {"name": "Crew"}}
    return {"account/user.json": encoded(user), "messages/c7/channel.json": encoded(channel), **files}


def long_package(count: int) -> Files:
    made = [package_message(number, f"line {number}") for number in range(count)]
    return package({"messages/c7/messages.json": encoded(made[::-1])})


def long_package_csv(count: int) -> Files:
    return package(
        {"messages/c7/messages.csv": table([package_message(n, f"line {n}") for n in range(count)])}
    )


# Transcripts, XMPP, tables, patterns ------------------------------------------------------------------------


def offset(seconds: float) -> str:
    clock = str(timedelta(seconds=seconds))
    return f"{clock:0>8}.000"


def long_vtt(count: int) -> Files:
    cues = [
        f"{n}\n{offset(5 * n)} --> {offset(5 * n + 4)}\n<v {NAMES[n % 3]}>{said(n)}.</v>"
        for n in range(count)
    ]
    return {"meeting.vtt": "\n\n".join(["WEBVTT", *cues]).encode()}


def long_srt(count: int) -> Files:
    names = [name.capitalize() for name in NAMES]
    said_by = [f"{names[n % 3]}: {said(n).replace('ada', 'Ada')}." for n in range(count)]
    cues = [f"{n}\n{offset(5 * n)} --> {offset(5 * n + 4)}\n{text}" for n, text in enumerate(said_by)]
    return {"meeting.srt": "\r\n\r\n".join(cues).replace(".000", ",000").encode()}


def long_whisper(count: int) -> Files:
    made = [{"start": 5.5 * n, "end": 5.5 * n + 4, "text": f" {said(n)}", "speaker": NAMES[n % 3],
             "words": []}
            for n in range(count)]  # fmt: skip
    return {"meeting.json": encoded({"segments": made, "language": "en"})}


def lua_item(number: int, nick: str, body: str, more: str = "") -> str:
    time = int((START + number * STEP).timestamp())
    escaped = body.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return (
        f'item({{\n\t["key"] = "k{number}";\n\t["when"] = {time};\n\t["with"] = "message<groupchat";\n'
        f'\t["name"] = "message";\n'
        f'\t["attr"] = {{ ["from"] = "club@rooms.example/{nick}"; ["type"] = "groupchat"; }};\n'
        f'\t{{ ["name"] = "body"; ["attr"] = {{}}; "{escaped}"; }};{more}\n}});'
    )


def long_prosody(count: int) -> Files:
    return {"muc_log.list": "\n".join(lua_item(n, name, said(n)) for n, _, name in times(count)).encode()}


def stanza(number: int, nick: str, body: str, more: str = "") -> str:
    time = f"{START + number * STEP:%Y-%m-%dT%H:%M:%SZ}"
    return (
        f"<message from='club@rooms.example/{nick}' type='groupchat' id='m{number}'><body>{body}</body>"
        f"<delay xmlns='urn:xmpp:delay' stamp='{time}'/>{more}</message>"
    )


def long_stanzas(count: int) -> Files:
    return {"room.xml": "\n".join(stanza(n, name, said(n)) for n, _, name in times(count)).encode()}


def table(rows: list[dict[str, Any]], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def long_csv(count: int) -> Files:
    rows = [
        {"Date": time.isoformat(), "From": name, "Message": said(n), "Channel": "club"}
        for n, time, name in times(count)
    ]
    return {"chat.csv": table(rows)}


def long_tsv(count: int) -> Files:
    rows = [
        {"time": f"{time:%d.%m.%Y %H:%M}", "user": name, "body": f"{said(n)}\nmore"}
        for n, time, name in times(count)
    ]
    return {"chat.tsv": table(rows, "\t")}


def long_keys(count: int) -> Files:
    rows = [{"ts": time.timestamp(), "author": name, "message": said(n)} for n, time, name in times(count)]
    return {"chat.json": json_lines(rows)}


def long_pattern(count: int) -> Files:
    lines = [f"{time:%Y-%m-%d %H:%M} | {name} | {said(n)}, and then\nmore" for n, time, name in times(count)]
    return {"chat.txt": "\n".join(lines).encode()}


def long_line(count: int) -> Files:
    """As LINE writes it: the day is a heading."""
    lines, day = ["[LINE] Chat history with Rowing club", "Saved on: 2024/06/03 10:30"], ""
    for number, time, name in times(count):
        if day != f"{time:%Y/%m/%d(%a)}":
            day = f"{time:%Y/%m/%d(%a)}"
            lines += ["", day]
        clock = f"{time + timedelta(minutes=number % 4):%H:%M}"
        lines.append(f"{clock}\t{name}\t{said(number)}, and then")
    return {"chat.txt": "\n".join(lines).encode()}


def long_exporter_text(count: int) -> Files:
    """As DiscordChatExporter writes it: a head of a line, the text below it, rules around all."""
    rule = "=" * 62
    posts = [
        f"[{time:%d-%b-%y %I:%M %p}] {name}#1234\n{said(number)}, and then\n"
        for number, time, name in times(count)
    ]
    return {"lounge.txt": "\n".join([f"{rule}\nGuild: Crew\n{rule}\n", *posts, rule, "Exported"]).encode()}


def long_two_lines(count: int) -> Files:
    """As imessage-exporter writes it: a line for the time, one for the name."""
    posts = [
        f"{time:%b %d, %Y  %I:%M:%S %p} (Read after {number} seconds)\n{name}\n{said(number)}, and then\n"
        for number, time, name in times(count)
    ]
    return {"chat.txt": "\n".join(posts).encode()}


def long_pidgin(count: int) -> Files:
    """As Pidgin writes it: a page of lines."""
    lines, day = [], ""
    for number, time, name in times(count):
        if day != f"{time:%d %b %Y}":
            day = f"{time:%d %b %Y}"
            lines.append(f"<h3>Conversation with club at {time:%a} {day} {time:%H:%M:%S} on ada/ (irc)</h3>")
        says = f"<font size='2'>({time:%H:%M:%S})</font> <b>{name}:</b></font> {said(number)}, and then<br/>"
        lines.append(f"<font color='#16569E'>{says}")
    return {"log.html": "\n".join(["<html><body>", *lines, "</body></html>"]).encode()}


# Pages ------------------------------------------------------------------------------------------------------


def telegram_page(messages: list[str]) -> bytes:
    title = '<div class="page_header"><div class="text bold">\nRowing club\n</div></div>'
    head = '<!DOCTYPE html>\n<html><head><script src="x"></script></head><body>'
    return "\n".join([head, title, *messages, "</body></html>"]).encode()


def telegram_div(number: int, name: str | None, text: str, more: str = "") -> str:
    time = START + number * STEP
    named = f'<div class="from_name">\n{name} \n</div>' if name else ""
    return (
        f'<div class="message default clearfix{"" if name else " joined"}" id="message{number}">\n'
        f'<div class="body"><div class="pull_right date details" title="{time:%d.%m.%Y %H:%M:%S} UTC+00:00">'
        f'\n{time:%H:%M}\n</div>{named}{more}<div class="text">\n{text}\n</div></div></div>'
    )


def long_telegram_pages(count: int) -> Files:
    reply = '<div class="reply_to details">In reply to <a href="#go_to_message{}">this message</a></div>'
    made = [
        telegram_div(number, name, f"line {number}", reply.format(number - 1) if number % 4 == 1 else "")
        for number, _, name in times(count)
    ]
    return {
        "chat/messages.html": telegram_page(made[: count // 2]),
        "chat/messages2.html": telegram_page(made[count // 2 :]),
        "chat/css/style.css": b".message { margin: 0 }",
    }


def exporter_div(number: int, name: str, text: str, more: str = "") -> str:
    time = f"{START + number * STEP:%m/%d/%Y %I:%M %p}"
    return (
        f'<div class="chatlog__message-group"><div id="chatlog__message-container-{number}" '
        f'class="chatlog__message-container " data-message-id="{number}"><div class="chatlog__message">{more}'
        f'<div class="chatlog__header"><span class="chatlog__author" title="{name}">{name}</span> '
        f'<span class="chatlog__timestamp"><a href="#c">{time}</a></span></div>'
        f'<div class="chatlog__content"><span class="chatlog__markdown-preserve">{text}</span>'
        f"</div></div></div></div>"
    )


def exporter_page(messages: list[str]) -> bytes:
    entries = "".join(
        f'<div class="preamble__entry">{text}</div>' for text in ("Crew", "Text / lounge", "boats")
    )
    style = "<style>.chatlog__message { margin: 0 } a > b { color: red }</style>"
    head = f'<!DOCTYPE html><html><head>{style}</head><body><div class="preamble">{entries}</div>'
    return "\n".join([head, *messages, "</body></html>"]).encode()


def long_exporter_page(count: int) -> Files:
    mention = '<span class="chatlog__markdown-mention" title="ada">@ada</span> look'
    return {
        "lounge.html": exporter_page(
            [
                exporter_div(number, name, mention if number % 4 == 1 else f"line {number}")
                for number, _, name in times(count)
            ]
        )
    }


def meta_page(messages: list[str]) -> bytes:
    return f"<html><head></head><body><h1>Rowing club</h1>{''.join(messages)}</body></html>".encode()


def meta_div(number: int, name: str, text: str) -> str:
    time = START + number * STEP
    return (
        f'<div class="pam _2ph- _a6-g uiBoxWhite noborder"><h2 class="_2pim _a6-h _a6-i">{name}</h2>'
        f'<div class="_a6-p"><div><div></div><div>{text}</div><div><ul class="_a6-q"><li>x</li></ul></div>'
        f'</div></div><div class="_3-94 _a6-o">{time:%b %d, %Y %I:%M %p}</div></div>'
    )


def long_meta_pages(count: int) -> Files:
    made = [meta_div(number, name, said(number)) for number, _, name in times(count)][::-1]
    folder = "your_activity/messages/inbox/club_1a2b"
    return {
        f"{folder}/message_1.html": meta_page(made[: count // 2]),
        f"{folder}/message_2.html": meta_page(made[count // 2 :]),
    }


def sms(number: int, name: str, text: str, kind: int = 1) -> str:
    time = milliseconds(START + number * STEP)
    return (
        f'<sms protocol="0" address="+1" date="{time}" type="{kind}" body="{text}" contact_name="{name}" />'
    )


def long_sms(count: int) -> Files:
    made = [sms(number, "ada", f"{said(number)}&#10;more", number % 2 + 1) for number in range(count)]
    return {"sms.xml": "\n".join(["<?xml version='1.0'?>", "<smses>", *made, "</smses>"]).encode()}


# Hangouts ---------------------------------------------------------------------------------------------------


def hangouts_event(number: int, person: int, text: str | None, **more: Any) -> dict[str, Any]:
    segment = {} if text is None else {"segment": [{"type": "TEXT", "text": text}]}
    return {"sender_id": {"gaia_id": str(person), "chat_id": str(person)}, "event_id": f"e{number}",
            "timestamp": str(milliseconds(START + number * STEP) * 1000),
            "chat_message": {"message_content": segment}, "event_type": "REGULAR_CHAT_MESSAGE",
            **more}  # fmt: skip


def hangouts(events: list[Any], name: str | None = "Rowing club") -> bytes:
    people = [
        {"id": {"gaia_id": str(place), "chat_id": str(place)}, "fallback_name": person}
        for place, person in enumerate(NAMES)
    ]
    inner = {"type": "GROUP", "participant_data": people, **({"name": name} if name else {})}
    conversation = {"conversation_id": {"id": "c"}, "conversation": inner}
    return encoded({"conversations": [{"conversation": conversation, "events": events}]})


def long_hangouts(count: int) -> Files:
    return {"Hangouts.json": hangouts([hangouts_event(n, n % 3, said(n)) for n in range(count)])}


# The same platforms, as other programs write them -----------------------------------------------------------


def long_slackdump(count: int) -> Files:
    made: list[dict[str, Any]] = []
    for number, time, name in times(count):
        ts = f"{int(time.timestamp())}.000100"
        message = {"type": "message", "user": name, "text": f"line {number}", "ts": ts}
        if number % 4 == 1 and made:
            made[-1]["slackdump_thread_replies"] = [message]
        else:
            made.append(message)
    return {"C0123456.json": encoded({"channel_id": "C0123456", "name": "club", "messages": made[::-1]})}


def long_matrix_events(count: int) -> Files:
    made = []
    for number, time, _ in times(count):
        content: dict[str, Any] = {"msgtype": "m.text", "body": f"line {number}"}
        if number % 4 == 1:
            content["m.relates_to"] = {"m.in_reply_to": {"event_id": f"$e{number - 1}"}}
        made.append({"type": "m.room.message", "sender": f"@{'abc'[number % 3]}:x.org", "content": content,
                     "event_id": f"$e{number}", "room_id": "!club:x.org",
                     "origin_server_ts": milliseconds(time)})  # fmt: skip
    return {"events.json": encoded({"chunk": made[::-1], "end": "t1"})}


def long_discord_api(count: int) -> Files:
    made = []
    for number, time, name in times(count):
        message = {"id": str(number), "type": 0, "content": f"line {number}", "channel_id": "9",
                   "author": {"id": name, "username": name}, "mentions": [],
                   "timestamp": time.isoformat()}  # fmt: skip
        if number % 4 == 1:
            message |= {"type": 19, "message_reference": {"message_id": str(number - 1)}}
        made.append(message)
    return {"messages.json": encoded(made[::-1])}


def long_nested(count: int) -> Files:
    """Messages somewhere in a JSON file, with keys in keys."""
    made = [
        {
            "created": {"when": time.isoformat()},
            "commenter": {"display_name": name},
            "message": {"body": said(n)},
        }
        for n, time, name in times(count)
    ]
    return {"chat.json": encoded({"version": 2, "video": {"comments": made}})}


def long_rooms(count: int) -> Files:
    """A list a room, under its name."""
    made = [{"user": name, "text": said(n), "ts": time.isoformat()} for n, time, name in times(count)]
    return {"chat.json": encoded({"club": made[: count // 2], "news": made[count // 2 :]})}


def long_unnamed(count: int) -> Files:
    """Keys that say nothing."""
    made = [
        {"u": name, "t": f"{said(n)}, and then", "at": time.timestamp()} for n, time, name in times(count)
    ]
    return {"chat.json": json_lines(made)}


# More dialects of IRC ---------------------------------------------------------------------------------------


def irc(
    form: str,
    head: str = "",
    action: str = " * bob waves",
    join: str = "*** cleo has joined #room",
    midnight: str = "",
) -> Callable[[int], Files]:
    """Logs of a dialect; `form` has the time, then the nick."""

    def build(count: int) -> Files:
        lines = [head] if head else []
        for number, time, name in times(count):
            nick, text = name.partition(" ")[0], said(number)
            stamp, says = time.astimezone(UTC).strftime(form).split("NICK")
            if midnight and number and time.date() != (time - STEP).date():
                lines.append(f"{time:{midnight}}")
            lines.append(f"{stamp}{nick}{says}{text}")
            if number % 50 == 7:
                lines.append(f"{stamp.rstrip('<')}{action}")
                lines.append(f"{stamp.rstrip('<')}{join}")
        return {"room.log": "\n".join(lines).encode()}

    return build


PLATFORMS: dict[str, tuple[str, Callable[[int], Files]]] = {
    "facebook": ("facebook", long_facebook),
    "facebook folder": ("facebook", long_facebook_folder),
    "google chat": ("google-chat", long_google_chat),
    "zulip": ("zulip", long_zulip),
    "zulip api": ("zulip", long_zulip_api),
    "mattermost": ("mattermost", long_mattermost),
    "rocketchat": ("rocketchat", long_rocketchat),
    "rocketchat dump": ("rocketchat", long_rocketchat_dump),
    "teams": ("teams", long_teams),
    "skype": ("teams", long_skype),
    "gitter": ("gitter", long_gitter),
    "signal": ("signal", long_signal),
    "signal export": ("signal", long_signal_export),
    "discord package": ("discord-package", long_package),
    "discord package csv": ("discord-package", long_package_csv),
    "whisper": ("whisper", long_whisper),
    "vtt": ("subtitles", long_vtt),
    "srt": ("subtitles", long_srt),
    "prosody": ("xmpp", long_prosody),
    "xmpp": ("xmpp", long_stanzas),
    "csv": ("table", long_csv),
    "tsv": ("table", long_tsv),
    "keys": ("table", long_keys),
    "limnoria": ("irc", irc("%Y-%m-%dT%H:%M:%S  <NICK> ")),
    "dircproxy": ("irc", irc("[%d %b %H:%M] <NICK!u@host> +", join="--> cleo (u@host) joined")),
    "dircproxy seconds": ("irc", irc("@%s <NICK!u@host> ")),
    "mirc": (
        "irc",
        irc(
            "[%H:%M] <NICK> ",
            "Session Start: Fri May 31 09:00:00 2024",
            "* bob waves",
            "* Joins: cleo (u@h)",
            "Session Time: %a %b %d 00:00:00 %Y",
        ),
    ),
    "hexchat": (
        "irc",
        irc(
            "%b %d %H:%M:%S <NICK>\t",
            "**** BEGIN LOGGING AT Fri May 31 09:00:00 2024",
            "*\tbob waves",
            "*\tcleo has joined",
        ),
    ),
    "textual": (
        "irc",
        irc("[%Y-%m-%dT%H:%M:%S-0400] <NICK> ", action="• bob: waves", join="cleo (u@h) joined the channel"),
    ),
    "eggdrop": (
        "irc",
        irc(
            "[%H:%M] <NICK> ",
            "[00:00] --- Fri May 31 2024",
            "Action: bob waves",
            "cleo (u@h) joined #room.",
            "[00:00] --- %a %b %d %Y",
        ),
    ),
    "quassel": (
        "irc",
        irc("[%Y-%m-%d %H:%M:%S] <NICK> ", action="-*- bob waves", join="--> cleo (u@h) has joined #room"),
    ),
    "minecraft": (
        "irc",
        irc(
            "[%d%b%Y %H:%M:%S.123] [Server thread/INFO] [minecraft/DedicatedServer]: <NICK> ",
            action="* bob waves",
            join="cleo joined the game",
        ),
    ),
    "slackdump": ("slack", long_slackdump),
    "matrix events": ("matrix", long_matrix_events),
    "discord api": ("discord", long_discord_api),
    "hangouts": ("hangouts", long_hangouts),
    "telegram pages": ("html", long_telegram_pages),
    "exporter page": ("html", long_exporter_page),
    "meta pages": ("html", long_meta_pages),
    "sms": ("html", long_sms),
    "nested": ("table", long_nested),
    "rooms": ("table", long_rooms),
    "unnamed": ("table", long_unnamed),
    "pattern": ("pattern", long_pattern),
    "line": ("pattern", long_line),
    "exporter text": ("pattern", long_exporter_text),
    "two lines": ("pattern", long_two_lines),
    "pidgin": ("pattern", long_pidgin),
}
"""What it is -> its format, and a builder of a log of so many messages."""
