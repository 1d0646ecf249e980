"""Every command of ours has a test, a help text, and the common way to fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from core.management.base import FalsestepCommand

ROOT = Path(__file__).resolve().parent.parent.parent
OURS = {name: app for name, app in get_commands().items() if (ROOT / app.split(".")[0]).is_dir()}


def test_there_are_commands_to_be_held_to_this() -> None:
    assert {"import_traces", "import_labels", "verify_audit_trail"} <= OURS.keys()


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_command_has_a_test(name: str) -> None:
    called = re.compile(rf"""(?<!\w)(call_command|_?command|_?run|start|manage)\(\s*["']{name}["']""")
    assert any(called.search(path.read_text(encoding="utf-8")) for path in ROOT.glob("tests/**/test_*.py")), (
        f"no test calls the command {name}"
    )


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_command_says_what_it_does_and_fails_like_the_others(name: str) -> None:
    command = load_command_class(OURS[name], name)
    assert isinstance(command, FalsestepCommand)
    assert command.help


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


def test_a_failure_is_one_sentence_and_status_1() -> None:
    done = run("import_traces", "/no/such/file", "--study", "x")
    assert done.returncode == 1
    assert "error: /no/such/file: there is no such file\n" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ({"FALSESTEP_HOME": "{empty}"}, "run `python manage.py migrate`"),
        ({"FALSESTEP_HOME": "{file}"}, "FALSESTEP_HOME"),
        ({"DATABASE_URL": "nonsense:secret"}, "DATABASE_URL cannot be read"),
        ({"DATABASE_URL": "postgres://nobody:secret@127.0.0.1:1/x"}, "the database cannot be used"),
        ({"DATABASE_URL": "sqlite:///{empty}", "FALSESTEP_SECRET_KEY": ""}, "FALSESTEP_SECRET_KEY"),
    ],
)
def test_a_place_that_cannot_be_worked_in_is_told_in_one_sentence(
    tmp_path: Path, places: dict[str, str], words: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    paths = {name: str(tmp_path / name) for name in ("file", "empty")}
    env = {name: value.format(**paths) for name, value in places.items()}
    if "FALSESTEP_HOME" in env:
        env["DATABASE_URL"] = ""
    done = subprocess.run(
        [sys.executable, "manage.py", "verify_audit_trail"],
        cwd=ROOT,
        env={**os.environ, "FALSESTEP_SECRET_KEY": "x", "FALSESTEP_HOME": paths["empty"], **env},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert re.search(rf"^error: .*{re.escape(words)}", done.stderr, re.MULTILINE), done.stderr
    assert "Traceback" not in done.stderr
    assert "secret@" not in done.stderr
    assert ":secret" not in done.stderr


def test_bad_usage_is_status_2() -> None:
    assert run("import_traces").returncode == 2
    assert run("import_traces", "f", "--study", "x", "--format", "odd").returncode == 2


def test_a_reader_that_goes_away_is_no_failure_worth_a_traceback() -> None:
    program = (
        "import django; from django.conf import settings; settings.configure(); django.setup()\n"
        "from core.management.base import FalsestepCommand\n"
        "class Command(FalsestepCommand):\n"
        "    def run(self, **options):\n"
        "        for number in range(100000): self.say(str(number))\n"
        "Command().run_from_argv(['manage.py', 'count'])"
    )
    command = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None and command.stderr is not None
    assert command.stdout.readline() == b"0\n"
    command.stdout.close()
    errors = command.stderr.read()
    command.stderr.close()
    assert command.wait(timeout=60) == 141
    assert errors == b""


def test_a_pipe_that_breaks_inside_the_work_is_told() -> None:
    class Command(FalsestepCommand):
        def run(self, **options: object) -> None:
            raise BrokenPipeError("the broker went away")

    with pytest.raises(BrokenPipeError):
        Command().handle()
