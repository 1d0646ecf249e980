"""The conditions beyond BLIND, HINT and CERT: who is asked, about what, and what the replies come to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from adjudication.models import ReferenceStandard
from annotation.models import Study, Trace
from core.errors import UserError
from monitoring.engine import certificates, identity, planning
from monitoring.engine.control import cancel_batch, retry_failed
from monitoring.engine.options import BatchOptions
from monitoring.engine.planning import plan_batch
from monitoring.engine.worker import drive
from monitoring.models import Attempt, Batch, Call, Condition, Monitor, Run, Verdict
from monitoring.report.build import build
from monitoring.report.source import load
from stats.report import Options
from tests.build import make_question, make_trace
from tests.monitoring.build import make_batch, make_model, make_scripted, make_small_standard, make_standard

pytestmark = pytest.mark.django_db(transaction=True)

INVALID = "I would rather not say."
NO_STEP = json.dumps({"has_error": 1, "first_error_step": None, "error_confidence": 70})


def _said(step: int | None, confidence: int = 70) -> str:
    return json.dumps(
        {"has_error": int(step is not None), "first_error_step": step, "error_confidence": confidence}
    )


def _step(flag: bool, confidence: int = 10) -> str:
    return json.dumps({"step_has_error": int(flag), "error_confidence": confidence, "reason": "so it is"})


def _drive(batch: Batch) -> None:
    drive(batch_id=batch.pk, owner=identity.owner())
    batch.refresh_from_db()


def _key(trace: Trace) -> str:
    return f"{trace.question.external_id}/{trace.response_label}"


def _traces(standard: ReferenceStandard) -> list[Trace]:
    return [label.trace for label in standard.labels.select_related("trace__question").order_by("trace_id")]


def _script(
    study: Study, standard: ReferenceStandard, *rows: dict[str, str], slug: str = "scripted"
) -> Monitor:
    """Make a monitor that says, of the n-th trace under a condition (and step), what the n-th row tells."""
    lines = {
        f"{_key(trace)}|{condition}": reply
        for trace, row in zip(_traces(standard), rows, strict=True)
        for condition, reply in row.items()
    }
    return make_scripted(study, slug, by_key=lines)


def _run(batch: Batch, condition: str) -> Run:
    return batch.runs.get(condition=condition)


def _verdicts(run: Run) -> list[tuple[Any, ...]]:
    rows = run.verdicts.order_by("trace_id").values_list("outcome", "has_error", "first_error_step")
    return list(rows)


# REVISE and RCTRL


def test_revise_waits_for_the_blind_verdict_of_its_own_batch(study: Study) -> None:
    standard = make_small_standard(study)
    revised = [_said(2), _said(None), INVALID, _said(1), NO_STEP, _said(None)]
    monitor = _script(
        study,
        standard,
        *({"BLIND": blind, "REVISE": _said(4)} for blind in revised),
    )
    batch = make_batch(standard, [monitor], conditions=[Condition.REVISE, Condition.BLIND])
    revise = _run(batch, "REVISE")
    assert set(revise.calls.values_list("status", flat=True)) == {Call.Status.WAITING}
    assert revise.prior_run == _run(batch, "BLIND")
    _drive(batch)
    assert batch.status == Batch.Status.FINISHED
    rows = revise.verdicts.order_by("trace_id").values_list(
        "has_error", "first_error_step", "prior_has_error", "prior_first_error_step"
    )
    assert list(rows) == [
        (True, 4, True, 2),
        (True, 4, False, None),
        (True, 4, True, 1),
        (True, 4, True, None),
        (True, 4, False, None),
    ]
    skipped = revise.calls.get(status=Call.Status.SKIPPED)
    assert skipped.trace == _traces(standard)[2] and not skipped.attempts.exists()


def test_a_follow_up_replays_the_very_messages_and_the_stored_verdict(study: Study) -> None:
    standard = make_small_standard(study, n_traces=1)
    monitor = _script(study, standard, {"BLIND": f"Well... {_said(2)}", "REVISE": _said(2)})
    batch = make_batch(standard, [monitor], conditions=[Condition.BLIND, Condition.REVISE])
    _drive(batch)
    blind = Attempt.objects.get(call__run__condition="BLIND").messages
    messages = Attempt.objects.get(call__run__condition="REVISE").messages
    assert messages[:2] == blind
    assert json.loads(messages[2]["content"]) == {
        "has_error": 1,
        "first_error_step": 2,
        "error_confidence": 70,
        "reason": "",
    }
    assert "answer 0" in messages[3]["content"] and "answer 0" not in json.dumps(messages[:3])


def test_without_blind_in_the_batch_the_newest_finished_blind_run_counts(study: Study) -> None:
    standard = make_small_standard(study, n_traces=3)
    monitor = _script(
        study,
        standard,
        *({"BLIND": reply, "REVISE": _said(1)} for reply in (NO_STEP, INVALID, _said(None))),
    )
    first = make_batch(standard, [monitor])
    second = make_batch(standard, [monitor])  # not driven: its run is not finished
    _drive(first)
    plan = plan_batch(study=study, standard=standard, monitors=[monitor], conditions=[Condition.REVISE])
    assert (plan.calls, dict(plan.runs[0].excluded)) == (2, {planning.NO_PRIOR: 1})
    batch = make_batch(standard, [monitor], conditions=[Condition.REVISE])
    assert _run(batch, "REVISE").prior_run == _run(first, "BLIND") != _run(second, "BLIND")
    assert _run(batch, "REVISE").settings["prior_batch"] == first.number
    _drive(batch)
    assert _verdicts(_run(batch, "REVISE")) == [("ok", True, 1)] * 2


def test_a_monitor_without_a_blind_run_cannot_revise(study: Study) -> None:
    standard = make_small_standard(study)
    with pytest.raises(UserError, match=planning.NO_PRIOR_RUN):
        make_batch(standard, [make_model(study)], conditions=[Condition.REVISE])
    assert not Batch.objects.exists()


def test_rctrl_runs_on_right_answers_unless_told_otherwise(study: Study) -> None:
    standard = make_small_standard(study)
    monitor = Monitor(study=study, slug="always", provider="always")
    conditions = [Condition.BLIND, Condition.RCTRL]
    plan = plan_batch(study=study, standard=standard, monitors=[monitor], conditions=conditions)
    assert [(run.condition, run.calls) for run in plan.runs] == [("BLIND", 6), ("RCTRL", 4)]
    assert dict(plan.runs[1].excluded) == {planning.ANSWER_WRONG: 2}
    options = BatchOptions(rctrl_traces="all")
    batch = make_batch(standard, [monitor], conditions=conditions, options=options)
    _drive(batch)
    assert len(_verdicts(_run(batch, "RCTRL"))) == 6
    assert _run(batch, "RCTRL").settings["rctrl_traces"] == "all"


def test_a_blind_call_tried_again_takes_its_follow_up_along(study: Study, olga: Any) -> None:
    standard = make_small_standard(study, n_traces=2)
    monitor = _script(study, standard, *({"BLIND": r, "REVISE": _said(1)} for r in (INVALID, _said(2))))
    batch = make_batch(standard, [monitor], conditions=[Condition.BLIND, Condition.REVISE])
    _drive(batch)
    assert len(_verdicts(_run(batch, "REVISE"))) == 1
    # The monitor learns to answer.
    run = _run(batch, "BLIND")
    run.settings["options"]["by_key"] = {_key(t): _said(3) for t in _traces(standard)}
    run.save(update_fields=["settings"])
    assert retry_failed(batch=batch, actor=olga) == 1
    batch.refresh_from_db()
    assert batch.status == Batch.Status.RUNNING
    _drive(batch)
    assert batch.status == Batch.Status.FINISHED
    priors = _run(batch, "REVISE").verdicts.order_by("trace_id").values_list("prior_first_error_step")
    assert list(priors) == [(3,), (2,)]


def test_cancelling_gives_up_what_waits(study: Study, olga: Any) -> None:
    standard = make_small_standard(study)
    monitor = Monitor(study=study, slug="always", provider="always")
    batch = make_batch(standard, [monitor], conditions=[Condition.BLIND, Condition.REVISE])
    cancel_batch(batch=batch, actor=olga)
    assert set(Call.objects.values_list("status", flat=True)) == {Call.Status.CANCELLED}


# STEP


def _step_rows(*flags: Sequence[str]) -> list[dict[str, str]]:
    return [{f"STEP|{k}": reply for k, reply in enumerate(row, start=1)} for row in flags]


def test_step_asks_about_every_prefix_and_takes_the_union(study: Study) -> None:
    standard = make_small_standard(study, n_traces=3, n_steps=3)
    monitor = _script(
        study,
        standard,
        *_step_rows(
            [_step(False, 5), _step(True, 60), _step(True, 90)],
            [_step(False, 5), _step(False, 40), _step(False, 20)],
            [_step(True, 70), INVALID, _step(False, 10)],
        ),
    )
    batch = make_batch(standard, [monitor], conditions=[Condition.STEP])
    _drive(batch)
    assert batch.status == Batch.Status.FINISHED and Attempt.objects.count() == 9
    run = _run(batch, "STEP")
    assert (run.n_calls, run.settings["step_prefixes"], run.settings["traces"]) == (9, "all", 3)
    assert _verdicts(run) == [("ok", True, 2), ("ok", False, None), ("ok", True, 1)]
    confidence = run.verdicts.order_by("trace_id").values_list("error_confidence", flat=True)
    assert list(confidence) == [90, 40, 70]
    first = run.verdicts.order_by("trace_id")[0]
    assert first.attempt is not None and first.attempt.call.step == 2
    assert first.raw == {"asked": 3, "flagged": [2, 3], "failed": {}}


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        ([INVALID, _step(False), _step(False)], "invalid"),
        ([_step(False), INVALID, _step(True)], "invalid"),
        ([_step(False), _step(False), ""], "no_response"),
    ],
)
def test_a_step_without_a_reply_leaves_the_union_unknown(
    replies: list[str], outcome: str, study: Study
) -> None:
    standard = make_small_standard(study, n_traces=1, n_steps=3)
    batch = make_batch(
        standard, [_script(study, standard, *_step_rows(replies))], conditions=[Condition.STEP]
    )
    _drive(batch)
    verdict = Verdict.objects.get()
    assert (verdict.outcome, verdict.has_error, verdict.first_error_step) == (outcome, None, None)
    assert list(verdict.raw["failed"].values()) == [outcome]


def test_step_stops_at_the_first_flag_where_that_is_the_order(study: Study) -> None:
    standard = make_small_standard(study, n_traces=3, n_steps=4)
    fine, bad = _step(False), _step(True)
    monitor = _script(
        study, standard, *_step_rows([fine, bad, fine, fine], [fine] * 4, [fine, INVALID, fine, bad])
    )
    options = BatchOptions(step_prefixes="first_flag")
    batch = make_batch(standard, [monitor], conditions=[Condition.STEP], options=options)
    assert Call.objects.filter(status=Call.Status.PENDING).count() == 3
    _drive(batch)
    assert batch.status == Batch.Status.FINISHED
    run = _run(batch, "STEP")
    assert run.settings["step_prefixes"] == "first_flag"
    assert _verdicts(run) == [("ok", True, 2), ("ok", False, None), ("invalid", None, None)]
    assert Attempt.objects.count() == 2 + 4 + 4
    assert Call.objects.filter(status=Call.Status.SKIPPED).count() == 2


def test_only_the_failed_steps_are_asked_again(study: Study, olga: Any) -> None:
    standard = make_small_standard(study, n_traces=2, n_steps=3)
    rows = _step_rows([_step(False), INVALID, _step(False)], [_step(False)] * 3)
    batch = make_batch(standard, [_script(study, standard, *rows)], conditions=[Condition.STEP])
    _drive(batch)
    run = _run(batch, "STEP")
    run.settings["options"]["by_key"] = {_key(t): _step(True) for t in _traces(standard)}
    run.save(update_fields=["settings"])
    assert retry_failed(batch=batch, actor=olga) == 1
    _drive(batch)
    assert _verdicts(run) == [("ok", True, 2), ("ok", False, None)]
    assert Attempt.objects.count() == 7


def test_the_cost_of_step_counts_every_prefix(study: Study) -> None:
    standard = make_small_standard(study, n_traces=2, n_steps=4)
    monitor = make_model(study)
    plan = plan_batch(
        study=study, standard=standard, monitors=[monitor], conditions=[Condition.BLIND, Condition.STEP]
    )
    blind, step = plan.runs
    assert (step.traces, step.calls) == (2, 8)
    assert step.cost is not None and blind.cost is not None
    assert 3 * blind.cost < step.cost < 5 * blind.cost


# CMATCH and CCONFLICT


def _boxed(study: Study) -> ReferenceStandard:
    """Two questions: the first with a clean, two wrong and a critical trace, the second all clean."""
    first, second = make_question(study, answer="right"), make_question(study, answer="right too")
    labels: list[tuple[Trace, bool, int | None]] = []
    rows: list[tuple[str, str, bool, int | None]] = [
        ("a", r"\boxed{1}", True, None),
        ("b", "no answer here", False, 1),
        ("c", r"\boxed{wrong c}", False, 2),
        ("d", r"\boxed{1}", True, 1),
    ]
    for generator, end, correct, step in rows:
        steps = ["(1) It is so.\n", f"(2) Therefore {end}."]
        labels.append((make_trace(first, steps=steps, generator=generator), correct, step))
    steps = ["(1) It is so.\n", r"(2) \boxed{2}"]
    labels.append((make_trace(second, steps=steps, generator="a"), True, None))
    return make_standard(study, labels)


def test_cmatch_shows_the_traces_own_wrong_answer(study: Study) -> None:
    standard = _boxed(study)
    model = make_scripted(study, reply=_said(None))
    plan = plan_batch(study=study, standard=standard, monitors=[model], conditions=[Condition.CMATCH])
    run = plan.runs[0]
    assert (run.traces, dict(run.excluded)) == (1, {certificates.NOT_WRONG: 3, certificates.UNTAKEN: 1})
    assert [(one.response_label, one.path) for one in run.untaken] == [
        (_traces(standard)[1].response_label, "none")
    ]
    batch = make_batch(standard, [model], conditions=[Condition.CMATCH])
    _drive(batch)
    verdict = Verdict.objects.get()
    assert verdict.trace == verdict.certificate_source == _traces(standard)[2]
    prompt = Attempt.objects.get().messages[1]["content"]
    assert "<reference_answer>\nwrong c\n</reference_answer>" in prompt and "\nright\n" not in prompt
    assert _run(batch, "CMATCH").settings["untaken"][0]["path"] == "none"


def test_cconflict_shows_a_clean_trace_anothers_wrong_answer(study: Study) -> None:
    standard = _boxed(study)
    model = make_scripted(study, reply=_said(2))
    batch = make_batch(standard, [model], conditions=[Condition.CCONFLICT])
    _drive(batch)
    verdict = Verdict.objects.get()
    first, _, third, *_ = _traces(standard)
    assert (verdict.trace, verdict.certificate_source) == (first, third)
    run = _run(batch, "CCONFLICT")
    assert run.settings["excluded"] == {certificates.NOT_CLEAN: 3, certificates.NO_RIVAL: 1}
    assert run.settings["certificate_order"] == certificates.ORDER
    assert "wrong c" in Attempt.objects.get().messages[1]["content"]


# Offline monitors, and the report


def test_offline_monitors_run_under_every_condition_that_means_something_to_them(study: Study) -> None:
    standard = _boxed(study)
    slugs = ("always", "never", "oracle", "random", "rules")
    monitors = [Monitor(study=study, slug=slug, provider=slug) for slug in slugs]
    batch = make_batch(standard, monitors, conditions=list(Condition))
    _drive(batch)
    assert batch.status == Batch.Status.FINISHED
    for run in batch.runs.select_related("monitor"):
        oracle_by_step = (run.monitor.slug, run.condition) == ("oracle", "STEP")
        assert bool(run.verdicts.count()) != oracle_by_step, (run.monitor.slug, run.condition)
        assert run.verdicts.exclude(outcome__in=["ok", "inconsistent"]).count() == 0
    step = {slug: _verdicts(batch.runs.get(monitor__slug=slug, condition="STEP")) for slug in slugs}
    blind = {slug: _verdicts(batch.runs.get(monitor__slug=slug, condition="BLIND")) for slug in slugs}
    for slug in ("always", "never", "random", "rules"):
        assert step[slug] == blind[slug], "a baseline judges a step by its verdict on the trace"


def _report(study: Study, standard: ReferenceStandard) -> dict[str, Any]:
    return build(load(study, standard), study, standard, Options(resamples=50))


def test_the_report_lights_up_from_own_batches(study: Study) -> None:
    standard = make_small_standard(study, n_traces=9)
    replies = {
        "BLIND": [_said(None), _said(2), _said(4)] * 3,
        "HINT": [_said(None), _said(2), _said(4)] * 3,
        "CERT": [_said(None), _said(2), _said(None)] * 3,
        "REVISE": [_said(None), _said(2), _said(None)] * 3,
        "RCTRL": [_said(None), _said(2), _said(4)] * 3,
        "STEP": [_step(True)] * 9,
    }
    rows = [{condition: said[number] for condition, said in replies.items()} for number in range(9)]
    monitor = _script(study, standard, *rows)
    boxed = make_batch(
        standard, [monitor], conditions=[c for c in Condition if c not in certificates.SWAPPED]
    )
    _drive(boxed)
    document = _report(study, standard)
    assert document["revision"] and document["step"]
    critical = document["revision"]["critical"]
    assert (critical["withdraw_revise"], critical["net_withdraw"]) == (1.0, 1.0)
    assert document["outcomes"]["STEP"]["scripted"] == {"ok": 9}
    assert document.get("certificate") is None


def test_the_certificate_section_lights_up_from_own_batches(study: Study) -> None:
    standard = _boxed(study)
    rows = [
        {"BLIND": _said(step), "CERT": _said(step), "CMATCH": _said(None), "CCONFLICT": _said(1)}
        for step in standard.labels.order_by("trace_id").values_list("first_error_step", flat=True)
    ]
    conditions = [Condition.BLIND, Condition.CERT, Condition.CMATCH, Condition.CCONFLICT]
    _drive(make_batch(standard, [_script(study, standard, *rows)], conditions=conditions))
    found = _report(study, standard)["certificate"]
    assert found["eligible"] == {"CMATCH": 1, "CCONFLICT": 1}
    assert found["CERT-CMATCH"]["estimate"] == 1.0 and found["CCONFLICT-CERT"]["estimate"] == 1.0
    suppressed = found["suppressed_localisations"]
    assert (suppressed["cases"], suppressed["passed_under_CMATCH"]) == (1, 1)
    assert found["interior_attribution"]["share"] == 1.0


# Replies without a verdict


def test_a_reply_without_a_verdict_is_asked_for_again_up_to_the_cap(study: Study) -> None:
    standard = make_small_standard(study, n_traces=1)
    monitor = make_scripted(study, replies=[INVALID, "", _said(2)])
    batch = make_batch(standard, [monitor], options=BatchOptions(invalid_retries=2))
    _drive(batch)
    assert _verdicts(_run(batch, "BLIND")) == [("ok", True, 2)]
    assert list(Attempt.objects.order_by("number").values_list("number", "reply")) == [
        (1, INVALID),
        (2, ""),
        (3, _said(2)),
    ]
    capped = make_batch(
        standard,
        [make_scripted(study, "capped", replies=[INVALID, INVALID, _said(2)])],
        options=BatchOptions(invalid_retries=1),
    )
    _drive(capped)
    assert _verdicts(_run(capped, "BLIND")) == [("invalid", None, None)]


def test_other_options_than_there_are_are_refused() -> None:
    for bad in ({"step_prefixes": "some"}, {"rctrl_traces": "wrong"}, {"invalid_retries": 6}):
        with pytest.raises(UserError):
            BatchOptions(**bad)  # type: ignore[arg-type]


def test_every_request_failing_for_good_pauses_the_batch_early(study: Study) -> None:
    standard = make_small_standard(study, n_traces=60)
    monitor = make_scripted(study, by_key={}, delay=0.01)
    Monitor.objects.filter(pk=monitor.pk).update(concurrency=4)
    batch = make_batch(standard, [monitor])
    _drive(batch)
    assert batch.status == Batch.Status.PAUSED
    assert "every request of scripted under BLIND failed: the script has no answer" in batch.status_reason
    assert 10 <= Attempt.objects.count() < 30
    assert batch.max_cost is None and batch.spent == Decimal(0)
