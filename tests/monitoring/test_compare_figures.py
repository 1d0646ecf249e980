"""Which figures change: stored verdicts under two standards, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from adjudication.models import ReferenceStandard
from adjudication.services.patches import Change, patch_standard
from annotation.models import Study
from core.models import User
from monitoring.imports.release import import_release
from monitoring.report.moved import compare, figures_of, printed
from tests.build import make_person

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
    released, earlier = (figures_of(standard.study, standard) for standard in printed_from)
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


def test_the_page_would_have_shown_it(
    printed_from: tuple[ReferenceStandard, ReferenceStandard], client: Client, shared: Path
) -> None:
    study = printed_from[0].study
    client.force_login(make_person("olga", study=study, roles=["administrator"]))
    difference = client.get(reverse("standard_difference", args=["hle", 2, 1])).content.decode()
    address = reverse("standard_figures", args=["hle", 2, 1])
    assert address in difference
    answer = client.get(address)
    figures = {
        (title, figure.path): figure for title, shown in answer.context["sections"] for figure in shown
    }
    critical = figures["The standard", ("critical",)]
    assert (critical.before, critical.after, critical.difference) == (25, 24, -1)
    clean = figures["The standard", ("clean",)]
    assert (clean.before, clean.after) == (129, 130)
    sensitivity = figures["Detection", ("BLIND", "x-ai_grok-4.3", "sensitivity")]
    assert (printed(sensitivity.before), printed(sensitivity.after)) == ("0.426", "0.421")
    expected = json.loads((shared / "release" / "EXPECTED.json").read_text())
    said = expected["detection"]["BLIND"]["monitors"]["x-ai_grok-4.3"]["sensitivity"]
    assert sensitivity.after == pytest.approx(said, abs=1e-12)
    page = answer.content.decode()
    assert "0.426" in page and "0.421" in page
    everything = client.get(address + "?figures=all").context["sections"]
    assert sum(len(shown) for _, shown in everything) == answer.context["found"].changed


def test_a_standard_against_itself_moves_nothing(
    printed_from: tuple[ReferenceStandard, ReferenceStandard], client: Client
) -> None:
    released, _ = printed_from
    document = figures_of(released.study, released)
    found = compare(document, document)
    assert (found.changed, found.sections) == (0, ())
    assert found.compared > 500
    client.force_login(make_person("lea", study=released.study, roles=["lead"]))
    page = client.get(reverse("standard_figures", args=["hle", 1, 1])).content.decode()
    assert "No figure would be printed otherwise." in page


def test_undefined_and_missing_figures_are_told_from_numbers() -> None:
    old: dict[str, Any] = {"detection": {"BLIND": {"monitors": {"m": {"auc": None, "n": 3, "n_ci": [1, 2]}}}}}
    new: dict[str, Any] = {
        "detection": {"BLIND": {"monitors": {"m": {"auc": 0.5, "n": 3}, "other": {"n": 1}}}}
    }
    found = compare(old, new)
    ((title, figures),) = found.sections
    assert title == "Detection"
    assert [(figure.path, figure.before, figure.after, figure.difference) for figure in figures] == [
        (("BLIND", "m", "auc"), None, 0.5, None),
        (("BLIND", "other", "n"), None, 1, None),
    ]
    assert [printed(value) for value in (None, 3, 0.12345, 1.0)] == ["undefined", "3", "0.123", "1"]


def test_only_readers_of_standards_see_it(study: Study, ana: User, eve: User, client: Client) -> None:
    address = reverse("standard_figures", args=[study.slug, 1, 1])
    for person, status in ((ana, 403), (eve, 404)):
        client.force_login(person)
        assert client.get(address).status_code == status
