"""The container files hold together; where Docker Compose is installed it has the last word."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SERVICE_KEYS = {
    "build", "image", "restart", "read_only", "tmpfs", "security_opt", "cap_drop", "volumes", "environment",
    "command", "healthcheck", "depends_on", "ports", "stop_grace_period", "env_file",
}  # fmt: skip
HEALTH_KEYS = {"test", "interval", "timeout", "retries", "start_period", "disable"}
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}
DURATION = re.compile(r"^(\d+(ms|s|m|h))+$")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8")))


def test_the_stack_has_its_five_long_running_parts(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"migrate", "web", "worker", "beat", "postgres", "redis"}


def test_every_service_keeps_to_the_compose_schema(compose: dict[str, Any]) -> None:
    assert set(compose) <= {"x-app", "services", "volumes"}
    for name, service in compose["services"].items():
        assert set(service) <= SERVICE_KEYS, name
        assert service.get("image") or service.get("build"), name
        assert isinstance(service.get("command", []), list), name
        for mount in service.get("volumes", []):
            source, target = mount.split(":", 1)
            assert source in compose["volumes"], f"{name} mounts an undeclared volume {source}"
            assert target.startswith("/"), name
        for other, how in service.get("depends_on", {}).items():
            assert other in compose["services"], f"{name} waits for an unknown {other}"
            assert how["condition"] in CONDITIONS, name
        for port in service.get("ports", []):
            assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port), f"{name} must publish on loopback only"


def test_every_service_that_stays_is_watched(compose: dict[str, Any]) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "HEALTHCHECK" in dockerfile
    for name, service in compose["services"].items():
        check = service.get("healthcheck", {})
        assert set(check) <= HEALTH_KEYS, name
        if name in {"migrate", "web"}:  # one ends by itself, the other has the image's own check
            continue
        assert check["test"][0] in {"CMD", "CMD-SHELL"}, name
        assert all(DURATION.match(check[key]) for key in ("interval", "timeout")), name


def test_a_dependency_on_health_names_a_service_with_a_check(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        for other, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert "test" in compose["services"][other]["healthcheck"], f"{name} waits for {other}"


def test_our_containers_run_without_rights(compose: dict[str, Any]) -> None:
    for name in ("web", "worker", "beat", "migrate"):
        service = compose["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]
    assert re.search(r"^USER falsestep$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_broker_never_forgets(compose: dict[str, Any]) -> None:
    command = compose["services"]["redis"]["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


def test_keys_of_models_reach_the_workers_alone_and_no_image(compose: dict[str, Any]) -> None:
    files = {name: one["env_file"] for name, one in compose["services"].items() if "env_file" in one}
    assert files == {"worker": [{"path": "providers.env", "required": False}]}
    for name in (".dockerignore", ".gitignore"):
        assert {".env", "providers.env"} <= set((ROOT / name).read_text(encoding="utf-8").split())


def test_no_secret_has_a_default(compose: dict[str, Any]) -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    for name in ("POSTGRES_PASSWORD", "FALSESTEP_SECRET_KEY"):
        assert re.findall(rf"\${{{name}([^}}]*)}}", text)
        assert all(rest.startswith(":?") for rest in re.findall(rf"\${{{name}([^}}]*)}}", text))


def test_docker_compose_accepts_the_file() -> None:
    if not shutil.which("docker"):
        pytest.skip("Docker is not installed: the schema tests above stand in")
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("Docker has no compose plugin here: the schema tests above stand in")
    done = subprocess.run(
        ["docker", "compose", "config", "--quiet"],
        cwd=ROOT,
        env={**os.environ, "POSTGRES_PASSWORD": "x", "FALSESTEP_SECRET_KEY": "x"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
