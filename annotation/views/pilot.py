"""The agreement of a pilot, for leads and administrators."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation import blindness, pilot
from annotation.access import roles_in, study_for
from annotation.models import Coherence, ErrorType, Label, Role, Study
from core.access import person_of

NAMES = {
    "final_correct": "final answer",
    "error_presence": "presence of an error",
    "first_error_step exact": "first false step, exactly",
    "first_error_step within one": "first false step, within one",
    "coherence": "coherence",
    "error_type": "kind of error",
}
LABELS = {"coherence": Coherence.choices, "error_type": ErrorType.choices}
RIGHT_WRONG = [(0, "wrong"), (1, "right")]
NONE_SOME = [(0, "no error"), (1, "an error")]


@require_GET
def pilot_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show which fields of the instrument reached usable agreement. It is for pilot studies only."""
    person = person_of(request)
    study = study_for(person, slug, Role.LEAD, Role.ADMINISTRATOR)
    if study.kind != Study.Kind.PILOT:
        raise Http404("no pilot study")
    # Where people alone have spoken there is no arm to keep apart; with a debate, agreement over the few
    # solutions of a pilot would tell which proposal is whose.
    debated = blindness.undecided(study).filter(labels__arm=Label.Arm.DEBATE)
    if Role.LEAD in roles_in(study, person) and debated.exists():
        return render(request, "annotation/pilot.html", {"study": study, "blind": True}, status=403)
    found = pilot.report(study)
    agreement = found.agreement
    fields = [
        (NAMES["final_correct"], agreement.final_correct, RIGHT_WRONG),
        (NAMES["error_presence"], agreement.error_presence, NONE_SOME),
        *(
            # What stands after the colon explains the choice to whoever makes it.
            (NAMES[name], field, list(enumerate(label.split(":")[0] for _, label in LABELS[name])))
            for name, field in agreement.others.items()
        ),
    ]
    rows = [
        {
            "name": name,
            "field": field,
            "counts": [(label, field.modal.counts.get(code, 0)) for code, label in labels],
            "modal": dict(labels).get(field.modal.code) if field.modal.code is not None else None,
        }
        for name, field, labels in fields
    ]
    judged = [{"name": NAMES[field.field], "verdict": field} for field in found.fields]
    return render(
        request, "annotation/pilot.html", {"study": study, "found": found, "rows": rows, "judged": judged}
    )
