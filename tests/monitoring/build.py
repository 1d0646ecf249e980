"""Builders of standards, monitors and batches."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from adjudication.models import ReferenceStandard, StandardLabel
from annotation.models import Study, Trace
from monitoring.engine.launch import launch_batch
from monitoring.engine.options import BatchOptions
from monitoring.models import Batch, Condition, Monitor
from tests.build import make_question, make_trace
from tests.monitoring.report_build import store_standard


def make_standard(
    study: Study, labels: Sequence[tuple[Trace, bool, int | None]], *, version: int = 1
) -> ReferenceStandard:
    """Freeze (trace, final_correct, first_error_step) rows as they are."""
    rows = (
        StandardLabel(
            trace=trace,
            status=StandardLabel.Status.READY,
            final_correct=final_correct,
            first_error_step=step,
            provenance="both_arms_agree",
        )
        for trace, final_correct, step in labels
    )
    return store_standard(study, rows, version=version)


def make_small_standard(study: Study, *, n_traces: int = 6, n_steps: int = 5) -> ReferenceStandard:
    """Freeze a standard of clean, wrong and critical traces in turn, three to a question."""
    labels: list[tuple[Trace, bool, int | None]] = []
    question = None
    for number in range(n_traces):
        if number % 3 == 0:
            question = make_question(study, answer=f"answer {number}")
        assert question is not None
        label = ((True, None), (False, 2), (True, 4))[number % 3]
        steps = [f"({k}) In solution {number}, step {k}.\n" for k in range(1, n_steps + 1)]
        labels.append((make_trace(question, steps=steps), *label))
    return make_standard(study, labels)


def make_model(study: Study, slug: str = "some-model", **fields: Any) -> Monitor:
    """Make a monitor behind an OpenAI-compatible address, with a price."""
    values: dict[str, Any] = {
        "provider": Monitor.Provider.OPENAI_COMPATIBLE,
        "model": "vendor/some-model",
        "base_url": "http://127.0.0.1:9/v1",
        "max_tokens": 100,
        "input_price": Decimal(1),
        "output_price": Decimal(2),
        **fields,
    }
    return Monitor.objects.create(study=study, slug=slug, **values)


def make_scripted(study: Study, slug: str = "scripted", **options: Any) -> Monitor:
    """Make a monitor that answers from a script."""
    return Monitor.objects.create(
        study=study, slug=slug, provider=Monitor.Provider.SCRIPTED, model="scripted", options=options
    )


def make_batch(
    standard: ReferenceStandard,
    monitors: Sequence[Monitor],
    *,
    conditions: Sequence[Condition] = (Condition.BLIND,),
    max_cost: Decimal | None = None,
    options: BatchOptions | None = None,
) -> Batch:
    """Launch a batch."""
    return launch_batch(
        study=standard.study,
        standard=standard,
        monitors=monitors,
        conditions=conditions,
        max_cost=max_cost,
        actor=None,
        options=options,
    )
