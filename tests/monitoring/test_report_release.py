"""From the published files to the published numbers, by the commands alone."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.stats.test_release import COLUMNS, PRINTED, differences

pytestmark = pytest.mark.django_db


def reported(file: Path, *arguments: str) -> dict[str, Any]:
    call_command("report", "--study", "hle", "--json", str(file), *arguments, stdout=StringIO())
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def test_the_release_imported_patched_and_reported_gives_the_published_numbers(
    shared: Path, tmp_path: Path
) -> None:
    call_command("import_release", str(shared / "release"), "--study", "hle", stdout=StringIO())
    expected = json.loads((shared / "release" / "EXPECTED.json").read_text(encoding="utf-8"))
    first = reported(tmp_path / "1.json")
    assert differences(first, expected) == []
    label = "66b727d367968fa27f2dddda/A:first_error_step=1"
    patch = ("--study", "hle", "--from", "1", "--set", label, "--reason", "as it was printed")
    call_command("patch_standard", *patch, stdout=StringIO())
    second = reported(tmp_path / "2.json")
    assert (second["reference"]["version"], second["reference"]["critical"]) == (2, 25)
    blind = second["detection"]["BLIND"]["monitors"]
    ours = {name: tuple(f"{blind[name][column]:.3f}" for column in COLUMNS) for name in PRINTED}
    assert ours == {name: tuple(f"{value:.3f}" for value in row) for name, row in PRINTED.items()}
    again = reported(tmp_path / "3.json", "--standard", "1")
    assert again == first
