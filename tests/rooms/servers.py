"""Real chat servers for tests, each in a folder and a process of its own, on loopback alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def program(name: str) -> str:
    """Where a program is; the test is skipped without it."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if path is None:
        pytest.skip(f"{name} is not installed (apt-get install {name})")
    return path


class ChatServer:
    """A server that is started, stopped, killed and started again at the same port.

    Args:
        folder: For its settings and its data.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.configure()
        self.start()

    def configure(self) -> None:
        raise NotImplementedError

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    @property
    def log(self) -> str:
        return (self.folder / "server.log").read_text("utf-8", "replace")

    def start(self) -> None:
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )
        end = time.monotonic() + 60
        while not self.answers():
            assert self.process.poll() is None, self.log
            assert time.monotonic() < end, self.log
            time.sleep(0.05)

    def answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self, *, number: int = signal.SIGTERM) -> None:
        process, self.process = self.process, None
        if process is not None:
            os.killpg(process.pid, number)
            process.wait(30)

    def restart(self) -> None:
        self.stop()
        self.start()


class NgIRCd(ChatServer):
    """Debian's ngircd."""

    password = ""

    def configure(self) -> None:
        self.executable = program("ngircd")
        user = "" if os.getuid() else "ServerUID = nobody\nServerGID = nogroup\n"
        (self.folder / "ngircd.conf").write_text(
            f"[Global]\nName = irc.test.local\nInfo = test\nListen = 127.0.0.1\nPorts = {self.port}\n{user}"
            + (f"Password = {self.password}\n" if self.password else "")
            + "[Limits]\nMaxConnectionsIP = 0\nMaxNickLength = 20\nMaxJoins = 50\n"
            "[Options]\nDNS = no\nIdent = no\nPAM = no\n"
        )
        self.folder.chmod(0o755)

    def command(self) -> Sequence[str]:
        return (self.executable, "-n", "-f", str(self.folder / "ngircd.conf"))


class LockedNgIRCd(NgIRCd):
    """The same, with a password."""

    password = "open-sesame-4711"


class InspIRCd(ChatServer):
    """Debian's InspIRCd, with the IRCv3 parts that ngircd does not have."""

    modules = (
        *("cap", "ircv3", "ircv3_accounttag", "ircv3_batch", "ircv3_ctctags", "ircv3_echomessage"),
        *("ircv3_msgid", "ircv3_servertime", "services_account", "chanhistory"),
    )

    def configure(self) -> None:
        self.executable = program("inspircd")
        modules = "\n".join(f'<module name="{name}">' for name in self.modules)
        (self.folder / "inspircd.conf").write_text(
            '<config format="xml">\n<server name="irc.test.local" description="test" network="test">\n'
            f'<bind address="127.0.0.1" port="{self.port}" type="clients">\n'
            '<connect allow="*" timeout="60" hardsendq="1M" localmax="50" globalmax="50" '
            'resolvehostnames="no" commandrate="100000" fakelag="no">\n'
            '<chanhistory maxlines="100" prefixmsg="no">\n<options defaultmodes="H 50:3600s">\n'
            f'<pid file="{self.folder}/inspircd.pid">\n<path runtime="{self.folder}" data="{self.folder}" '
            f'log="{self.folder}">\n{modules}\n'
        )

    def command(self) -> Sequence[str]:
        root = ("--runasroot",) if os.getuid() == 0 else ()
        return (self.executable, *root, "--nofork", "--config", str(self.folder / "inspircd.conf"))


