"""A run as a log of Inspect AI, read by that project's own reader."""

from __future__ import annotations

import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from core.models import AuditEntry, User
from monitoring.engine import identity
from monitoring.engine.worker import drive
from monitoring.models import Batch, Run
from tests.monitoring.build import make_batch, make_scripted, make_small_standard

pytestmark = pytest.mark.django_db(transaction=True)

FLAGS_2 = '{"has_error": 1, "first_error_step": 2, "error_confidence": 80, "reason": "a sign is lost"}'
FINE = '{"has_error": 0, "first_error_step": null, "error_confidence": 3, "reason": "all holds"}'


@pytest.fixture
def run(study: Study) -> Run:
    standard = make_small_standard(study)
    traces = [label.trace for label in standard.labels.select_related("trace__question").order_by("trace_id")]
    replies = [FLAGS_2, FINE, "no idea", FLAGS_2, FINE, FINE]
    lines = {
        f"{trace.question.external_id}/{trace.response_label}": reply
        for trace, reply in zip(traces, replies, strict=True)
    }
    batch = make_batch(standard, [make_scripted(study, by_key=lines)])
    drive(batch_id=batch.pk, owner=identity.owner())
    return batch.runs.get()


def test_it_is_read_by_its_own_project(run: Run, olga: User, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library's own, while it is imported
        from inspect_ai import log as log_of  # takes seconds, and only this test needs it
    path = tmp_path / "run.eval"
    call_command(
        "export_inspect",
        *(str(path), "--study", "optics", "--batch", "1", "--monitor", "scripted"),
        *("--condition", "blind", "--as", "olga"),
    )
    log = log_of.read_eval_log(str(path))
    assert (log.status, log.eval.task, log.eval.dataset.samples) == ("success", "optics/BLIND", 6)
    assert log.eval.metadata["prompt_sha256"] == run.prompt_sha256
    verdicts = {str(v.trace.token): v for v in run.verdicts.select_related("trace__question", "attempt")}
    samples = {s.metadata["question_id"] + s.metadata["response_label"]: s for s in log.samples}
    assert len(samples) == 6 == len(log_of.read_eval_log_sample_summaries(str(path)))
    labels = {label.trace_id: label for label in run.batch.standard.labels.all()}
    for verdict in verdicts.values():
        sample = samples[verdict.trace.question.external_id + verdict.trace.response_label]
        assert verdict.attempt is not None
        assert [m.text for m in sample.input] == [m["content"] for m in verdict.attempt.messages]
        assert sample.output.completion == verdict.attempt.reply == sample.messages[-1].text
        step = labels[verdict.trace_id].first_error_step
        assert sample.target == ("no error" if step is None else f"step {step}")
        if verdict.outcome != "ok":
            assert not sample.scores, "no verdict is no score"
            continue
        right = bool(verdict.has_error) == (step is not None)
        assert sample.scores["detection"].value == ("C" if right else "I")
        assert ("localisation" in sample.scores) == (step is not None)
    assert log_of.read_eval_log_sample(str(path), id=log.samples[0].id).input == log.samples[0].input
    entry = AuditEntry.objects.get(action="run exported for Inspect")
    assert entry.actor == olga


def test_it_needs_nothing_of_that_project_and_is_downloaded_once_the_batch_is_over(
    run: Run, olga: User, client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    client.force_login(olga)
    url = reverse("run_inspect", args=["optics", 1, "scripted", "BLIND"])
    response = client.post(url)
    assert response.status_code == 200 and response["Content-Disposition"].endswith('BLIND.eval"')
    content: Any = b"".join(response)  # type: ignore[arg-type]
    path = tmp_path / "run.eval"
    path.write_bytes(content)
    with zipfile.ZipFile(path) as log:
        assert "header.json" in log.namelist() and log.testzip() is None
    assert client.get(url).status_code == 405
    Batch.objects.update(status=Batch.Status.PAUSED)
    assert client.post(url).status_code == 403


def test_only_an_administrator_exports(run: Run, ana: User) -> None:
    with pytest.raises(CommandError, match="no administrator"):
        call_command(
            "export_inspect",
            *("x.eval", "--study", "optics", "--batch", "1", "--monitor", "scripted"),
            *("--condition", "BLIND", "--as", "ana"),
        )
