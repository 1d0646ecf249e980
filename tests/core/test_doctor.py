"""`doctor` finds each thing that can be wrong, says what mends it, and exits with 1."""

from __future__ import annotations

import io
import json
import shutil
from collections import namedtuple
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from core import doctor
from monitoring.engine import heartbeat
from monitoring.working import somebody_works

pytestmark = pytest.mark.django_db
Usage = namedtuple("Usage", "total used free")


def test_the_command_tells_each_finding_and_fails_without_a_worker(tmp_path: Path) -> None:
    out, file = io.StringIO(), tmp_path / "found.json"
    with pytest.raises(CommandError, match="workers"):
        call_command("doctor", "--json", str(file), stdout=out)
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["ok"] is False
    states = {one["name"]: one["state"] for one in found["findings"]}
    assert states["workers"] == "failed"
    assert {"database", "migrations", "broker", "eviction policy", "clock", "disk", "fonts", "folders"} < set(
        states
    )
    assert "start one" in out.getvalue()


def test_a_worker_that_lives_is_found() -> None:
    assert somebody_works().state == "failed"
    heartbeat.beat()
    assert somebody_works().state == "ok"


def test_a_migration_that_was_not_applied_is_found() -> None:
    assert doctor.migrations().state == "ok"
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(name) FROM django_migrations WHERE app = 'core'")
        newest = cursor.fetchone()[0]
        cursor.execute("DELETE FROM django_migrations WHERE app = 'core' AND name = %s", [newest])
    assert f"core.{newest[:4]}" in doctor.migrations().text
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('core', '9999_x', '2030-01-01')"
        )
    found = doctor.migrations()
    assert found.state == "failed"


def test_a_database_of_a_newer_version_is_found() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('core', '9999_x', '2030-01-01')"
        )
    assert "newer version" in doctor.migrations().text


@pytest.mark.parametrize(
    ("policy", "state"), [("noeviction", "ok"), ("allkeys-lru", "failed"), (None, "warning")]
)
def test_redis_that_forgets_is_found(
    settings: Any, monkeypatch: pytest.MonkeyPatch, policy: str, state: str
) -> None:
    class Fake:
        def config_get(self, name: str) -> dict[str, str]:
            if policy is None:
                raise redis.ResponseError("unknown command CONFIG")
            return {name: policy}

        def close(self) -> None:
            pass

    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(redis.Redis, "from_url", lambda url, **_: Fake())
    assert doctor.eviction().state == state


def test_a_check_that_cannot_be_made_is_a_finding_too(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> doctor.Finding:
        raise OperationalError("connection refused")

    monkeypatch.setattr(doctor, "CHECKS", (away,))
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(doctor, "_more", [doctor.eviction])
    found = list(doctor.examine())
    assert [one.state for one in found] == ["failed", "failed"]
    assert "connection refused" in found[0].text


def test_a_full_disk_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10 << 30, 10 << 30, 1 << 20))
    assert doctor.disk().state == "failed"


def test_a_missing_font_and_files_never_collected_are_found(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WHITENOISE_USE_FINDERS, settings.STATIC_ROOT = False, tmp_path
    assert "collectstatic" in doctor.fonts().text
    monkeypatch.setattr("django.contrib.staticfiles.finders.find", lambda path: None)
    assert "is missing" in doctor.fonts().text


def test_a_folder_that_takes_no_file_and_a_database_that_others_read_are_found(
    settings: Any, tmp_path: Path
) -> None:
    settings.HOME, settings.DATABASE_URL = tmp_path, ""
    (tmp_path / "falsestep.sqlite3").touch(mode=0o644)
    assert "chmod 600" in doctor.folders().text
    settings.HOME = tmp_path / "gone"
    assert "FALSESTEP_HOME" in doctor.folders().text


def test_clocks_that_differ_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        assert doctor.clock().state == "ok"
        return
    assert doctor.clock().state == "ok"

    class Late(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(seconds=60)

    monkeypatch.setattr(doctor, "datetime", Late)
    assert "set both" in doctor.clock().text
    assert UTC
