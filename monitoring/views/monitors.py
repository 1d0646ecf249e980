"""The monitors of a study."""

from __future__ import annotations

import os

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Study
from core.access import person_of
from core.errors import UserError
from monitoring import offline, queries, words
from monitoring.access import study_of_administrator
from monitoring.forms import MonitorForm
from monitoring.models import Monitor
from monitoring.services import add_monitor

KINDS = {
    Monitor.Provider.OPENAI_COMPATIBLE: "OpenAI-compatible",
    Monitor.Provider.RELEASED: "imported verdicts",
    **{provider: f"offline: {provider}" for provider in (*offline.BUILT_IN, Monitor.Provider.REPLAY)},
}


@require_safe
def monitors(request: HttpRequest, slug: str) -> HttpResponse:
    """List the monitors, with a form for another."""
    study = study_of_administrator(person_of(request), slug)
    return _page(request, study, MonitorForm())


@require_POST
def add(request: HttpRequest, slug: str) -> HttpResponse:
    """Add a monitor."""
    person = person_of(request)
    study = study_of_administrator(person, slug)
    form = MonitorForm(request.POST)
    if not form.is_valid():
        return _page(request, study, form, status=422)
    try:
        monitor = add_monitor(study=study, settings=form.settings(), actor=person)
    except UserError as error:
        form.add_error(None, str(error))
        return _page(request, study, form, status=422)
    messages.success(request, f"Monitor {monitor.slug} is added.")
    return redirect("monitors", slug)


def _page(request: HttpRequest, study: Study, form: MonitorForm, *, status: int = 200) -> HttpResponse:
    rows = [
        # Whether a key is there may be known; the key never leaves the environment.
        {
            "monitor": monitor,
            "kind": KINDS.get(monitor.provider, monitor.provider),
            "has_key": bool(monitor.key_env and os.environ.get(monitor.key_env)),
            "prices": f"{words.plain(monitor.input_price)} / {words.plain(monitor.output_price)}",
        }
        for monitor in queries.monitors_of(study)
    ]
    return render(
        request,
        "monitoring/monitors.html",
        {"study": study, "rows": rows, "form": form, "built_in": offline.BUILT_IN},
        status=status,
    )
