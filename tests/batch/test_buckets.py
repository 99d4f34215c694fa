"""An object store: logs are read from it and parts are written to it, by several processes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from tests.batch.buckets import Buckets, serve_buckets
from tests.batch.chats import write_room
from tests.cli.conftest import command

pytest.importorskip("s3fs")


@pytest.fixture
def store() -> Iterator[dict[str, str]]:
    """A store, as the variables that say where it is."""
    server = serve_buckets()
    thread = Thread(target=server.serve_forever)
    thread.start()
    where = f"http://127.0.0.1:{server.server_port}"
    yield {
        "FSSPEC_S3_ENDPOINT_URL": where,
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    server.shutdown()
    thread.join()
    server.server_close()


def test_logs_and_parts_in_a_bucket(store: dict[str, str], tmp_path: Path) -> None:
    for name, lines in (("a/long.txt", 400), ("a/short.txt", 60), ("b/other.txt", 50)):
        log = write_room(tmp_path / "chats" / name, lines)
        Buckets.objects[f"chats/{name}"] = log.read_bytes()
    Buckets.objects["chats/a/bad.gz"] = b"\x1f\x8b\x08\x00and no more"
    options = ("--json", "--part", "150")
    logs = ("s3://chats/a", "s3://chats/b/*.txt")
    for _ in range(2):
        done = subprocess.run(
            command("threads", *logs, "--into", "s3://out/run", "--cluster", "local:1", *options),
            capture_output=True,
            text=True,
            env={**os.environ, **store},
        )
        assert done.returncode == 1
        assert "failed: s3://chats/a/bad.gz: the archive is truncated" in done.stderr
        assert "520 lines of 3 files in 5 parts" in done.stderr
    parts = {
        name.removeprefix("out/run/"): each for name, each in Buckets.objects.items() if "/part-" in name
    }
    assert len(parts) == 5
    assert max(Buckets.puts.count(f"out/run/{name}") for name in parts) == 1
    out = tmp_path / "out"
    subprocess.run(
        command("threads", "chats/a", "chats/b/*.txt", "--into", out, *options),
        check=True, capture_output=True, cwd=tmp_path,
    )  # fmt: skip
    here = b"".join(path.read_bytes() for path in out.glob("part-*"))
    there = b"".join(parts.values())
    assert sorted(there.splitlines()) == sorted(here.splitlines())
