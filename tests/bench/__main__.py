"""`make bench`: figures for the statistics, the mathematics, the imports, the desk and the engine."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Run all sections on a scratch home, so that no study is touched."""
    with tempfile.TemporaryDirectory(prefix="falsestep-bench-") as home:
        os.environ["FALSESTEP_HOME"] = home
        server = os.environ.pop("DATABASE_URL", None)
        if server:
            print("(DATABASE_URL is used for the sections on PostgreSQL, on scratch databases of their own)")
        os.environ.pop("REDIS_URL", None)
        import django

        django.setup()  # after the home is set, which the settings read
        from tests.bench import desk_load, engine, postgresql, sections

        print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores")
        for section in sections.ALL:
            print(f"\n{(section.__doc__ or '').splitlines()[0]}")
            for figure in section(Path(home)):
                print(f"  {figure}")
        if server:
            print("\nImports, PostgreSQL")
            for figure in postgresql.imports(server, Path(home)):
                print(f"  {figure}")
            print("\nThe desk under load, PostgreSQL and gunicorn, 100,000 traces and 1,000,000 labels")
            for figure in desk_load.measure(server, Path(home)):
                print(f"  {figure}")
            print("\nThe engine, PostgreSQL, a server with 0.5 s of latency")
            for figure in engine.latency(server):
                print(f"  {figure}")
            print("\nPlans and launches, PostgreSQL")
            for figure in engine.plans(server):
                print(f"  {figure}")
        if "--json" in sys.argv:
            print(json.dumps({"peak_mb": sections.peak_mb()}))


if __name__ == "__main__":
    main()
