"""Set a study's rules of adjudication, and state that labels still expected will not come."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from adjudication import queries
from adjudication.models import Rules, StatedGap
from adjudication.services.disputes import recompute_disputes
from adjudication.services.locking import lock_study
from adjudication.services.rulings import required
from annotation.models import Study, Trace
from core import audit
from core.errors import Conflict, UserError
from core.models import User

LARGEST_SEED = 2**31 - 1


class InvalidRules(UserError):
    """Rules that do not hold together; `field` names the one to mend."""

    def __init__(self, message: str, *, field: str) -> None:
        self.field = field
        super().__init__(message)


@dataclass(frozen=True, kw_only=True)
class NewRules:
    """The rules as a lead or administrator sets them."""

    one_arm: str = Rules.OneArm.NONE
    sample_percent: int = 20
    sample_seed: int = 0
    debate_expected: str = Rules.Expected.AUTO
    arguments_open: bool = False
    own_labels: bool = False


@transaction.atomic
def set_rules(*, study: Study, new: NewRules, actor: User | None = None) -> Rules:
    """Set the rules and bring the open disputes up to date with them; decided ones stay. Raises InvalidRules."""
    if new.one_arm not in Rules.OneArm.values:
        raise InvalidRules(f'there is no rule "{new.one_arm}" for traces of one arm', field="one_arm")
    if new.debate_expected not in Rules.Expected.values:
        raise InvalidRules(
            f'"{new.debate_expected}" does not say when to expect the debate', field="debate_expected"
        )
    if not 1 <= new.sample_percent <= 100:
        raise InvalidRules("a sample is 1 to 100 percent", field="sample_percent")
    if not 0 <= new.sample_seed <= LARGEST_SEED:
        raise InvalidRules(f"a seed is 0 to {LARGEST_SEED}", field="sample_seed")
    study = lock_study(study.pk)
    before = queries.rules_of(study)
    values = vars(new)
    changed = {name: value for name, value in values.items() if getattr(before, name) != value}
    if before.pk is not None and not changed:
        return before
    rules, _ = Rules.objects.update_or_create(study=study, defaults=values)
    recompute_disputes(study=study, actor=actor)
    audit.record(
        scope=study.slug,
        actor=actor,
        action="adjudication rules set",
        subject=f"study {study.slug}",
        payload={"from": {name: getattr(before, name) for name in changed}, "to": changed},
    )
    return rules


@transaction.atomic
def state_gap(
    *, study: Study, reason: str, trace: Trace | None = None, actor: User | None = None
) -> StatedGap:
    """State that the labels still expected, of one trace or of the whole study, will not come.

    Disputes that waited for them can be decided from then on. The same word twice is no change. Raises
    InvalidDecision without a reason, Conflict when another reason was stated already.
    """
    reason = required(reason, "say why the labels will not come: the reason is kept", "reason", limit=500)
    study = lock_study(study.pk)
    standing = StatedGap.objects.filter(study=study, trace=trace).first()
    if standing is not None:
        if standing.reason == reason:
            return standing
        raise Conflict(f"this gap was stated already: {standing.reason}")
    gap = StatedGap.objects.create(study=study, trace=trace, reason=reason, stated_by=actor)
    recompute_disputes(study=study, actor=actor, question=trace.question if trace else None)
    audit.record(
        scope=study.slug,
        actor=actor,
        action="gap stated",
        subject=f"trace {trace.token}" if trace else f"study {study.slug}",
        payload={"reason": reason},
    )
    return gap
