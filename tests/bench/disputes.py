"""The lead's pages on 50,000 traces: `python -m tests.bench.disputes [traces]`, with DATABASE_URL on PostgreSQL too.

Works on a test database of its own, made for the run and destroyed after it; `--keep` leaves it for the next run, so
that data are made once and pages measured often.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
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


def rule(study: Any, lead: Any, *, share: float = 0.3, seed: int = 1) -> None:
    """Decide a share of the open disputes as rows, and store a round of debate on every second of those."""
    from adjudication.models import Decision, Dispute
    from annotation.models import DebateRound

    rng = random.Random(seed)
    standing = Dispute.objects.filter(study=study, status="open", awaits_labels=False).order_by("token")
    chosen = [pair for pair in standing.values_list("pk", "trace_id") if rng.random() < share]
    Decision.objects.bulk_create(
        (
            Decision(
                dispute_id=pk,
                choice="other",
                final_correct=rng.random() < 0.6,
                first_error_step=rng.choice([None, 2, 5]),
                rationale="Step 2 loses a factor.",
                proposals=[
                    {"mark": "A", "final_correct": True, "first_error_step": None},
                    {"mark": "B", "final_correct": True, "first_error_step": 2},
                ],
                decided_by=lead,
            )
            for pk, _ in chosen
        ),
        batch_size=1000,
    )
    for begin in range(0, len(chosen), 500):
        keys = [pk for pk, _ in chosen[begin : begin + 500]]
        Dispute.objects.filter(pk__in=keys).update(status="decided")
    DebateRound.objects.bulk_create(
        (
            DebateRound(
                trace_id=trace, name=DebateRound.Name.values[0], model="m", said={"reply": "x"}, source="b"
            )
            for _, trace in chosen[::2]
        ),
        batch_size=1000,
    )


def make(traces: int) -> Iterator[Figure]:
    """Make the study, its disputes, decisions, a standard and its roles, telling what each step took."""
    from django.db import connection

    from adjudication.models import CriticalRole, Dispute
    from adjudication.queries import critical_labels
    from adjudication.services.disputes import recompute_disputes
    from adjudication.services.standards import freeze_standard
    from annotation.models import Role
    from annotation.services.labels import submit_label
    from tests.build import make_person

    yield Figure(f"{traces:,} traces with {2 * traces:,} labels", once(lambda: fill(traces)))
    _analyse(connection)  # as the database does by itself after a while
    study = Dispute._meta.get_field("study").related_model.objects.get(slug="bench")
    yield Figure("disputes computed from nothing", once(lambda: recompute_disputes(study=study)))
    yield Figure("disputes computed again", median(lambda: recompute_disputes(study=study), repeats=3))
    lead = make_person("bench-lead", study=study, roles=[Role.LEAD])
    ana = make_person("bench-ana", study=study, roles=[Role.ANNOTATOR])
    trace = Dispute.objects.filter(study=study).select_related("trace__study", "trace__question")[0].trace
    yield Figure(
        "a label submitted, its dispute following",
        once(lambda: submit_label(trace=trace, person=ana, final_correct=True, first_error_step=1)),
    )
    rule(study, lead)
    standards = []
    yield Figure(
        "freezing with open disputes",
        once(lambda: standards.append(freeze_standard(study=study, allow_open=True).standard)),
    )
    coded = critical_labels(standards[0]).values_list("trace_id", flat=True)[::2]
    CriticalRole.objects.bulk_create(
        (
            CriticalRole(trace_id=trace_id, kind=CriticalRole.Kind.values[number % 4], coded_by=lead)
            for number, trace_id in enumerate(coded)
        ),
        batch_size=1000,
    )
    _analyse(connection)


def _analyse(connection: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def addresses() -> Iterator[tuple[str, str]]:
    """Yield (name, address) of every page that is measured: the list in each order, state, kind, and the rest."""
    from django.urls import reverse

    from adjudication.models import Dispute
    from adjudication.queries import IN_STATE, KINDS, ORDERS, critical_labels, latest_standard
    from annotation.models import Study

    study = Study.objects.get(slug="bench")
    listing = reverse("disputes", args=["bench"])
    for order in ORDERS:
        yield f"list of disputes, order {order}", f"{listing}?order={order}"
        yield f"list, order {order}, page 200", f"{listing}?order={order}&page=200"
        yield f"list, order {order}, by words", f"{listing}?order={order}&words=q0001"
        for kind in KINDS:
            yield f"list, order {order}, kind {kind}", f"{listing}?order={order}&kind={kind}"
        yield f"list, order {order}, decided", f"{listing}?order={order}&state=decided"
        yield f"list, order {order}, decided, words", f"{listing}?order={order}&state=decided&words=optics"
    for state in IN_STATE:
        yield f"list, state {state}", f"{listing}?state={state}"
    yield "list, words that nothing holds", f"{listing}?words=zzz"
    yield "list, words that all hold", f"{listing}?words=optics"
    for status in ("open", "decided"):
        found = Dispute.objects.filter(study=study, status=status).order_by("token")
        token = found.values_list("token", flat=True)[found.count() // 2]
        yield f"page of one dispute, {status}", reverse("dispute", args=["bench", token])
    yield "debates to read", reverse("debates", args=["bench"])
    yield "rules of adjudication", reverse("adjudication_rules", args=["bench"])
    yield "standards", reverse("standards", args=["bench"])
    yield "card of the standard", reverse("standard", args=["bench", 1])
    roles = reverse("critical_roles", args=["bench", 1])
    yield "critical roles", roles
    yield "critical roles, page 50", roles + "?page=50"
    standard = latest_standard(study)
    assert standard is not None
    from adjudication.models import CriticalRole

    for kind in (*CriticalRole.Kind.values, "uncoded"):
        yield f"critical roles, {kind}", f"{roles}?kind={kind}"
    label = critical_labels(standard).first()
    assert label is not None
    yield "one critical trace", reverse("critical_role", args=["bench", 1, label.trace.token])


def figures(*, only: str = "") -> Iterator[Figure]:
    """Measure the pages whose names hold `only`."""
    from django.test import Client

    from core.models import User

    client = Client()
    client.force_login(User.objects.get(username="bench-lead"))
    for name, address in addresses():
        if only not in name:
            continue
        assert client.get(address).status_code == 200, address
        seconds = median(lambda address=address: client.get(address), repeats=5)  # type: ignore[misc]
        yield Figure(name, seconds, "" if 1000 * seconds < TARGET_MS else f"over {TARGET_MS} ms")


def main() -> None:
    """Make the database, print the figures, take the database away unless it is to be kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="?", type=int, default=50_000)
    parser.add_argument("--keep", action="store_true", help="leave the database, and use one that was left")
    parser.add_argument("--make-only", action="store_true", help="make the data, measure no page")
    parser.add_argument("--only", default="", help="measure the pages whose names hold this")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        os.environ.setdefault("FALSESTEP_HOME", home)
        import django

        django.setup()  # after the home is set, which the settings read
        from django.conf import settings
        from django.db import connection

        settings.ALLOWED_HOSTS = ["testserver"]
        name = connection.creation.create_test_db(
            verbosity=0, autoclobber=True, serialize=False, keepdb=asked.keep
        )
        from annotation.models import Study

        print(f"{connection.vendor}, {os.cpu_count()} cores, database {name}")
        try:
            if not Study.objects.filter(slug="bench").exists():
                for figure in make(asked.traces):
                    print(f"  {figure}", flush=True)
            if not asked.make_only:
                for figure in figures(only=asked.only):
                    print(f"  {figure}", flush=True)
        finally:
            if not asked.keep:
                connection.creation.destroy_test_db(name, verbosity=0)


if __name__ == "__main__":
    main()
