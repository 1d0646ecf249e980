"""Reads of studies, queues and labels; nothing here writes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import (
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.models import (
    Assignment,
    CheckItem,
    Draft,
    GuidelineVersion,
    KeyReport,
    Label,
    Membership,
    Pause,
    PersonProgress,
    Question,
    ReferenceAnswer,
    Reservation,
    Role,
    Skip,
    Study,
    StudyProgress,
    Trace,
    TraceProgress,
)
from core import statements
from core.models import User


def studies_of(person: User) -> list[tuple[Study, frozenset[str]]]:
    """Return the person's studies with their roles in each, newest study first; one query."""
    roles: dict[int, set[str]] = {}
    studies: dict[int, Study] = {}
    rows = Membership.objects.filter(person=person).select_related("study")
    for row in rows.order_by("-study__created_at", "pk"):
        studies[row.study_id] = row.study
        roles.setdefault(row.study_id, set()).add(row.role)
    return [(study, frozenset(roles[key])) for key, study in studies.items()]


def labeller_name(person: User) -> str:
    """Return the name under which a person's labels stand in the human arm."""
    return person.username[:100]


def current_label(trace: Trace, person: User) -> Label | None:
    """Return the person's own label on a trace as it stands, None before the first."""
    return (
        Label.objects.filter(trace=trace, arm=Label.Arm.HUMAN, labeller=labeller_name(person))
        .order_by("-revision")
        .first()
    )


def reference_answer(question: Question) -> ReferenceAnswer | None:
    """Return the newest version of a question's reference answer."""
    return question.reference_answers.order_by("version").last()


def guideline_of(study: Study) -> GuidelineVersion | None:
    """Return the newest guideline of a study, None before the first is published."""
    return study.guideline_versions.order_by("version").last()


def guidelines_of(study: Study) -> QuerySet[GuidelineVersion]:
    """Return all versions of a study's guideline, in order."""
    return study.guideline_versions.order_by("version")


def draft_of(trace: Trace, person: User, *, based_on: int) -> Draft | None:
    """Return the person's draft, if it began from the label that stands."""
    draft = Draft.objects.filter(trace=trace, person=person).first()
    return draft if draft is not None and draft.content.get("based_on") == based_on else None


def key_report_of(trace: Trace, person: User, *, version: int) -> KeyReport | None:
    """Return the person's report on this version of the key."""
    return KeyReport.objects.filter(
        question_id=trace.question_id, reporter=person, reference_version=version
    ).first()


def readable_traces(study: Study) -> QuerySet[Trace]:
    """Return the traces that people label and that count: with text, of included questions, no check items."""
    return _with_text(study).filter(check_item__isnull=True)


def _with_text(study: Study) -> QuerySet[Trace]:
    return Trace.objects.filter(
        study=study, question__status=Question.Status.INCLUDED, n_steps__isnull=False
    ).exclude(cut=Trace.Cut.TEXT_FREE)


def _count(rows: QuerySet[Any]) -> Coalesce:
    counted = rows.order_by().values("trace").annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))


def _live(**conditions: Any) -> QuerySet[Reservation]:
    return Reservation.objects.filter(expires_at__gt=timezone.now(), **conditions)


def open_to(study: Study, person: User) -> QuerySet[Any]:
    """Return the progress rows of the traces that may be handed to the person now, without any order."""
    name, trace = labeller_name(person), OuterRef("trace")
    rows = TraceProgress.objects.filter(
        ~Exists(Label.objects.filter(trace=trace, arm=Label.Arm.HUMAN, labeller=name, revision=1)),
        ~Exists(Skip.objects.filter(trace=trace, person=person)),
        study=study,
        labels__lt=F("wanted"),
    )
    rows = rows.annotate(held=_count(_live(trace=trace).exclude(person=person)))
    rows = rows.filter(labels__lt=F("wanted") - F("held"))
    if study.sharing == Study.Sharing.TOGETHER:
        taken = Assignment.objects.filter(question=OuterRef("question"))
        people = taken.order_by().values("question").annotate(number=Count("pk")).values("number")
        rows = rows.filter(
            Exists(taken.filter(person=person))
            | Q(wanted__gt=Coalesce(Subquery(people, output_field=IntegerField()), Value(0)))
        )
    return rows


