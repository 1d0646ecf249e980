"""Reporting that a question's reference answer looks wrong."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from annotation.models import KeyReport, Trace
from annotation.queries import reference_answer
from core import audit
from core.errors import Conflict, UserError
from core.models import User

REASON_LENGTH = 5_000


class InvalidReport(UserError):
    """The report lacks its reason, or there is no answer to report."""


def report_key(*, trace: Trace, person: User, reason: str) -> KeyReport:
    """Record that the reference answer of the trace's question looks wrong, with the reason.

    One report per person and version of the answer; the same words again are no change. Raises InvalidReport
    without a reason or where the study shows no reference answer, Conflict for other words on the same version.
    """
    reason = reason.replace("\r\n", "\n").strip()
    if not reason:
        raise InvalidReport("say in a sentence what is wrong with this key")
    if "\0" in reason:
        raise InvalidReport("the reason holds a NUL character, which cannot be stored")
    if len(reason) > REASON_LENGTH:
        raise InvalidReport(f"the reason is longer than {REASON_LENGTH} characters")
    answer = reference_answer(trace.question)
    if answer is None or not trace.study.show_reference_answer:
        raise InvalidReport("this study shows no reference answer here")
    try:
        with transaction.atomic():
            report = KeyReport.objects.create(
                question=trace.question, reporter=person, reference_version=answer.version, reason=reason
            )
            audit.record(
                scope=trace.study.slug,
                actor=person,
                action="key reported",
                subject=f"question {trace.question.external_id}",
                payload={"report": report.pk, "reference_version": answer.version},
            )
            return report
    except IntegrityError:
        standing = KeyReport.objects.get(
            question=trace.question, reporter=person, reference_version=answer.version
        )
        if standing.reason == reason:
            return standing
        raise Conflict(
            "You have reported this key already; your first report stands and the lead will read it."
        ) from None
