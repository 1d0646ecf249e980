"""What a standard frozen now would say of each trace, and what stands in the way of freezing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from adjudication import queries
from adjudication.judgements import Judgement, kinds_of, merged
from adjudication.models import Decision, StandardLabel
from adjudication.services.carried import Provenance, carried_labels
from adjudication.services.hashing import StandardRow, text_sha256
from annotation.holds import held_traces
from annotation.models import Label, Question, ReferenceAnswer, Study, Trace

MAX_STATUS_REASON = 500
BY_RULE = "open dispute: sent to the lead by rule"


@dataclass(frozen=True)
class Draft:
    """A row of a standard before it is frozen, with the keys that the hash leaves out."""

    row: StandardRow
    trace_id: int
    n_steps: int | None
    reference_answer_id: int | None
    key_is_newer: bool = False


@dataclass(frozen=True)
class Precondition:
    """Something to know before freezing: how many traces, and whether it stands in the way."""

    name: str
    count: int
    blocks: bool
    text: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Said:
    arm: str
    judgement: Judgement
    at: datetime


def assemble(study: Study) -> list[Draft]:
    """Return a draft for every trace of the study, included or not, in the order of natural keys.

    Traces set apart for training are in no standard. Nor is a trace of which nothing is known but a monitor's
    verdict (a release mentions it outside its standard: no text, no length, no label).

    A trace that something holds (annotation.holds) has no settled label, whatever else was said of it. Decisions
    come before labels. What the newest standard holds by a patch is carried on until a later decision on its trace;
    what it holds by a release's word, until a later decision or label. Where human labels differ among themselves,
    the frozen human column keeps the one of the first labeller by name; the debate column likewise.
    """
    said = _labels_by_trace(study)
    decisions = queries.standing_decisions(study)
    held = held_traces(study)
    carried = carried_labels(study)
    sent = queries.sent_by_rule(study)
    answers = queries.reference_answers_in_force(study)
    hashes = {question_id: text_sha256(answer.text) for question_id, answer in answers.items()}
    traces = (
        Trace.objects.filter(study=study, check_item__isnull=True)
        .order_by("question__external_id", "response_label")
        .values_list(
            "id",
            "question_id",
            "question__external_id",
            "question__status",
            "question__exclusion_reason",
            "response_label",
            "sha256",
            "n_steps",
        )
    )
    drafts = []
    for pk, question_id, external_id, status, reason, label, sha256, n_steps in traces:
        labels = said.get(pk, [])
        if n_steps is None and not labels and pk not in carried:
            continue
        human, debate = (_first(labels, arm) for arm in (Label.Arm.HUMAN, Label.Arm.DEBATE))
        answer = answers.get(question_id)
        base = StandardRow(
            question_id=external_id,
            response_label=label,
            trace_sha256=sha256,
            status=StandardLabel.Status.UNRESOLVED.value,
            final_correct=None,
            first_error_step=None,
            provenance=Provenance.UNLABELLED,
            human_final_correct=human.final_correct if human else None,
            human_first_error_step=human.first_error_step if human else None,
            debate_final_correct=debate.final_correct if debate else None,
            debate_first_error_step=debate.first_error_step if debate else None,
            reference_answer_version=answer.version if answer else None,
            reference_answer_sha256=hashes.get(question_id),
        )
        decision = decisions.get(pk)
        kept = carried.get(pk)
        if kept and not kept.stands(
            question_status=status,
            ruled_at=decision.created_at if decision else None,
            labelled_at=max((said.at for said in labels), default=None),
        ):
            kept = None
        if kept:
            row = kept.on(base)
        elif status == Question.Status.EXCLUDED:
            row = replace(
                base,
                status=StandardLabel.Status.EXCLUDED.value,
                status_reason=reason,
                provenance=Provenance.QUESTION_EXCLUDED,
            )
        elif decision:
            row = _ruled(base, decision)
        elif pk in sent:
            row = _left_open(base, BY_RULE)
        else:
            row = _from_labels(base, labels)
        if pk in held and row.status != StandardLabel.Status.EXCLUDED:
            row = replace(base, status_reason=held[pk][:MAX_STATUS_REASON], provenance=Provenance.HELD)
        ruled_at = kept.at if kept else decision.created_at if decision else None
        newer = _key_is_newer(answer, labels, ruled_at) and row.status == StandardLabel.Status.READY
        drafts.append(Draft(row, pk, n_steps, answer.pk if answer else None, newer))
    return drafts


def freeze_preconditions(study: Study, drafts: Sequence[Draft] | None = None) -> list[Precondition]:
    """Return what a freeze would find, with counts: first what blocks it, then what to know."""
    if drafts is None:
        drafts = assemble(study)
    ready = [draft for draft in drafts if draft.row.status == StandardLabel.Status.READY]

    def found(name: str, drafts: Sequence[Draft], text: str, *, blocks: bool = False) -> Precondition:
        names = tuple(f"{draft.row.question_id}/{draft.row.response_label}" for draft in drafts[:20])
        return Precondition(name, len(drafts), blocks, text, names)

    def of(*provenances: str) -> list[Draft]:
        return [draft for draft in drafts if draft.row.provenance in provenances]

    def unresolved(provenance: str) -> list[Draft]:
        # A release may carry the words on rows that it left out: they are settled, if not resolved.
        status = StandardLabel.Status.UNRESOLVED
        return [draft for draft in of(provenance) if draft.row.status == status]

    conditions = [
        found(
            "open disputes",
            unresolved(Provenance.OPEN_DISPUTE),
            "wait for a decision of the lead",
            blocks=True,
        ),
        found(
            "steps past the end",
            [draft for draft in ready if _past_the_end(draft)],
            "name a step that the solution does not have",
            blocks=True,
        ),
        found(
            "waiting for an expert", of(Provenance.HELD), "will be unresolved: an expert has not settled them"
        ),
        found(
            "unlabelled traces", unresolved(Provenance.UNLABELLED), "will be unresolved: nobody labelled them"
        ),
        # One word for both: the lead who reads this must not learn which arm is lacking.
        found(
            "one arm only",
            of(Provenance.HUMAN_ONLY, Provenance.DEBATE_ONLY),
            "have labels of one arm only, which agree",
        ),
        found("excluded", of(Provenance.QUESTION_EXCLUDED), "will be excluded with their questions"),
        found(
            "second look",
            [draft for draft in ready if _needs_second_look(draft)],
            "have a wrong final answer and no false step: legal, counted as clean, worth a second look",
        ),
        found(
            "key corrected since",
            [draft for draft in drafts if draft.key_is_newer],
            "were labelled before their question's key was corrected",
        ),
    ]
    if not ready:
        conditions.insert(0, Precondition("no label to freeze", 1, True, "no trace has a settled label yet"))
    return [condition for condition in conditions if condition.count]


def _labels_by_trace(study: Study) -> dict[int, list[_Said]]:
    rows = (
        Label.objects.filter(trace__study=study, superseded_by__isnull=True)
        .order_by("trace_id", "arm", "labeller")
        .values_list(
            "trace_id",
            "arm",
            "created_at",
            "final_correct",
            "first_error_step",
            "first_error_step_min",
            "first_error_step_max",
        )
    )
    said: dict[int, list[_Said]] = {}
    for trace_id, arm, at, right, step, low, high in rows:
        judgement = Judgement(
            final_correct=right, first_error_step=step, first_error_step_min=low, first_error_step_max=high
        )
        said.setdefault(trace_id, []).append(_Said(arm, judgement, at))
    return said


def _values(holder: StandardLabel | Decision) -> tuple[bool | None, int | None, int | None, int | None]:
    return (
        holder.final_correct,
        holder.first_error_step,
        holder.first_error_step_min,
        holder.first_error_step_max,
    )


def _first(labels: Sequence[_Said], arm: str) -> Judgement | None:
    """Return the first labeller's judgement of an arm (labels come ordered by name)."""
    return next((said.judgement for said in labels if said.arm == arm), None)


