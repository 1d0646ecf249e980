"""The paper's Table 1 came from a standard one label older than its text: both are found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudication.models import ReferenceStandard
from adjudication.services.patches import Change, patch_standard
from annotation.models import Study
from monitoring.imports.release import import_release
from monitoring.report.build import build
from monitoring.report.source import load
from stats.report import Options

pytestmark = pytest.mark.django_db

MOVED = ("66b727d367968fa27f2dddda", "Response A")
# Table 1 of arXiv 2609.00264 (BLIND): flag rate, sensitivity, specificity, balanced accuracy, AUC. It was printed
# from an earlier standard, in which MOVED still counted as a critical error (108 errors); three decimals.
TABLE_1 = {
    "deepseek_deepseek-chat-v4flash": (0.945, 0.972, 0.078, 0.525, 0.473),
    "qwen_qwen3-32b": (0.646, 0.676, 0.380, 0.528, 0.514),
    "meta-llama_llama-3.3-70b-instruct": (0.544, 0.648, 0.543, 0.595, 0.570),
    "x-ai_grok-4.3": (0.283, 0.426, 0.837, 0.632, 0.642),
    "google_gemini-3.1-pro-preview": (0.447, 0.769, 0.822, 0.795, 0.816),
}
COLUMNS = ("flag_rate", "sensitivity", "specificity", "balanced_accuracy", "auc")


@pytest.fixture
def printed_from(shared: Path, db: None) -> tuple[ReferenceStandard, ReferenceStandard]:
    """The released standard (1), and the one that the paper's Table 1 was printed from (2)."""
    import_release(path=shared / "release", study_slug="hle")
    study = Study.objects.get(slug="hle")
    old = ReferenceStandard.objects.get(study=study)
    assert (
        old.labels.get(trace__question__external_id=MOVED[0], trace__response_label=MOVED[1]).cell == "clean"
    )
    frozen = patch_standard(
        study=study,
        from_version=1,
        changes=[Change(*MOVED, {"final_correct": True, "first_error_step": 1})],
        reason="as the published table had it",
    )
    return old, frozen.standard


def test_the_paper_s_first_table_is_the_one_of_the_earlier_standard(
    printed_from: tuple[ReferenceStandard, ReferenceStandard],
) -> None:
    released, earlier = (
        build(load(standard.study, standard), standard.study, standard, Options(resamples=0))
        for standard in printed_from
    )
    for monitor, row in TABLE_1.items():
        found = earlier["detection"]["BLIND"]["monitors"][monitor]
        assert tuple(round(found[name], 3) for name in COLUMNS) == row
    off = [
        (monitor, name)
        for monitor, row in TABLE_1.items()
        for name, value in zip(COLUMNS, row, strict=True)
        if round(released["detection"]["BLIND"]["monitors"][monitor][name], 3) != value
    ]
    assert len(off) > 5, "the released standard alone would not tell why the table differs from the text"
