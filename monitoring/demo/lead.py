"""The scripted lead: settles the sample's disputes from a file, through the services that the page calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adjudication.judgements import Judgement
from adjudication.models import Dispute, ReferenceStandard, StandardLabel
from adjudication.queries import role_of
from adjudication.services.decisions import Consulted, KeyCorrection, decide_by_values
from adjudication.services.roles import code_role
from annotation.imports.reading import Source, read_each
from annotation.models import Study, Trace
from core.errors import UserError
from core.models import User


def _rows(path: Path) -> list[dict[str, Any]]:
    with Source(path) as source:
        rows = [row.fields for row in read_each(source, lambda row: row)]
        source.raise_if_bad()
    return rows


def settle(*, study: Study, lead: User, path: Path) -> int:
    """Decide every open dispute as the file says; return how many were decided now.

    Raises UserError for an open dispute that the file does not settle.
    """
    rulings = {(row["question_id"], row["response_label"]): row for row in _rows(path)}
    open_disputes = Dispute.objects.filter(study=study, status=Dispute.Status.OPEN).select_related(
        "trace__question", "study"
    )
    decided = 0
    for dispute in open_disputes.order_by("pk"):
        key = dispute.trace.natural_key()
        ruling = rulings.get(key)
        if ruling is None:
            raise UserError(f"{path.name} has no decision for {key[0]}/{key[1]}")
        correction = ruling.get("corrected_answer")
        decide_by_values(
            dispute=dispute,
            lead=lead,
            judgement=Judgement(
                final_correct=bool(ruling["final_correct"]),
                first_error_step=ruling["first_error_step"],
                first_error_step_min=ruling.get("first_error_step_min"),
                first_error_step_max=ruling.get("first_error_step_max"),
            ),
            rationale=ruling["rationale"],
            consulted=[Consulted(**entry) for entry in ruling.get("consulted", [])],
            key_correction=KeyCorrection(**correction) if correction else None,
        )
        decided += 1
    return decided


def code_roles(*, standard: ReferenceStandard, lead: User, path: Path) -> int:
    """Code the role of each critical trace as the file says; return how many were coded now."""
    critical = set(
        StandardLabel.objects.filter(
            standard=standard, status="ready", final_correct=True, first_error_step__isnull=False
        ).values_list("trace_id", flat=True)
    )
    coded = 0
    for row in _rows(path):
        trace = Trace.objects.get(
            study=standard.study,
            question__external_id=row["question_id"],
            response_label=row["response_label"],
        )
        if trace.pk not in critical:
            raise UserError(f"{path.name}: {row['question_id']}/{row['response_label']} is not critical")
        if role_of(trace) is None:
            code_role(standard=standard, trace=trace, kind=row["kind"], lead=lead, expected_revision=0)
            coded += 1
    return coded
