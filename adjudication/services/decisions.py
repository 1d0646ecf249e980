"""The lead's ruling on a dispute, and taking it back until a standard froze it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from adjudication import queries
from adjudication.judgements import Judgement
from adjudication.masking import fingerprint, stored
from adjudication.models import Consultation, Decision, Dispute, ReferenceStandard
from adjudication.services.blindness import Unblinded, check_blind
from adjudication.services.disputes import recompute_disputes
from adjudication.services.locking import lock_study
from adjudication.services.rulings import InvalidDecision, checked, required, ruling_of
from adjudication.sources import shown_to
from annotation.models import Question, ReferenceAnswer
from annotation.services import tally
from core import audit, webhooks
from core.errors import Conflict
from core.models import User


class AlreadyDecided(Conflict):
    """Another ruling, or an undo, came first; `decision` is the newest one."""

    def __init__(self, decision: Decision | None) -> None:
        self.decision = decision
        who = f"by {decision.decided_by}" if decision else "by somebody else"
        what = "taken back" if decision and decision.choice == Decision.Choice.UNDO else "decided"
        super().__init__(f"this dispute was {what} {who} meanwhile; your ruling was not saved")


class ProposalsMoved(Conflict):
    """The labels changed while the lead was reading, so that a mark may stand for another value now."""

    def __init__(self) -> None:
        super().__init__(
            "the proposals changed while you were reading; look at them again, nothing was saved"
        )


class LabelsExpected(Conflict):
    """Not all labels that the study expects on the trace are in, and nobody stated the gap."""

    def __init__(self) -> None:
        super().__init__(
            "labels that the study expects on this solution are not in yet; state the gap if they will not come"
        )


class DecisionFrozen(Conflict):
    """A standard rests on the decision; `standard` is the first one."""

    def __init__(self, standard: ReferenceStandard) -> None:
        self.standard = standard
        super().__init__(
            f"standard {standard.version} was frozen on this decision; correct it by a patch with its reason"
        )


@dataclass(frozen=True)
class Consulted:
    """A model or person that the lead asked, and why."""

    who: str
    why: str = ""


@dataclass(frozen=True)
class KeyCorrection:
    """A better reference answer, and why the old one is wrong."""

    text: str
    reason: str


@transaction.atomic
def decide(
    *,
    dispute: Dispute,
    lead: User,
    choice: str,
    rationale: str,
    expected_revision: int,
    mark: str = "",
    final_correct: bool | None = None,
    first_error_step: int | None = None,
    first_error_step_min: int | None = None,
    first_error_step_max: int | None = None,
    consulted: Sequence[Consulted] = (),
    key_correction: KeyCorrection | None = None,
    exclusion: str = "",
    seen: str | None = None,
) -> Decision:
    """Record a ruling, with what it entails for the question, and close the dispute.

    `choice` is a Decision.Choice: `proposal` takes the values of `mark`; `both` and `other` take the values
    given (`both` with a range); `unusable` excludes the question for the reason in `exclusion`. With a key
    correction the values speak of the corrected answer. `expected_revision` counts the rulings that the lead
    had seen (0: none) and `seen` is the fingerprint of the proposals shown.

    The same ruling of the same lead again, a double click or a request whose answer was lost, is no change and
    gives the ruling that stands.

    Raises InvalidDecision, LabelsExpected, Unblinded for a lead who knows a source, AlreadyDecided when
    another ruling came first, ProposalsMoved when the labels changed since the page was read.
    """
    # A freeze, a ruling and a key correction each read several rows that must not move: this puts them in line.
    study = lock_study(dispute.study_id)
    dispute = (
        Dispute.objects.select_for_update(of=("self",)).select_related("trace__question").get(pk=dispute.pk)
    )
    dispute.study = study
    latest = queries.latest_decision(dispute)
    revision = latest.revision if latest else 0
    given = Judgement.of(final_correct, first_error_step, first_error_step_min, first_error_step_max)
    if revision != expected_revision or dispute.status == Dispute.Status.DECIDED:
        words = _Words(rationale, consulted, key_correction, exclusion)
        if (
            latest is not None
            and (latest.decided_by_id, latest.revision) == (lead.pk, expected_revision + 1)
            and _says(latest, choice, mark, given, words)
        ):
            return latest
        raise AlreadyDecided(latest)
    if dispute.status == Dispute.Status.WITHDRAWN:
        raise Conflict("the labels of this trace agree by now: there is nothing to decide any more")
    if dispute.awaits_labels:
        raise LabelsExpected
    check_blind(dispute=dispute, lead=lead)
    question = dispute.trace.question
    if question.status == Question.Status.EXCLUDED:
        raise Conflict(f"the question was excluded ({question.exclusion_reason}): there is nothing to decide")
    shown = queries.proposals_in(dispute)
    if seen is not None and seen != fingerprint(shown):
        raise ProposalsMoved
    ruling = ruling_of(choice, mark, given, shown, n_steps=dispute.trace.n_steps)
    rationale = required(
        rationale, "say in a sentence why: the rationale is kept with the decision", "rationale"
    )
    notes = [_consultation(entry) for entry in consulted]
    if choice == Decision.Choice.UNUSABLE and key_correction:
        raise InvalidDecision("an unusable question needs no corrected answer", field="corrected_answer")

    answer = _correct_key(question, key_correction, lead) if key_correction else None
    decision = Decision.objects.create(
        dispute=dispute,
        choice=choice,
        chosen_mark=mark if choice == Decision.Choice.PROPOSAL else "",
        final_correct=ruling.final_correct if ruling else None,
        first_error_step=ruling.first_error_step if ruling else None,
        first_error_step_min=ruling.first_error_step_min if ruling else None,
        first_error_step_max=ruling.first_error_step_max if ruling else None,
        rationale=rationale,
        proposals=stored(shown),
        key_is_wrong=answer is not None,
        corrected_answer=answer,
        decided_by=lead,
        revision=revision + 1,
        supersedes=latest,
    )
    for note in notes:
        note.decision = decision
    Consultation.objects.bulk_create(notes)
    dispute.status = Dispute.Status.DECIDED
    dispute.save(update_fields=["status"])
    if choice == Decision.Choice.UNUSABLE:
        _exclude(question, exclusion)
        tally.refresh(study)
        recompute_disputes(study=study, actor=lead, question=question)
    audit.record(
        scope=study.slug,
        actor=lead,
        action="dispute decided",
        subject=f"dispute {dispute.token}",
        payload={
            "revision": decision.revision,
            "choice": decision.choice,
            "mark": decision.chosen_mark,
            "proposals": decision.proposals,
            "final_correct": decision.final_correct,
            "first_error_step": decision.first_error_step,
            "first_error_step_min": decision.first_error_step_min,
            "first_error_step_max": decision.first_error_step_max,
            "rationale": rationale,
            "arguments_opened": dispute.opened_arguments.filter(person=lead).exists(),
            "consulted": [[note.who, note.why] for note in notes],
            "reference_answer_version": answer.version if answer else None,
            "exclusion": question.exclusion_reason,
        },
    )
    webhooks.emit(
        scope=study.slug,
        event=webhooks.Event.DISPUTE_DECIDED,
        ids={"dispute": dispute.token, "revision": decision.revision},
    )
    return decision


def decide_by_values(
    *,
    dispute: Dispute,
    lead: User,
    judgement: Judgement,
    rationale: str,
    consulted: Sequence[Consulted] = (),
    key_correction: KeyCorrection | None = None,
) -> Decision:
    """Decide by values alone, as a file of decisions does: the proposal that says so, a range, or another.

    Raises what `decide` raises.
    """
    shown = queries.proposals_in(dispute)
    mark = next(
        (one.mark for one in shown if one.point == judgement.point and one.range == judgement.range), ""
    )
    choice = Decision.Choice.BOTH if judgement.range else Decision.Choice.OTHER
    latest = queries.latest_decision(dispute)
    return decide(
        dispute=dispute,
        lead=lead,
        choice=Decision.Choice.PROPOSAL if mark else choice,
        mark=mark,
        final_correct=judgement.final_correct,
        first_error_step=judgement.first_error_step,
        first_error_step_min=judgement.first_error_step_min,
        first_error_step_max=judgement.first_error_step_max,
        rationale=rationale,
        consulted=consulted,
        key_correction=key_correction,
        expected_revision=latest.revision if latest else 0,
        seen=fingerprint(shown),
    )


@transaction.atomic
def undo_decision(*, dispute: Dispute, lead: User, expected_revision: int, rationale: str = "") -> Decision:
    """Take a ruling back by a row of its own and open the dispute again.

    A question that the ruling excluded is included again, with its other disputes; a reference answer that
    it corrected gets its earlier text back as a new version, unless somebody corrected it further.

    Raises AlreadyDecided when another ruling came first, Unblinded for a lead who has seen the sources,
    DecisionFrozen once a standard rests on it.
    """
    study = lock_study(dispute.study_id)
    dispute = (
        Dispute.objects.select_for_update(of=("self",)).select_related("trace__question").get(pk=dispute.pk)
    )
    latest = queries.latest_decision(dispute)
    if latest is None:
        raise Conflict("this dispute is not decided: there is nothing to take back")
    if latest.revision != expected_revision or latest.choice == Decision.Choice.UNDO:
        raise AlreadyDecided(latest)
    if shown_to(dispute, lead):
        raise Unblinded("you have seen who proposed what: this ruling can only be corrected by a patch")
    standard = queries.frozen_in(latest)
    if standard is not None:
        raise DecisionFrozen(standard)
    undo = Decision.objects.create(
        dispute=dispute,
        choice=Decision.Choice.UNDO,
        rationale=rationale.strip() or "taken back",
        proposals=latest.proposals,
        decided_by=lead,
        revision=latest.revision + 1,
        supersedes=latest,
    )
    dispute.status = Dispute.Status.OPEN
    dispute.save(update_fields=["status"])
    question = dispute.trace.question
    if latest.choice == Decision.Choice.UNUSABLE:
        question.status, question.exclusion_reason = Question.Status.INCLUDED, ""
        question.save(update_fields=["status", "exclusion_reason"])
        tally.refresh(study)
        recompute_disputes(study=study, actor=lead, question=question)
    restored = _restore_key(question, latest, lead)
    audit.record(
        scope=study.slug,
        actor=lead,
        action="decision undone",
        subject=f"dispute {dispute.token}",
        payload={
            "revision": undo.revision,
            "undoes": latest.revision,
            "rationale": undo.rationale,
            "reference_answer_version": restored.version if restored else None,
        },
    )
    return undo


@dataclass(frozen=True)
class _Words:
    """What goes with a ruling's values."""

    rationale: str
    consulted: Sequence[Consulted]
    key_correction: KeyCorrection | None
    exclusion: str


