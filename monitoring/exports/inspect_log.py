"""A run as a log of Inspect AI (.eval): a zip of JSON, written piece by piece and without that project's code."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from importlib import metadata
from typing import IO, Any

from django.utils import timezone

from adjudication.models import StandardLabel
from core.models import User
from monitoring import viewer
from monitoring.models import Attempt, Run, Verdict

VERSION = 2  # of the log format
STOPPED = {
    "stop": "stop", "end_turn": "stop", "stop_sequence": "stop",
    "length": "max_tokens", "max_tokens": "max_tokens",
    "content_filter": "content_filter", "refusal": "content_filter", "safety": "content_filter",
}  # fmt: skip


def export_run(*, run: Run, actor: User, file: IO[bytes]) -> int:
    """Write a run to an open file and return the number of its samples.

    A sample is a trace: the messages and the reply of the request that led to its verdict; every attempt is in the
    sample's metadata. Scores stand only where there is a verdict that is ok and a label that is ready: "detection"
    for all, "localisation" for traces with an error. Raises StillBlind as the run's download does, and is kept in
    the audit trail like it.
    """
    samples = viewer.told_run(run=run, actor=actor, action="run exported for Inspect")
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    summaries: list[dict[str, Any]] = []
    completed = 0
    with zipfile.ZipFile(file, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=6) as log:
        spec = _spec(run)
        _write(log, "_journal/start.json", {"version": VERSION, "eval": spec, "plan": {}})
        for sample in _samples(run, samples, usage):
            completed += "error" not in sample
            _write(log, f"samples/{sample['id']}_epoch_1.json", sample)
            summaries.append(_summary(sample))
        spec["dataset"]["samples"] = len(summaries)
        _write(log, "summaries.json", summaries)
        header = {
            "version": VERSION,
            "status": "success" if run.status == Run.Status.FINISHED else "cancelled",
            "eval": spec,
            "plan": {},
            "results": {"total_samples": len(summaries), "completed_samples": completed, "scores": []},
            "stats": {
                "started_at": _time(run.created_at),
                "completed_at": _time(run.finished_at or timezone.now()),
                "model_usage": {spec["model"]: usage},
            },
        }
        _write(log, "header.json", header)
    return len(summaries)


def _write(log: zipfile.ZipFile, name: str, content: Any) -> None:
    log.writestr(name, json.dumps(content, ensure_ascii=False, separators=(",", ":")))


def _spec(run: Run) -> dict[str, Any]:
    batch, settings = run.batch, run.settings
    config = {
        name: settings[name]
        for name in ("temperature", "max_tokens", "seed", "reasoning_effort")
        if settings.get(name) not in (None, "")
    }
    return {
        "created": _time(run.created_at),
        "task": f"{batch.study.slug}/{run.condition}",
        "task_id": f"{batch.token}-{run.pk}",
        "run_id": batch.token,
        "eval_id": f"{batch.token}-{run.pk}",
        "dataset": {"name": f"{batch.study.slug} standard {batch.standard.version}", "shuffled": False},
        "model": settings.get("model") or run.monitor.model or run.monitor.slug,
        "model_base_url": settings.get("base_url") or None,
        "model_generate_config": config,
        "config": {"epochs": 1},
        "packages": {"falsestep": metadata.version("falsestep") if _installed() else "source"},
        "metadata": {
            "study": batch.study.slug,
            "batch": batch.number,
            "monitor": run.monitor.slug,
            "condition": run.condition,
            "standard": batch.standard.version,
            "standard_sha256": batch.standard.sha256,
            "prompt_version": run.prompt_version,
            "prompt_sha256": run.prompt_sha256,
        },
    }


def _installed() -> bool:
    try:
        metadata.version("falsestep")
    except metadata.PackageNotFoundError:
        return False
    return True


def _samples(
    run: Run, told: Iterator[tuple[viewer.Row, list[Attempt]]], usage: dict[str, int]
) -> Iterator[dict[str, Any]]:
    for row, attempts in told:
        for attempt in attempts:
            usage["input_tokens"] += attempt.input_tokens or 0
            usage["output_tokens"] += attempt.output_tokens or 0
        usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
        yield _sample(run, row, attempts)


def _sample(run: Run, row: viewer.Row, attempts: list[Attempt]) -> dict[str, Any]:
    verdict, label = row.verdict, row.label
    # A run read anew points to no attempt: its reply is the last there was.
    last = next((one for one in attempts if one.pk == verdict.attempt_id), attempts[-1] if attempts else None)
    sent = [{"role": one["role"], "content": one["content"]} for one in last.messages] if last else []
    model = (last.served_model if last else "") or run.settings.get("model") or run.monitor.slug
    sample: dict[str, Any] = {
        "id": re.sub(
            r"[^\w. -]", "_", f"{verdict.trace.question.external_id} {verdict.trace.response_label}"
        ),
        "epoch": 1,
        "input": sent,
        "target": _target(label),
        "messages": sent,
        "output": {"model": model, "choices": []},
        "scores": _scores(verdict, label),
        "metadata": {
            "question_id": verdict.trace.question.external_id,
            "response_label": verdict.trace.response_label,
            "generator": verdict.trace.generator,
            "outcome": verdict.outcome,
            "has_error": verdict.has_error,
            "first_error_step": verdict.first_error_step,
            "error_confidence": verdict.error_confidence,
            "reason": verdict.reason,
            "parse_path": verdict.parse_path,
            "cell": label.cell if label else None,
            "attempts": [viewer.attempt_as_json(one) for one in attempts],
        },
    }
    if last and last.finished_at:
        sample["started_at"], sample["completed_at"] = _time(last.started_at), _time(last.finished_at)
    if last and not last.error_kind:
        reply = {"role": "assistant", "content": last.reply, "model": model, "source": "generate"}
        sample["messages"] = [*sent, reply]
        stop = STOPPED.get(last.finish_reason.lower(), "unknown")
        used = {"input_tokens": last.input_tokens or 0, "output_tokens": last.output_tokens or 0}
        used["total_tokens"] = used["input_tokens"] + used["output_tokens"]
        sample["output"] = {
            "model": model,
            "choices": [{"message": reply, "stop_reason": stop}],
            "completion": last.reply,
            "usage": used,
            "time": (last.latency_ms or 0) / 1000,
        }
        sample["model_usage"] = {model: used}
    if verdict.outcome == Verdict.Outcome.PROVIDER_ERROR:
        message = verdict.reason or "provider error"
        sample["error"] = {"message": message, "traceback": "", "traceback_ansi": ""}
    return sample


def _target(label: StandardLabel | None) -> str:
    if label is None or label.status != StandardLabel.Status.READY:
        return ""
    return "no error" if label.first_error_step is None else f"step {label.first_error_step}"


def _scores(verdict: Verdict, label: StandardLabel | None) -> dict[str, Any]:
    """Return what can be scored: C for right, I for wrong; nothing where there is no verdict or no label."""
    if label is None or label.status != StandardLabel.Status.READY or verdict.outcome != Verdict.Outcome.OK:
        return {}
    answer = f"step {verdict.first_error_step}" if verdict.has_error else "no error"
    told = {"answer": answer, "explanation": verdict.reason}
    flawed = label.first_error_step is not None
    scores = {"detection": {"value": "C" if bool(verdict.has_error) == flawed else "I", **told}}
    if flawed:
        exact = verdict.first_error_step == label.first_error_step
        scores["localisation"] = {"value": "C" if exact else "I", **told}
    return scores


def _summary(sample: dict[str, Any]) -> dict[str, Any]:
    """Return what a list of samples shows."""
    fields = ("id", "epoch", "target", "scores", "started_at", "completed_at", "model_usage")
    summary = {name: sample[name] for name in fields if name in sample}
    told = {name: value for name, value in sample["metadata"].items() if isinstance(value, (str, int, float))}
    short = {name: value[:200] if isinstance(value, str) else value for name, value in told.items()}
    first = sample["input"][-1]["content"][:200] if sample["input"] else ""
    error = {"error": sample["error"]["message"]} if "error" in sample else {}
    return {**summary, "input": first, "metadata": short, "completed": True, **error}


def _time(moment: Any) -> str:
    return str(moment.isoformat(timespec="seconds"))
