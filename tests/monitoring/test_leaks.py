"""No prompt of the sample study holds a label, a debate, a generator, or an answer its condition withholds."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest
from django.core.management import call_command

from adjudication.models import ReferenceStandard
from annotation.answers import final_answer
from annotation.models import Label, Study, Trace
from core.texts import error_definition
from monitoring.engine import identity
from monitoring.engine.options import BatchOptions
from monitoring.engine.worker import drive
from monitoring.models import Attempt, Batch, Condition
from tests.conftest import ROOT
from tests.monitoring.build import make_batch, make_scripted, make_standard

SAMPLE = ROOT / "examples" / "sample"
OWN = json.dumps({"has_error": 1, "first_error_step": 1, "error_confidence": 77, "reason": "OWN-REASON"})
STEP = json.dumps({"step_has_error": 0, "error_confidence": 5, "reason": "fine"})
GRANTED = {
    "BLIND": None,
    "HINT": "reference",
    "CERT": "reference",
    "REVISE": "reference",
    "RCTRL": None,
    "STEP": None,
    "CMATCH": "certificate",
    "CCONFLICT": "certificate",
}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def marked(tmp_path: Path) -> Study:
    """The sample study; what must stay out of prompts is made recognisable."""
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines if line.strip()]
    for number, question in enumerate(questions):
        question["rationale"] = "SENTINEL-RATIONALE"
        question["reference_answer"] = f"SENTINEL-ANSWER-{number}"
        if "corrected_answer" in question:
            corrected = {"text": f"SENTINEL-CORRECTED-{number}", "reason": "SENTINEL-COMMENT"}
            question["corrected_answer"] = corrected
        for trace in question["traces"]:
            trace["generator"] = f"generator-{trace['generator']}-x"
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(question) + "\n" for question in questions), encoding="utf-8")
    call_command("import_traces", str(path), study="leaks", verbosity=0)
    study = Study.objects.get(slug="leaks")
    for trace in study.traces.all():
        for arm in ("human", "debate"):
            Label.objects.create(
                trace=trace,
                arm=arm,
                labeller=f"SENTINEL-{arm}",
                final_correct=True,
                comment="SENTINEL-DEBATE",
                source="SENTINEL-SOURCE",
            )
    return study


def _standard(study: Study, *, version: int, turn: int) -> ReferenceStandard:
    """Freeze clean, wrong and critical labels in turn, beginning elsewhere with another `turn`."""
    kinds = ((True, None), (False, 1), (True, 1))
    traces = study.traces.select_related("question").order_by("question_id", "response_label")
    labels = [(trace, *kinds[(place + turn) % 3]) for place, trace in enumerate(traces)]
    return make_standard(study, labels, version=version)


def _asked(standard: ReferenceStandard, slug: str) -> Batch:
    script = {}
    for trace in standard.study.traces.select_related("question"):
        key = f"{trace.question.external_id}/{trace.response_label}"
        script |= {key: OWN, f"{key}|STEP": STEP}
    monitor = make_scripted(standard.study, slug, by_key=script)
    options = BatchOptions(rctrl_traces="all")
    batch = make_batch(standard, [monitor], conditions=list(Condition), options=options)
    drive(batch_id=batch.pk, owner=identity.owner())
    batch.refresh_from_db()
    assert batch.status == Batch.Status.FINISHED
    return batch


def test_no_prompt_of_the_sample_study_leaks(marked: Study) -> None:
    standard = _standard(marked, version=1, turn=0)
    traces = {trace.pk: trace for trace in marked.traces.select_related("question")}
    batch = _asked(standard, "first")
    counts: dict[str, int] = defaultdict(int)
    for attempt in Attempt.objects.filter(call__run__batch=batch).select_related("call__run"):
        condition, call = attempt.call.run.condition, attempt.call
        counts[condition] += 1
        _holds_what_is_granted(condition, traces[call.trace_id], traces, attempt)
        _is_well_formed(condition, attempt, traces[call.trace_id])
    ready = len(traces)
    assert ready >= 36
    for condition in ("BLIND", "HINT", "CERT", "REVISE", "RCTRL"):
        assert counts[condition] == ready
    assert counts["STEP"] == sum(trace.n_steps or 0 for trace in traces.values())
    assert counts["CMATCH"] >= 10 and counts["CCONFLICT"] >= 10


def _holds_what_is_granted(condition: str, trace: Trace, traces: dict[int, Trace], attempt: Attempt) -> None:
    call = attempt.call
    own = "\n".join(message["content"] for message in attempt.messages if message["role"] != "assistant")
    prompt = "\n".join(message["content"] for message in attempt.messages)
    assert error_definition() in prompt
    for one in {trace.generator for trace in traces.values()} | {
        trace.response_label,
        "SENTINEL-RATIONALE",
        "SENTINEL-COMMENT",
        "SENTINEL-DEBATE",
        "SENTINEL-SOURCE",
        "SENTINEL-human",
        "SENTINEL-debate",
        "both_arms_agree",
    }:
        assert one not in prompt
    shown = re.findall(r"SENTINEL-[A-Z]+", prompt)
    if GRANTED[condition] == "reference":
        corrected = trace.question.reference_answers.count() > 1
        assert shown == ["SENTINEL-CORRECTED" if corrected else "SENTINEL-ANSWER"]
    else:
        assert shown == [], "the reference answer is withheld here"
    if GRANTED[condition] == "certificate":
        source = traces[call.certificate_source_id or 0]
        certificate = final_answer(source.text).text
        assert f"<reference_answer>\n{certificate}\n</reference_answer>" in prompt
        assert source.question_id == trace.question_id
        assert (source.pk == trace.pk) == (condition == "CMATCH")
    assert ("OWN-REASON" in prompt) == (condition in ("REVISE", "RCTRL"))
    assert "OWN-REASON" not in own
    if condition == "STEP":
        assert call.step is not None
        later = [step.strip() for step in trace.steps[call.step :] if len(step.strip()) > 30]
        assert not any(step in prompt for step in later), "a later step is shown"
    for other in traces.values():
        if other.pk != trace.pk and len(other.steps[-1]) > 40:
            assert other.steps[-1].strip() not in prompt, "another solution is in the prompt"


def _is_well_formed(condition: str, attempt: Attempt, trace: Trace) -> None:
    roles = [message["role"] for message in attempt.messages]
    follows = condition in ("REVISE", "RCTRL")
    assert roles == (["system", "user", "assistant", "user"] if follows else ["system", "user"])
    user = attempt.messages[1]["content"]
    n_shown = attempt.call.step if condition == "STEP" else trace.n_steps
    marks = {"<problem>": 1, "</problem>": 1, "<solution>": 1, "</solution>": 1, "</step>": n_shown}
    assert {mark: user.count(mark) for mark in marks} == marks


def test_the_labels_of_the_standard_change_no_prompt(marked: Study) -> None:
    """Whatever the standard says, a trace gets the same words: only who is asked under a swap depends on it."""
    prompts = []
    for version in (1, 2):
        batch = _asked(_standard(marked, version=version, turn=version), f"monitor-{version}")
        found: dict[tuple[object, ...], object] = {}
        for attempt in Attempt.objects.filter(call__run__batch=batch).select_related("call__run"):
            call = attempt.call
            key = (call.run.condition, call.trace_id, call.step, call.certificate_source_id)
            found[key] = attempt.messages
        prompts.append(found)
    first, second = prompts
    swapped = {key[0] for key in set(first) ^ set(second)}
    assert swapped == {"CMATCH", "CCONFLICT"}
    both = set(first) & set(second)
    assert len(both) > 5 * 36
    assert all(first[key] == second[key] for key in both)
