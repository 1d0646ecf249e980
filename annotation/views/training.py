"""Training: worked examples, the gate with its feedback, and for overseers how people did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation import queries, training
from annotation.access import roles_in, study_for, trace_for
from annotation.forms import RIGHT, GateForm, MarksForm
from annotation.imports.checks import take_checks
from annotation.imports.reading import Source
from annotation.models import CheckItem, GateAnswer, ReferenceAnswer, Role, Study
from annotation.pages import ShownStep, shown_steps
from annotation.services.training import InvalidGateAnswer, answer_gate, set_plan
from core.access import person_of
from core.errors import BadRow, Conflict, ImportRefused, UserError

SHOWN_ROWS = 50


@dataclass(frozen=True)
class ShownItem:
    """A check item as its page shows it."""

    item: CheckItem
    steps: list[ShownStep]
    reference: ReferenceAnswer | None

    @property
    def expected(self) -> str:
        """The expected first false step in words."""
        low, high = self.item.first_error_step_min, self.item.first_error_step_max
        if low is None:
            return "none"
        return f"step {low}" if low == high else f"step {low} to {high}"


@require_GET
def training_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the worked examples, and where the person stands; to overseers the items and everybody's results."""
    return _training_page(request, study_for(person_of(request), slug))


@require_POST
def add_items(request: HttpRequest, slug: str) -> HttpResponse:
    """Set traces apart as a pasted text says: all of its rows, or none and what is wrong with each."""
    person = person_of(request)
    study = study_for(person, slug, Role.ADMINISTRATOR)
    pasted = request.POST.get("rows", "")
    bad: list[BadRow] = []
    try:
        with Source.of_bytes("the text", pasted.encode()) as source:
            report = take_checks(source=source, study=study, replace="replace" in request.POST, actor=person)
    except ImportRefused as refusal:
        bad = refusal.rows
        error = f"Nothing was taken: {len(bad)} row{'' if len(bad) == 1 else 's'} cannot be."
    except UserError as refusal:
        error = f"Nothing was taken: {refusal}."
    else:
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(report.new.items())) or "none"
        messages.success(
            request, f"Check items new: {kinds}; replaced {report.replaced}; here already {report.same}."
        )
        return redirect("training", slug)
    return _training_page(request, study, pasted=pasted, error=error, bad=bad, status=422)


@require_POST
def change_marks(request: HttpRequest, slug: str) -> HttpResponse:
    """Set what the gate asks from now on."""
    person = person_of(request)
    study = study_for(person, slug, Role.ADMINISTRATOR)
    form = MarksForm(request.POST)
    if not form.is_valid():
        return _training_page(request, study, marks=form, status=422)
    set_plan(study=study, actor=person, **form.cleaned_data)
    messages.success(request, "These are the marks of the gate now; attempts that have ended keep theirs.")
    return redirect("training", slug)


def _training_page(
    request: HttpRequest,
    study: Study,
    *,
    pasted: str = "",
    error: str = "",
    bad: Sequence[BadRow] = (),
    marks: MarksForm | None = None,
    status: int = 200,
) -> HttpResponse:
    person = person_of(request)
    roles = roles_in(study, person)
    plan = training.plan_of(study)
    overseer = bool(roles & {Role.LEAD, Role.ADMINISTRATOR})
    return render(
        request,
        "annotation/training.html",
        {
            "study": study,
            "worked": [_shown(study, item) for item in training.items_of(study, CheckItem.Kind.WORKED)],
            "gate": training.gate_of(study, person) if Role.ANNOTATOR in roles else None,
            "plan": plan,
            "marks": marks
            or MarksForm(initial={name: getattr(plan, name) for name in MarksForm.base_fields}),
            "overseer": overseer,
            "counts": training.item_counts(study) if overseer else {},
            "results": training.results_of(study) if overseer else [],
            "administrator": Role.ADMINISTRATOR in roles,
            "pasted": pasted,
            "replace": "replace" in request.POST,
            "error": error,
            "bad": bad[:SHOWN_ROWS],
            "bad_left": max(0, len(bad) - SHOWN_ROWS),
        },
        status=status,
    )


@require_GET
def gate(request: HttpRequest, slug: str) -> HttpResponse:
    """Lead to the next solution of the gate, or back to the training page when there is none."""
    person = person_of(request)
    study = study_for(person, slug, Role.ANNOTATOR)
    item = training.gate_of(study, person).next_item
    if item is None:
        return redirect("training", slug)
    return redirect("gate_item", slug, item.trace.token)


@require_http_methods(["GET", "HEAD", "POST"])
def gate_item(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Show one solution of the gate: to be judged, or with the feedback once it is; on POST take the judgements."""
    person = person_of(request)
    trace = trace_for(person, slug, token, Role.ANNOTATOR)
    study = trace.study
    item = CheckItem.objects.filter(trace=trace, kind=CheckItem.Kind.GATE).first()
    if item is None:
        raise Http404("no such item")
    item.trace, item.study = trace, study
    if request.method == "POST":
        form = GateForm(request.POST)
        errors = [str(error) for found in form.errors.values() for error in found]
        if form.is_valid():
            try:
                answer_gate(
                    item=item,
                    person=person,
                    attempt=form.cleaned_data["attempt"],
                    final_correct=form.cleaned_data["final"] == RIGHT,
                    first_error_step=form.first_error_step,
                )
            except InvalidGateAnswer as error:
                errors = [f"{str(error)[0].upper()}{str(error)[1:]}."]
            except Conflict as error:
                messages.warning(request, str(error))
                return redirect("gate_item", slug, token)
            else:
                return redirect("gate_item", slug, token)
        return _item_page(request, study, item, None, form=form, errors=errors, status=422)
    answer = training.newest_answer(item, person)
    state = training.gate_of(study, person)
    if state.next_item == item:
        answer = None
    elif answer is None:
        return redirect("gate", slug)
    return _item_page(request, study, item, answer)


def _item_page(
    request: HttpRequest,
    study: Study,
    item: CheckItem,
    answer: GateAnswer | None,
    *,
    form: GateForm | None = None,
    errors: list[str] | None = None,
    status: int = 200,
) -> HttpResponse:
    return render(
        request,
        "annotation/gate.html",
        {
            "study": study,
            "shown": _shown(study, item),
            "answer": answer,
            "gate": training.gate_of(study, person_of(request)),
            "form": form or GateForm(),
            "errors": errors or [],
        },
        status=status,
    )


def _shown(study: Study, item: CheckItem) -> ShownItem:
    reference = queries.reference_answer(item.trace.question) if study.show_reference_answer else None
    return ShownItem(item, shown_steps(item.trace), reference)
