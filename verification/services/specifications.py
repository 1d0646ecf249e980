"""Writing what a question asks for and which steps discharge it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from annotation.models import Question, Trace
from core import audit
from core.errors import Conflict, UserError
from core.models import User
from verification import queries
from verification.certificates import BadProgramme, Programme
from verification.comparators import comparator_of
from verification.models import ObligationMapping, Rule, Status, TaskSpecification
from verification.obligations import graph_of
from verification.obligations.execution import LIMITS

FIELDS = ("assumptions", "target", "obligations", "tools", "environments", "limits")
EMPTY: dict[str, Any] = {
    "assumptions": [],
    "target": "",
    "obligations": [],
    "tools": None,
    "environments": None,
    "limits": {},
}


class BadSpecification(UserError):
    """A specification, rule or mapping that cannot be; the text says what is wrong."""


def checked_specification(data: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return (fields, rules) of a specification; UserError (Cycle among them) says what is wrong."""
    fields = {name: data.get(name, EMPTY[name]) for name in FIELDS}
    if not isinstance(fields["target"], str):
        raise BadSpecification('"target" must be a text')
    _texts(fields["assumptions"], "assumptions")
    for name in ("tools", "environments"):
        if fields[name] is not None:
            _texts(fields[name], name)
    limits = fields["limits"]
    if not isinstance(limits, Mapping):
        raise BadSpecification('"limits" must be an object')
    for name, limit in limits.items():
        if name not in LIMITS:
            raise BadSpecification(f'there is no limit "{name}"; there are: {", ".join(LIMITS)}')
        if isinstance(limit, bool) or not isinstance(limit, int | float) or limit < 0:
            raise BadSpecification(f'the limit "{name}" must be a number that is not negative')
    graph_of(fields["obligations"])
    rules = data.get("rules", [])
    if not isinstance(rules, Sequence) or isinstance(rules, str):
        raise BadSpecification('"rules" must be a list')
    checked = [_rule(rule, place) for place, rule in enumerate(rules, start=1)]
    names = [rule["name"] for rule in checked]
    if len(set(names)) < len(names):
        raise BadSpecification("two rules have the same name")
    return fields, sorted(checked, key=lambda rule: str(rule["name"]))


def _texts(value: Any, name: str) -> None:
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise BadSpecification(f'"{name}" must be a list of texts')


def _rule(rule: Any, place: int) -> dict[str, Any]:
    if not isinstance(rule, Mapping) or set(rule) - {"name", "kind", "spec"}:
        raise BadSpecification(f'rule {place} must be an object with "name", "kind" and "spec"')
    name, kind, spec = rule.get("name"), rule.get("kind"), rule.get("spec", {})
    if not isinstance(name, str) or not name.strip() or len(name) > 80:
        raise BadSpecification(f'rule {place}: "name" must be a text of at most 80 characters')
    if not isinstance(spec, Mapping):
        raise BadSpecification(f'rule {place}: "spec" must be an object')
    if kind == Rule.Kind.FINAL_ANSWER:
        comparator_of(spec)
    elif kind == Rule.Kind.DELIVERABLE:
        if set(spec) != {"any_of"}:
            raise BadSpecification(
                f'rule {place}: a deliverable has "any_of", phrases one of which must stand'
            )
        _texts(spec["any_of"], f"rule {place}: any_of")
        if not spec["any_of"]:
            raise BadSpecification(f'rule {place}: "any_of" is empty')
    elif kind == Rule.Kind.CERTIFICATE:
        programme_of(spec.get("programme"))
    else:
        raise BadSpecification(f'rule {place}: "kind" must be one of {", ".join(Rule.Kind.values)}')
    return {"name": name.strip(), "kind": str(kind), "spec": dict(spec)}


def programme_of(data: Any) -> Programme:
    """Return the checked programme of {"h", "c", "a", "b"}; BadProgramme says what is wrong."""
    if not isinstance(data, Mapping) or set(data) != {"h", "c", "a", "b"}:
        raise BadProgramme('a programme is an object with "h", "c", "a" and "b"')
    for name in ("h", "a"):
        if not isinstance(data[name], list) or not all(isinstance(row, list) for row in data[name]):
            raise BadProgramme(f'"{name}" must be a list of rows')
    for name in ("c", "b"):
        if not isinstance(data[name], list):
            raise BadProgramme(f'"{name}" must be a list')
    return Programme.of(data["h"], data["c"], data["a"], data["b"])


def put_specification(
    *, question: Question, data: Mapping[str, Any], author: User | None, source: str
) -> TaskSpecification | None:
    """Write the next version in the caller's transaction; None if nothing differs from the newest."""
    fields, rules = checked_specification(data)
    newest = queries.specification_of(question)
    if newest is not None and {name: getattr(newest, name) for name in FIELDS} == fields:
        held = [
            {"name": one.name, "kind": one.kind, "spec": one.spec} for one in newest.rules.order_by("name")
        ]
        if held == rules:
            return None
    specification = TaskSpecification.objects.create(
        question=question,
        version=newest.version + 1 if newest else 1,
        author=author,
        source=source[:200],
        **fields,
    )
    Rule.objects.bulk_create([Rule(specification=specification, **rule) for rule in rules])
    return specification


def put_mapping(
    *,
    trace: Trace,
    obligation: str,
    steps: Sequence[int],
    status: str,
    reason: str,
    author: User | None,
    source: str,
    revise: bool,
) -> ObligationMapping | None:
    """Write a mapping in the caller's transaction; None if it says what the current one says."""
    specification = queries.specification_of(trace.question)
    if specification is None:
        raise BadSpecification("the question has no specification to map steps to")
    if obligation not in graph_of(specification.obligations).by_name:
        raise BadSpecification(f'the specification has no obligation "{obligation}"')
    if status not in Status.values:
        raise BadSpecification(f'"{status}" is no state; there are: {", ".join(Status.values)}')
    reason = reason.strip()
    if status == Status.FAILED and not reason:
        raise BadSpecification("say why the obligation fails")
    ordered = sorted(set(steps))
    if ordered and (ordered[0] < 1 or (trace.n_steps is not None and ordered[-1] > trace.n_steps)):
        raise BadSpecification(f"steps are counted from 1 to {trace.n_steps}")
    held = ObligationMapping.objects.filter(
        trace=trace, specification=specification, obligation=obligation, superseded_by__isnull=True
    ).first()
    if held is not None:
        if (held.steps, held.status, held.reason) == (ordered, status, reason):
            return None
        if not revise:
            raise Conflict(f'the obligation "{obligation}" is mapped otherwise already')
    return ObligationMapping.objects.create(
        trace=trace,
        specification=specification,
        obligation=obligation,
        steps=ordered,
        status=status,
        reason=reason,
        author=author,
        source=source[:200],
        revision=held.revision + 1 if held else 1,
        supersedes=held,
    )


def map_obligation(
    *, trace: Trace, obligation: str, steps: Sequence[int], status: str, reason: str, author: User
) -> ObligationMapping | None:
    """Record by hand which steps discharge an obligation and how it stands; a change supersedes."""
    with transaction.atomic():
        mapping = put_mapping(
            trace=trace,
            obligation=obligation,
            steps=steps,
            status=status,
            reason=reason,
            author=author,
            source="page",
            revise=True,
        )
        if mapping is not None:
            audit.record(
                scope=trace.study.slug,
                actor=author,
                action="obligation mapped",
                subject=f"trace {trace.token}",
                payload={
                    "obligation": obligation, "steps": mapping.steps, "status": status,
                    "revision": mapping.revision,
                },
            )  # fmt: skip
    return mapping
