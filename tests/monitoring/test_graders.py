"""The page of a study's own grading error."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from core.models import User
from monitoring.graders.build import grading_error
from monitoring.report.cells import plain
from monitoring.report.queries import document_of
from monitoring.report.services import compute_report
from monitoring.report.tables.grading import grading_tables
from tests.adjudication.build import make_dispute
from tests.monitoring.report_build import make_monitor, make_run, small_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def judged(study: Study) -> Study:
    """Eight traces (4 clean, 3 wrong, 1 critical) of which a monitor flags one clean and two wrong ones."""
    _, standard, traces = small_study(study)
    flagged = {0, 4, 5}
    said = {
        trace: ("ok", place in flagged, 1 if place in flagged else None) for place, trace in enumerate(traces)
    }
    make_run(make_monitor(study, "m"), "BLIND", standard, said)
    return study


def test_rates_are_those_of_the_stored_verdicts(judged: Study) -> None:
    found = grading_error(judged, judged.standards.get(), resamples=20)
    row = found["conditions"]["BLIND"]["m"]
    assert (row["n"], row["alpha"], row["beta"]) == (8, 0.5, 0.25)
    assert (row["alpha_wrong"], row["alpha_critical"]) == (pytest.approx(1 / 3), 1.0)
    assert row["accepted"] == (1 - row["beta"]) * row["theta"] + row["alpha"] * (1 - row["theta"])
    assert row["variance_factor"] == 16
    assert row["corrected_variance"] == pytest.approx(16 * row["accepted_variance"])
    # two of the four pairs are alike in having an error or not: each pair of this study is
    assert (found["correlation"], found["effective_size"]) == (pytest.approx(1), pytest.approx(4))


def test_a_grader_that_tells_nothing_apart_has_no_correction(study: Study) -> None:
    _, standard, traces = small_study(study)
    make_run(make_monitor(study, "m"), "BLIND", standard, dict.fromkeys(traces, ("ok", True, 1)))
    row = grading_error(study, standard, resamples=5)["conditions"]["BLIND"]["m"]
    assert row["variance_factor"] is None
    assert row["corrected"] is None and row["corrected_variance"] is None
    for name in ("variance_factor_reason", "corrected_variance_reason"):
        assert "alpha + beta must be less than 1" in row[name]


def test_the_report_holds_the_same_with_formulas_and_a_table(judged: Study) -> None:
    standard = judged.standards.get()
    stored = compute_report(study=judged, standard=standard, resamples=20)
    grading = document_of(stored)["grading"]
    assert grading == {
        k: v for k, v in grading_error(judged, standard, resamples=20).items() if k != "standard"
    }
    assert set(grading["formulas"]["corrected"]) == {"formula", "domain"}
    (table,) = grading_tables(document_of(stored))
    assert [cell.text for cell in table.rows[0][3:6]] == ["0.333", "1.000", "0.250"]
    assert "8 traces are worth 4.0" in plain(table.note)


def test_administrators_and_leads_read_the_page(
    client: Client, judged: Study, adam: User, olga: User
) -> None:
    for person in (adam, olga):
        client.force_login(person)
        page = client.get(reverse("study_graders_latest", args=[judged.slug]), follow=True)
        assert page.status_code == 200
        text = re.sub(r"<[^>]+>", "", page.content.decode())
        assert "25.00%" in text and "4.0 of 8" in text


def test_its_numbers_lead_to_the_verdicts_behind_them(client: Client, judged: Study, olga: User) -> None:
    client.force_login(olga)
    page = client.get(reverse("study_graders", args=[judged.slug, 1])).content.decode()
    cells = re.findall(r'<td class="num">(.*?)</td>', page, re.DOTALL)
    assert len(cells) == 12
    assert [cell for cell in cells if "undefined" not in cell and "<a " not in cell] == []
    led = [unescape(found) for found in re.findall(r'href="([^"]+condition=BLIND[^"]+)"', page)]
    counts = [client.get(address).context["page"].paginator.count for address in led[:5]]
    assert counts == [8, 3, 1, 4, 4], "all, wrong, critical, erroneous, clean"


def test_a_lead_with_open_disputes_does_not(client: Client, judged: Study, adam: User, olga: User) -> None:
    make_dispute(judged)
    url = reverse("study_graders", args=[judged.slug, 1])
    client.force_login(adam)
    assert client.get(url).status_code == 403
    client.force_login(olga)
    assert client.get(url).status_code == 200


def test_others_and_missing_standards(client: Client, study: Study, ana: User, eve: User, olga: User) -> None:
    url = reverse("study_graders", args=[study.slug, 1])
    for person, status in ((ana, 403), (eve, 404), (olga, 404)):
        client.force_login(person)
        assert client.get(url).status_code == status
    page = client.get(reverse("study_graders_latest", args=[study.slug]))
    assert "No reference standard is frozen" in page.content.decode()
    assert client.post(url).status_code == 405
