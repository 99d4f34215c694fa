"""Where settings come from, and what is said of bad ones."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from towhom.errors import ConfigError
from towhom.serve.settings import PREFIX, Settings, known_settings, load_settings

TOKEN = "0123456789abcdef"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


class TestOrder:
    def test_flag_environment_file_default(self, tmp_path: Path) -> None:
        config = write(tmp_path / "a.toml", "port = 1\nrate = 1.5\nmax_text = 7\nhost = '::1'\n")
        environment = {f"{PREFIX}PORT": "2", f"{PREFIX}RATE": "2.5", "PORT": "9"}
        found = load_settings({"port": "3", "rate": None, "data": None}, environment, config)
        assert (found.port, found.rate, found.max_text, found.host) == (3, 2.5, 7, "::1")
        assert found.max_candidates == Settings().max_candidates == 100

    def test_nothing_given(self) -> None:
        found = load_settings({}, {})
        assert (found.host, found.port, found.model, found.tokens()) == ("127.0.0.1", 8080, None, ())
        assert found.workers >= 1

    def test_state_folder(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        assert load_settings({}, {}).data == tmp_path / "towhom"

    def test_every_setting_says_what_it_is(self) -> None:
        assert list(known_settings()) == [each.name for each in fields(Settings)]
        for _, about in known_settings().values():
            assert about.help.endswith(".")


class TestBad:
    def test_all_that_is_wrong_is_named(self, tmp_path: Path) -> None:
        config = write(tmp_path / "a.toml", "prot = 1\nhost = 3\nrate = true\nworkers = 1.5\n")
        environment = {f"{PREFIX}MAX_BODY": "much", f"{PREFIX}PORT": "70000", f"{PREFIX}IDLE": "nan"}
        with pytest.raises(ConfigError) as caught:
            load_settings({"max_text": "0", "synchronous": "off"}, environment, config)
        lines = str(caught.value).splitlines()
        assert lines[0].startswith(f"{config}: there is no setting prot; known are host, port, data, ")
        assert lines[1:] == [
            f"{config}: host must be a text",
            f"{config}: rate must be a number",
            f"{config}: workers must be a whole number",
            f"{PREFIX}PORT: port must be 65535 or less, is 70000",
            f"{PREFIX}IDLE: idle must be 0.1 or more, is nan",
            f"{PREFIX}MAX_BODY: max_body must be a whole number",
            "--max-text: max_text must be 1 or more, is 0",
            "--synchronous: synchronous must be normal or full",
        ]

    @pytest.mark.parametrize("text", [None, "port = ", "\x00"])
    def test_file_that_is_no_toml(self, text: str | None, tmp_path: Path) -> None:
        config = tmp_path / "a.toml"
        if text is not None:
            write(config, text)
        with pytest.raises(ConfigError, match=r"a\.toml: cannot be read as TOML"):
            load_settings({}, {}, config)


class TestTokens:
    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
    def test_needed_beyond_loopback(self, host: str) -> None:
        with pytest.raises(ConfigError, match="so requests need a token; set token_file or "):
            Settings(host=host).tokens()
        assert Settings(host=host, token=TOKEN).tokens() == (TOKEN,)

    @pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "localhost", "::1"])
    def test_not_needed_on_loopback(self, host: str) -> None:
        assert Settings(host=host).tokens() == ()

    def test_file_of_several(self, tmp_path: Path) -> None:
        file = write(tmp_path / "tokens", f"{TOKEN}\n\n  {TOKEN}2  \n")
        assert Settings(token_file=file).tokens() == (TOKEN, f"{TOKEN}2")
        assert Settings(token_file=file, token=f"{TOKEN}0").tokens()[0] == f"{TOKEN}0"

    @pytest.mark.parametrize(
        ("text", "reason"),
        [(None, "cannot be read"), ("\n", "holds no token"), ("short\n", "16 ASCII characters or more")],
    )
    def test_bad_file(self, text: str | None, reason: str, tmp_path: Path) -> None:
        file = tmp_path / "tokens"
        if text is not None:
            write(file, text)
        with pytest.raises(ConfigError, match=reason):
            Settings(token_file=file).tokens()

    def test_not_shown(self) -> None:
        assert TOKEN not in repr(Settings(token=TOKEN))
