"""Audits of answer keys in the database: nothing applied until accepted; the pages and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse

from annotation.models import KeyReport, ReferenceAnswer, Study
from core.models import AuditEntry, User
from tests.build import make_question
from tests.verification.build import write_lines
from tests.verification.test_answer_keys import RIGHT, SAMPLE
from tests.verification.worked import STABLE
from verification import queries
from verification.models import AuditedResponse, KeyAudit
from verification.services.audits import decide_audit

pytestmark = pytest.mark.django_db


def address(name: str) -> str:
    return reverse(name, args=["optics"] if name == "new_key_audit" else ["optics", 1])


def test_an_audit_changes_nothing_until_it_is_accepted(client: Client, adam: User, kept: KeyAudit) -> None:
    keys = list(ReferenceAnswer.objects.order_by("pk").values_list("text", flat=True))
    assert queries.scores_in_force(kept.study) == {}
    client.force_login(adam)
    page = client.get(address("key_audit")).content.decode()
    assert "A proposal" in page and "10 of 20 stored responses" in page
    assert client.post(address("decide_key_audit"), {"decision": "accept", "reason": ""}).status_code == 422
    data = {"decision": "accept", "reason": "The rule says what the question asks."}
    assert client.post(address("decide_key_audit"), data).status_code == 302
    assert client.post(address("decide_key_audit"), data).status_code == 409
    assert sum(queries.scores_in_force(kept.study).values()) == 10
    assert list(ReferenceAnswer.objects.order_by("pk").values_list("text", flat=True)) == keys
    entry = AuditEntry.objects.get(action="key audit accepted")
    assert (entry.actor, entry.payload["reason"]) == (adam, data["reason"])
    assert "Accepted</strong> by Adam" in client.get(address("key_audit")).content.decode()


def test_a_rejected_audit_leaves_the_scores(kept: KeyAudit, adam: User) -> None:
    decide_audit(kept=kept, accepted=False, reason="Too lenient.", actor=adam)
    assert queries.scores_in_force(kept.study) == {}


def test_the_next_audit_begins_from_the_scores_in_force(
    study: Study, kept: KeyAudit, adam: User, capsys: Any
) -> None:
    options = {"study": study.slug, "rule": "stacked-blocks", "domain": "blocks", "resamples": 10}
    decide_audit(kept=kept, accepted=True, reason="It is right.", actor=adam)
    call_command("audit_answer_key", **options)
    assert "0 of 20 responses change" in capsys.readouterr().out


def test_audits_and_decisions_are_final(kept: KeyAudit, adam: User) -> None:
    decision = decide_audit(kept=kept, accepted=False, reason="x", actor=adam)
    for row in (kept, decision, AuditedResponse.objects.first()):
        assert row is not None
        with pytest.raises(DatabaseError), transaction.atomic():
            row.save()
        with pytest.raises(DatabaseError), transaction.atomic():
            row.delete()


def test_a_new_audit_is_made_from_the_page(client: Client, olga: User, kept: KeyAudit) -> None:
    client.force_login(olga)
    data = {"title": "Again", "domain": "blocks", "rule": "stacked-blocks", "rule_text": ""}
    assert client.post(address("new_key_audit"), data).status_code == 302
    assert KeyAudit.objects.get(number=2).created_by == olga
    for bad in (
        {"rule_text": "{"},
        {"rule_text": "{}"},
        {"rule": "odd"},
        {"title": ""},
        {"domain": "mechanics"},
    ):
        answer = client.post(address("new_key_audit"), {**data, **bad})
        assert answer.status_code == 422, bad
        assert "errorlist" in answer.content.decode()


def test_a_wrong_key_joins_the_key_reports(client: Client, adam: User, kept: KeyAudit) -> None:
    client.force_login(adam)
    url = address("report_audited_key")
    data = {"item": "b1", "reason": "The joint is the other one."}
    assert [client.post(url, data).status_code for _ in range(2)] == [302, 302]
    assert client.post(url, {**data, "reason": "other words"}).status_code == 409
    assert client.post(url, {**data, "item": "nowhere"}).status_code == 422
    report = KeyReport.objects.get()
    assert (report.question.external_id, report.reporter) == ("b1", adam)


# -- the command -----------------------------------------------------------------------------------------------


def files(folder: Path) -> tuple[str, str]:
    keys = [
        {"item": f"i{place}", "domain": "blocks", "level": "L5", "key": key, "cluster": f"c{place}"}
        for place, key in enumerate(SAMPLE)
    ]
    for place in range(50):
        short = {"domain": "blocks", "level": "L4", "key": str(place % 5)}
        keys.append({"item": f"j{place}", "cluster": f"c{place}", **short})
    responses: list[dict[str, Any]] = [
        {"item": f"i{place}", "model": "m", "response": RIGHT[key], "correct": False}
        for place, key in enumerate(SAMPLE)
    ]
    responses += [{"item": f"j{place}", "model": "m", "correct": place % 2} for place in range(50)]
    return str(write_lines(folder / "keys.jsonl", *keys)), str(
        write_lines(folder / "responses.jsonl", *responses)
    )


def test_the_command_audits_files_and_keeps_a_proposal(study: Study, tmp_path: Path, capsys: Any) -> None:
    keys, responses = files(tmp_path)
    call_command(
        "audit_answer_key", keys=keys, responses=responses, rule="stacked-blocks", study=study.slug,
        save="Blocks", resamples=100, json=str(tmp_path / "out.json"),
    )  # fmt: skip
    told = capsys.readouterr().out
    assert "50 of 50 responses change" in told and "nothing is applied" in told
    result = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert result["baseline"]["before"]["share"] == 0.16
    assert result["baseline"]["after"]["share"] == 0.52
    assert len(result["responses_changed"]) == 50
    kept = KeyAudit.objects.get()
    assert not kept.of_study and set(kept.source) == {"keys", "responses"}
    assert kept.responses.count() == 50


def test_the_command_diagnoses_and_proposes_without_a_rule(tmp_path: Path, capsys: Any) -> None:
    keys, responses = files(tmp_path)
    rule = tmp_path / "rule.json"
    call_command("audit_answer_key", keys=keys, responses=responses, propose=str(rule))
    told = capsys.readouterr().out
    assert "blocks L5: 50 of 50 keys are sentences" in told
    assert told.count("distinct:") == 2
    call_command("audit_answer_key", keys=keys, responses=responses, rule=str(rule), resamples=10, json="-")
    assert json.loads(capsys.readouterr().out)["rule"]["name"] == "blocks-L5"


def test_the_command_audits_a_study(study: Study, kept: KeyAudit, capsys: Any) -> None:
    call_command("audit_answer_key", study=study.slug, rule="stacked-blocks", domain="blocks", resamples=10)
    assert "10 of 20 responses change" in capsys.readouterr().out


def test_a_file_with_the_studys_own_questions_hides_its_models(
    client: Client, study: Study, adam: User, tmp_path: Path
) -> None:
    make_question(study, external_id="i0", answer=STABLE)
    keys, responses = files(tmp_path)
    call_command(
        "audit_answer_key", keys=keys, responses=responses, rule="stacked-blocks", study=study.slug, save="x",
        resamples=10,
    )  # fmt: skip
    assert KeyAudit.objects.get().of_study


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "give --keys and --responses, or --study"),
        ({"keys": "x"}, "come together"),
        ({"study": "optics", "save": "x"}, "needs --study and --rule"),
        ({"study": "optics"}, "no traces with text"),
        ({"study": "nowhere"}, "no study named"),
        ({"study": "optics", "resamples": 0}, "at least 1"),
        ({"keys": "/no/such", "responses": "/no/such"}, "there is no such file"),
    ],
)
def test_the_command_refuses_with_a_sentence(study: Study, options: dict[str, Any], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        call_command("audit_answer_key", **options)


def test_bad_rows_of_an_audit_are_listed_with_their_lines(tmp_path: Path) -> None:
    keys = write_lines(
        tmp_path / "keys.jsonl",
        {"item": "a", "domain": "d", "level": "L5", "key": "k"},
        {"item": "a", "domain": "d", "level": "L5", "key": "k"},
        {"item": "b", "domain": "d", "level": "L5"},
    )
    good = write_lines(tmp_path / "good.jsonl", {"item": "a", "domain": "d", "level": "L5", "key": "k"})
    responses = write_lines(
        tmp_path / "responses.jsonl",
        {"item": "a", "model": "m"},
        {"item": "z", "model": "m", "response": "x"},
    )
    twice = r'keys.jsonl:2: the item "a" stands twice\n.*keys.jsonl:3: "key" is missing'
    with pytest.raises(CommandError, match=twice):
        call_command("audit_answer_key", keys=str(keys), responses=str(responses))
    with pytest.raises(CommandError, match=r"responses.jsonl:1: either .*\n.*responses.jsonl:2: no key"):
        call_command("audit_answer_key", keys=str(good), responses=str(responses))
