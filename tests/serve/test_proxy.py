"""docs/serve.md: what it says about proxies, with the real ones."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path
from textwrap import dedent, indent

import httpx
import pytest

from tests.serve.conftest import CHAT, Start, answer, error, said
from tests.serve.test_events import following

ROOM = "/v1/channels/room"
GUIDE = (Path(__file__).parents[2] / "docs" / "serve.md").read_text("utf-8")

NGINX = """\
daemon off;
user {user};
pid {folder}/pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{shown}
}}
"""
"""What the guide's part stands in, so that it runs beside others and needs no rights."""


def shown_for(name: str) -> str:
    """The settings of a proxy that the guide shows."""
    found = re.search(rf"{name}:\n\n((?:    .*\n)+)", GUIDE)
    assert found
    return dedent(found[1])


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def nginx(folder: Path, port: int, server: str) -> list[str]:
    shown = indent(shown_for("nginx").replace("127.0.0.1:8080", server), " " * 8)
    return nginx_settings(folder, f"    server {{\n        listen 127.0.0.1:{port};\n{shown}\n    }}")


def nginx_settings(folder: Path, shown: str) -> list[str]:
    """The command that starts nginx with some settings, of what it does with HTTP."""
    folder.mkdir(exist_ok=True)
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(user=getuser(), folder=folder, shown=shown))
    return ["nginx", "-c", str(config), "-p", str(folder), "-e", "stderr"]


def caddy(folder: Path, port: int, server: str) -> list[str]:
    shown = shown_for("Caddy").replace("127.0.0.1:8080", server)
    assert shown.count("chat.example.org") == 1
    # Without a name there are no certificates to be fetched.
    shown = shown.replace("chat.example.org", f"http://127.0.0.1:{port}")
    config = folder / "Caddyfile"
    config.write_text("{\n    admin off\n}\n" + shown)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(config)]


@contextmanager
def proxy(name: str, folder: Path, server: str) -> Iterator[str]:
    """The address of a proxy before a server."""
    folder.mkdir()
    port = free_port()
    with begun({"nginx": nginx, "caddy": caddy}[name](folder, port, server), folder, port) as address:
        yield address


@contextmanager
def begun(command: list[str], folder: Path, port: int) -> Iterator[str]:
    """The address of a proxy that a command starts."""
    with (folder / "log.txt").open("w") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log, env={"HOME": str(folder), "PATH": PATH})
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.fail((folder / "log.txt").read_text())
        yield f"http://127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait(60)


PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.mark.parametrize("name", ["nginx", "caddy"])
def test_proxy(name: str, start: Start, tmp_path: Path) -> None:
    if shutil.which(name, path=PATH) is None:
        pytest.skip(f"there is no {name}")
    server = start(TOWHOM_SERVE_TOKEN="a-token-for-the-proxy")
    address = str(server.client.base_url).removeprefix("http://").rstrip("/")
    with proxy(name, tmp_path / name, address) as reached:
        assert httpx.get(f"{reached}/").text == httpx.get(f"http://{address}/").text
        refused = httpx.post(f"{reached}{ROOM}/messages", json={"messages": CHAT})
        error(refused, 401, "unauthorized", "header.Authorization")
        headers = {"Authorization": "Bearer a-token-for-the-proxy"}
        with httpx.Client(base_url=reached, headers=headers, timeout=60) as client:
            before = said(client, ROOM, CHAT[:3])
            with following(client, ROOM) as events:
                # Each comes at once, not when the proxy has enough of them.
                assert [next(events)[1] for _ in range(3)] == before
                for each in CHAT[3:]:
                    assert said(client, ROOM, [each])[0] == next(events)[1]
            long = {"messages": [{"speaker": "ada", "text": "x" * 1500}] * 900}
            answer(client.post(f"{ROOM}/messages", json=long), 201)
            assert client.get("/metrics").status_code in (403, 404)
            assert server.client.get("/metrics", headers=headers).status_code == 200
