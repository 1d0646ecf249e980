"""Reads of the labels that disputes are computed from, and of the rules and answers in force."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, QuerySet

from adjudication.models import Rules, StatedGap
from annotation.masking import letters
from annotation.models import Label, Question, ReferenceAnswer, Study, Trace
from core import statements
from core.models import User


@dataclass(frozen=True)
class Tally:
    """How the current labels of one trace stand, from one grouped query."""

    trace_id: int
    labels: int
    human: int
    debate: int
    right: int
    with_step: int
    lowest_step: int | None
    highest_step: int | None
    newest: datetime

    @property
    def kinds(self) -> tuple[bool, bool, bool]:
        """Whether the labels differ in the answer, in the presence of an error, in its step."""
        return (
            0 < self.right < self.labels,
            0 < self.with_step < self.labels,
            self.lowest_step != self.highest_step,
        )

    @property
    def differs(self) -> bool:
        return any(self.kinds)

    @property
    def one_arm(self) -> bool:
        """Whether only one arm has spoken."""
        return not (self.human and self.debate)

    @property
    def critical(self) -> bool:
        """Whether every label says: the answer is right, and there is an error."""
        return self.right == self.labels and self.with_step == self.labels


def current_labels(study: Study) -> QuerySet[Label]:
    """Return the labels that no other supersedes, on included questions.

    Labels on check items of the training count in nothing.
    """
    return Label.objects.filter(
        trace__study=study,
        trace__question__status=Question.Status.INCLUDED,
        trace__check_item__isnull=True,
        superseded_by__isnull=True,
    )


# Plain SQL, as what else a new label asks: Django takes longer to compose it than a database to answer.
_TALLIES = """
SELECT l.trace_id, COUNT(*), COUNT(CASE WHEN l.arm = 'human' THEN 1 END),
    COUNT(CASE WHEN l.arm = 'debate' THEN 1 END), COUNT(CASE WHEN l.final_correct THEN 1 END),
    COUNT(l.first_error_step), MIN(l.first_error_step), MAX(l.first_error_step), MAX(l.created_at)
FROM annotation_label l
JOIN annotation_trace t ON t.id = l.trace_id
JOIN annotation_question q ON q.id = t.question_id
WHERE t.study_id = %(study)s AND q.status = 'included'
AND NOT EXISTS (SELECT 1 FROM annotation_checkitem c WHERE c.trace_id = t.id)
AND NOT EXISTS (SELECT 1 FROM annotation_label n WHERE n.supersedes_id = l.id)
"""
_BY_TRACE = " GROUP BY l.trace_id"
_OF_QUESTION = " AND t.question_id = %(question)s"


def tallies(study: Study, *, question: Question | None = None) -> list[Tally]:
    """Return one tally for each labelled trace on an included question."""
    values = {"study": study.pk}
    statement = _TALLIES
    if question is not None:
        values["question"] = question.pk
        statement += _OF_QUESTION
    rows = statements.rows(statement + _BY_TRACE, values)
    return [Tally(*[*counts, statements.instant(newest)]) for *counts, newest in rows]


# Counted by trace, lest the disputes of all questions are gone through for one.
_MAY_CONCERN = """
SELECT EXISTS (
    SELECT 1 FROM annotation_label l JOIN annotation_trace t ON t.id = l.trace_id
    WHERE t.question_id = %(question)s
    AND NOT EXISTS (SELECT 1 FROM annotation_label n WHERE n.supersedes_id = l.id)
    GROUP BY l.trace_id
    HAVING COUNT(CASE WHEN l.final_correct THEN 1 END) NOT IN (0, COUNT(*))
    OR COUNT(l.first_error_step) NOT IN (0, COUNT(*))
    OR MIN(l.first_error_step) <> MAX(l.first_error_step)
) OR EXISTS (
    SELECT 1 FROM annotation_trace t WHERE t.question_id = %(question)s AND 0 < (
        SELECT COUNT(*) FROM adjudication_dispute d WHERE d.trace_id = t.id AND d.status = 'open')
) OR EXISTS (
    SELECT 1 FROM adjudication_rules r WHERE r.study_id = %(study)s AND r.one_arm <> 'none'
)
"""


def may_concern_disputes(study: Study, question: Question) -> bool:
    """Whether disputes of a question can follow from its labels: False for labels that agree; one query.

    True where labels differ, a dispute is open that may have to be withdrawn, or the study's rules send traces of
    one arm.
    """
    found = statements.row(_MAY_CONCERN, {"study": study.pk, "question": question.pk})
    return found is not None and bool(found[0])


@dataclass(frozen=True)
class OneArmTrace:
    """A trace that only one arm has labelled."""

    question_id: str
    response_label: str
    token: str
    arm: str


def one_arm_traces(study: Study) -> list[OneArmTrace]:
    """List the traces on included questions that only one arm has labelled, by question and label.

    For commands and exports: the arm and the stored label are never shown to a lead before the decision.
    """
    arms = {
        tally.trace_id: "human" if tally.human else "debate"
        for tally in tallies(study)
        if not (tally.human and tally.debate)
    }
    traces = (
        Trace.objects.filter(study=study, question__status=Question.Status.INCLUDED)
        .order_by("question__external_id", "response_label")
        .values_list("id", "question__external_id", "response_label", "token")
    )
    return [
        OneArmTrace(question_id, label, token, arms[pk])
        for pk, question_id, label, token in traces
        if pk in arms
    ]


_RULES = statements.Columns(Rules)
_RULES_OF = f"SELECT {_RULES.of('r')} FROM adjudication_rules r WHERE r.study_id = %(study)s"  # noqa: S608
# First revisions only: there is an index on those of the debate.
_DEBATE_BEGAN = """
SELECT EXISTS (SELECT 1 FROM annotation_label l JOIN annotation_trace t ON t.id = l.trace_id
    WHERE t.study_id = %(study)s AND l.arm = 'debate' AND l.revision = 1)
