"""Settings are read from the environment with types, and every one of them is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env

ROOT = Path(__file__).resolve().parents[2]


def test_a_secret_may_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("s3cret\n", encoding="utf-8")
    monkeypatch.setenv("FALSESTEP_TEST_FILE", str(tmp_path / "key"))
    assert env.text("FALSESTEP_TEST") == "s3cret"


def test_a_missing_secret_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALSESTEP_TEST_FILE", "no-such-file")
    with pytest.raises(ImproperlyConfigured, match="FALSESTEP_TEST_FILE"):
        env.text("FALSESTEP_TEST")


@pytest.mark.parametrize(
    ("raw", "value"), [("1", True), ("yes", True), ("0", False), ("", False), ("Off", False)]
)
def test_a_flag_reads_the_usual_words(raw: str, value: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALSESTEP_TEST", raw)
    assert env.flag("FALSESTEP_TEST", not value) is value


@pytest.mark.parametrize("raw", ["maybe", "2"])
def test_a_flag_refuses_other_words(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALSESTEP_TEST", raw)
    with pytest.raises(ImproperlyConfigured, match="FALSESTEP_TEST"):
        env.flag("FALSESTEP_TEST")


@pytest.mark.parametrize("raw", ["ten", "1.5", "-1"])
def test_an_integer_refuses_what_is_none_or_too_small(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALSESTEP_TEST", raw)
    with pytest.raises(ImproperlyConfigured, match="FALSESTEP_TEST"):
        env.integer("FALSESTEP_TEST", 3)


def test_every_setting_is_documented_in_operations() -> None:
    source = (ROOT / "config" / "settings.py").read_text(encoding="utf-8")
    names = set(re.findall(r'env\.\w+\(\s*"(\w+)"', source))
    documented = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert names, "no setting was found: the pattern above is stale"
    assert {name for name in names if f"`{name}`" not in documented} == set()
