"""What adjudication puts before the experts: the disputes that can be decided now, told by what differs."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import reverse

from adjudication.models import Dispute
from annotation.models import Study, Trace
from annotation.needs import Need

RANK = 10
WORDS = {"answer": "the answer", "presence": "whether there is an error", "step": "the step"}


def disputed(study: Study, trace: Trace | None) -> Iterator[Need]:
    """Yield a need for each open dispute that awaits no label; its words are the same whoever said what."""
    disputes = Dispute.objects.filter(study=study, status=Dispute.Status.OPEN, awaits_labels=False)
    if trace is not None:
        disputes = disputes.filter(trace=trace)
    fields = ("token", "trace_id", "differs_in_answer", "differs_in_presence", "differs_in_step")
    for dispute in disputes.only(*fields).iterator():
        kinds = dispute.kinds
        why = (
            "a rule of the study asks for a second judgement"
            if kinds == ["single"]
            else f"disputed: the labels differ in {' and in '.join(WORDS[kind] for kind in kinds)}"
        )
        yield Need(
            trace_id=dispute.trace_id,
            why=why,
            rank=RANK,
            address=reverse("dispute", args=[study.slug, dispute.token]),
            verb="Settle the dispute",
        )