def hidden_items(study: Study, person: User) -> list[TraceProgress]:
    """Return the rows of the hidden check items that the person has neither judged nor skipped."""
    rows = TraceProgress.objects.filter(
        study=study,
        trace__check_item__kind=CheckItem.Kind.HIDDEN,
        trace__question__status=Question.Status.INCLUDED,
    )
    name, trace = labeller_name(person), OuterRef("trace")
    return list(
        rows.filter(
            ~Exists(Label.objects.filter(trace=trace, arm=Label.Arm.HUMAN, labeller=name, revision=1)),
            ~Exists(Skip.objects.filter(trace=trace, person=person)),
        )
    )


def open_traces(study: Study, person: User) -> QuerySet[Trace]:
    """Return the traces that may be handed to the person now."""
    return Trace.objects.filter(pk__in=open_to(study, person).values("trace"))


def held_by(study: Study, person: User) -> Trace | None:
    """Return the trace that the person holds and has not labelled, the oldest hold first."""
    return standing(study, person).held


@dataclass(frozen=True)
class Standing:
    """What decides on a person's next trace: their gate, a pause, what they hold, their place in the order."""

    may_read: bool
    paused: bool
    hidden_items: bool
    cursor: str
    until: str
    held: Trace | None


_HELD = statements.Columns(Trace, leave_out=("preamble", "steps"))
_STANDING = f"""
SELECT EXISTS (SELECT 1 FROM annotation_gateresult g
        WHERE g.study_id = s.id AND g.person_id = %(person)s AND g.passed)
    OR NOT EXISTS (SELECT 1 FROM annotation_checkitem c WHERE c.study_id = s.id AND c.kind = 'gate'),
    EXISTS (SELECT 1 FROM annotation_pause a WHERE a.study_id = s.id AND a.person_id = %(person)s),
    EXISTS (SELECT 1 FROM annotation_checkitem c WHERE c.study_id = s.id AND c.kind = 'hidden'),
    COALESCE(p.cursor, ''), COALESCE(p.until, ''), {_HELD.of("t")}
FROM annotation_study s
LEFT JOIN annotation_personprogress p ON p.study_id = s.id AND p.labeller = %(name)s
LEFT JOIN annotation_trace t ON t.id = (
    SELECT r.trace_id FROM annotation_reservation r
    JOIN annotation_trace h ON h.id = r.trace_id
    JOIN annotation_question q ON q.id = h.question_id
    WHERE r.person_id = %(person)s AND r.expires_at > %(now)s AND h.study_id = %(study)s AND q.status = 'included'
    AND NOT EXISTS (SELECT 1 FROM annotation_label l WHERE l.trace_id = r.trace_id AND l.arm = 'human'
        AND l.labeller = %(name)s AND l.revision = 1)
    ORDER BY r.created_at, r.id LIMIT 1)
WHERE s.id = %(study)s
"""  # noqa: S608 - our own columns


def standing(study: Study, person: User) -> Standing:
    """Return what decides on the person's next trace; one query."""
    values = {
        "study": study.pk,
        "person": person.pk,
        "name": labeller_name(person),
        "now": timezone.now(),
    }
    found = statements.row(_STANDING, values)
    if found is None:  # the study is gone
        return Standing(False, False, False, "", "", None)
    may_read, paused, hidden, cursor, until, *trace = found
    held = _HELD.build_or_none(trace)
    if held is not None:
        held.study = study
    return Standing(bool(may_read), bool(paused), bool(hidden), cursor, until, held)


def is_paused(study: Study, person: User) -> bool:
    """Whether an administrator has paused the person."""
    return Pause.objects.filter(study=study, person=person).exists()


@dataclass(frozen=True)
class Progress:
    """Counts of traces, of one person and of the study, from one query.

    `left`: open to the person now; `held_elsewhere`: would be open if nobody else held them; `free_at`: when the
    first of those holds ends; `last_guideline`: the version under which the person submitted last.
    """

    total: int
    complete: int
    labelled: int
    mine: int
    skipped: int
    left: int
    held_elsewhere: int
    free_at: datetime | None
    last_guideline: int | None = None

    @property
    def mine_total(self) -> int:
        """What the person has done and could do now."""
        return self.mine + self.left


