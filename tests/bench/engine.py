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


def latency(server: str) -> Iterator[Figure]:
    """Yield the share of the latency bound that is reached at each width, beside that of the bare client."""
    name = f"falsestep_bench_{secrets.token_hex(4)}"
    base = server.rsplit("/", 1)[0]
    with (
        psycopg.connect(f"{base}/postgres", autocommit=True) as connection,
        _model_server() as url,
    ):
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            environment = {"DATABASE_URL": f"{base}/{name}", "FALSESTEP_SECRET_KEY": "bench"}
            environment["FALSESTEP_ALLOW_PRIVATE_PROVIDERS"] = "1"
            bare = _measured(BARE, url, environment)
            ours = _measured(ENGINE, url, environment)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
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


def _measured(code: str, url: str, environment: dict[str, str]) -> dict[int, tuple[float, float]]:
    done = subprocess.run(
        [sys.executable, "-c", code, url, json.dumps(WIDTHS)],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", **environment},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    return {
        int(width): (took[0], took[1]) for width, took in json.loads(done.stdout.splitlines()[-1]).items()
    }
