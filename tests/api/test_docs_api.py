"""docs/api.md: its example runs as printed, and its tables name every route, scope and error code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Label, Role, Study
from core.api.errors import CODES
from core.models import Scope, User
from core.tokens import issue_token, revoke_token
from tests.annotation.build import make_traces
from tests.api.routes import PARAMETER, routes
from tests.build import make_person, make_study

DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "api.md"
TEXT = DOCS.read_text(encoding="utf-8")


def _run(site: str, token: str, study: Study) -> subprocess.CompletedProcess[str]:
    found = re.search(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert found is not None
    told = {"FALSESTEP_SITE": site, "FALSESTEP_TOKEN": token, "FALSESTEP_STUDY": study.slug}
    return subprocess.run(
        [sys.executable, "-I", "-c", found[1]],
        env={"PATH": os.environ["PATH"], **told},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.django_db(transaction=True)
def test_the_example_runs_as_printed(live_server: Any) -> None:
    study = make_study(slug="optics")
    person: User = make_person("ana", study=study, roles=[Role.ANNOTATOR])
    make_traces(study, 3)
    issued = issue_token(person=person, scopes=["read", "label"])
    done = _run(live_server.url, issued.key, study)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "3 labelled by you"
    assert Label.objects.filter(person=person, comment="3 steps read").count() == 3
    revoke_token(token=issued.token, actor=person)
    refused = _run(live_server.url, issued.key, study)
    assert refused.returncode == 1
    assert refused.stderr.strip().startswith("401 not_authenticated: this token is unknown")


def test_every_route_stands_in_the_table() -> None:
    told = set(re.findall(r"^\| `([a-zA-Z/-]+/)` \|", TEXT, re.MULTILINE))
    there = {
        PARAMETER.sub(lambda match: match[1].upper(), route.removeprefix("api/v1/"))
        for route in routes()
        if route != "api/"
    }
    assert told == there


def test_every_scope_and_every_code_is_told() -> None:
    for word in (*Scope.values, *CODES.values()):
        assert f"`{word}`" in TEXT
    for status in CODES:
        assert str(status) in TEXT
