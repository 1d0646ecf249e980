"""Recording what comes with a trace: execution records, certificates, and flags by models."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from annotation.models import Trace
from core import audit
from core.errors import Conflict, UserError
from core.models import User
from verification.certificates import BadProgramme, Certificate
from verification.certificates.programme import rationals
from verification.models import CertificateSubmission, ExecutionRecord, Flag
from verification.services.specifications import programme_of

MAX_CALLS = 10_000
CALL_FIELDS = {"tool", "environment", "arguments", "result", "step", "attempt", "seconds"}
FLAG_FIELDS = {"kind", "concern", "step", "call", "value", "raised_by"}


class BadEvidence(UserError):
    """Evidence that cannot be recorded; the text says what is wrong."""


def put_execution(*, trace: Trace, data: Mapping[str, Any], source: str) -> ExecutionRecord | None:
    """Write an execution record in the caller's transaction; None if the same is there, Conflict for another."""
    calls = data.get("calls", [])
    if not isinstance(calls, list) or len(calls) > MAX_CALLS:
        raise BadEvidence(f'"calls" must be a list of at most {MAX_CALLS} calls')
    for number, call in enumerate(calls, start=1):
        _check_call(call, number, trace.n_steps)
    attempts, seconds = data.get("attempts"), data.get("elapsed_seconds")
    if attempts is not None and not _is_count(attempts):
        raise BadEvidence('"attempts" must be a whole number from 0')
    if seconds is not None and not _is_duration(seconds):
        raise BadEvidence('"elapsed_seconds" must be a number that is not negative')
    seconds = None if seconds is None else float(seconds)
    held = ExecutionRecord.objects.filter(trace=trace).first()
    if held is not None:
        if (held.calls, held.attempts, held.elapsed_seconds) == (calls, attempts, seconds):
            return None
        raise Conflict("the trace has another execution record already; records are final")
    return ExecutionRecord.objects.create(
        trace=trace, calls=calls, attempts=attempts, elapsed_seconds=seconds, source=source[:200]
    )


def _check_call(call: Any, number: int, n_steps: int | None) -> None:
    if not isinstance(call, Mapping) or set(call) - CALL_FIELDS:
        raise BadEvidence(f"call {number} must be an object with the fields {', '.join(sorted(CALL_FIELDS))}")
    if not isinstance(call.get("tool"), str) or not call["tool"].strip():
        raise BadEvidence(f'call {number}: "tool" must be a text')
    if call.get("environment") is not None and not isinstance(call["environment"], str):
        raise BadEvidence(f'call {number}: "environment" must be a text')
    for name in ("step", "attempt"):
        if call.get(name) is not None and (not _is_count(call[name]) or call[name] < 1):
            raise BadEvidence(f'call {number}: "{name}" must be a whole number from 1')
    if call.get("step") and n_steps is not None and call["step"] > n_steps:
        raise BadEvidence(f'call {number}: "step" is {call["step"]}, past the end of the trace')
    if call.get("seconds") is not None and not _is_duration(call["seconds"]):
        raise BadEvidence(f'call {number}: "seconds" must be a number that is not negative')


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _is_duration(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and value >= 0 and math.isfinite(value)


def certificate_of(data: Any) -> Certificate:
    """Return the certificate of {"x", "value", "nu"?}; BadProgramme says what is wrong."""
    if not isinstance(data, Mapping) or not {"x", "value"} <= set(data) <= {"x", "value", "nu"}:
        raise BadProgramme('a certificate is an object with "x", "value" and perhaps "nu"')
    for name in ("x", "nu"):
        if data.get(name) is not None and not isinstance(data[name], list):
            raise BadProgramme(f'"{name}" must be a list')
    nu = data.get("nu")
    return Certificate(
        rationals(data["x"], "x"),
        rationals([data["value"]], "value")[0],
        None if nu is None else rationals(nu, "nu"),
    )


def put_certificate(*, trace: Trace, data: Mapping[str, Any], source: str) -> CertificateSubmission | None:
    """Write a submission in the caller's transaction, whether or not it proves anything; None if it is there."""
    programme, certificate = data.get("programme"), data.get("certificate")
    programme_of(programme)
    certificate_of(certificate)
    held = CertificateSubmission.objects.filter(trace=trace).first()
    if held is not None:
        if (held.programme, held.certificate) == (programme, certificate):
            return None
        raise Conflict("the trace has another certificate already; submissions are final")
    return CertificateSubmission.objects.create(
        trace=trace, programme=programme, certificate=certificate, source=source[:200]
    )


def put_flag(*, trace: Trace, data: Mapping[str, Any]) -> Flag | None:
    """Write a flag in the caller's transaction; None if the same was raised before."""
    if set(data) - FLAG_FIELDS:
        raise BadEvidence(f'a flag has no field "{min(set(data) - FLAG_FIELDS)}"')
    kind, concern, raised_by = data.get("kind"), data.get("concern"), data.get("raised_by")
    if kind not in Flag.Kind.values:
        raise BadEvidence(f'"{kind}" is no kind of flag; there are: {", ".join(Flag.Kind.values)}')
    if not isinstance(concern, str) or not concern.strip():
        raise BadEvidence("a flag states its concern")
    if not isinstance(raised_by, str) or not raised_by.strip() or len(raised_by) > 100:
        raise BadEvidence("a flag names the model that raised it, in at most 100 characters")
    step, call, value = data.get("step"), data.get("call"), data.get("value") or ""
    if [step is not None, call is not None, bool(value)].count(True) != 1:
        raise BadEvidence("a flag is tied to exactly one step, tool call or value")
    if step is not None and (not _is_count(step) or step < 1 or step > (trace.n_steps or step)):
        raise BadEvidence(f"the trace has no step {step}")
    if call is not None:
        record = ExecutionRecord.objects.filter(trace=trace).first()
        if not _is_count(call) or call < 1 or call > (len(record.calls) if record else 0):
            raise BadEvidence(f"the trace has no recorded tool call {call}")
    if value and (not isinstance(value, str) or len(value) > 500 or value not in trace.text):
        raise BadEvidence("the value does not stand in the trace as written")
    content = json.dumps([kind, concern.strip(), step, call, value, raised_by])
    flag, made = Flag.objects.get_or_create(
        trace=trace,
        fingerprint=hashlib.sha256(content.encode()).hexdigest(),
        defaults={
            "kind": kind,
            "concern": concern.strip(),
            "step": step,
            "call": call,
            "value": value,
            "raised_by": raised_by,
        },
    )
    return flag if made else None


def record_flags(
    *, trace: Trace, flags: Sequence[Mapping[str, Any]], raised_by: str, actor: User | None = None
) -> list[Flag]:
    """Record the flags that a model raised on a trace, all or none; returns those that are new.

    Each is {"kind", "concern", and one of "step", "call", "value"}. A flag directs review; it is no verdict
    and changes no status.
    """
    with transaction.atomic():
        found = [put_flag(trace=trace, data={**flag, "raised_by": raised_by}) for flag in flags]
        new = [flag for flag in found if flag is not None]
        if new:
            audit.record(
                scope=trace.study.slug,
                actor=actor,
                action="flags recorded",
                subject=f"trace {trace.token}",
                payload={"raised_by": raised_by, "flags": [flag.pk for flag in new]},
            )
    return new
