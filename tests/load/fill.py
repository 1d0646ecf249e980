"""What the load works on, made in a process of its own.

`python -m tests.load.fill FILE CALLS MODEL LABELLERS LEADS WATCHERS`: FILE holds questions, MODEL is the address of the
model server, the others are numbers. Every trace has the debate's label; every second
one a person's, and of these every second differs, so that leads have disputes and labellers have traces to read.
Prints one JSON object: the sessions of the people by role, and the names of the disputes in order.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
SLUG = "load"
LABELS = """
INSERT INTO annotation_label (trace_id, arm, labeller, person_id, final_correct, first_error_step, comment, revision,
    source, created_at)
SELECT id, 'debate', 'debate', NULL, true, NULL, '', 1, 'load', now() FROM annotation_trace WHERE study_id = %(study)s
UNION ALL
SELECT id, 'human', 'earlier', %(person)s, id %% 4 > 0, CASE WHEN id %% 4 = 0 THEN 3 END, '', 1, 'load', now()
FROM annotation_trace WHERE study_id = %(study)s AND id %% 2 = 0
"""


def fill(path: str, *, calls: int, model: str, people: dict[str, int]) -> dict[str, Any]:
    """Make the study, its people, labels, disputes and a standard on `calls` traces; return what clients need."""
    from django.db import connection

    from adjudication.models import Dispute, StandardLabel
    from adjudication.services.disputes import recompute_disputes
    from annotation.imports.traces import import_traces
    from annotation.models import Role, Study
    from annotation.services import tally
    from tests.monitoring.build import make_model
    from tests.monitoring.report_build import store_standard

    import_traces(path=path, study_slug=SLUG)
    study = Study.objects.get(slug=SLUG)
    roles = {"labellers": Role.ANNOTATOR, "leads": Role.LEAD, "watchers": Role.ADMINISTRATOR}
    sessions = {
        kind: {
            person.username: _session(person)
            for person in (_person(f"{kind}-{number}", study, roles[kind]) for number in range(people[kind]))
        }
        for kind in roles
    }
    with connection.cursor() as cursor:
        cursor.execute(LABELS, {"study": study.pk, "person": _person("earlier", study, Role.ANNOTATOR).pk})
        cursor.execute("ANALYZE")
    tally.refresh(study)
    recompute_disputes(study=study)
    rows = (
        StandardLabel(
            trace=trace, status=StandardLabel.Status.READY, final_correct=True, provenance="both_arms_agree"
        )
        for trace in study.traces.order_by("pk")[:calls]
    )
    store_standard(study, rows)
    make_model(study, "model", base_url=model, concurrency=128)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")
    disputes = Dispute.objects.filter(study=study, status="open", awaits_labels=False).order_by("token")
    return {"sessions": sessions, "disputes": list(disputes.values_list("token", flat=True))}


def _person(username: str, study: Any, role: Any) -> Any:
    from annotation.models import Membership
    from core.models import User

    person = User(username=username)
    person.set_unusable_password()
    person.save()
    Membership.objects.create(study=study, person=person, role=role)
    return person


def _session(person: Any) -> str:
    """Sign a person in; return the session's key."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    session = SessionStore()
    session[SESSION_KEY] = str(person.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.create()
    return str(session.session_key)


def main() -> None:
    """Fill the database of the settings."""
    import django

    django.setup()
    path, calls, model, *numbers = sys.argv[1:]
    people = dict(zip(("labellers", "leads", "watchers"), map(int, numbers), strict=True))
    print(json.dumps(fill(path, calls=int(calls), model=model, people=people)))


if __name__ == "__main__":
    main()
