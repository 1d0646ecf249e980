"""The lead's pages on 50,000 traces: `python -m tests.bench.disputes [traces]`, with DATABASE_URL on PostgreSQL too.

Works on a test database of its own, made for the run and destroyed after it.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from tests.bench.measure import Figure, median, once

TARGET_MS = 150
STEPS = [f"({k}) Then $x_{{{k}}} = \\frac{{{k}}}{{2}}$ by the step before.\n" for k in range(1, 13)]


def fill(traces: int, *, seed: int = 0) -> Any:
    """Make a study of so many traces, three a question, both arms on each, half of them in dispute."""
    from annotation.models import Label, Question, ReferenceAnswer, Study, Trace

    rng = random.Random(seed)
    study = Study.objects.create(slug="bench", name="Bench")
    questions = Question.objects.bulk_create(
        (
            Question(study=study, external_id=f"q{number:06d}", statement="Find $x$.", subject="optics")
            for number in range((traces + 2) // 3)
        ),
        batch_size=1000,
    )
    ReferenceAnswer.objects.bulk_create(
        (ReferenceAnswer(question=question, text="6") for question in questions), batch_size=1000
    )
    digest = hashlib.sha256("".join(STEPS).encode()).hexdigest()
    made = Trace.objects.bulk_create(
        (
            Trace(
                study=study,
                question=questions[number // 3],
                response_label=f"Response {'ABC'[number % 3]}",
                generator="g",
                steps=STEPS,
                n_steps=len(STEPS),
                sha256=digest,
            )
            for number in range(traces)
        ),
        batch_size=1000,
    )

    def labels() -> Iterator[Label]:
        for trace in made:
            right, step = rng.random() < 0.6, rng.choice([None, 2, 5])
            differs = rng.random() < 0.5
            yield Label(
                trace=trace,
                arm="human",
                labeller="ana",
                final_correct=right,
                first_error_step=step,
                source="b",
            )
            yield Label(
                trace=trace,
                arm="debate",
                labeller="debate",
                final_correct=right if not differs else not right,
                first_error_step=step if not differs else rng.choice([1, 3, 9]),
                source="b",
            )

    Label.objects.bulk_create(labels(), batch_size=1000)
    return study


def figures(traces: int) -> Iterator[Figure]:
    """Measure the pages."""
    from django.db import connection
    from django.test import Client
    from django.urls import reverse

    from adjudication.models import Dispute
    from adjudication.services.disputes import recompute_disputes
    from adjudication.services.standards import freeze_standard
    from annotation.models import Role
    from annotation.services.labels import submit_label
    from tests.build import make_person

    yield Figure(f"{traces:,} traces with {2 * traces:,} labels", once(lambda: fill(traces)))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as the database does by itself after a while
    study = Dispute._meta.get_field("study").related_model.objects.get(slug="bench")
    yield Figure("disputes computed from nothing", once(lambda: recompute_disputes(study=study)))
    yield Figure("disputes computed again", median(lambda: recompute_disputes(study=study), repeats=3))
    lead = make_person("bench-lead", study=study, roles=[Role.LEAD])
    ana = make_person("bench-ana", study=study, roles=[Role.ANNOTATOR])
    client = Client()
    client.force_login(lead)
    token = Dispute.objects.filter(study=study, status="open").order_by("token")[5000 % traces // 5].token
    listing = reverse("disputes", args=["bench"])
    for name, address in (
        ("list of disputes", listing),
        ("list, page 200", listing + "?page=200"),
        ("list, answers first", listing + "?order=weight"),
        ("list, by question", listing + "?order=question"),
        ("list, one kind", listing + "?kind=step"),
        ("list, by words", listing + "?words=q0001"),
        ("page of one dispute", reverse("dispute", args=["bench", token])),
        ("standards, nothing frozen", reverse("standards", args=["bench"])),
    ):
        assert client.get(address).status_code == 200
        seconds = median(lambda address=address: client.get(address), repeats=5)  # type: ignore[misc]
        yield Figure(name, seconds, "" if 1000 * seconds < TARGET_MS else f"over {TARGET_MS} ms")
    trace = Dispute.objects.filter(study=study).select_related("trace__study", "trace__question")[0].trace
    yield Figure(
        "a label submitted, its dispute following",
        once(lambda: submit_label(trace=trace, person=ana, final_correct=True, first_error_step=1)),
    )
    yield Figure("freezing with open disputes", once(lambda: freeze_standard(study=study, allow_open=True)))
    for name, address in (
        ("standards, one frozen", reverse("standards", args=["bench"])),
        ("card of the standard", reverse("standard", args=["bench", 1])),
        ("critical roles", reverse("critical_roles", args=["bench", 1])),
    ):
        assert client.get(address).status_code == 200
        seconds = median(lambda address=address: client.get(address), repeats=5)  # type: ignore[misc]
        yield Figure(name, seconds, "" if 1000 * seconds < TARGET_MS else f"over {TARGET_MS} ms")


def main() -> None:
    """Make the database, print the figures, take the database away."""
    traces = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as home:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        os.environ.setdefault("FALSESTEP_HOME", home)
        import django

        django.setup()  # after the home is set, which the settings read
        from django.conf import settings
        from django.db import connection

        settings.ALLOWED_HOSTS = ["testserver"]
        name = connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
        print(f"{connection.vendor}, {os.cpu_count()} cores, database {name}")
        try:
            for figure in figures(traces):
                print(f"  {figure}", flush=True)
        finally:
            connection.creation.destroy_test_db(name, verbosity=0)


if __name__ == "__main__":
    main()
