"""The engine against a local server with half a second of latency, everything stored in PostgreSQL.

The bound is what the latency alone would take: calls / in flight x latency. Client, server and database share the
machine. The bare client asks the same prompts through the same provider and stores nothing.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.bench.measure import Figure

ROOT = Path(__file__).resolve().parents[2]
LATENCY = 0.5
CALLS = 1896
WIDTHS = (64, 128, 256)
WANTED = {64: 0.88, 128: 0.80, 256: 0.60}

# One worker process: what `drive_batch` does, without the broker's delay before it.
ENGINE = """
import cProfile, json, os, sys, time, django
django.setup()
from django.conf import settings
from django.core.management import call_command
call_command("migrate", verbosity=0)
from tests.build import make_study
from tests.monitoring.build import make_batch, make_model, make_small_standard
from monitoring.engine import identity
from monitoring.engine.worker import drive
from monitoring.models import Attempt, Verdict
study = make_study(slug="bench")
standard = make_small_standard(study, n_traces=237, n_steps=13)
models = [make_model(study, f"m{n}", base_url=sys.argv[1], concurrency=1000) for n in range(8)]
warm = make_batch(standard, models[:1])
drive(batch_id=warm.pk, owner=identity.owner())
found = {}
for width in json.loads(sys.argv[2]):
    settings.ENGINE = {"in_flight": width}
    batch = make_batch(standard, models)
    profile = cProfile.Profile() if os.environ.get("BENCH_PROFILE") else None
    begun, cpu = time.perf_counter(), time.process_time()
    drive(batch_id=batch.pk, owner=identity.owner())
    found[width] = (time.perf_counter() - begun, time.process_time() - cpu)
    stored = Verdict.objects.filter(run__batch=batch, outcome="ok").count()
    paid = Attempt.objects.filter(call__run__batch=batch, finished_at__isnull=False).exclude(reply="").count()
    assert stored == paid == 1896, (stored, paid)
print(json.dumps(found))
"""
BARE = """
import asyncio, json, sys, time
from llm.providers import build
from llm.types import ChatRequest, Message
text = "In solution 1, step 1. " * 130
async def main():
    found = {}
    for width in [8, *json.loads(sys.argv[2])]:
        provider = build("openai_compatible", base_url=sys.argv[1])
        gate = asyncio.Semaphore(width)
        async def one(n):
            async with gate:
                await provider.complete(ChatRequest(model="m", messages=[Message("user", f"{n} {text}")]))
        begun, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(one(n) for n in range(8 if width == 8 else 1896)))
        found[width] = (time.perf_counter() - begun, time.process_time() - cpu)
        await provider.aclose()
    print(json.dumps(found))
asyncio.run(main())
"""

PLAN = """
import json, resource, sys, time, django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from decimal import Decimal
from tests.build import make_study
from tests.monitoring.build import make_model, make_small_standard
from monitoring.engine.launch import launch_batch
from monitoring.engine.planning import plan_batch
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
study = make_study(slug="bench")
n = int(sys.argv[1])
standard = make_small_standard(study, n_traces=n // 200, n_steps=40)
models = [make_model(study, f"m{one}") for one in range(5)]
asked = dict(study=study, standard=standard, monitors=models, conditions=["STEP"])
plan_batch(**{**asked, "monitors": models[:0]}, with_cost=False)
found = [peak()]
begun = time.perf_counter()
assert plan_batch(**asked, with_cost=False).calls == n // 200 * 200
found += [time.perf_counter() - begun, peak()]
begun = time.perf_counter()
launch_batch(**asked, max_cost=Decimal(1), actor=None)
print(json.dumps(found + [time.perf_counter() - begun, peak()]))
"""


def plans(server: str, n: int = 1_000_000) -> Iterator[Figure]:
    """Yield the time and the peak of memory of a plan of n calls (STEP, 40 steps, 5 monitors), and of its launch."""
    for size in (n // 10, n):
        with _scratch(server) as environment:
            before, planned, plan_peak, launched, launch_peak = _run(PLAN, [str(size)], environment)
        yield Figure(f"{size:,} calls planned", planned, f"peak {plan_peak:.0f} MB, {before:.0f} before")
        yield Figure(f"{size:,} calls launched", launched, f"peak {launch_peak:.0f} MB")


def latency(server: str) -> Iterator[Figure]:
    """Yield the share of the latency bound that is reached at each width, beside that of the bare client."""
    with _model_server() as url, _scratch(server) as environment:
        bare = _measured(BARE, url, environment)
        ours = _measured(ENGINE, url, environment)
    for width in WIDTHS:
        bound = CALLS / width * LATENCY
        seconds, cpu = ours[width]
        yield Figure(
            f"{CALLS:,} calls, {width} in flight",
            seconds,
            f"{bound / seconds:.2f} of the bound (wanted {WANTED[width]:.2f}; bare client "
            f"{bound / bare[width][0]:.2f}), {CALLS / seconds:.0f} calls a second, {cpu:.1f} s of CPU",
        )


@contextmanager
def _model_server() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.llm.server", "--scenario", json.dumps({"latency": LATENCY})],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.wait(timeout=20)


@contextmanager
def _scratch(server: str) -> Iterator[dict[str, str]]:
    """Yield the environment of a scratch database on the server, which is dropped again."""
    name = f"falsestep_bench_{secrets.token_hex(4)}"
    base = server.rsplit("/", 1)[0]
    with psycopg.connect(f"{base}/postgres", autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield {
                "DATABASE_URL": f"{base}/{name}",
                "FALSESTEP_SECRET_KEY": "bench",
                "FALSESTEP_ALLOW_PRIVATE_PROVIDERS": "1",
            }
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _measured(code: str, url: str, environment: dict[str, str]) -> dict[int, tuple[float, float]]:
    found = _run(code, [url, json.dumps(WIDTHS)], environment)
    return {int(width): (took[0], took[1]) for width, took in found.items()}


def _run(code: str, arguments: list[str], environment: dict[str, str]) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", **environment},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])
