"""The example of a release in docs/formats.md is imported as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monitoring.imports.release import import_release
from monitoring.models import Verdict
from tests.monitoring.files import write_manifest

DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "formats.md"
BLOCK = re.compile(r"^```jsonl (\S+\.jsonl)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.django_db
def test_the_release_is_imported(tmp_path: Path) -> None:
    files = dict(BLOCK.findall(DOCS.read_text(encoding="utf-8")))
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    write_manifest(tmp_path, *files)
    report = import_release(path=tmp_path, study_slug="hle")
    assert report.traces == {"ready": 2, "excluded": 1}
    assert [file["condition"] for file in report.files] == ["BLIND", "REVISE", "CMATCH"]
    assert set(Verdict.objects.values_list("outcome", flat=True)) == {"ok"}
    assert (report.new["verdicts"], report.files[0]["repeats_dropped"]) == (4, 1)
