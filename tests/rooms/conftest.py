"""Servers that the tests of a process share; each test has rooms of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rooms.servers import NgIRCd, Prosody, Synapse


@pytest.fixture(scope="session")
def ngircd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NgIRCd]:
    server = NgIRCd(tmp_path_factory.mktemp("ngircd"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def synapse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    server = Synapse(tmp_path_factory.mktemp("synapse"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def prosody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prosody]:
    server = Prosody(tmp_path_factory.mktemp("prosody"))
    yield server
    server.stop()
