"""The pilot instrument: the richer form, its labels out and in, and which of its fields are usable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotation import pilot
from annotation.imports.labels import import_labels
from annotation.imports.traces import import_traces
from annotation.models import Draft, Label, PilotJudgement, Role, Study, Trace
from annotation.pilot import PilotValues
from annotation.services.exporting import export_labels
from annotation.services.labels import InvalidLabel, submit_label
from core.errors import ImportRefused, UserError
from core.models import AuditEntry, User
from tests.annotation.build import make_check_item
from tests.annotation.files import question_row, write_lines
from tests.build import make_label, make_person, make_question, make_study, make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(db: None) -> Study:
    """A pilot study in place of the main one, with the same slug for the cast."""
    return make_study(slug="optics", name="Optics pilot", kind="pilot")


@pytest.fixture
def trace(study: Study) -> Trace:
    return make_trace(make_question(study), n_steps=4)


def submit(trace: Trace, person: User, **changes: Any) -> Label:
    values = {"final_correct": False, "first_error_step": 2, "expected_revision": 0, **changes}
    return submit_label(trace=trace, person=person, **values)


RICH = PilotValues("partly", "numerical")


# ---- the form ------------------------------------------------------------------------------------------


def test_a_pilot_label_holds_the_richer_judgements(trace: Trace, ana: User) -> None:
    label = submit(trace, ana, pilot=RICH)
    assert (label.pilot.coherence, label.pilot.error_type) == ("partly", "numerical")
    assert AuditEntry.objects.get(action="label submitted").payload["coherence"] == "partly"
    assert submit(trace, ana, pilot=RICH) == label, "the same again is no change"
    again = submit(trace, ana, pilot=PilotValues("coherent", "numerical"), expected_revision=1)
    assert (again.revision, again.pilot.coherence) == (2, "coherent")
    assert PilotJudgement.objects.count() == 2
    plain = submit(trace, ana, expected_revision=2)
    assert plain.revision == 3
    assert not PilotJudgement.objects.filter(label=plain).exists()


@pytest.mark.parametrize(
    ("values", "step", "reason"),
    [
        (PilotValues("odd"), 2, 'no coherence is called "odd"'),
        (PilotValues("partly", "odd"), 2, 'no kind of error is called "odd"'),
        (PilotValues("partly", "numerical"), None, "yet no false step"),
    ],
)
def test_odd_judgements_are_refused(
    trace: Trace, ana: User, values: PilotValues, step: int | None, reason: str
) -> None:
    with pytest.raises(InvalidLabel, match=reason):
        submit(trace, ana, pilot=values, first_error_step=step)


def test_a_main_study_does_not_take_them(ana: User) -> None:
    main = make_trace(make_question(make_study()), n_steps=4)
    with pytest.raises(InvalidLabel, match="only a pilot study"):
        submit(main, ana, pilot=RICH)


def test_the_page_asks_for_them_in_a_pilot_only(client: Client, trace: Trace, ana: User) -> None:
    client.force_login(ana)
    address = reverse("annotate", args=["optics", trace.token])
    page = client.get(address).content.decode()
    assert 'name="coherence"' in page
    assert 'name="error_type"' in page
    assert " selected" not in page.split('name="coherence"')[1].split("</select>")[0], "nothing is preset"
    form = {"final": "wrong", "first_error": "step", "step": "2", "revision": "0"}
    refused = client.post(address, form)
    assert refused.status_code == 422
    assert "Choose how coherent the solution is." in refused.content.decode()
    assert "Choose the kind of error." in refused.content.decode()
    refused = client.post(
        address, {**form, "first_error": "none", "coherence": "partly", "error_type": "numerical"}
    )
    assert refused.status_code == 422
    assert "clear one of the two" in refused.content.decode()
    assert '<option value="partly" selected>' in refused.content.decode(), "nothing has to be entered twice"
    assert client.post(address, {**form, "coherence": "partly", "error_type": "numerical"}).status_code == 302
    assert Label.objects.get().pilot.error_type == "numerical"
    page = client.get(address).content.decode()
    assert '<option value="numerical" selected>' in page
    main = make_study()
    bo = make_person(study=main, roles=[Role.ANNOTATOR])
    client.force_login(bo)
    page = client.get(reverse("annotate", args=[main.slug, make_trace(make_question(main)).token]))
    assert 'name="coherence"' not in page.content.decode()


def test_a_draft_keeps_them(client: Client, trace: Trace, ana: User) -> None:
    client.force_login(ana)
    kept = client.post(
        reverse("draft", args=["optics", trace.token]),
        {"revision": "0", "draft_version": "0", "coherence": "incoherent"},
    )
    assert kept.status_code == 200
    assert Draft.objects.get().content["coherence"] == "incoherent"
    page = client.get(reverse("annotate", args=["optics", trace.token])).content.decode()
    assert '<option value="incoherent" selected>' in page


def test_the_database_refuses_odd_rows(trace: Trace) -> None:
    for fields in ({"coherence": "odd"}, {"error_type": "odd"}, {}):
        with pytest.raises(IntegrityError), transaction.atomic():
            PilotJudgement.objects.create(label=make_label(trace), **fields)


# ---- files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_they_go_out_and_come_back(trace: Trace, ana: User, tmp_path: Path, suffix: str) -> None:
    submit(trace, ana, pilot=RICH)
    submit(trace, ana, pilot=PilotValues("coherent"), first_error_step=None, expected_revision=1)
    other = make_study(slug="fresh", kind="pilot")
    question = make_question(other, external_id=trace.question.external_id)
    make_trace(question, steps=trace.steps, response_label=trace.response_label)
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    export_labels(study=trace.study, format=suffix, arm="all", path=first)
    report = import_labels(path=first, study_slug="fresh", arm="all")
    assert (report.new, report.revised) == (1, 1)
    export_labels(study=other, format=suffix, arm="all", path=second)
    assert first.read_bytes() == second.read_bytes()
    assert import_labels(path=first, study_slug="fresh", arm="all").same == 2


def test_files_are_held_to_the_same_rules(trace: Trace, tmp_path: Path) -> None:
    row = {
        "question_id": trace.question.external_id,
        "response_label": trace.response_label,
        "labeller": "ana",
        "final_correct": True,
        "first_error_step": None,
    }

    def refusal(**fields: Any) -> str:
        with pytest.raises(ImportRefused) as refused:
            import_labels(
                path=write_lines(tmp_path / "l.jsonl", {**row, **fields}), study_slug="optics", arm="human"
            )
        return refused.value.rows[0].reason

    assert "yet no false step" in refusal(error_type="numerical")
    assert 'no coherence is called "odd"' in refusal(coherence="odd")
    path = write_lines(tmp_path / "l.jsonl", {**row, "coherence": "partly"})
    assert import_labels(path=path, study_slug="optics", arm="human").new == 1
    assert "has already labelled" in refusal(coherence="coherent")
    Study.objects.filter(slug="optics").update(kind="main")
    assert "belong to a pilot study" in refusal(coherence="coherent", labeller="bo")


def test_an_import_can_make_a_pilot(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "q.jsonl", question_row("q1"))
    call_command("import_traces", str(path), study="irr", pilot=True)
    assert Study.objects.get(slug="irr").kind == "pilot"
    import_traces(path=path, study_slug="main")
    with pytest.raises(UserError, match="is no pilot"):
        import_traces(path=path, study_slug="main", pilot=True)


# ---- agreement -----------------------------------------------------------------------------------------


@pytest.fixture
def judged(study: Study) -> Study:
    """Four traces judged by three people; a fourth person has not finished, a check item does not count."""
    question = make_question(study)
    traces = [make_trace(question, n_steps=9) for _ in range(4)]
    said = {
        "ana": [(1, None), (0, 3), (0, 5), (1, None)],
        "bo": [(1, None), (0, 3), (0, 6), (1, 2)],
        "cy": [(1, None), (1, 3), (0, 9), (1, None)],
    }
    for name, judgements in said.items():
        for trace, (right, step) in zip(traces, judgements, strict=True):
            label = make_label(trace, labeller=name, final_correct=bool(right), first_error_step=step)
            PilotJudgement.objects.create(
                label=label, coherence="coherent", error_type="numerical" if step else ""
            )
    make_label(traces[0], labeller="di")
    check = make_check_item(study, "hidden")
    for name in said:
        make_label(check.trace, labeller=name)
    return study


def test_agreement_follows_the_published_rules(judged: Study) -> None:
    found = pilot.report(judged)
    assert (found.annotators, found.left_out, found.traces) == (["ana", "bo", "cy"], {"di": 1}, 4)
    numbers = pilot.as_json(found)
    assert (numbers["items"], numbers["final_correct"]["pairs"]) == (4, 12)
    assert numbers["final_correct"]["percent"] == pytest.approx(10 / 12)
    assert numbers["error_presence"]["percent"] == pytest.approx(10 / 12)
    assert numbers["step"]["pairs_that_both_named_one"] == 6
    assert numbers["step"]["exact"] == pytest.approx(3 / 6)
    assert numbers["step"]["within_one"] == pytest.approx(4 / 6)
    assert numbers["unanimous"] == {"n": 4, "items": 3, "share": 0.75}
    assert numbers["coherence"]["modal"]["value"] == "coherent"
    assert numbers["coherence"]["modal"]["share"] == 1
    assert numbers["coherence"]["modal"]["n"] == 12
    assert numbers["coherence"]["alpha"] is None
    assert "undefined" in numbers["coherence"]["alpha_reason"]
    assert numbers["error_type"]["modal"]["n"] == 7
    usable = {name: value["usable"] for name, value in numbers["usable"].items()}
    assert usable == {
        "final_correct": True,
        "error_presence": True,
        "first_error_step exact": False,
        "first_error_step within one": False,
        "coherence": False,
        "error_type": False,
    }
    json.dumps(numbers, allow_nan=False)


def test_a_revised_label_counts_as_it_stands(judged: Study) -> None:
    label = Label.objects.get(labeller="bo", first_error_step=2)
    make_label(label.trace, labeller="bo", final_correct=True, revision=2, supersedes=label)
    assert pilot.as_json(pilot.report(judged))["error_presence"]["percent"] == 1


def test_before_two_have_finished_everybody_is_compared(study: Study, trace: Trace) -> None:
    other = make_trace(trace.question)
    make_label(trace, labeller="ana")
    make_label(other, labeller="ana")
    make_label(trace, labeller="bo")
    found = pilot.report(study)
    assert (found.annotators, found.agreement.items) == (["ana", "bo"], 1)
    assert pilot.as_json(pilot.report(make_study()))["final_correct"]["percent"] is None


def test_the_command_prints_and_writes_the_numbers(
    judged: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("pilot_agreement", study="optics", json=str(tmp_path / "r.json"))
    out = capsys.readouterr().out
    assert "4 traces judged by all of 3 annotators: ana, bo, cy" in out
    assert "left out, not finished: di (1 of 4)" in out
    assert "step, where both named one (6 pairs): exact 0.500, within one 0.667" in out
    assert "first_error_step exact: not usable: pairs agree in 50.0%, less than 80%" in out
    numbers = json.loads((tmp_path / "r.json").read_text())
    assert numbers == pilot.as_json(pilot.report(judged))
    call_command("pilot_agreement", study="optics", least_agreement=0.4, json="-")
    assert json.loads(capsys.readouterr().out)["usable"]["first_error_step exact"]["usable"]
    with pytest.raises(CommandError, match="is a share"):
        call_command("pilot_agreement", study="optics", least_agreement=80)


def test_the_page_says_which_fields_are_usable(
    client: Client, judged: Study, ana: User, adam: User, olga: User, eve: User
) -> None:
    address = reverse("pilot", args=["optics"])
    for person, status in ((olga, 200), (adam, 200), (ana, 403), (eve, 404)):
        client.force_login(person)
        assert client.get(address).status_code == status
    client.force_login(olga)
    page = client.get(address).content.decode()
    assert "83.3%" in page
    assert "first false step, exactly" in page
    assert "pairs agree in 50.0%, less than 80%" in page
    assert "one value takes 100.0% of 12 judgements" in page
    assert "di (1 of 4)" in page
    arm = client.get(reverse("arm", args=["optics"])).content.decode()
    assert address in arm
    main = make_study()
    make_person("otto", study=main, roles=[Role.ADMINISTRATOR])
    client.force_login(User.objects.get(username="otto"))
    assert client.get(reverse("pilot", args=[main.slug])).status_code == 404


def test_a_lead_with_a_debated_dispute_waits(client: Client, judged: Study, adam: User, olga: User) -> None:
    trace = Label.objects.filter(labeller="ana", first_error_step=3).get().trace
    make_label(trace, arm="debate", labeller="debate", first_error_step=8)
    client.force_login(adam)
    response = client.get(reverse("pilot", args=["optics"]))
    assert response.status_code == 403
    assert "%" not in response.content.decode().split("<main")[1]
    client.force_login(olga)
    assert client.get(reverse("pilot", args=["optics"])).status_code == 200


def test_an_empty_pilot_says_what_will_be_there(client: Client, study: Study, olga: User) -> None:
    client.force_login(olga)
    page = client.get(reverse("pilot", args=["optics"])).content.decode()
    assert "No solution has been judged by every annotator yet." in page
