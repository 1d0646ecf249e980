"""Stored replies are read anew without paying; old verdicts stay, the new ones stand in a batch of their own."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Study
from llm import parsing
from llm.parsing import ParsedVerdict
from monitoring.engine import identity, readings
from monitoring.engine.options import BatchOptions
from monitoring.engine.reparsing import reparse_batch
from monitoring.engine.worker import drive
from monitoring.models import Attempt, Batch, Condition, Verdict
from monitoring.report.source import chosen_runs
from monitoring.viewer import attempts_of
from tests.monitoring.build import make_batch, make_scripted, make_small_standard

pytestmark = pytest.mark.django_db(transaction=True)

GOOD = '{"has_error": 1, "first_error_step": 2, "error_confidence": 80, "reason": "x"}'


def _finished(study: Study, replies: list[str], **options: Any) -> Batch:
    standard = make_small_standard(study, n_traces=3, n_steps=3)
    batch = make_batch(standard, [make_scripted(study, replies=replies)], **options)
    drive(batch_id=batch.pk, owner=identity.owner())
    batch.refresh_from_db()
    return batch


def _a_parser_that_reads_words(
    text: object, *, n_steps: int | None, finish_reason: object = "stop"
) -> ParsedVerdict:
    if "no error" in str(text):
        return ParsedVerdict("ok", 0, None, 5)
    return parsing.parse_verdict(text, n_steps=n_steps, finish_reason=finish_reason)


def test_the_same_parser_changes_nothing_and_writes_nothing(study: Study) -> None:
    batch = _finished(study, [GOOD, "there is no error", ""])
    told = reparse_batch(batch=batch, actor=None)
    assert (told.read, told.changed, told.batch) == (3, 0, None)
    assert Batch.objects.count() == 1


def test_a_better_parser_makes_a_new_batch_that_the_report_reads(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = _finished(study, [GOOD, "there is no error", ""])
    before = list(Verdict.objects.order_by("pk").values())
    monkeypatch.setattr(readings, "parse_verdict", _a_parser_that_reads_words)
    dry = reparse_batch(batch=batch, actor=None, dry_run=True)
    assert (dry.changed, dry.batch, Batch.objects.count()) == (1, None, 1)
    told = reparse_batch(batch=batch, actor=None)
    assert dict(told.changes) == {("BLIND", "invalid", "ok"): 1}
    assert told.batch is not None and told.batch.number == 2
    assert list(Verdict.objects.filter(run__batch=batch).order_by("pk").values()) == before
    fresh = told.batch.runs.get()
    outcomes = fresh.verdicts.order_by("trace_id").values_list("outcome", "has_error")
    assert list(outcomes) == [("ok", True), ("ok", False), ("no_response", None)]
    assert [run.pk for run in chosen_runs(study)] == [fresh.pk]
    assert fresh.settings["reparsed_batch"] == 1 and len(fresh.settings["parser"]) == 64
    assert Attempt.objects.count() == 3
    first = fresh.verdicts.order_by("trace_id")[0]
    assert attempts_of(fresh, first.trace)[0].reply == GOOD


def test_the_union_of_steps_is_formed_anew(study: Study) -> None:
    step = '{"step_has_error": 0, "error_confidence": 5, "reason": "x"}'
    batch = _finished(study, [step] * 9, conditions=[Condition.STEP], options=BatchOptions())
    told = reparse_batch(batch=batch, actor=None)
    assert (told.read, told.changed) == (3, 0)


def test_the_command_says_what_differs_and_refuses_what_it_cannot_read(study: Study) -> None:
    batch = _finished(study, [GOOD] * 3)
    said = StringIO()
    call_command("reparse_run", study="optics", batch=1, dry_run=True, json="-", stdout=said)
    assert json.loads(said.getvalue()) == {"read": 3, "changed": 0, "changes": [], "batch": None}
    with pytest.raises(CommandError, match="has no batch 9"):
        call_command("reparse_run", study="optics", batch=9)
    Batch.objects.filter(pk=batch.pk).update(status="running")
    with pytest.raises(CommandError, match="when it is over"):
        call_command("reparse_run", study="optics", batch=1)
