"""What the desk asks of PostgreSQL is answered by an index: proved by its own plan."""

from __future__ import annotations

import pytest
from django.db import connection

from adjudication.models import Rules
from adjudication.queries import debate_is_expected
from annotation import queries
from annotation.models import Label, Study, Trace, TraceProgress
from core.models import User
from tests.annotation.build import make_traces

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]


def test_claims_lists_and_counts_use_their_indexes(study: Study, ana: User) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("plans of PostgreSQL: set DATABASE_URL")
    make_traces(study, 3)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        open_ones = queries.open_to(study, ana).filter(priority=0, token__gte="5").order_by("token")[:40]
        debate = TraceProgress.objects.filter(study=study, priority__lte=9, labels__lt=queries.F("wanted"))
        for rows, index in (
            (open_ones, "open_traces_in_order"),
            (debate.order_by("-priority")[:1], "open_traces_in_order"),
            (queries.labels_of(study, ana)[:51], "labels_of_a_person_by_time"),
            (Label.objects.filter(arm="debate", revision=1, trace__gte=1), "labels_of_the_debate"),
            (Trace.objects.filter(study=study, token="x"), "trace"),
        ):
            plan = rows.explain()
            assert index in plan, plan
            assert "Seq Scan on annotation_label" not in plan, plan
    assert not debate_is_expected(study, Rules(study=study))