# Plain SQL, since every page of the desk asks it: Django takes longer to compose it than a database to answer.
_PROGRESS = """
SELECT s.total, s.complete, s.labelled, COALESCE(p.mine, 0), COALESCE(p.passed, 0), (
    SELECT COUNT(*) FROM annotation_skip k JOIN annotation_traceprogress t ON t.trace_id = k.trace_id
    WHERE k.person_id = %(person)s AND t.study_id = %(study)s AND t.wanted > 0 AND NOT EXISTS (
        SELECT 1 FROM annotation_label l WHERE l.trace_id = k.trace_id AND l.arm = 'human'
        AND l.labeller = %(name)s AND l.revision = 1)
), h.held, h.free_at, (
    SELECT g.version FROM annotation_label l
    LEFT JOIN annotation_guidelineversion g ON g.id = l.guideline_id AND g.study_id = %(study)s
    WHERE l.labeller = %(name)s ORDER BY l.created_at DESC, l.id DESC LIMIT 1
)
FROM annotation_studyprogress s
LEFT JOIN annotation_personprogress p ON p.study_id = s.study_id AND p.labeller = %(name)s
CROSS JOIN (
    SELECT COUNT(DISTINCT r.trace_id) AS held, MIN(r.expires_at) AS free_at
    FROM annotation_reservation r JOIN annotation_traceprogress t ON t.trace_id = r.trace_id
    WHERE t.study_id = %(study)s AND t.labels < t.wanted AND r.person_id <> %(person)s
    AND r.expires_at > %(now)s AND t.wanted <= t.labels + (
        SELECT COUNT(*) FROM annotation_reservation o
        WHERE o.trace_id = r.trace_id AND o.person_id <> %(person)s AND o.expires_at > %(now)s)
    AND NOT EXISTS (
        SELECT 1 FROM annotation_label l WHERE l.trace_id = r.trace_id AND l.arm = 'human'
        AND l.labeller = %(name)s AND l.revision = 1)
    AND NOT EXISTS (
        SELECT 1 FROM annotation_skip k WHERE k.trace_id = r.trace_id AND k.person_id = %(person)s)
) h
WHERE s.study_id = %(study)s
"""


def progress(study: Study, person: User) -> Progress:
    """Return the person's and the study's progress; one query, and one more where questions are kept together."""
    return _progress(study, person, statements.rows(*_progress_asked(study, person)))


def _progress_asked(study: Study, person: User) -> tuple[str, dict[str, Any]]:
    values = {
        "study": study.pk,
        "person": person.pk,
        "name": labeller_name(person),
        "now": timezone.now(),
    }
    return _PROGRESS, values


def _progress(study: Study, person: User, rows: list[tuple[Any, ...]]) -> Progress:
    if not rows:
        return Progress(0, 0, 0, 0, 0, 0, 0, None)
    total, complete, labelled, mine, passed, skipped, held, free_at, guideline = rows[0]
    left = total - complete - passed - held
    if study.sharing == Study.Sharing.TOGETHER:
        left = open_to(study, person).count()
    free_at = statements.instant(free_at)
    return Progress(total, complete, labelled, mine, skipped, left, held, free_at, guideline)


def labels_of(study: Study, person: User) -> QuerySet[Label]:
    """Return the person's own labels as they stand, newest first, with their traces and questions."""
    return (
        Label.objects.filter(
            trace__study=study,
            arm=Label.Arm.HUMAN,
            labeller=labeller_name(person),
        )
        # An anti-join that keeps the order of the index on a person's labels; an outer join would read them all.
        .filter(~Exists(Label.objects.filter(supersedes=OuterRef("pk"))))
        .select_related("trace__question")
        .defer("trace__steps", "trace__preamble")
        .order_by("-created_at", "-pk")
    )


def labels_after(study: Study, person: User, token: str, *, limit: int) -> list[Label]:
    """Return the person's labels that follow the one on a trace in `labels_of`; from the newest for no such label."""
    rows = labels_of(study, person)
    last = rows.filter(trace__token=token).values_list("created_at", "pk").first() if token else None
    if last is not None:
        at, key = last
        rows = rows.filter(created_at__lte=at).exclude(created_at=at, pk__gte=key)
    return list(rows[:limit])


