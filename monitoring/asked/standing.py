"""How far a debate or a generation is: counts, money and failures, never what was said of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.db.models import Count, Q, Sum
from django.utils import timezone

from annotation.models import DebateRound, Question, Study, Trace
from monitoring.debate.arm import ROUND, debatable
from monitoring.models import Inquiry, Monitor

LATELY = timedelta(minutes=2)
ROUNDS = (ROUND.R1, ROUND.R2, ROUND.R3, ROUND.BLIND, ROUND.CONSENSUS)


@dataclass(frozen=True)
class Asked:
    """The requests to one model, and what they cost in USD."""

    model: str
    requests: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: Decimal


@dataclass(frozen=True)
class Standing:
    """Where the work stands; `rest` is what the remaining work comes to in USD at the cost so far, None if unknown."""

    done: int
    total: int
    parts: list[tuple[str, int]]
    models: list[Asked]
    cost: Decimal
    rest: Decimal | None
    under_way: int
    moving: bool
    failures: list[Inquiry]


def debate_standing(study: Study) -> Standing:
    """Return how far the debate of a study is."""
    rounds = dict(
        DebateRound.objects.filter(trace__study=study).values_list("name").annotate(n=Count("pk")).order_by()
    )
    total = debatable(study).count()
    done = debatable(study).filter(debate_rounds__name=ROUND.CONSENSUS).distinct().count()
    parts = [(name.label, rounds.get(name.value, 0)) for name in ROUNDS]
    return _standing(study, Inquiry.Kind.DEBATE, done=done, total=total, parts=parts)


def generation_standing(study: Study) -> Standing:
    """Return how many solutions the models asked so far have given, of one per included question and model."""
    questions = Question.objects.filter(study=study, status=Question.Status.INCLUDED).exclude(statement="")
    models = sorted(
        set(
            Inquiry.objects.filter(study=study, kind=Inquiry.Kind.GENERATION)
            .order_by()
            .values_list("model", flat=True)
            .distinct()
        )
    )
    made = dict(
        Trace.objects.filter(study=study, question__in=questions, generator__in=models)
        .order_by()
        .values_list("generator")
        .annotate(n=Count("question", distinct=True))
    )
    # Which model wrote how many is no secret; which of them wrote a given trace is, and is not told here.
    parts = [(model, made.get(model, 0)) for model in models]
    total = questions.count() * len(models)
    return _standing(study, Inquiry.Kind.GENERATION, done=sum(made.values()), total=total, parts=parts)


def _standing(
    study: Study, kind: Inquiry.Kind, *, done: int, total: int, parts: list[tuple[str, int]]
) -> Standing:
    asked = Inquiry.objects.filter(study=study, kind=kind)
    rows = (
        asked.order_by("model")
        .values_list("model")
        .annotate(
            requests=Count("pk"),
            failed=Count("pk", filter=~Q(error_kind="")),
            tokens_in=Sum("input_tokens"),
            tokens_out=Sum("output_tokens"),
            paid=Sum("cost"),
        )
    )
    models = [
        Asked(model, n, failed, tokens_in or 0, tokens_out or 0, cost or Decimal(0))
        for model, n, failed, tokens_in, tokens_out, cost in rows
    ]
    cost = sum((one.cost for one in models), Decimal(0))
    open_ones = asked.filter(finished_at__isnull=True).count()
    since = timezone.now() - LATELY
    lately = asked.filter(Q(started_at__gte=since) | Q(finished_at__gte=since)).exists()
    return Standing(
        done=done,
        total=total,
        parts=parts,
        models=models,
        cost=cost,
        rest=cost / done * (total - done) if done and cost else None,
        under_way=open_ones,
        moving=done < total and lately,
        failures=list(asked.exclude(error_kind="").order_by("-pk").only("model", "error_kind", "error")[:5]),
    )


def speakers(study: Study) -> list[Monitor]:
    """Return the models of a study that can be asked."""
    kinds = [*Monitor.ONLINE, Monitor.Provider.SCRIPTED]
    return list(Monitor.objects.filter(study=study, provider__in=kinds).order_by("slug"))
