"""The sizes of a run from the command line, then the run; status 1 if anything did not hold."""

from __future__ import annotations

import argparse
import os
import tempfile


def main() -> None:
    """Run; builders of tests need Django, though nothing is done to the database of its settings."""
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--faults", action="store_true", help="kill and restart the servers meanwhile")
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--calls", type=int, default=20_000, help="of the batch; not more than traces")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the people")
    parser.add_argument("--alone", type=float, default=20.0, help="seconds of the batch before them")
    parser.add_argument("--latency", type=float, default=1.0, help="seconds until the model replies")
    parser.add_argument("--seed", type=int, default=1, help="of thinking and beginning")
    asked = parser.parse_args()
    if asked.calls > asked.traces:
        parser.error("a batch has no more calls than there are traces")
    with tempfile.TemporaryDirectory(prefix="falsestep-load-") as home:
        os.environ["FALSESTEP_HOME"] = home
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        for name in ("DATABASE_URL", "REDIS_URL"):
            os.environ.pop(name, None)
        import django

        django.setup()
        from monitoring.engine.children import ending_in_order
        from tests.load.outcome import Options
        from tests.load.run import run

        with ending_in_order():
            held = run(Options(**vars(asked)))
    raise SystemExit(0 if held else 1)


if __name__ == "__main__":
    main()
