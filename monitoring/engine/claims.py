"""Claiming: calls go from pending to running with a lease, their attempts and their money written with it."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from llm.types import ChatRequest
from monitoring import offline
from monitoring.engine import certificates, materials, money, pacing, priors
from monitoring.engine.bulk import insert_rows
from monitoring.engine.limits import limits
from monitoring.engine.locking import locked
from monitoring.engine.options import PROVIDER_BATCHES
from monitoring.engine.pausing import pause_locked
from monitoring.engine.priors import Prior
from monitoring.models import Attempt, Batch, Call, Monitor, Pace, Run
from monitoring.prompts import PromptError
from monitoring.prompts import load as load_prompt

log = logging.getLogger(__name__)

SPENT_UP = "budget"


@dataclass(frozen=True)
class Work:
    """A claimed call, ready to leave: a request for a model, or a case for an offline monitor."""

    call_id: int
    attempt_id: int
    number: int
    run_id: int
    monitor_id: int
    trace_id: int
    n_steps: int | None
    generator: str
    reserved: Decimal
    started_at: datetime
    step: int | None = None
    prior: Prior | None = None
    request: ChatRequest | None = None
    case: offline.Case | None = None


@dataclass(frozen=True)
class Claimed:
    """What a claim brought; `open` is false when the batch takes no more work, as when paused."""

    work: list[Work] = field(default_factory=list)
    open: bool = True


@dataclass(frozen=True)
class _Draft:
    """A call about to be claimed, with what it will send and at most cost."""

    call: Call
    run: Run
    material: materials.Material
    shown: materials.Shown
    request: ChatRequest | None
    case: offline.Case | None
    reserve: Decimal


def claim(
    *, batch_id: int, owner: str, room: int, run_id: int | None = None, lease: float | None = None
) -> Claimed:
    """Claim at most `room` calls of a batch for `owner`, shared out over its monitors.

    Runs that go through a provider's batch API are left out; with `run_id` such a run alone is claimed from,
    whatever the pace of its monitor, for `lease` seconds.

    One transaction: a call claimed is leased, its attempt row written and its upper cost reserved, or
    nothing is. Two claimers never get the same call: each moves only rows that are still pending. A batch
    that cannot pay for its next call is paused with the reason "budget".
    """
    now = timezone.now()
    with transaction.atomic():
        batch = locked(batch_id)
        if batch.status != Batch.Status.RUNNING:
            return Claimed(open=False)
        calls = _due(batch, room=room, now=now, run_id=run_id)
        if not calls:
            return Claimed()
        try:
            drafts = _drafts(batch, calls)
        except PromptError as error:
            pause_locked(batch, reason=f"a prompt cannot be filled: {error}")
            return Claimed(open=False)
        affordable = _affordable(batch, drafts)
        if not affordable:
            if batch.reserved > 0:  # what is in flight may come cheaper than reserved
                return Claimed()
            next_cost = f"{drafts[0].reserve.normalize():f}"
            pause_locked(batch, reason=f"{SPENT_UP}: the next call may cost {next_cost} USD")
            return Claimed(open=False)
        return Claimed(work=_lease(batch, affordable, owner=owner, now=now, seconds=lease or limits().lease))


def renew(*, owner: str, call_ids: Iterable[int]) -> None:
    """Put off the end of the leases of these calls, where `owner` still holds them.

    The ids are named, so that a lease nobody works on runs out even while its owner lives.
    """
    until = timezone.now() + timedelta(seconds=limits().lease)
    held = Call.objects.filter(pk__in=list(call_ids), lease_owner=owner, status=Call.Status.RUNNING)
    held.update(lease_until=until)


def next_due(batch_id: int) -> datetime | None:
    """Return when the next call of a running batch may be claimed (now, or a retry's time); None if never."""
    pending = Call.objects.filter(
        run__batch_id=batch_id, run__batch__status=Batch.Status.RUNNING, status=Call.Status.PENDING
    ).exclude(run__settings__via=PROVIDER_BATCHES)
    if pending.filter(not_before__isnull=True).exists():
        return timezone.now()
    first = pending.order_by("not_before").values_list("not_before", flat=True).first()
    return first


def _due(batch: Batch, *, room: int, now: datetime, run_id: int | None) -> list[Call]:
    """Lock and return due calls: each monitor gets an even share of the room, and no more than its pace."""
    if run_id is not None:
        return _pending(list(Run.objects.filter(pk=run_id, batch=batch)), limit=room, now=now)
    runs: dict[int, list[Run]] = defaultdict(list)
    for run in Run.objects.filter(batch=batch, status=Run.Status.RUNNING).order_by("pk"):
        if run.settings.get("via") != PROVIDER_BATCHES:
            runs[run.monitor_id].append(run)
    paces = list(
        Pace.objects.select_for_update(of=("self",))
        .select_related("monitor")
        .filter(monitor_id__in=runs)
        .order_by("monitor_id")
    )
    places = {pace.monitor_id: _places(pace, now) for pace in paces}
    found: list[Call] = []
    # Those with the fewest places first: what they leave of their share goes to the others.
    for left, monitor_id in enumerate(sorted(places, key=places.__getitem__)):
        share = -(-(room - len(found)) // (len(places) - left))
        found += _pending(runs[monitor_id], limit=min(share, places[monitor_id]), now=now)
    return found


def _places(pace: Pace, now: datetime) -> int:
    """Return how many more requests of a monitor may leave now, over all workers."""
    limit = pacing.limit_of(pace)
    if now.timestamp() < limit.not_before:
        return 0
    in_flight = Call.objects.filter(run__monitor=pace.monitor, status=Call.Status.RUNNING).count()
    return max(0, limit.allowed - in_flight)


def _pending(runs: list[Run], *, limit: int, now: datetime) -> list[Call]:
    found: list[Call] = []
    for run in runs:
        if len(found) >= limit:
            break
        found += (
            Call.objects.select_for_update(skip_locked=True, of=("self",))
            .filter(run=run, status=Call.Status.PENDING)
            .filter(Q(not_before__isnull=True) | Q(not_before__lte=now))
            .order_by("run_id", "pk")[: limit - len(found)]
        )
    return found


def _drafts(batch: Batch, calls: list[Call]) -> list[_Draft]:
    runs = Run.objects.in_bulk({call.run_id for call in calls})
    needs = {
        run.pk: materials.needs_of(run.settings["provider"], run.condition, run.settings["options"])
        for run in runs.values()
    }
    labels = materials.labels_of(batch.standard, {call.trace_id for call in calls})
    loaded = {
        material.trace.pk: material
        for material in materials.load(
            labels, answers=any(need.answer for need in needs.values()), before=batch.created_at
        )
    }
    stored = _stored(batch, runs, needs, calls)
    known = {
        run.pk: priors.load(run.prior_run_id, [call.trace_id for call in calls if call.run_id == run.pk])
        for run in runs.values()
        if run.prior_run_id is not None
    }
    answers = certificates.texts({call.certificate_source_id for call in calls})
    drafts = []
    for call in calls:
        run, material = runs[call.run_id], loaded[call.trace_id]
        need = needs[run.pk]
        shown = materials.Shown(
            step=call.step,
            certificate=answers.get(call.certificate_source_id or 0),
            prior=known.get(run.pk, {}).get(call.trace_id),
        )
        request = case = None
        if need.prompt:
            _refuse_changed_prompt(run)
            request = materials.request_for(
                material,
                condition=run.condition,
                version=run.prompt_version,
                settings=run.settings,
                key=_key(call, run, material),
                shown=shown,
            )
        else:
            case = materials.case_for(material, need, stored[run.pk].get(call.trace_id), step=call.step)
        reserve = money.upper_bound(request, run.settings) if request else Decimal(0)
        drafts.append(_Draft(call, run, material, shown, request, case, reserve))
    return drafts


def _key(call: Call, run: Run, material: materials.Material) -> str:
    """Return the key of a request: the call's, or, for a script, the trace's with condition and step."""
    if run.settings["provider"] != Monitor.Provider.SCRIPTED:
        return str(call.pk)
    step = "" if call.step is None else f"|{call.step}"
    return f"{material.key}|{run.condition}{step}"


def _stored(
    batch: Batch, runs: Mapping[int, Run], needs: Mapping[int, materials.Needs], calls: list[Call]
) -> dict[int, dict[int, offline.Stored]]:
    stored: dict[int, dict[int, offline.Stored]] = defaultdict(dict)
    for run in runs.values():
        if needs[run.pk].stored:
            stored[run.pk] = materials.stored_for(
                materials.source_of(run.settings["options"], run.condition),
                study_id=batch.study_id,
                trace_ids=[call.trace_id for call in calls if call.run_id == run.pk],
                before=batch.created_at,
            )
    return stored


def _refuse_changed_prompt(run: Run) -> None:
    if load_prompt(run.condition, run.prompt_version).sha256 != run.prompt_sha256:
        raise PromptError(
            f"the files of {run.condition} {run.prompt_version} are not those that the run was launched with"
        )


def _affordable(batch: Batch, drafts: list[_Draft]) -> list[_Draft]:
    """Return the first drafts that the budget can pay for."""
    if batch.max_cost is None:
        return drafts
    left = batch.max_cost - batch.spent - batch.reserved
    chosen = []
    for draft in drafts:
        if draft.reserve > left:
            break
        left -= draft.reserve
        chosen.append(draft)
    return chosen


def _lease(batch: Batch, drafts: list[_Draft], *, owner: str, now: datetime, seconds: float) -> list[Work]:
    until = now + timedelta(seconds=seconds)
    won: list[_Draft] = []
    by_reserve: dict[Decimal, list[_Draft]] = defaultdict(list)
    for draft in drafts:
        by_reserve[draft.reserve].append(draft)
    for reserve, group in by_reserve.items():
        ids = [draft.call.pk for draft in group]
        moved = Call.objects.filter(pk__in=ids, status=Call.Status.PENDING).update(
            status=Call.Status.RUNNING,
            lease_owner=owner,
            lease_until=until,
            not_before=None,
            attempts_made=F("attempts_made") + 1,
            reserved=reserve,
        )
        if moved != len(group):
            raise RuntimeError("a locked pending call was claimed by somebody else")
        won += group
    total = sum((draft.reserve for draft in won), Decimal(0))
    if total:
        money.book(batch, reserve=total)
    attempts = [
        Attempt(
            call=draft.call,
            number=draft.call.attempts_made + 1,
            owner=owner,
            messages=_messages(draft.request),
            started_at=now,
        )
        for draft in won
    ]
    insert_rows(Attempt, attempts)
    return [
        Work(
            call_id=draft.call.pk,
            attempt_id=attempt.pk,
            number=attempt.number,
            run_id=draft.run.pk,
            monitor_id=draft.run.monitor_id,
            trace_id=draft.call.trace_id,
            n_steps=draft.material.trace.n_steps,
            generator=draft.material.trace.generator,
            reserved=draft.reserve,
            started_at=now,
            request=draft.request,
            case=draft.case,
            step=draft.shown.step,
            prior=draft.shown.prior,
        )
        for draft, attempt in zip(won, attempts, strict=True)
    ]


def _messages(request: ChatRequest | None) -> list[dict[str, str]]:
    if request is None:
        return []
    return [{"role": message.role, "content": message.content} for message in request.messages]
