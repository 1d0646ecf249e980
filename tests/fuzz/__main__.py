"""A bounded run of every target: coverage-guided by atheris, in a process of its own each.

    python -m tests.fuzz --seconds 20            every target for 20 seconds
    python -m tests.fuzz reply --seconds 600     one of them, longer

What is found is written to FALSESTEP_HOME/fuzz/TARGET/ with the input that does it; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.names import NAMES

LONGEST_INPUT = 4096
ONE_INPUT_SECONDS = 10


def _home() -> Path:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django  # settings first

    django.setup()
    from django.conf import settings

    return Path(settings.HOME) / "fuzz"


def _run(target: str, seconds: int) -> None:
    """Fuzz one target in this process; atheris ends it."""
    import atheris  # only here: it instruments what is imported after it

    folder = _home() / target
    with atheris.instrument_imports(
        include=["llm", "core.mathtext", "annotation.imports", "monitoring.imports"]
    ):
        from tests.fuzz.targets import SEEDS, TARGETS
    corpus, found = folder / "corpus", folder / "found"
    for place in (corpus, found):
        place.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[target]):
        (corpus / f"seed-{number}").write_bytes(seed)
    atheris.Setup(
        [
            sys.argv[0],
            str(corpus),
            f"-max_total_time={seconds}",
            f"-max_len={LONGEST_INPUT}",
            f"-timeout={ONE_INPUT_SECONDS}",
            f"-artifact_prefix={found}/",
            "-seed=1",
            "-print_final_stats=1",
            "-verbosity=0",
        ],
        TARGETS[target],
    )
    atheris.Fuzz()


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz the targets one after another; return 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"of {', '.join(NAMES)}; all of them unless named"
    )
    parser.add_argument("--seconds", type=int, default=20, help="for each target")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if unknown := set(asked.targets) - set(NAMES):
        parser.error(f"no target named {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}")
    if asked.inside:
        _run(asked.targets[0], asked.seconds)
        return 0
    failed = []
    for target in asked.targets or NAMES:
        print(f"== {target}, {asked.seconds} s", flush=True)
        command = [sys.executable, "-m", "tests.fuzz", target, "--seconds", str(asked.seconds), "--inside"]
        if subprocess.run(command, check=False).returncode:
            failed.append(target)
    print(f"found something in: {', '.join(failed)}; see {_home()}" if failed else "nothing found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