def drafts_of(study: Study, person: User) -> QuerySet[Draft]:
    """Return the person's drafts in a study, newest first."""
    return (
        Draft.objects.filter(trace__study=study, person=person)
        .select_related("trace__question")
        .defer("trace__steps", "trace__preamble")
        .order_by("-saved_at")
    )


@dataclass(frozen=True)
class OnTheDesk:
    """What stands beside a trace on its page, for one person."""

    label: Label | None
    draft: Draft | None
    answer: ReferenceAnswer | None
    key_report: KeyReport | None
    guideline: GuidelineVersion | None
    tokens: list[str]
    progress: Progress


_LABEL = statements.Columns(Label)
_DRAFT = statements.Columns(Draft)
_ANSWER = statements.Columns(ReferenceAnswer)
_REPORT = statements.Columns(KeyReport)
_GUIDELINE = statements.Columns(GuidelineVersion)
_PARTS: tuple[statements.Columns[Any], ...] = (_LABEL, _DRAFT, _ANSWER, _REPORT, _GUIDELINE)
_DESK = f"""
SELECT {_LABEL.of("l")}, {_DRAFT.of("d")}, {_ANSWER.of("a")}, {_REPORT.of("k")}, {_GUIDELINE.of("g")}
FROM annotation_trace t
LEFT JOIN annotation_label l ON l.id = (
    SELECT n.id FROM annotation_label n WHERE n.trace_id = %(trace)s AND n.arm = 'human' AND n.labeller = %(name)s
    ORDER BY n.revision DESC LIMIT 1)
LEFT JOIN annotation_draft d ON d.trace_id = t.id AND d.person_id = %(person)s
LEFT JOIN annotation_referenceanswer a ON a.id = (
    SELECT n.id FROM annotation_referenceanswer n WHERE n.question_id = %(question)s
    ORDER BY n.version DESC LIMIT 1)
LEFT JOIN annotation_keyreport k ON k.question_id = t.question_id AND k.reporter_id = %(person)s
    AND k.reference_version = a.version
LEFT JOIN annotation_guidelineversion g ON g.id = (
    SELECT n.id FROM annotation_guidelineversion n WHERE n.study_id = %(study)s ORDER BY n.version DESC LIMIT 1)
WHERE t.id = %(trace)s
"""  # noqa: S608 - our own columns


def on_the_desk(trace: Trace, person: User) -> OnTheDesk:
    """Return the person's label and draft, the key in force and their report on it, the guideline; three queries.

    With them the tokens of all traces of the question, and the person's progress.
    """
    values = {
        "trace": trace.pk,
        "question": trace.question_id,
        "study": trace.study_id,
        "person": person.pk,
        "name": labeller_name(person),
    }
    beside, tokens, counts = statements.together(
        (_DESK, values),
        (_TOKENS, {"question": trace.question_id}),
        _progress_asked(trace.study, person),
    )
    found = list(beside[0]) if beside else [None] * sum(map(len, _PARTS))
    parts: list[Any] = []
    for columns in _PARTS:
        parts.append(columns.build_or_none(found[: len(columns)]))
        found = found[len(columns) :]
    label, draft, answer, report, guideline = parts
    return OnTheDesk(
        label=label,
        draft=draft,
        answer=answer,
        key_report=report,
        guideline=guideline,
        tokens=[token for _, token in tokens],
        progress=_progress(trace.study, person, counts),
    )


_TOKENS = "SELECT question_id, token FROM annotation_trace WHERE question_id = %(question)s"


def tokens_by_question(question_ids: set[int]) -> dict[int, list[str]]:
    """Return the tokens of all traces of these questions; one query."""
    found: dict[int, list[str]] = {}
    if len(question_ids) == 1:
        (only,) = question_ids
        rows: Any = statements.rows(_TOKENS, {"question": only})
    else:
        rows = Trace.objects.filter(question_id__in=question_ids).values_list("question_id", "token")
    for question_id, token in rows:
        found.setdefault(question_id, []).append(token)
    return found


def question_keys(study: Study) -> QuerySet[Any]:
    """Return the keys of the study's questions in order: cheap to count and to page through."""
    return Question.objects.filter(study=study).order_by("pk").values_list("pk", flat=True)


