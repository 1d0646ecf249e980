"""What the embedded site writes is its owner's alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from config import env, settings


def test_the_database_is_made_for_its_owner_alone_and_an_older_one_is_tightened(tmp_path: Path) -> None:
    made = settings._private(tmp_path / "new.sqlite3")
    assert made.stat().st_mode & 0o777 == 0o600
    older = tmp_path / "old.sqlite3"
    older.touch(mode=0o644)
    older.write_bytes(b"rows")
    assert settings._private(older).stat().st_mode & 0o777 == 0o600
    assert older.read_bytes() == b"rows"


def test_a_home_that_is_made_is_its_owner_s_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALSESTEP_HOME", str(tmp_path / "made"))
    assert env.folder("FALSESTEP_HOME", tmp_path).stat().st_mode & 0o777 == 0o700
