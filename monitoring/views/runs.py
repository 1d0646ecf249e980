"""The run viewer: the traces of a run, one of them with all that was said, and the run as a file."""

from __future__ import annotations

import tempfile

from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from core import sudo
from core.access import person_of
from monitoring import viewer
from monitoring.access import run_for
from monitoring.exports.inspect_log import export_run
from monitoring.models import Verdict


@require_safe
def run(request: HttpRequest, slug: str, number: int, monitor: str, condition: str) -> HttpResponse:
    """List the traces of a run with their verdicts, filtered and searched."""
    return _list(request, slug, number, monitor, condition)


@require_safe
def run_trace(
    request: HttpRequest, slug: str, number: int, monitor: str, condition: str, token: str
) -> HttpResponse:
    """Show one trace of a run: its text, the messages sent, the replies, how they were read."""
    person = person_of(request)
    found = run_for(person, slug, number, monitor, condition)
    verdict = viewer.visible(found, person).filter(trace__token=token).first()
    if verdict is None:
        raise Http404("no verdict on such a trace in this run")
    sight = viewer.sight_of(found, person)
    context = {
        "study": found.batch.study,
        "batch": found.batch,
        "run": found,
        "sight": sight,
        "row": viewer.rows_of(found, [verdict], sight)[0],
        "beside": viewer.BESIDE,
        "attempts": viewer.attempts_of(found, verdict.trace),
    }
    return render(request, "monitoring/run_trace.html", context)


@require_POST
def run_download(
    request: HttpRequest, slug: str, number: int, monitor: str, condition: str
) -> HttpResponseBase:
    """Send the run as JSON Lines. It is a POST, since the audit trail records it."""
    person = person_of(request)
    found = run_for(person, slug, number, monitor, condition)
    sudo.require(request, back=reverse("run", args=[slug, number, monitor, condition]))
    try:
        lines = viewer.download_run(run=found, actor=person)
    except viewer.StillBlind as error:
        return _list(request, slug, number, monitor, condition, refused=error.reasons)
    response = StreamingHttpResponse(lines, content_type="application/x-ndjson; charset=utf-8")
    name = f"{slug}-batch-{number}-{found.monitor.slug}-{found.condition}.jsonl"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def run_inspect(
    request: HttpRequest, slug: str, number: int, monitor: str, condition: str
) -> HttpResponseBase:
    """Send the run as a log of Inspect AI. It is a POST, since the audit trail records it."""
    person = person_of(request)
    found = run_for(person, slug, number, monitor, condition)
    sudo.require(request, back=reverse("run", args=[slug, number, monitor, condition]))
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
    try:
        export_run(run=found, actor=person, file=file)
    except viewer.StillBlind as error:
        file.close()
        return _list(request, slug, number, monitor, condition, refused=error.reasons)
    file.seek(0)
    name = f"{slug}-batch-{number}-{found.monitor.slug}-{found.condition}.eval"
    response = FileResponse(file, as_attachment=True, filename=name, content_type="application/octet-stream")
    response["Cache-Control"] = "no-store"
    return response


def _list(
    request: HttpRequest,
    slug: str,
    number: int,
    monitor: str,
    condition: str,
    *,
    refused: list[str] | None = None,
) -> HttpResponse:
    person = person_of(request)
    found = run_for(person, slug, number, monitor, condition)
    sight = viewer.sight_of(found, person)
    filters = viewer.Filters.of(request.GET, sight=sight)
    page = Paginator(viewer.verdicts_of(found, person, filters), viewer.PAGE).get_page(
        request.GET.get("page")
    )
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "study": found.batch.study,
        "batch": found.batch,
        "run": found,
        "sight": sight,
        "filters": filters,
        "page": page,
        "rows": viewer.rows_of(found, list(page.object_list), sight),
        "outcomes": Verdict.Outcome.values,
        "beside": viewer.BESIDE,
        "query": query.urlencode(),
        "refused": refused or [],
    }
    return render(request, "monitoring/run.html", context, status=403 if refused else 200)
