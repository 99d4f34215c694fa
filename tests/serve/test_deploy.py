"""deploy/: the files are what Compose, Kubernetes and nginx take, and name settings that there are."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import httpx
import pytest

from tests.serve.conftest import CHAT, Start, answer, said, texts
from tests.serve.test_proxy import PATH, begun, free_port, nginx_settings
from towhom.serve.settings import PREFIX, known_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def documents(name: str) -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml", reason="there is no PyYAML")
    return list(yaml.safe_load_all((DEPLOY / name).read_text("utf-8")))


@pytest.mark.skipif(find_spec("check_jsonschema") is None, reason="there is no check-jsonschema")
@pytest.mark.parametrize("spoiled", [False, True])
def test_compose(spoiled: bool, tmp_path: Path) -> None:
    """The schema of the Compose specification takes it, and takes no other."""
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    file = tmp_path / "compose.yaml"
    file.write_text(text.replace("restart:", "restarts:") if spoiled else text)
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode != 0) is spoiled, done.stdout


def test_kubernetes() -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="there is no kubernetes-validate")
    found = documents("kubernetes.yaml")
    assert [each["kind"] for each in found] == ["Deployment", "Service", "PodDisruptionBudget"]
    for document in found:
        validator.validate(document, "1.28", strict=True)
        validator.validate(document, validator.latest_version(), strict=True)
    found[0]["spec"]["replica"] = found[0]["spec"].pop("replicas")
    with pytest.raises(validator.ValidationError):
        validator.validate(found[0], "1.28", strict=True)


def test_settings_that_there_are() -> None:
    named = re.findall(rf"{PREFIX}(\w+)", "".join(path.read_text("utf-8") for path in DEPLOY.iterdir()))
    assert len(named) >= 7
    assert {name.lower() for name in named} <= set(known_settings())


def test_secrets_that_there_are() -> None:
    """Each service has the files that its settings name."""
    [compose] = documents("compose.yaml")
    for service in compose["services"].values():
        files = [
            value.removeprefix("/run/secrets/")
            for value in service.get("environment", {}).values()
            if value.startswith("/run/secrets/")
        ]
        assert sorted(files) == sorted(service.get("secrets", []))
        assert set(files) <= set(compose["secrets"])


def test_nginx_of_compose(tmp_path: Path) -> None:
    if shutil.which("nginx", path=PATH) is None:
        pytest.skip("there is no nginx")
    shown = (DEPLOY / "nginx.conf").read_text("utf-8")
    (tmp_path / "nginx.conf").write_text(f"events {{}}\nhttp {{\n{shown}\n}}\n")
    command = [
        "nginx",
        "-t",
        "-c",
        str(tmp_path / "nginx.conf"),
        "-e",
        "stderr",
        "-g",
        f"pid {tmp_path}/pid;",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": PATH})
    assert done.returncode == 0, done.stderr


def test_the_load_balancer_of_the_guide(start: Start, database: str, tmp_path: Path) -> None:
    """Three servers behind nginx; one is killed, and nobody notices."""
    if shutil.which("nginx", path=PATH) is None:
        pytest.skip("there is no nginx")
    servers = [
        start(
            "--lease", "1", folder=f"s{number}", TOWHOM_SERVE_DATABASE=database, TOWHOM_SERVE_TOKEN="t" * 20
        )
        for number in range(3)
    ]
    guide = (ROOT / "docs" / "cluster.md").read_text("utf-8")
    found = re.search(r"nginx:\n\n((?:    .*\n)+)", guide)
    assert found
    shown = dedent(found[1])
    port = free_port()
    shown = shown.replace("127.0.0.1:8080", f"127.0.0.1:{port}")
    for number, server in enumerate(servers, 8081):
        shown = shown.replace(f"127.0.0.1:{number}", server.address.removeprefix("http://"))
    command = nginx_settings(tmp_path / "nginx", indent(shown, "    "))
    with begun(command, tmp_path / "nginx", port) as reached:
        headers = {"Authorization": f"Bearer {'t' * 20}"}
        with httpx.Client(base_url=reached, headers=headers, timeout=30) as client:
            for number in range(12):
                if number == 6:
                    servers[1].kill()
                key = {"Idempotency-Key": f"{number}"}
                for room in range(4):
                    said(client, f"/v1/channels/room{room}", CHAT[number % 6 :][:1], **key)
            for room in range(4):
                assert len(texts(client, f"/v1/channels/room{room}")) == 12
            assert len(answer(client.get("/v1/channels"))["channels"]) == 4
            assert client.get("/metrics").status_code == 403
