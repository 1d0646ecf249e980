"""Set Django up on a scratch home, then run."""

from __future__ import annotations

import os
import tempfile


def main() -> None:
    """Run the faults; builders of tests need Django, though nothing is done to the database of its settings."""
    with tempfile.TemporaryDirectory(prefix="falsestep-faults-") as home:
        os.environ["FALSESTEP_HOME"] = home
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        server = os.environ.pop("DATABASE_URL", "postgres://postgres@127.0.0.1/falsestep")
        import django

        django.setup()
        from tests.faults.run import run

        run(server)


if __name__ == "__main__":
    main()
