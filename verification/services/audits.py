"""Keeping audits of answer keys, deciding on them, and reporting keys that they find wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max, Q

from annotation.answers import final_answer
from annotation.models import KeyReport, Question, ReferenceAnswer, Study, Trace
from core import audit as trail
from core.errors import Conflict, UserError
from core.models import User
from verification import queries
from verification.answer_keys.audit import audit
from verification.answer_keys.records import BadAudit, Item, Material, Response, Target
from verification.answer_keys.scoring import Rescored, strictly_equal
from verification.comparators.sentences import Rule
from verification.models import AuditDecision, AuditedResponse, KeyAudit

CHUNK = 500
LEVEL = "all"


class InvalidDecision(UserError):
    """A decision on an audit that lacks something."""


def material_of(study: Study) -> Material:
    """Return a study's own keys and traces as material: subjects are domains, generators are models.

    The score of a trace is that of an accepted audit, else the strict comparison of its final answer with the key.
    """
    keys: dict[int, str] = {}
    for answer in ReferenceAnswer.objects.filter(question__study=study).order_by("question_id", "version"):
        keys[answer.question_id] = answer.text
    items, responses = {}, []
    questions = Question.objects.filter(study=study, status=Question.Status.INCLUDED)
    for question in questions.order_by("external_id"):
        if question.pk in keys:
            name = question.external_id
            items[name] = Item(name, question.subject or "no subject", LEVEL, keys[question.pk], name)
    included = Q(question__status=Question.Status.INCLUDED, check_item__isnull=True)
    found = Trace.objects.filter(included, study=study)
    traces = list(found.select_related("question").order_by("question__external_id", "response_label"))
    writers = Counter((trace.question_id, trace.generator) for trace in traces)
    for trace in traces:
        if trace.question.external_id not in items or not trace.steps:
            continue
        given = final_answer(trace.text).text
        key = items[trace.question.external_id].key
        responses.append(
            Response(
                trace.question.external_id,
                # one that wrote several solutions of a question is told apart by their labels
                trace.generator
                if trace.generator and writers[trace.question_id, trace.generator] == 1
                else f"{trace.generator} {trace.response_label}".strip(),
                trace.text,
                strictly_equal(key, given if given is not None else trace.text),
            )
        )
    if not responses:
        raise BadAudit(f'the study "{study.slug}" has no traces with text on questions with keys')
    return in_force(Material(items, responses), study)


def in_force(material: Material, study: Study) -> Material:
    """Return material whose responses have the scores in force: those of accepted audits come first."""
    scores = queries.scores_in_force(study)
    if not scores:
        return material
    return Material(
        material.items,
        [replace(one, correct=scores.get((one.item, one.model), one.correct)) for one in material.responses],
    )


def save_audit(
    *,
    study: Study,
    title: str,
    rule: Rule,
    summary: Mapping[str, Any],
    rescored: Sequence[Rescored],
    source: Mapping[str, Any],
    of_study: bool,
    actor: User | None = None,
) -> KeyAudit:
    """Keep an audit as a proposal; it changes no key, response or score. Returns it with its number."""
    title = title.strip()
    if not title:
        raise InvalidDecision("an audit has a title")
    names = {one.item.name for one in rescored}
    # a file may hold the study's own traces too: then their models are hidden like generators
    known = Question.objects.filter(study=study, external_id__in=names).exists()
    with transaction.atomic():
        Study.objects.select_for_update().get(pk=study.pk)  # numbers of one study are given one at a time
        last = KeyAudit.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
        kept = KeyAudit.objects.create(
            study=study,
            number=last + 1,
            title=title[:200],
            rule=dict(rule.data),
            source=dict(source),
            summary=dict(summary),
            of_study=of_study or known,
            created_by=actor,
        )
        AuditedResponse.objects.bulk_create(
            [
                AuditedResponse(
                    audit=kept,
                    item=one.item.name,
                    model=one.response.model,
                    key=one.item.key,
                    response=one.response.text,
                    before=one.before,
                    after=one.after,
                    reason=one.reason,
                    extracted=one.extracted,
                )
                for one in rescored
            ],
            batch_size=CHUNK,
        )
        trail.record(
            scope=study.slug,
            actor=actor,
            action="key audit proposed",
            subject=f"key audit {kept.number}",
            payload={
                "title": kept.title, "rule": rule.name, "responses": len(rescored),
                "changed": summary["changed"], "source": dict(source),
            },
        )  # fmt: skip
    return kept


def audit_study(
    *,
    study: Study,
    title: str,
    rule: Rule,
    domain: str,
    actor: User | None,
    resamples: int = 10_000,
    seed: int = 0,
) -> KeyAudit:
    """Audit one subject of a study's own keys under a rule, and keep it."""
    material = material_of(study)
    target = Target(domain, LEVEL, LEVEL, LEVEL)
    summary, rescored = audit(material, rule, target, resamples=resamples, seed=seed)
    return save_audit(
        study=study,
        title=title,
        rule=rule,
        summary=summary,
        rescored=rescored,
        source={"study": study.slug},
        of_study=True,
        actor=actor,
    )


def decide_audit(*, kept: KeyAudit, accepted: bool, reason: str, actor: User) -> AuditDecision:
    """Accept an audit, so that its scores are in force from now on, or reject it; once, with a reason."""
    reason = reason.replace("\r\n", "\n").strip()
    if not reason:
        raise InvalidDecision("say why this audit is accepted or rejected")
    try:
        with transaction.atomic():
            decision = AuditDecision.objects.create(
                audit=kept, accepted=accepted, reason=reason, decided_by=actor
            )
            trail.record(
                scope=kept.study.slug,
                actor=actor,
                action="key audit accepted" if accepted else "key audit rejected",
                subject=f"key audit {kept.number}",
                payload={"reason": reason, "changed": kept.summary.get("changed")},
            )
    except IntegrityError:
        raise Conflict("This audit was decided already; a decision stands.") from None
    return decision


def report_wrong_key(*, kept: KeyAudit, item: str, reason: str, actor: User) -> KeyReport:
    """Report that an audited item's key, a question of the study, is wrong: it joins the study's key reports.

    One report per person and version of the key; the same words again change nothing.
    """
    reason = reason.replace("\r\n", "\n").strip()
    if not reason:
        raise InvalidDecision("say what is wrong with this key")
    question = Question.objects.filter(study=kept.study, external_id=item).first()
    if question is None or not kept.responses.filter(item=item).exists():
        raise InvalidDecision(f'"{item}" is no question of this study in this audit')
    version = question.reference_answers.aggregate(last=Max("version"))["last"]
    if version is None:
        raise InvalidDecision("the question has no key")
    try:
        with transaction.atomic():
            report = KeyReport.objects.create(
                question=question, reporter=actor, reference_version=version, reason=reason
            )
            trail.record(
                scope=kept.study.slug,
                actor=actor,
                action="key reported",
                subject=f"question {question.external_id}",
                payload={"report": report.pk, "reference_version": version, "key_audit": kept.number},
            )
            return report
    except IntegrityError:
        standing = KeyReport.objects.get(question=question, reporter=actor, reference_version=version)
        if standing.reason == reason:
            return standing
        raise Conflict("You have reported this key already; your first report stands.") from None
