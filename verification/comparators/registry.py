"""Comparators from their description as data, as rules of questions and audits store it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from verification.certificates.transformation import BadTransformation, Transformation
from verification.comparators.collections import OrderedList, UnorderedSet
from verification.comparators.outcome import BadComparator, Comparator
from verification.comparators.quantities import NumberWithUnit
from verification.comparators.sentences import SentenceRule, read_rule
from verification.comparators.symbolic import Cas, SymbolicEquality
from verification.comparators.text import ExactText

KINDS = ("text", "number", "formula", "list", "set", "sentence")
_FIELDS = {
    "text": {"ignore_case"},
    "number": {"relative", "absolute", "unit", "transformation"},
    "formula": {"positive"},
    "list": {"items"},
    "set": {"items"},
    "sentence": {"rule"},
}


def comparator_of(spec: Mapping[str, Any], *, cas: Cas | None = None) -> Comparator:
    """Return the comparator that a description names; BadComparator says what is wrong with it.

    {"kind": "text", "ignore_case": true}; {"kind": "number", "relative": "0.01", "unit": "optional"};
    {"kind": "formula", "positive": true}; {"kind": "list" or "set", "items": {...}};
    {"kind": "sentence", "rule": {...} or a name}.
    """
    if not isinstance(spec, Mapping):
        raise BadComparator("a comparator is described by an object")
    kind = spec.get("kind")
    if kind not in KINDS:
        raise BadComparator(f'"kind" must be one of {", ".join(KINDS)}, not {kind!r}')
    strange = set(spec) - _FIELDS[str(kind)] - {"kind"}
    if strange:
        raise BadComparator(f'a comparator of kind "{kind}" has no "{min(strange)}"')
    if kind == "text":
        return ExactText(ignore_case=bool(spec.get("ignore_case", False)))
    if kind == "number":
        return NumberWithUnit(
            _tolerance(spec, "relative"),
            _tolerance(spec, "absolute"),
            str(spec.get("unit", "required")),
            _transformation(spec.get("transformation")),
        )
    if kind == "formula":
        return SymbolicEquality(cas, positive=bool(spec.get("positive", False)))
    if kind == "sentence":
        return SentenceRule(read_rule(spec.get("rule")))
    items = comparator_of(spec.get("items", {"kind": "text"}), cas=cas)
    return OrderedList(items) if kind == "list" else UnorderedSet(items)


def _transformation(data: Any) -> Transformation | None:
    if data is None:
        return None
    if not isinstance(data, Mapping) or not {"a"} <= set(data) <= {"a", "b", "eps"}:
        raise BadComparator('"transformation" is an object with "a" and perhaps "b" and "eps"')
    try:
        return Transformation(*(_tolerance(data, name) for name in ("a", "b", "eps")))
    except BadTransformation as error:
        raise BadComparator(f'"transformation": {error}') from error


def _tolerance(spec: Mapping[str, Any], name: str) -> Fraction:
    value = spec.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadComparator(f'"{name}" must be a number such as "0.01"')
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError) as error:
        raise BadComparator(f'"{name}" must be a number such as "0.01", not {value!r}') from error
