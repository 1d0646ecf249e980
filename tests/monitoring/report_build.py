"""Builders for report tests: a standard, runs with verdicts, and the published files as rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from adjudication.models import ReferenceStandard, StandardLabel
from adjudication.services.hashing import standard_sha256
from adjudication.services.standards import row_of
from annotation.models import Question, Study, Trace
from monitoring.models import Batch, Monitor, Run, Verdict
from tests.build import make_question, make_study, make_trace
from tests.stats.release import CODES, last_parsed, rows, truth


def store_standard(study: Study, rows: Iterable[StandardLabel], **fields: Any) -> ReferenceStandard:
    """Store rows without a standard as the next version, under the hash that they have."""
    rows = list(rows)
    standard = ReferenceStandard.objects.create(
        **{
            "study": study,
            "version": study.standards.count() + 1,
            "sha256": standard_sha256(map(row_of, rows), None),
            **fields,
        }
    )
    for row in rows:
        row.standard = standard
    StandardLabel.objects.bulk_create(rows)
    return standard


def make_standard(
    study: Study, labels: dict[Trace, tuple[bool, int | None]], **fields: Any
) -> ReferenceStandard:
    """Freeze (final_correct, first_error_step) of these traces as a version."""
    rows = [
        StandardLabel(
            trace=trace,
            status=StandardLabel.Status.READY,
            final_correct=correct,
            first_error_step=step,
            provenance="adjudicated",
        )
        for trace, (correct, step) in labels.items()
    ]
    return store_standard(study, rows, **fields)


def make_monitor(study: Study, slug: str, **fields: Any) -> Monitor:
    return Monitor.objects.create(**{"study": study, "slug": slug, "provider": "replay", **fields})


def make_batch(standard: ReferenceStandard, **fields: Any) -> Batch:
    number = Batch.objects.filter(study=standard.study).count() + 1
    return Batch.objects.create(
        **{"study": standard.study, "standard": standard, "number": number, "status": "finished", **fields}
    )


def make_run(
    monitor: Monitor,
    condition: str,
    standard: ReferenceStandard,
    verdicts: dict[Trace, tuple[Any, ...]],
    *,
    batch: Batch | None = None,
    status: str = "finished",
) -> Run:
    """Store a run; a verdict is (outcome, has_error, step) or (outcome, has_error, step, confidence)."""
    run = Run.objects.create(
        batch=batch or make_batch(standard), monitor=monitor, condition=condition, status=status
    )
    Verdict.objects.bulk_create(
        Verdict(
            run=run,
            trace=trace,
            outcome=said[0],
            has_error=said[1],
            first_error_step=said[2],
            error_confidence=said[3] if len(said) > 3 else None,
        )
        for trace, said in verdicts.items()
    )
    return run


def small_study(study: Study | None = None) -> tuple[Study, ReferenceStandard, list[Trace]]:
    """Four questions of two traces: four clean, three wrong (step 2), one critical (step 4)."""
    study = study or make_study(slug="small")
    traces = []
    for _ in range(4):
        question = make_question(study)
        traces += [make_trace(question, n_steps=5) for _ in range(2)]
    labels: list[tuple[bool, int | None]] = [(True, None)] * 4 + [(False, 2)] * 3 + [(True, 4)]
    return study, make_standard(study, dict(zip(traces, labels, strict=True))), traces


def load_release(folder: Path, slug: str = "hle") -> tuple[Study, ReferenceStandard]:
    """Store the published files as rows, plainly: the tests' own import."""
    study = make_study(slug=slug)
    gold = rows(folder / "ground_truth_gold.jsonl")
    questions = {
        name: Question(study=study, external_id=name) for name in sorted({row["question_id"] for row in gold})
    }
    Question.objects.bulk_create(questions.values())
    traces = {
        (row["question_id"], row["response_label"]): Trace(
            study=study,
            question=questions[row["question_id"]],
            response_label=row["response_label"],
            generator=row["generator"],
            cut=Trace.Cut.TEXT_FREE,
            n_steps=row["n_steps"],
            sha256="0" * 64,
        )
        for row in gold
    }
    Trace.objects.bulk_create(traces.values())
    labels = (
        StandardLabel(
            trace=traces[(row["question_id"], row["response_label"])],
            status=row["gt_status"],
            status_reason="" if row["gt_status"] == "ready" else "excluded",
            final_correct=truth(row["final_is_correct"]),
            first_error_step=row["final_error_step"],
            first_error_step_min=row["final_error_step_min"] if row["final_error_step"] else None,
            first_error_step_max=row["final_error_step_max"] if row["final_error_step"] else None,
            provenance=row["gold_error_source"],
            human_final_correct=truth(row["human_is_correct"]),
            human_first_error_step=row["human_error_step"],
            debate_final_correct=truth(row["debate_is_correct"]),
            debate_first_error_step=row["debate_error_step"],
        )
        for row in gold
    )
    standard = store_standard(study, labels)
    batch = make_batch(standard, source="release")
    monitors: dict[str, Monitor] = {}
    verdicts = []
    for code, condition in CODES.items():
        for path in sorted(folder.glob(f"monitor_{code}__*.jsonl")):
            slug = path.stem.split("__", 1)[1]
            if slug not in monitors:
                monitors[slug] = make_monitor(study, slug, provider="released")
            run = Run.objects.create(
                batch=batch, monitor=monitors[slug], condition=condition, status="finished"
            )
            for key, row in last_parsed(path).items():
                if key not in traces:
                    continue
                said = truth(row["has_error"]) if row["parse_ok"] else None
                verdicts.append(
                    Verdict(
                        run=run,
                        trace=traces[key],
                        outcome="invalid" if said is None else "ok",
                        has_error=said,
                        first_error_step=row.get("first_error_step") if said is not None else None,
                        error_confidence=row.get("error_confidence"),
                        prior_has_error=truth(row.get("prior_has_error")),
                    )
                )
    Verdict.objects.bulk_create(verdicts, batch_size=500)
    return study, standard