def questions_of(study: Study) -> QuerySet[Any]:
    """Return the study's questions with `trace_count`, `report_count` and the newest `answer`."""
    newest = ReferenceAnswer.objects.filter(question=OuterRef("pk")).order_by("-version")
    return (
        Question.objects.filter(study=study)
        .annotate(
            trace_count=Count("traces", distinct=True),
            report_count=Count("key_reports", distinct=True),
            answer=Subquery(newest.values("text")[:1]),
            answer_version=Subquery(newest.values("version")[:1]),
        )
        .order_by("pk")
    )


def key_reports(study: Study) -> QuerySet[KeyReport]:
    """Return all reports on keys; who may read which is said by `annotation.arm`."""
    return KeyReport.objects.filter(question__study=study).select_related("question", "reporter")


def size(study: Study) -> dict[str, int]:
    """Return the numbers of questions (included, excluded); one query."""
    included = Q(status=Question.Status.INCLUDED)
    return Question.objects.filter(study=study).aggregate(
        included=Count("pk", filter=included), excluded=Count("pk", filter=~included)
    )


def trace_size(study: Study) -> dict[str, int]:
    """Return the numbers of traces of included questions: all, those with a text, those that people labelled."""
    row = StudyProgress.objects.filter(study=study).first()
    names = ("included", "readable", "human")
    return {name: getattr(row, name, 0) for name in names}


def debate_size(study: Study) -> int:
    """Return the number of traces of included questions with a label of the debate; one query."""
    labels = Label.objects.filter(trace=OuterRef("trace"), arm=Label.Arm.DEBATE, revision=1)
    return TraceProgress.objects.filter(Exists(labels), study=study, included=True).count()


def arm_size(study: Study, arm: str) -> int:
    """Return the number of traces of included questions with a label of an arm; one query."""
    return trace_size(study)["human"] if arm == Label.Arm.HUMAN else debate_size(study)


def unanswered_key_reports(study: Study) -> int:
    """Return the number of questions whose newest key is reported as wrong; one query."""
    newer = ReferenceAnswer.objects.filter(
        question=OuterRef("question"), version__gt=OuterRef("reference_version")
    )
    return (
        KeyReport.objects.filter(~Exists(newer), question__study=study).values("question").distinct().count()
    )


@dataclass(frozen=True)
class Annotator:
    """One annotator as an administrator sees them: counts and holds, no judgement."""

    person: User
    mine: int
    paused: Pause | None
    holds: list[Reservation]


def annotator_named(study: Study, username: str) -> User | None:
    """Return an annotator of the study by user name."""
    return User.objects.filter(
        memberships__study=study, memberships__role=Role.ANNOTATOR, username=username
    ).first()


def annotators(study: Study) -> list[Annotator]:
    """Return the study's annotators with what they hold now; four queries."""
    people = User.objects.filter(memberships__study=study, memberships__role=Role.ANNOTATOR)
    mine = dict(PersonProgress.objects.filter(study=study).values_list("labeller", "mine"))
    pauses = {pause.person_id: pause for pause in Pause.objects.filter(study=study)}
    holds: dict[int, list[Reservation]] = {}
    live = _live(trace__study=study).select_related("trace__question").order_by("expires_at", "pk")
    for hold in live.defer("trace__steps", "trace__preamble"):
        holds.setdefault(hold.person_id, []).append(hold)
    return [
        Annotator(person, mine.get(labeller_name(person), 0), pauses.get(person.pk), holds.get(person.pk, []))
        for person in people.order_by("username")
    ]


def prioritised(study: Study) -> list[dict[str, Any]]:
    """Return the open questions that are handed out first: name, priority and traces still open, the first 100."""
    rows = TraceProgress.objects.filter(study=study, labels__lt=F("wanted"), priority__gt=0)
    named = rows.values("question__external_id", "priority").annotate(open=Count("pk"))
    return [dict(row) for row in named.order_by("-priority", "question__external_id")[:100]]


def members_of(study: Study) -> list[tuple[User, list[str]]]:
    """Return (person, roles) of everybody in a study, by name."""
    found: dict[User, list[str]] = {}
    rows = (
        Membership.objects.filter(study=study).select_related("person").order_by("person__username", "role")
    )
    for row in rows:
        found.setdefault(row.person, []).append(row.role)
    return list(found.items())
