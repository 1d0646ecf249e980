"""What the demo does not have, for `make pictures`: an open dispute, a debate, experts, a key audit, a pilot.

`build()` runs in the scratch home of the pictures, after the demo, and returns the names that the paths need.
"""

from __future__ import annotations

from adjudication.models import Dispute
from adjudication.services.blindness import reveal_sources
from adjudication.services.disputes import recompute_disputes
from adjudication.services.patches import Change, patch_standard
from annotation.models import DebateRound, Label, PilotJudgement, Role, Study, Trace
from annotation.services.invitations import invite
from annotation.services.labels import submit_label
from annotation.services.people import add_person
from core.models import User
from monitoring.report.services import compute_report
from tests.annotation.build import make_check_item
from tests.build import make_label, make_question, make_study, make_trace
from tests.verification.build import OBLIGATIONS, make_item, record_execution, specify
from tests.verification.test_answer_keys import RIGHT
from verification.comparators.sentences import read_rule
from verification.services.audits import audit_study
from verification.services.checks import run_checks
from verification.services.evidence import record_flags
from verification.services.specifications import map_obligation


def build() -> dict[str, str]:
    """Add a bit of everything to the demo's study and two small studies beside it; return what was made."""
    study = Study.objects.get(slug="sample")
    chloe, adam, olga = (User.objects.get(username=name) for name in ("chloe", "adam", "olga"))
    unread = Trace.objects.filter(study=study).exclude(labels__person=chloe)
    desk = unread.filter(n_steps__range=(8, 14)).order_by("question__external_id").first()
    # An open dispute: chloe reads a trace that everybody else called right and free of error otherwise.
    other = unread.filter(n_steps__gte=6, disputes__isnull=True).order_by("-question__external_id").first()
    assert desk is not None and other is not None
    item = _verified(other, adam)
    decided = Dispute.objects.filter(study=study, status="decided").order_by("pk").first()
    assert decided is not None
    _debated(decided, adam)
    submit_label(trace=other, person=chloe, final_correct=True, first_error_step=2, expected_revision=0)
    recompute_disputes(study=study)
    critical = Trace.objects.filter(
        standard_labels__standard__study=study, standard_labels__final_correct=True
    )
    coded = critical.filter(standard_labels__first_error_step__isnull=False).order_by("pk").first()
    assert coded is not None
    _patched(study, coded, olga)
    return {
        "TOKEN": desk.token,
        "DISPUTE": Dispute.objects.get(trace=other).token,
        "DEBATE": decided.token,
        "ITEM": item,
        "CHECKED": other.token,
        "CRITICAL": coded.token,
        "GATE": _training(chloe),
        "AUDITED": _audited(adam),
        "PILOT": _pilot(chloe, adam, olga),
        "INVITATION": _invited(study, olga),
    }


def _verified(trace: Trace, author: User) -> str:
    """Give a trace something in every layer and a place in the experts' queue; return the item's token."""
    specify(trace.question, obligations=OBLIGATIONS, limits={"max_calls": 1}, assumptions=["No losses."])
    record_execution(trace, calls=[{"tool": "python", "arguments": "123.3/20.8"}] * 2, attempts=1)
    flags = [{"kind": "gap", "concern": "Why may $C_V$ be taken as constant over this range?", "step": 2}]
    record_flags(trace=trace, flags=flags, raised_by="judge/v1")
    for name, steps, status in (
        ("forces", [1], "valid"),
        ("balance", [2], "failed"),
        ("answer", [3], "valid"),
    ):
        reason = "The sign of the second term." if status == "failed" else ""
        map_obligation(trace=trace, obligation=name, steps=steps, status=status, reason=reason, author=author)
    run_checks(traces=[trace])
    return make_item(trace).token


def _debated(dispute: Dispute, lead: User) -> None:
    verdict = {"is_correct": 1, "error_step": 2}
    said = {
        "R1": {**verdict, "notes": "Step 2 uses $pV = nRT$ where the pressure is not uniform."},
        "R2": {
            "is_correct": 1,
            "error_step": None,
            "attack": "Only the end states enter, and both are uniform.",
        },
        "R3": {**verdict, "reply": "The work is an integral over the path, so the way between them matters."},
        "blind": verdict,
        "consensus": {**verdict, "final_rationale": "Step 2 asserts what holds in equilibrium only."},
    }
    DebateRound.objects.bulk_create(
        DebateRound(
            trace=dispute.trace, name=name, model=f"debater-{2 - number % 2}", said=words, source="scene"
        )
        for number, (name, words) in enumerate(said.items())
    )
    reveal_sources(dispute=dispute, lead=lead, guess="human")


def _patched(study: Study, trace: Trace, actor: User) -> None:
    """Make a second version of the standard, one label away from the first."""
    step = 1 if trace.standard_labels.get().first_error_step != 1 else 2
    change = Change(trace.question.external_id, trace.response_label, {"first_error_step": step})
    patch_standard(study=study, from_version=1, changes=[change], reason="On a second reading.", actor=actor)
    compute_report(study=study, standard=study.standards.get(version=2), actor=actor)


def _training(chloe: User) -> str:
    study = make_study(slug="training", name="A study with a gate")
    add_person(username=chloe.username, study=study, roles=[Role.ANNOTATOR])
    make_check_item(study, "worked", explanation="The sign of the work is lost in step 2.")
    return make_check_item(study, "gate").trace.token


def _audited(adam: User) -> str:
    study = make_study(slug="blocks", name="Stacked blocks")
    add_person(username=adam.username, study=study, roles=[Role.LEAD])
    for place, (key, answer) in enumerate(RIGHT.items()):
        question = make_question(study, answer=key, subject="blocks", external_id=f"block-{place}")
        make_trace(question, steps=[answer])
    rule = read_rule("stacked-blocks")
    audit_study(study=study, title="Stacked blocks", rule=rule, domain="blocks", actor=adam, resamples=200)
    return "1"


def _invited(study: Study, actor: User) -> str:
    return invite(study=study, roles=[Role.ANNOTATOR], name="Dora Diaz", actor=actor).key


def _pilot(chloe: User, adam: User, olga: User) -> str:
    study = make_study(slug="pilot", name="Optics pilot", kind="pilot")
    for person, role in ((chloe, Role.ANNOTATOR), (adam, Role.LEAD), (olga, Role.ADMINISTRATOR)):
        add_person(username=person.username, study=study, roles=[role])
    traces = [make_trace(make_question(study), n_steps=9) for _ in range(4)]
    said = {
        "ana": [(True, None), (False, 3), (False, 5), (True, None)],
        "ben": [(True, None), (False, 3), (False, 6), (True, 2)],
        "chloe": [(True, None), (True, 3), (False, 9), (True, None)],
    }
    for name, judgements in said.items():
        for trace, (right, step) in zip(traces, judgements, strict=True):
            label: Label = make_label(trace, labeller=name, final_correct=right, first_error_step=step)
            kind = "numerical" if step else ""
            PilotJudgement.objects.create(label=label, coherence="coherent", error_type=kind)
    return study.slug
