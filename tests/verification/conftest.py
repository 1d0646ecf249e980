"""What the tests of verification share: an audit of a study's own keys."""

from __future__ import annotations

import pytest

from annotation.models import Study
from tests.build import make_question, make_trace
from tests.verification.test_answer_keys import RIGHT, SAMPLE
from verification.comparators.sentences import read_rule
from verification.models import KeyAudit
from verification.services.audits import audit_study

GENERATOR = "zenith-9000"


@pytest.fixture
def kept(study: Study) -> KeyAudit:
    """An audit of ten sentence-valued keys of the study itself, two solutions to each."""
    for place, key in enumerate(SAMPLE[::5]):
        question = make_question(study, answer=key, subject="blocks", external_id=f"b{place}")
        make_trace(question, steps=[RIGHT[key]], generator=GENERATOR, response_label="Response Zeta")
        make_trace(question, steps=["ANSWER: unclear"], generator="nadir-1", response_label="Response Eta")
    return audit_study(
        study=study,
        title="Blocks",
        rule=read_rule("stacked-blocks"),
        domain="blocks",
        actor=None,
        resamples=10,
    )
