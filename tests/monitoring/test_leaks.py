"""No prompt of the sample study holds a label, a debate, a generator, or an answer its condition withholds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.core.management import call_command

from annotation.models import Study
from core.texts import error_definition
from monitoring.engine import materials
from monitoring.engine.planning import SUPPORTED, plan_batch
from monitoring.models import Condition
from tests.conftest import ROOT
from tests.monitoring.build import make_model, make_standard

SAMPLE = ROOT / "examples" / "sample"


@pytest.mark.django_db
@pytest.mark.parametrize("condition", SUPPORTED)
def test_no_prompt_of_the_sample_study_leaks(condition: Condition, tmp_path: Path) -> None:
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines if line.strip()]
    for number, question in enumerate(questions):
        # What must stay out is made recognisable; the texts that a monitor reads stay as they are.
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
    traces = list(study.traces.select_related("question"))
    standard = make_standard(study, [(trace, True, None) for trace in traces])
    plan = plan_batch(
        study=study, standard=standard, monitors=[make_model(study)], conditions=[condition], with_cost=False
    )
    assert plan.calls == len(traces) >= 36
    for material in materials.load(standard.labels.all(), answers=True, before=None):
        request = materials.request_for(
            material, condition=condition, version=None, settings=plan.runs[0].settings, key=""
        )
        prompt = "\n".join(message.content for message in request.messages)
        trace, own = material.trace, error_definition()
        assert own in prompt
        for forbidden in (trace.generator, trace.response_label, "SENTINEL-RATIONALE", "SENTINEL-COMMENT"):
            assert forbidden not in prompt
        shown = re.findall(r"SENTINEL-[A-Z]+", prompt)
        is_corrected = trace.question.reference_answers.count() > 1
        if condition == Condition.BLIND:
            assert shown == []
        else:
            assert shown == ["SENTINEL-CORRECTED" if is_corrected else "SENTINEL-ANSWER"]
        for other in traces:
            if other.pk != trace.pk and len(other.steps[-1]) > 40:
                assert other.steps[-1].strip() not in prompt, "another solution is in the prompt"
