"""Layer 1: running the checks of code and rules on traces; correctness, compliance and efficiency apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction

from annotation.answers import final_answer
from annotation.models import Trace
from annotation.queries import reference_answer
from core import audit
from core.models import User
from verification import queries
from verification.certificates import BadProgramme, verify
from verification.comparators import Verdict, comparator_of
from verification.comparators.symbolic import Cas
from verification.equalities import check
from verification.models import CertificateSubmission, CheckResult, ExecutionRecord, Rule, TaskSpecification
from verification.obligations.execution import (
    Execution,
    Restrictions,
    forbidden_calls,
    idle_attempts,
    loops,
    passed_limits,
    repeated_calls,
)
from verification.services.evidence import certificate_of
from verification.services.specifications import programme_of

VALID, FAILED, UNVERIFIED, UNRESOLVED = "valid", "failed", "unverified", "unresolved"
CORRECTNESS, COMPLIANCE, EFFICIENCY = "correctness", "compliance", "efficiency"


@dataclass(frozen=True)
class Outcome:
    """What one check found; `rejects` says that the trace is rejected whatever its answer."""

    name: str
    column: str
    status: str
    reason: str
    step: int | None = None
    rejects: bool = False


def checks_of(trace: Trace, cas: Cas) -> list[Outcome]:
    """Return the outcome of every check of layer 1 on a trace; writes nothing."""
    specification = queries.specification_of(trace.question)
    submission = CertificateSubmission.objects.filter(trace=trace).first()
    found = []
    if trace.steps:
        found.append(_equalities(trace))
    rules: Sequence[Rule] = list(specification.rules.order_by("name")) if specification else []
    for rule in rules:
        if rule.kind == Rule.Kind.FINAL_ANSWER:
            found.append(_answer(trace, rule, cas))
        elif rule.kind == Rule.Kind.DELIVERABLE:
            found.append(_deliverable(trace, rule))
        else:
            found.append(_certificate(submission, rule))
    if submission is not None and not any(rule.kind == Rule.Kind.CERTIFICATE for rule in rules):
        found.append(_certificate(submission, None))
    return found + _execution(trace, specification)


def run_checks(*, traces: Iterable[Trace], actor: User | None = None) -> int:
    """Run layer 1 on traces and replace what earlier runs found; returns the number of traces."""
    number = 0
    with Cas() as cas:
        for trace in traces:
            outcomes = checks_of(trace, cas)  # the computer algebra system is asked outside the transaction
            with transaction.atomic():
                CheckResult.objects.filter(trace=trace).delete()
                CheckResult.objects.bulk_create(
                    [
                        CheckResult(
                            trace=trace,
                            name=one.name[:100],
                            column=one.column,
                            status=one.status,
                            rejects=one.rejects,
                            step=one.step,
                            reason=one.reason,
                        )
                        for one in outcomes
                    ]
                )
                audit.record(
                    scope=trace.study.slug,
                    actor=actor,
                    action="checks run",
                    subject=f"trace {trace.token}",
                    payload={one.name: one.status for one in outcomes},
                )
            number += 1
    return number


def _equalities(trace: Trace) -> Outcome:
    found = check(trace.steps, context=trace.question.statement)
    name = "equalities"
    if found.first is not None:
        return Outcome(name, CORRECTNESS, FAILED, found.first.explanation, step=found.first.step)
    if not found.checked:
        return Outcome(name, CORRECTNESS, UNVERIFIED, "no numerical equality could be checked")
    left = f"; {found.not_checkable} relations could not be checked" if found.not_checkable else ""
    return Outcome(name, CORRECTNESS, VALID, f"{found.checked} checked, none of them false{left}")


def _answer(trace: Trace, rule: Rule, cas: Cas) -> Outcome:
    key = reference_answer(trace.question)
    if key is None:
        return Outcome(rule.name, CORRECTNESS, UNVERIFIED, "the question has no reference answer")
    if not trace.steps:
        return Outcome(rule.name, CORRECTNESS, UNVERIFIED, "the text of the trace is not here")
    if rule.spec.get("kind") == "sentence":
        answer: str | None = trace.text
    else:
        given = final_answer(trace.text)
        answer = given.text
        if answer is None:
            return Outcome(
                rule.name,
                CORRECTNESS,
                UNRESOLVED,
                f"no final answer is found ({given.path.replace('_', ' ')})",
            )
    assert answer is not None
    compared = comparator_of(rule.spec, cas=cas).compare(key.text, answer)
    status = {Verdict.EQUAL: VALID, Verdict.DIFFERENT: FAILED, Verdict.UNDECIDED: UNRESOLVED}[
        compared.verdict
    ]
    return Outcome(rule.name, CORRECTNESS, status, compared.reason, rejects=status == FAILED)


def _deliverable(trace: Trace, rule: Rule) -> Outcome:
    if not trace.steps:
        return Outcome(rule.name, COMPLIANCE, UNVERIFIED, "the text of the trace is not here")
    text = " ".join(trace.text.casefold().split())
    phrase = next((one for one in rule.spec["any_of"] if " ".join(one.casefold().split()) in text), None)
    if phrase is None:
        wanted = ", ".join(f'"{one}"' for one in rule.spec["any_of"])
        return Outcome(rule.name, COMPLIANCE, FAILED, f"none of {wanted} stands in it", rejects=True)
    return Outcome(rule.name, COMPLIANCE, VALID, f'"{phrase}" stands in it')


def _certificate(submission: CertificateSubmission | None, rule: Rule | None) -> Outcome:
    name = rule.name if rule else "certificate"
    if submission is None:
        return Outcome(name, CORRECTNESS, UNVERIFIED, "no certificate was submitted")
    try:
        # the question's own programme, where the rule has one: a certificate of another proves nothing here
        programme = programme_of(rule.spec["programme"] if rule else submission.programme)
        ruling = verify(programme, certificate_of(submission.certificate))
    except BadProgramme as error:
        return Outcome(name, CORRECTNESS, FAILED, str(error), rejects=rule is not None)
    if ruling.valid:
        return Outcome(name, CORRECTNESS, VALID, "feasible, stationary and of the right value, exactly")
    return Outcome(name, CORRECTNESS, FAILED, "; ".join(ruling.reasons), rejects=rule is not None)


def _execution(trace: Trace, newest: TaskSpecification | None) -> list[Outcome]:
    record = ExecutionRecord.objects.filter(trace=trace).first()
    binding = queries.specification_at(trace)
    execution = Execution(record.calls, record.attempts, record.elapsed_seconds) if record else None
    found = []
    for specification, binds in ((binding, True), (newest, False)):
        if specification is None or (not binds and binding is not None and specification.pk == binding.pk):
            continue
        found += _restrictions(specification, execution, binds=binds)
    if execution is not None:
        noted = [*repeated_calls(execution), *idle_attempts(execution), *loops(execution)]
        status = FAILED if noted else VALID
        reason = "; ".join(noted) if noted else f"{len(execution.calls)} calls, none repeated"
        found.append(Outcome("use of resources", EFFICIENCY, status, reason))
    return found


def _restrictions(
    specification: TaskSpecification, execution: Execution | None, *, binds: bool
) -> list[Outcome]:
    """Check tools and limits. One set after the trace came cannot reject it: it is noted as efficiency."""
    allowed = Restrictions(specification.tools, specification.environments, specification.limits)
    late = "" if binds else " (set after this trace came)"
    column = COMPLIANCE if binds else EFFICIENCY
    found = []
    if allowed.tools is not None or allowed.environments is not None:
        name = f"permitted tools{late}"
        if execution is None:
            found.append(Outcome(name, column, UNVERIFIED, "there is no execution record"))
        elif broken := forbidden_calls(execution, allowed):
            found.append(Outcome(name, column, FAILED, "; ".join(broken), rejects=binds))
        else:
            found.append(Outcome(name, column, VALID, f"all {len(execution.calls)} calls are permitted"))
    if allowed.limits:
        name = f"hard limits{late}"
        if execution is None:
            found.append(Outcome(name, column, UNVERIFIED, "there is no execution record"))
            return found
        passed, unknown = passed_limits(execution, allowed.limits)
        if passed:
            found.append(Outcome(name, column, FAILED, "; ".join(passed), rejects=binds))
        elif unknown:
            found.append(Outcome(name, column, UNVERIFIED, "; ".join(unknown)))
        else:
            found.append(Outcome(name, column, VALID, "all are kept"))
    return found