"""


def rules_of(study: Study) -> Rules:
    """Return the study's rules of adjudication; the defaults, unsaved, where none were set."""
    found = statements.row(_RULES_OF, {"study": study.pk})
    if found is None:
        return Rules(study=study)
    rules = _RULES.build(found)
    rules.study = study
    return rules


def debate_is_expected(study: Study, rules: Rules) -> bool:
    """Whether every trace should have a label of the debate: by the rules, or because the debate has begun."""
    if rules.debate_expected == Rules.Expected.AUTO:
        found = statements.row(_DEBATE_BEGAN, {"study": study.pk})
        return found is not None and bool(found[0])
    return rules.debate_expected == Rules.Expected.YES


def stated_gaps(study: Study) -> QuerySet[StatedGap]:
    """Return the gaps that leads stated, that of the whole study first."""
    return (
        StatedGap.objects.filter(study=study)
        .select_related("trace__question", "stated_by")
        .order_by(F("trace").asc(nulls_first=True), "pk")
    )


def reference_answer_of(question: Question) -> ReferenceAnswer | None:
    """Return the reference answer in force: the highest version."""
    return question.reference_answers.order_by("-version").first()


def reference_answers_in_force(study: Study) -> dict[int, ReferenceAnswer]:
    """Return the highest version of every question's reference answer, by question id."""
    answers = ReferenceAnswer.objects.filter(question__study=study).order_by("question_id", "version")
    return {answer.question_id: answer for answer in answers}


def letters_for(trace_ids: Collection[int], *, study: Study, person: User) -> dict[int, str]:
    """Return the letter by which the person knows each trace."""
    questions = Trace.objects.filter(pk__in=trace_ids).values("question_id")
    tokens: dict[int, dict[str, int]] = {}
    rows = Trace.objects.filter(study=study, question_id__in=questions).values_list(
        "pk", "question_id", "token"
    )
    for pk, question_id, token in rows:
        tokens.setdefault(question_id, {})[token] = pk
    return {
        pks[token]: letter
        for question_id, pks in tokens.items()
        for token, letter in letters(study, person, question_id, pks).items()
    }
