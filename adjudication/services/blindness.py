"""Opening arguments before a decision, and the sources after it; both are recorded."""

from __future__ import annotations

from django.db import transaction

from adjudication import sources
from adjudication.models import Decision, Dispute, Guess, OpenedArguments
from adjudication.queries import latest_decision, rules_of
from adjudication.services.locking import lock_study
from core import audit
from core.errors import Conflict, UserError
from core.models import User


class ArgumentsClosed(Conflict):
    """The arguments of a dispute stay closed; its text says why."""


class Unblinded(Conflict):
    """The lead knows a source of this dispute and cannot rule on it blind."""


class NotDecided(Conflict):
    """The sources of a dispute are shown to nobody before it is decided."""


class InvalidGuess(UserError):
    """A guess that names no arm."""


@transaction.atomic
def open_arguments(*, dispute: Dispute, lead: User) -> OpenedArguments:
    """Open the rewritten arguments of an open dispute to a lead, and record it. Safe to repeat.

    Raises ArgumentsClosed where the study does not allow it, the dispute cannot be decided now, or a proposal
    has no argument.
    """
    lock_study(dispute.study_id)
    dispute.refresh_from_db(fields=["status", "awaits_labels"])
    standing = OpenedArguments.objects.filter(dispute=dispute, person=lead).first()
    if standing is not None:
        return standing
    if not rules_of(dispute.study).arguments_open:
        raise ArgumentsClosed("this study keeps arguments closed")
    if dispute.status != Dispute.Status.OPEN or dispute.awaits_labels:
        raise ArgumentsClosed("arguments are opened on a dispute that can be decided now")
    if sources.arguments_on(dispute) is None:
        raise ArgumentsClosed("not every proposal has an argument: what is missing would tell them apart")
    opened = OpenedArguments.objects.create(dispute=dispute, person=lead)
    audit.record(
        scope=dispute.study.slug, actor=lead, action="arguments opened", subject=f"dispute {dispute.token}"
    )
    return opened


@transaction.atomic
def reveal_sources(*, dispute: Dispute, lead: User, guess: str = "") -> Guess:
    """Record what the lead takes proposal A for (blank: rather not guess), and show the sources from then on.

    From then on the lead can neither take the ruling back nor rule on the dispute again. The first guess
    stands. Raises NotDecided before a decision, InvalidGuess for another word.
    """
    if guess not in ("", *Guess.Source.values):
        raise InvalidGuess(f'a guess is human or debate, not "{guess}"')
    lock_study(dispute.study_id)
    decision = latest_decision(dispute)
    if decision is None or decision.choice == Decision.Choice.UNDO:
        raise NotDecided("who proposed what is shown to nobody before the decision")
    standing = Guess.objects.filter(decision=decision, person=lead).first()
    if standing is not None:
        return standing
    found = Guess.objects.create(decision=decision, person=lead, source=guess)
    audit.record(
        scope=dispute.study.slug,
        actor=lead,
        action="sources shown",
        subject=f"dispute {dispute.token}",
        payload={"revision": decision.revision, "guess": guess},
    )
    return found


def check_blind(*, dispute: Dispute, lead: User) -> None:
    """Raise Unblinded where the lead knows a source: from the reveal, or as its labeller."""
    if sources.shown_to(dispute, lead):
        raise Unblinded(
            "you have seen who proposed what here: another lead rules on it, or a patch corrects the standard"
        )
    if sources.is_own(dispute, lead) and not rules_of(dispute.study).own_labels:
        raise Unblinded("you labelled this solution yourself: another lead rules on it")
