"""Numbers for Prometheus: what this site's web processes measured, and what the database says when it is asked.

With several web processes each writes its measurements to a file in PROMETHEUS_MULTIPROC_DIR, and whoever is asked
adds them up. Gauges are read from the database at that moment, so that no worker needs an address of its own.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_registry = CollectorRegistry()
_seconds = Histogram(
    "falsestep_request_seconds",
    "How long requests took",
    ["method", "route", "status"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 5, 15),
    registry=_registry,
)


@dataclass(frozen=True)
class Gauge:
    """A number of now: `values` has one (labels, value) for each combination of labels."""

    name: str
    help: str
    labels: tuple[str, ...]
    values: tuple[tuple[tuple[str, ...], float], ...]


_sources: list[Callable[[], Iterable[Gauge]]] = []


def register(source: Callable[[], Iterable[Gauge]]) -> None:
    """Let the answer also hold what `source()` gives; apps above register theirs."""
    if source not in _sources:
        _sources.append(source)


def observe(*, method: str, route: str, status: int, seconds: float) -> None:
    """Count a request and how long it took. Routes are patterns, so that there are only so many of them."""
    _seconds.labels(method if method in _METHODS else "other", route, f"{status // 100}xx").observe(seconds)


class _Now:
    """Asks every source when it is collected."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for source in _sources:
            for gauge in source():
                family = GaugeMetricFamily(gauge.name, gauge.help, labels=gauge.labels)
                for labels, value in gauge.values:
                    family.add_metric(labels, value)
                yield family


def text() -> bytes:
    """Return the metrics as Prometheus reads them."""
    registry = _registry
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    gauges = CollectorRegistry()
    gauges.register(_Now())
    return bytes(generate_latest(registry) + generate_latest(gauges))


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer Prometheus: with the token, or from an address that is allowed; nobody else learns of it."""
    if not _may_read(request):
        raise Http404
    response = HttpResponse(text(), content_type=CONTENT_TYPE_LATEST)
    response["Cache-Control"] = "no-store"
    return response


def _may_read(request: HttpRequest) -> bool:
    given = request.headers.get("Authorization", "")
    wanted = f"Bearer {settings.METRICS_TOKEN}"
    if settings.METRICS_TOKEN and hmac.compare_digest(given.encode(), wanted.encode()):
        return True
    # What a proxy hands on seems to come from the proxy, whoever asked.
    if any(name in request.headers for name in ("X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "Via")):
        return False
    try:
        address = ipaddress.ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    return any(address in ipaddress.ip_network(net) for net in settings.METRICS_NETWORKS)
