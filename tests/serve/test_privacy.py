"""No chat, no path and no traceback in errors or in the log, whatever goes wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import httpx

from tests.serve.conftest import Server, Start, message, wait_for

MARK = "xyzzy1mark"
LINE = re.compile(r"\d{4}-\d\d-\d\d [\d:,]+ (INFO|WARNING|ERROR) .+")
REQUEST = re.compile(r"(GET|POST|PUT|DELETE|PATCH|-) (-|/[\w/{}.-]*) \d{3} \d+\.\d ms [0-9a-f]{16}")

BODIES: list[Any] = [
    MARK,
    [MARK],
    {MARK: 1},
    {"messages": MARK},
    {"messages": [MARK]},
    {"messages": [message(MARK, MARK, **{MARK: MARK})]},
    {"messages": [message(MARK, MARK, time=MARK)]},
    {"messages": [message(MARK, MARK, time={MARK: MARK})]},
    {"messages": [message(MARK, MARK * 1000)]},
    {"messages": [message(MARK * 50, MARK)]},
    {"messages": [message(MARK, MARK)] * 2001},
    {"messages": [message(MARK, MARK + "\ud800")]},
    {"message": {MARK: MARK}},
    {"message": [MARK]},
    {"requests": [{"messages": [{"speaker": [MARK], "text": MARK}]}]},
    {"requests": MARK},
    {"responder": [MARK], "candidates": MARK},
    {"responder": MARK, "candidates": [MARK, {MARK: 1}]},
    {"responder": MARK, "candidates": [MARK] * 101},
]
PATHS = [
    ("POST", "/v1/addressees"),
    ("POST", "/v1/select"),
    ("POST", "/v1/threads"),
    ("POST", f"/v1/logs?name={MARK}"),
    ("PUT", "/v1/channels/private/messages"),
    ("POST", "/v1/channels/private/messages"),
    ("POST", "/v1/channels/private/select"),
    ("POST", f"/v1/channels/{MARK}!/select"),
    ("POST", f"/v1/{MARK}"),
    ("PATCH", f"/{MARK}"),
    (MARK.upper(), "/v1/logs"),
]


LOGS = [
    MARK,
    '{"messages": [{"speaker": "' + MARK + '", ' + MARK,
    '{"speaker": "a", "text": "' + MARK + '"}\n{' + MARK,
    '{"guild": {"name": "' + MARK + '"}, "channel": {"name": "c"}, "messages": [{"' + MARK,
    f"PK\x03\x04{MARK}",
    f"\x1f\x8b\x08{MARK}",
]


def checked(response: httpx.Response) -> None:
    """No error quotes the request, names a path, or shows code."""
    if response.status_code >= 400:
        for secret in (MARK, "Traceback", ".py", sys.prefix, str(Path.home())):
            assert secret not in response.text


def check_log(server: Server, folder: Path) -> None:
    assert server.log
    for secret in (
        MARK,
        MARK.upper(),
        "Traceback",
        'File "',
        sys.prefix,
        str(folder),
        "site-packages",
        "private",
    ):
        assert secret not in server.log
    for line in server.log.splitlines():
        assert LINE.fullmatch(line), line
        if " INFO " in line:
            assert REQUEST.fullmatch(line.partition(" INFO ")[2]), line


def test_wrong_requests(start: Start, tmp_path: Path) -> None:
    server = start("--rate", "0")
    kind = {"Content-Type": "application/json"}
    for method, path in PATHS:
        for body in BODIES:
            checked(server.client.request(method, path, content=json.dumps(body).encode(), headers=kind))
        for content in (MARK.encode(), b'{"' + MARK.encode(), MARK.encode() * 300_000):
            checked(server.client.request(method, path, content=content, headers=kind))
        headers = {"Content-Type": MARK, "Idempotency-Key": MARK * 30, "X-Request-Id": MARK}
        checked(server.client.request(method, path, content=b"{}", headers=headers))
        checked(server.client.request(method, path, params={"after": MARK, "limit": MARK}))
        checked(server.client.request(method, path, headers={"Host": MARK, "Authorization": MARK}))
    for log in LOGS:
        kind = {"Content-Type": "application/octet-stream"}
        checked(server.client.post(f"/v1/logs?name={MARK}", content=log.encode("latin-1"), headers=kind))
    checked(server.client.post("/v1/logs", params={"name": MARK * 30}, content=b"x", headers=kind))
    checked(server.client.get("/v1/channels/private/messages", params={"after": MARK}))
    checked(server.client.get("/v1/channels/private/events", headers={"Last-Event-ID": MARK}))
    check_log(server, tmp_path)


def test_failures_inside(start: Start, tmp_path: Path) -> None:
    """A worker that dies, and one whose model makes it fail."""
    path = [str(broken(tmp_path)), *filter(None, [os.environ.get("PYTHONPATH")])]
    server = start(PYTHONPATH=os.pathsep.join(path))
    body = {"messages": [message("ada", MARK)]}
    response = server.client.post("/v1/addressees", json=body)
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "internal"
    checked(response)
    response = server.client.post("/v1/channels/private/messages", json=body)
    assert response.status_code == 500
    checked(response)
    os.kill(server.workers[0], signal.SIGKILL)
    wait_for(lambda: "a worker process ended with code -9; starting another" in server.log)
    assert server.stop() == 0
    assert re.search(r" ERROR [0-9a-f]{16}: ValueError at sitecustomize.py:\d+ < room.py", server.log)
    check_log(server, tmp_path)


def broken(folder: Path) -> Path:
    """A Python in which sessions fail, and quote what was said."""
    (folder / "broken").mkdir()
    (folder / "broken" / "sitecustomize.py").write_text(
        "import sys\n"
        "if 'towhom.serve.worker' in ' '.join(sys.orig_argv):\n"
        "    from towhom.live import Session\n"
        "    def following(self, messages):\n"
        "        raise ValueError(messages[0].text)\n"
        "    Session.following = following\n"
    )
    return folder / "broken"