class Synapse(ChatServer):
    """Synapse from PyPI, in an environment of its own: `TOWHOM_SYNAPSE`, or `.venv-synapse` here."""

    name = "localhost"

    def configure(self) -> None:
        here = Path(__file__).parent.parent.parent / ".venv-synapse"
        self.python = Path(os.environ.get("TOWHOM_SYNAPSE") or here) / "bin" / "python"
        if not self.python.exists():
            pytest.skip(
                f"Synapse is not installed (python3 -m venv {here} && {here}/bin/pip install matrix-synapse)"
            )
        limits = "{per_second: 10000, burst_count: 10000}"
        (self.folder / "homeserver.yaml").write_text(
            f"""
server_name: "{self.name}"
pid_file: {self.folder}/homeserver.pid
listeners:
  - bind_addresses: ["127.0.0.1"]
    port: {self.port}
    resources: [{{names: [client], compress: false}}]
    tls: false
    type: http
database: {{name: sqlite3, args: {{database: {self.folder}/homeserver.db}}}}
media_store_path: {self.folder}/media
signing_key_path: {self.folder}/signing.key
registration_shared_secret: "for-tests-only"
report_stats: false
trusted_key_servers: []
enable_registration: true
enable_registration_without_verification: true
presence: {{enabled: false}}
bcrypt_rounds: 4
rc_message: {limits}
rc_registration: {limits}
rc_login: {{address: {limits}, account: {limits}, failed_attempts: {limits}}}
rc_joins: {{local: {limits}, remote: {limits}}}
rc_invites: {{per_room: {limits}, per_user: {limits}, per_issuer: {limits}}}
"""
        )
        subprocess.run(
            [str(self.python), "-m", "synapse.app.homeserver", "-c", "homeserver.yaml", "--generate-keys"],
            cwd=self.folder,
            check=True,
            capture_output=True,
        )

    def command(self) -> Sequence[str]:
        return (str(self.python), "-m", "synapse.app.homeserver", "-c", "homeserver.yaml")

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_matrix/client/versions", timeout=5):
                return True
        except OSError:
            return False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, token: str = ""
    ) -> dict[str, Any]:
        """A request as any client makes it."""
        request = urllib.request.Request(
            f"{self.url}/_matrix/client/v3{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={
                "Content-Type": "application/json",
                **({"Authorization": f"Bearer {token}"} if token else {}),
            },
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            answer: dict[str, Any] = json.load(response)
            return answer

    def room(self, alias: str, token: str, **settings: Any) -> str:
        """A new room that all may enter; returns its identifier."""
        body = {"preset": "public_chat", "room_alias_name": alias, **settings}
        identifier: str = self.ask("POST", "/createRoom", body, token)["room_id"]
        return identifier

    def event(self, room: str, token: str, content: dict[str, Any], kind: str = "m.room.message") -> str:
        """Somebody sends something to a room; returns its identifier."""
        path = f"/rooms/{quote(room)}/send/{kind}/{uuid.uuid4().hex}"
        identifier: str = self.ask("PUT", path, content, token)["event_id"]
        return identifier

    def say(self, room: str, token: str, text: str, reply_to: str | None = None, **more: Any) -> str:
        """Somebody says something."""
        content: dict[str, Any] = {"msgtype": "m.text", "body": text, **more}
        if reply_to is not None:
            content["m.relates_to"] = {"m.in_reply_to": {"event_id": reply_to}}
        return self.event(room, token, content)

    def register(self, name: str, password: str) -> str:
        """A new account; returns its access token."""
        token: str = self.ask(
            "POST",
            "/register",
            {"username": name, "password": password, "auth": {"type": "m.login.dummy"}},
        )["access_token"]
        return token


class Prosody(ChatServer):
    """Debian's prosody, with rooms that keep an archive."""

    archive = True

    def configure(self) -> None:
        self.executable = program("prosody")
        self.control = program("prosodyctl")
        self.data = self.folder / "data"
        self.data.mkdir()
        rooms = '{"muc_mam"}' if self.archive else "{}"
        (self.folder / "prosody.cfg.lua").write_text(
            f"""
run_as_root = true
pidfile = "{self.folder}/prosody.pid"
data_path = "{self.data}"
log = {{ info = "*stdout" }}
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {self.port} }}
modules_enabled = {{ "roster", "saslauth", "disco", "ping" }}
modules_disabled = {{ "s2s", "tls" }}
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
authentication = "internal_hashed"
storage = "internal"
VirtualHost "localhost"
Component "conference.localhost" "muc"
  modules_enabled = {rooms}
  muc_log_by_default = true
  muc_room_default_persistent = true
  restrict_room_creation = false
"""
        )

    def command(self) -> Sequence[str]:
        return (self.executable, "--config", str(self.folder / "prosody.cfg.lua"), "-F")

    def register(self, name: str, password: str) -> None:
        """A new account."""
        subprocess.run(
            [
                self.control,
                "--config",
                str(self.folder / "prosody.cfg.lua"),
                "register",
                name,
                "localhost",
                password,
            ],
            check=True,
            capture_output=True,
        )


class ForgetfulProsody(Prosody):
    """The same without an archive: rooms have a short history."""

    archive = False
