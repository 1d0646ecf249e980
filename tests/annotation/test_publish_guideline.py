"""The guideline grows by versions: the lead writes the next, the old stay, annotators are told."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import GuidelineVersion, Study
from annotation.services.guideline import InvalidGuideline, ensure_guideline, publish_guideline
from annotation.services.labels import submit_label
from core.errors import Conflict
from core.models import AuditEntry, User
from tests.annotation.build import make_traces

pytestmark = pytest.mark.django_db


@pytest.fixture
def as_adam(client: Client, adam: User) -> Client:
    client.force_login(adam)
    return client


def publish(study: Study, actor: User, text: str, expected: int = 1) -> GuidelineVersion:
    return publish_guideline(study=study, text=text, expected_version=expected, actor=actor)


def test_a_new_version_stands_beside_the_old(study: Study, adam: User) -> None:
    first = ensure_guideline(study=study)
    made = publish(study, adam, "New words.\r\n\r\n")
    assert (made.version, made.text) == (2, "New words.\n")
    assert list(study.guideline_versions.values_list("text", flat=True)) == [first.text, "New words.\n"]
    assert AuditEntry.objects.filter(action="guideline published").count() == 2


def test_the_same_text_again_is_no_change(study: Study, adam: User) -> None:
    made = publish(study, adam, "New words.")
    assert publish(study, adam, "New words.", 2) == made
    assert publish(study, adam, "New words.", 1) == made  # a double click


@pytest.mark.parametrize("text", ["", " \n ", "x" * 50_001])
def test_an_impossible_text_is_refused(study: Study, adam: User, text: str) -> None:
    with pytest.raises(InvalidGuideline):
        publish(study, adam, text)


def test_somebody_elses_version_is_not_overwritten_unseen(study: Study, adam: User) -> None:
    publish(study, adam, "Theirs.")
    with pytest.raises(Conflict, match="Version 2"):
        publish(study, adam, "Mine.")
    assert study.guideline_versions.count() == 2


def test_a_label_keeps_the_version_it_was_made_under(study: Study, ana: User, adam: User) -> None:
    one, two = make_traces(study, 2)
    submit_label(trace=one, person=ana, final_correct=True, first_error_step=None)
    publish(study, adam, "New words.")
    submit_label(trace=two, person=ana, final_correct=True, first_error_step=None)
    assert [trace.labels.get().guideline.version for trace in (one, two)] == [1, 2]


def test_the_desk_tells_of_a_new_version_until_the_next_submission(
    client: Client, study: Study, ana: User, adam: User
) -> None:
    one, two, three = make_traces(study, 3)
    client.force_login(ana)
    page = reverse("annotate", args=[study.slug, two.token])
    submit_label(trace=one, person=ana, final_correct=True, first_error_step=None)
    assert "The guideline has changed" not in client.get(page).content.decode()
    publish(study, adam, "Entirely *new* words.")
    html = client.get(page).content.decode()
    assert "The guideline has changed" in html
    assert "Entirely <em>new</em> words." in html
    submit_label(trace=three, person=ana, final_correct=True, first_error_step=None)
    assert "The guideline has changed" not in client.get(page).content.decode()


def test_the_page_publishes_and_shows_what_changed(as_adam: Client, study: Study) -> None:
    url = reverse("guideline_edit", args=[study.slug])
    assert "What counts as an error" in as_adam.get(url).content.decode()
    response = as_adam.post(url, {"text": "Only this.", "version": "1"}, follow=True)
    html = response.content.decode()
    assert "Version 2 is in force" in html
    assert "<ins>Only this.</ins>" in html
    first = as_adam.get(reverse("guideline_version", args=[study.slug, 1])).content.decode()
    assert "no longer in force" in first
    assert as_adam.get(reverse("guideline_version", args=[study.slug, 9])).status_code == 404


@pytest.mark.parametrize(("form", "status"), [({"text": ""}, 422), ({"text": "Mine.", "version": "7"}, 409)])
def test_a_refused_text_comes_back(as_adam: Client, study: Study, form: dict[str, str], status: int) -> None:
    response = as_adam.post(reverse("guideline_edit", args=[study.slug]), form)
    assert response.status_code == status
    assert form["text"] in response.content.decode()
    assert "Not published" in response.content.decode()
    assert study.guideline_versions.count() <= 1


def test_only_the_lead_writes_it(client: Client, study: Study, ana: User, olga: User, eve: User) -> None:
    url = reverse("guideline_edit", args=[study.slug])
    for person, status in ((ana, 403), (olga, 403), (eve, 404)):
        client.force_login(person)
        for call in (client.get, client.post):
            answer: Any = call(url)
            assert answer.status_code == status
    assert not study.guideline_versions.exists()


def test_hostile_text_is_inert(as_adam: Client, study: Study) -> None:
    url = reverse("guideline_edit", args=[study.slug])
    html = as_adam.post(url, {"text": "<script>x()</script>", "version": "1"}, follow=True).content.decode()
    assert "<script>x()" not in html
