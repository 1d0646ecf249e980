"""A study in which every text that somebody can write is hostile, for the tests of pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from adjudication.models import Dispute, ReferenceStandard
from adjudication.services.disputes import recompute_disputes
from annotation.models import DebateRound, Label, Role, Study, Trace
from monitoring.engine import identity
from monitoring.engine.worker import drive
from monitoring.models import Batch
from tests import hostile
from tests.adjudication.build import make_standard
from tests.build import make_label, make_person, make_question, make_trace
from tests.monitoring.build import make_batch, make_scripted
from tests.test_blind_everywhere import PARAMETER, Site, all_routes

ALL = hostile.EVERYTHING


class HostileStudy:
    """An annotator, a lead, an administrator; a settled, a disputed and a free trace, a standard and a batch."""

    def __init__(self, study: Study) -> None:
        self.study = study
        make_person("ana", study=study, roles=[Role.ANNOTATOR])
        self.people = {
            "annotator": make_person("amy", study=study, roles=[Role.ANNOTATOR], display_name=ALL[:100]),
            "lead": make_person("adam", study=study, roles=[Role.LEAD], display_name=ALL[100:190]),
            "administrator": make_person("olga", study=study, roles=[Role.ADMINISTRATOR]),
        }
        long = [hostile.TEXTS["long token"], hostile.TEXTS["deep"]]
        question = make_question(
            study, statement=ALL, answer=ALL, rationale=ALL, subject="<b>&\u202e" + "s" * 20
        )
        self.settled = make_trace(question, steps=[ALL, *long], generator="<script>x</script>")
        self.disputed = make_trace(question, steps=[ALL, "two", "three"], preamble=ALL)
        self.free = make_trace(question, steps=[*hostile.TEXTS.values()])
        for trace, step in ((self.settled, 2), (self.disputed, 3)):
            make_label(trace, final_correct=True, first_error_step=2, comment=ALL)
            make_label(
                trace,
                arm=Label.Arm.DEBATE,
                labeller="debate",
                final_correct=True,
                first_error_step=step,
                comment=ALL,
            )
            DebateRound.objects.create(
                trace=trace, name="R1", model="maker/debater", said={"rationale": ALL}, source="test"
            )
        recompute_disputes(study=study)
        Dispute.objects.update(token=f"{0:020x}")
        self.standard: ReferenceStandard = make_standard(study, allow_open=True)
        reply = '{"has_error": 1, "first_error_step": 2, "error_confidence": 80, "reason": %s}'
        self.batch: Batch = make_batch(
            self.standard, [make_scripted(study, slug="always", reply=reply % json.dumps(ALL))]
        )

    def drive(self) -> None:
        """Let the monitor of the batch read every trace."""
        drive(batch_id=self.batch.pk, owner=identity.owner())

    def traces(self) -> tuple[Trace, Trace, Trace]:
        return self.settled, self.disputed, self.free

    def addresses(self, token: str) -> Iterator[str]:
        values: dict[str, Any] = {**Site.VALUES, "slug": self.study.slug}
        for name, route in all_routes():
            before = route.split("<slug:token>")[0].rstrip("/").rsplit("/", 1)[-1]
            values["token"] = f"{0:020x}" if before == "disputes" else token
            if name != "logout":
                yield "/" + PARAMETER.sub(lambda match: str(values[match[1]]), route)
