"""Which traces a monitor had to do with otherwise: its family wrote them, judged them, or was asked about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np

from adjudication.models import Consultation, Decision, ReferenceStandard, StandardLabel
from annotation.models import Label, Study
from monitoring.engine.authorship import family
from monitoring.models import Verdict
from stats.panel import Bools, Ints, Reference

# The kinds, and how a trace is said to be of one.
KINDS = {
    "self_review": "written by the family",
    "consulted": "asked about",
    "judged_in_debate": "judged in the debate",
}


class SaidRun(Protocol):
    """What is asked of a run: whose it is."""

    @property
    def pk(self) -> int: ...
    @property
    def monitor(self) -> str: ...
    @property
    def family(self) -> str: ...


class SaidColumns(Protocol):
    """What is asked of the verdicts of a run: those that say whether they are on a trace of one's own."""

    @property
    def self_review(self) -> tuple[Ints, Ints]: ...


def family_of(name: str) -> str:
    """Return the family in a model's name, also in the form that file names have ("google_gemini-3")."""
    return family(name.partition("_")[2] if "_" in name and "/" not in name else name)


def debate_families(study: Study, place: Mapping[int, int]) -> dict[int, set[str]]:
    """Return the families of models that labelled in the debate, by position of the trace."""
    rows = Label.objects.filter(
        trace__study=study, arm=Label.Arm.DEBATE, superseded_by__isnull=True
    ).values_list("trace_id", "labeller")
    return _by_position(rows.iterator(), place)


def consulted_families(study: Study, place: Mapping[int, int]) -> dict[int, set[str]]:
    """Return the families of models that the lead asked for a standing decision, by position of the trace."""
    rows = (
        Consultation.objects.filter(decision__dispute__study=study, decision__superseded_by__isnull=True)
        .exclude(decision__choice=Decision.Choice.UNDO)
        .values_list("decision__dispute__trace_id", "who")
    )
    return _by_position(rows.iterator(), place)


def _by_position(rows: Iterable[tuple[int, str]], place: Mapping[int, int]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for trace_id, name in rows:
        position = place.get(trace_id)
        if position is not None and (member := family_of(name)):
            found.setdefault(position, set()).add(member)
    return found


def marks(
    reference: Reference,
    runs: Iterable[SaidRun],
    columns: Mapping[int, SaidColumns],
    families: Mapping[str, Mapping[int, set[str]]],
) -> dict[str, dict[str, Bools]]:
    """Return the traces (n_traces,) that a monitor had to do with, by kind and monitor.

    Self-review is what the verdicts say; where they do not say it is read off the names of the models.
    """
    runs = list(runs)
    out: dict[str, dict[str, Bools]] = {}
    families_of = {name: family_of(name) for name in set(reference.generators)}
    writers = np.array([families_of[name] for name in reference.generators], dtype=object)
    for run in runs:
        own = out.setdefault("self_review", {}).get(run.monitor)
        if own is None:
            own = np.asarray(writers == run.family, dtype=np.bool_) & bool(run.family)
        where, said = columns[run.pk].self_review
        own[where] = said == 1
        out["self_review"][run.monitor] = own
    for kind, by_position in families.items():
        for run in runs:
            inside = [position for position, names in by_position.items() if run.family in names]
            mask = np.zeros(reference.n_traces, dtype=np.bool_)
            mask[inside] = True
            out.setdefault(kind, {})[run.monitor] = mask
    return {kind: {name: mask for name, mask in found.items() if mask.any()} for kind, found in out.items()}


def involved(
    study: Study, standard: ReferenceStandard, kind: str, runs: Iterable[SaidRun]
) -> dict[str, set[int]]:
    """Return by monitor the ready traces (keys) that it had to do with; monitors without any are left out.

    The same traces as `marks` finds.
    """
    runs = list(runs)
    ready = standard.labels.filter(status=StandardLabel.Status.READY)
    writers = dict(ready.values_list("trace_id", "trace__generator"))
    found: dict[str, set[int]] = {}
    if kind == "self_review":
        said: dict[int, dict[int, bool]] = {}
        for number, trace, own in Verdict.objects.filter(
            run_id__in=[run.pk for run in runs], self_review__isnull=False
        ).values_list("run_id", "trace_id", "self_review"):
            said.setdefault(number, {})[trace] = bool(own)
        families = {name: family_of(name) for name in set(writers.values())}
        own_traces: dict[str, dict[int, bool]] = {}
        for run in runs:
            marked = own_traces.setdefault(
                run.monitor,
                {trace: bool(run.family) and families[name] == run.family for trace, name in writers.items()},
            )
            marked |= {trace: own for trace, own in said.get(run.pk, {}).items() if trace in writers}
        found = {name: {trace for trace, own in marked.items() if own} for name, marked in own_traces.items()}
    else:
        families_of = consulted_families if kind == "consulted" else debate_families
        by_trace = families_of(study, {trace: trace for trace in writers})
        for run in runs:
            found[run.monitor] = {trace for trace, names in by_trace.items() if run.family in names}
    return {name: traces for name, traces in found.items() if traces}