def _settled(base: StandardRow, judgement: Judgement, provenance: str) -> StandardRow:
    return replace(
        base,
        status=StandardLabel.Status.READY.value,
        final_correct=judgement.final_correct,
        first_error_step=judgement.first_error_step,
        first_error_step_min=judgement.first_error_step_min,
        first_error_step_max=judgement.first_error_step_max,
        provenance=provenance,
    )


def _ruled(base: StandardRow, decision: Decision) -> StandardRow:
    judgement = Judgement.of(*_values(decision))
    if judgement is None:
        reason = "ruled unusable, yet its question is included"
        return replace(base, status_reason=reason, provenance=Provenance.ADJUDICATED)
    return _settled(base, judgement, Provenance.ADJUDICATED)


def _from_labels(base: StandardRow, labels: Sequence[_Said]) -> StandardRow:
    if not labels:
        return replace(base, status_reason="no label yet")
    judgements = [said.judgement for said in labels]
    kinds = kinds_of(judgements)
    if kinds:
        reason = f"open dispute: {', '.join(kinds)}"
        return _left_open(base, reason)
    arms = {said.arm for said in labels}
    if len(arms) == 2:
        provenance = Provenance.BOTH_ARMS_AGREE
    else:
        provenance = Provenance.HUMAN_ONLY if Label.Arm.HUMAN in arms else Provenance.DEBATE_ONLY
    return _settled(base, merged(judgements)[0], provenance)


def _left_open(base: StandardRow, reason: str) -> StandardRow:
    """Leave a dispute open in the standard, without what each arm had said.

    Its lead still has to settle it blind: neither the row nor the hash over it may tell which arm said what.
    """
    return replace(
        base,
        status_reason=reason,
        provenance=Provenance.OPEN_DISPUTE,
        human_final_correct=None,
        human_first_error_step=None,
        debate_final_correct=None,
        debate_first_error_step=None,
    )


def _key_is_newer(answer: ReferenceAnswer | None, labels: Sequence[_Said], ruled_at: datetime | None) -> bool:
    """Whether a label that still counts was made before the key in force."""
    if answer is None or answer.version == 1:
        return False
    made = [ruled_at] if ruled_at else [said.at for said in labels]
    return any(at < answer.created_at for at in made)


def _past_the_end(draft: Draft) -> bool:
    step = draft.row.first_error_step_max or draft.row.first_error_step
    return step is not None and draft.n_steps is not None and step > draft.n_steps


def _needs_second_look(draft: Draft) -> bool:
    return draft.row.final_correct is False and draft.row.first_error_step is None
