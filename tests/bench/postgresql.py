"""Figures on PostgreSQL, in processes of their own, since settings name one database for good."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql

from tests.bench.measure import Figure
from tests.bench.sections import write_traces

ROOT = Path(__file__).resolve().parents[2]
WORK = """
import sys, time, django
django.setup()
from django.core.management import call_command
from annotation.imports.traces import import_traces
call_command("migrate", verbosity=0)
begun = time.perf_counter()
import_traces(path=sys.argv[1], study_slug="bench")
print(time.perf_counter() - begun, time.process_time())
"""


def imports(server: str, home: Path) -> Iterator[Figure]:
    """Yield the import of 30,000 traces into a scratch database on the server, which is dropped again."""
    name = f"falsestep_bench_{secrets.token_hex(4)}"
    n = 30_000
    path = write_traces(home / "questions-postgresql.jsonl", n)
    base = server.rsplit("/", 1)[0]
    with psycopg.connect(f"{base}/postgres", autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            done = subprocess.run(
                [sys.executable, "-c", WORK, str(path)],
                cwd=ROOT,
                env={**os.environ, "DATABASE_URL": f"{base}/{name}", "FALSESTEP_SECRET_KEY": "bench"},
                check=True,
                capture_output=True,
                text=True,
            )
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
    seconds = float(done.stdout.split()[0])
    yield Figure(f"{n:,} traces of 12 steps", seconds, f"{n / seconds:,.0f} traces a second")
