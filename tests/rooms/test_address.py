from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from towhom import rooms
from towhom.client import channel_of
from towhom.errors import PluginError, RoomError
from towhom.rooms import Address, Connector, connect, connector_for, connectors
from towhom.rooms.position import Position
from towhom.rooms.secrets import read_secret, secrets_for


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("irc://irc.example.org/#a", Address("irc", "irc.example.org", rooms=("#a",))),
        ("IRC://me@[::1]:7000/%23a,#b,", Address("irc", "::1", "me", 7000, ("#a", "#b"))),
        ("matrix://me@h/!x:y?tls=no", Address("matrix", "h", "me", None, ("!x:y",), {"tls": "no"})),
        ("slack://", Address("slack")),
        ("zulip://a%40b@c", Address("zulip", "c", "a@b")),
    ],
)
def test_addresses(text: str, expected: Address) -> None:
    assert Address.parse(text) == expected


@pytest.mark.parametrize("text", ["", "irc", "irc:/host", "irc://h:99999/#a", "://x", "irc://a b/#c"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(RoomError):
        Address.parse(text)


@pytest.mark.parametrize(
    "text", ["irc://me:hunter2@h/#a", "matrix://@me:hunter2@h/", "irc://me%3Ahunter2@h/#a"]
)
def test_passwords_do_not_belong_into_addresses(text: str) -> None:
    with pytest.raises(RoomError, match="colon before the @") as error:
        Address.parse(text)
    assert "hunter2" not in str(error.value)


def test_secrets_come_from_the_environment_or_files(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("from-file\nsecond line\n")
    environment = {"TOWHOM_IRC_PASSWORD": "a", "TOWHOM_MATRIX_TOKEN_FILE": str(file)}
    assert secrets_for("ircs", ["password"], environment) == {"password": "a"}
    assert secrets_for("matrix", ["password", "token"], environment) == {"token": "from-file"}
    for content in (b"", b"\n", b"\xff\xfe"):
        file.write_bytes(content)
        with pytest.raises(RoomError, match="secret"):
            read_secret(file)


def test_others_add_connectors(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("mine", "towhom.rooms.irc:IRC", "towhom.rooms"),
        EntryPoint("none", "pathlib:Path", "towhom.rooms"),
        EntryPoint("irc", "elsewhere:Other", "towhom.rooms"),
    ]
    monkeypatch.setattr(rooms, "registered", lambda group: {point.name: point.value for point in points})
    assert issubclass(connector_for("mine"), Connector)
    assert connectors()["irc"] == "towhom.rooms.irc:IRC"
    with pytest.raises(PluginError, match=r"not a subclass of towhom\.rooms\.base\.Connector"):
        connector_for("none")
    with pytest.raises(RoomError, match=r"no connector for nosuch://"):
        connect("nosuch://x")


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": "other", "version": 1, "position": {}}', "[" * 9999]
)
def test_a_damaged_state_is_not_taken(tmp_path: Path, content: str) -> None:
    path = tmp_path / "state"
    path.write_text(content)
    with pytest.raises(RoomError, match="not the state of a connector"):
        Position(path).open()


def test_channels_of_the_server() -> None:
    names = [
        "#help@irc.example.org:7000",
        "!abc:example.org",
        "...",
        "",
        "room/with spaces",
        "日本語",
        "x" * 500,
        "~21",
    ]
    channels = [channel_of(name) for name in names]
    assert len(set(channels)) == len(names)
    assert all(0 < len(channel) <= 128 and channel.strip(".") for channel in channels)
    assert channels[0] == names[0]
