"""One report from a database of a given size, in a process of its own: `python -m tests.bench.report SIZE...`.

Prints JSON: seconds to load and to compute, verdicts, peak memory. A process of its own, so that the peak is
the report's and not that of the rows' making, which happens in a child process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
CONDITIONS = ("BLIND", "CERT", "HINT", "REVISE", "RCTRL", "STEP", "CMATCH", "CCONFLICT")
CHUNK = 20_000


def fill(questions: int, per_question: int, monitors: int, conditions: int) -> None:
    """Make a study of this size with verdicts from a seed; certificates only where their cells are."""
    import numpy as np
    from django.core.management import call_command
    from django.db import connection
    from django.utils import timezone

    from adjudication.models import ReferenceStandard, StandardLabel
    from annotation.models import Question, Study, Trace
    from monitoring.models import Batch, Monitor, Run

    call_command("migrate", verbosity=0)
    rng = np.random.default_rng(0)
    study = Study.objects.create(slug="bench", name="bench")
    made = [Question(study=study, external_id=f"q{n:06d}") for n in range(questions)]
    Question.objects.bulk_create(made, batch_size=CHUNK)
    lengths = rng.integers(4, 40, questions * per_question).tolist()
    traces = [
        Trace(
            study=study,
            question=question,
            response_label=f"Response {'ABC'[k]}",
            generator=f"model-{k}",
            cut=Trace.Cut.TEXT_FREE,
            n_steps=lengths[n * per_question + k],
            sha256="0" * 64,
        )
        for n, question in enumerate(made)
        for k in range(per_question)
    ]
    Trace.objects.bulk_create(traces, batch_size=CHUNK)
    error = rng.random(len(traces)) < 0.45
    right = np.where(error, rng.random(len(traces)) < 0.2, True)
    step = np.where(error, rng.integers(1, 5, len(traces)), 0)
    standard = ReferenceStandard.objects.create(study=study, version=1, sha256="1" * 64)
    StandardLabel.objects.bulk_create(
        (
            StandardLabel(
                standard=standard,
                trace=trace,
                status="ready",
                final_correct=bool(right[n]),
                first_error_step=int(step[n]) or None,
                provenance="adjudicated",
                human_final_correct=bool(right[n]),
                human_first_error_step=int(step[n]) or None,
                debate_final_correct=bool(right[n]),
                debate_first_error_step=int(step[n]) or None,
            )
            for n, trace in enumerate(traces)
        ),
        batch_size=CHUNK,
    )
    batch = Batch.objects.create(study=study, standard=standard, number=1, status="finished")
    now = timezone.now()
    for m in range(monitors):
        monitor = Monitor.objects.create(study=study, slug=f"monitor-{m}", provider="replay")
        for condition in CONDITIONS[:conditions]:
            run = Run.objects.create(batch=batch, monitor=monitor, condition=condition, status="finished")
            cell = {"CMATCH": error & ~right, "CCONFLICT": ~error, "RCTRL": right}.get(condition)
            asked = np.flatnonzero(cell if cell is not None else np.ones(len(traces), dtype=bool))
            flags = rng.random(len(traces)) < np.where(error, 0.7, 0.3)
            failed = rng.random(len(traces)) < 0.01
            named, confidence = rng.integers(1, 5, len(traces)), rng.integers(0, 101, len(traces))
            prior = rng.random(len(traces)) < 0.5 if condition in ("REVISE", "RCTRL") else None
            rows = (
                (
                    run.pk,
                    traces[n].pk,
                    "invalid" if failed[n] else "ok",
                    None if failed[n] else bool(flags[n]),
                    int(named[n]) if flags[n] and not failed[n] else None,
                    None if failed[n] else float(confidence[n]),
                    None if prior is None else bool(prior[n]),
                    now,
                )
                for n in asked.tolist()
            )
            insert(connection, rows)


def insert(connection: Any, rows: Iterator[tuple[Any, ...]]) -> None:
    """Insert verdicts by plain SQL: a million model objects would take longer than what is measured."""
    columns = "run_id, trace_id, outcome, has_error, first_error_step, error_confidence, prior_has_error, created_at"
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO monitoring_verdict ({columns}, reason, parse_path, raw) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, '', '', '{}')",
            rows,
        )


def compute() -> dict[str, float]:
    """Load and compute the report of the study in this home."""
    from annotation.models import Study
    from monitoring.report.build import build
    from monitoring.report.queries import standard_for
    from monitoring.report.source import load
    from stats.report import Options
    from tests.bench.measure import peak_mb

    study = Study.objects.get(slug="bench")
    standard = standard_for(study)
    begun, worked = time.perf_counter(), time.process_time()
    source = load(study, standard)
    loaded = time.perf_counter()
    report = build(source, study, standard, Options())
    ended = time.perf_counter()
    verdicts = sum(run["verdicts"] for run in report["verdicts"]["runs"])
    return {
        "questions": report["reference"]["questions"],
        "verdicts": verdicts,
        "load": loaded - begun,
        "compute": ended - loaded,
        "seconds": ended - begun,
        "cpu": time.process_time() - worked,
        "peak_mb": peak_mb(),
    }


def measured(*size: int) -> dict[str, float]:
    """Fill a database of this size in one process, compute its report in another, return its figures."""
    with tempfile.TemporaryDirectory(prefix="falsestep-bench-") as home:
        env = {**os.environ, "FALSESTEP_HOME": home}
        env.pop("DATABASE_URL", None)
        for part in ("fill", "compute"):
            command = [sys.executable, "-m", "tests.bench.report", part, *map(str, size)]
            done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
        figures: dict[str, float] = json.loads(done.stdout)
        return figures


def main() -> None:
    """Do one part; arguments after it are questions, traces a question, monitors, conditions."""
    import django

    django.setup()
    if sys.argv[1] == "fill":
        fill(*map(int, sys.argv[2:]))
    else:
        print(json.dumps(compute()))


if __name__ == "__main__":
    main()