def _says(decision: Decision, choice: str, mark: str, given: Judgement | None, words: _Words) -> bool:
    """Whether a decision is the one that these values and words make."""
    if choice == Decision.Choice.PROPOSAL:
        same = decision.chosen_mark == mark
    elif choice == Decision.Choice.UNUSABLE:
        same = decision.dispute.trace.question.exclusion_reason == words.exclusion.strip()
    else:
        same = given == Judgement.of(
            decision.final_correct,
            decision.first_error_step,
            decision.first_error_step_min,
            decision.first_error_step_max,
        )
    answer, key = decision.corrected_answer, words.key_correction
    corrected = (answer.text, answer.reason) if answer else None
    asked = [(note.who, note.why) for note in decision.consultations.order_by("pk")]
    return (
        same
        and decision.choice == choice
        and decision.rationale == words.rationale.strip()
        and corrected == ((key.text.strip(), key.reason.strip()) if key else None)
        and asked == [(one.who.strip(), one.why.strip()) for one in words.consulted]
    )


def _consultation(entry: Consulted) -> Consultation:
    who = required(entry.who, "name the model or person you consulted", "consulted", limit=100)
    return Consultation(who=who, why=checked(entry.why, "consulted", limit=500))


def _exclude(question: Question, reason: str) -> None:
    question.exclusion_reason = required(
        reason, "say why the question is unusable: the reason is kept with it", "exclusion", limit=500
    )
    question.status = Question.Status.EXCLUDED
    question.save(update_fields=["status", "exclusion_reason"])


def _correct_key(question: Question, correction: KeyCorrection, lead: User) -> ReferenceAnswer:
    text = required(correction.text, "give the corrected reference answer", "corrected_answer")
    reason = required(correction.reason, "say what is wrong with the key", "correction_reason")
    current = queries.reference_answer_of(question)
    if current is not None and current.text.strip() == text:
        raise InvalidDecision(
            "the corrected answer is the same as the key in force", field="corrected_answer"
        )
    version = current.version + 1 if current else 2  # version 1 is the original, and there was none
    return ReferenceAnswer.objects.create(
        question=question, version=version, text=text, reason=reason, author=lead
    )


def _restore_key(question: Question, undone: Decision, lead: User) -> ReferenceAnswer | None:
    current = queries.reference_answer_of(question)
    if undone.corrected_answer is None or current != undone.corrected_answer:
        return None
    earlier = question.reference_answers.filter(version__lt=current.version).order_by("-version").first()
    if earlier is None:
        return None
    return ReferenceAnswer.objects.create(
        question=question,
        version=current.version + 1,
        text=earlier.text,
        reason=f"the correction of version {current.version} was taken back",
        author=lead,
    )
