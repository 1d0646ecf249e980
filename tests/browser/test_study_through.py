"""A study played through in a real browser: two readers, an imported debate, a blind lead, a standard, a release."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import call_command
from django.urls import reverse
from playwright.sync_api import Page, expect

from adjudication.models import Decision, Dispute, Guess, ReferenceStandard
from annotation.models import Question, ReferenceAnswer, Role, Study, Trace
from core.models import User
from tests.build import make_person, make_question, make_trace

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Open = Callable[..., Page]
Said = tuple[str, int | None]

# question: what ana, ben and the debate say of its one solution (final answer, first false step)
SAID: dict[str, tuple[Said, Said, Said]] = {
    "step": (("right", 2), ("right", 2), ("right", 4)),
    "presence": (("right", None), ("right", None), ("right", 3)),
    "answer": (("right", None), ("right", None), ("wrong", None)),
    "three": (("wrong", 1), ("wrong", 2), ("wrong", 3)),
    "key": (("right", 2), ("right", 2), ("wrong", 2)),
    "unusable": (("wrong", None), ("wrong", None), ("right", 5)),
    "agreed": (("right", 2), ("right", 2), ("right", 2)),
}
# question: (ruling, what is filled in besides, final answer)
RULED: dict[str, tuple[str, dict[str, str], str]] = {
    "step": ("A", {}, ""),
    "presence": (
        "both",
        {"first_error_step": "3", "first_error_step_min": "2", "first_error_step_max": "4"},
        "right",
    ),
    "answer": ("none", {}, "right"),
    "three": ("other", {"other_step": "4"}, "wrong"),
    "key": (
        "none",
        {"corrected_answer": "$43$", "correction_reason": "A factor was forgotten."},
        "right",
    ),
    "unusable": ("unusable", {"exclusion": "It needs a figure."}, ""),
}


@pytest.fixture
def traces(study: Study) -> dict[str, Trace]:
    Study.objects.filter(pk=study.pk).update(overlap=2)
    return {
        name: make_trace(make_question(study, external_id=name), response_label="Response A") for name in SAID
    }


def _label(page: Page, trace: Trace, said: Said) -> None:
    page.goto(reverse("annotate", args=[trace.study.slug, trace.token]))
    page.check(f'input[name="final"][value="{said[0]}"]')
    if said[1] is None:
        page.check('input[name="first_error"][value="none"]')
    else:
        page.check('input[name="first_error"][value="step"]')
        page.select_option('select[name="step"]', str(said[1]))
    with page.expect_navigation():
        page.click('button[name="then"]')


def _debate(path: Path) -> Path:
    rows = []
    for name, (_, _, (final, step)) in SAID.items():
        said = {"is_correct": int(final == "right"), "error_step": step}
        rounds = [
            {"round": "R1", "model": "maker/one", "said": said},
            {"round": "blind", "model": "maker/two", "said": said},
            {"round": "consensus", "model": "maker/one", "said": {**said, "final_rationale": "As argued."}},
        ]
        rows.append({"question_id": name, "response_label": "Response A", "rounds": rounds})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _decide(page: Page, study: Study, name: str) -> None:
    dispute = Dispute.objects.get(trace__question__external_id=name, study=study)
    ruling, words, final = RULED[name]
    page.goto(reverse("dispute", args=[study.slug, dispute.token]))
    # Nothing in the page tells a source: neither names, nor models, nor arms, nor the stored letter.
    for word in ("ana", "ben", "Response A", "maker/", "debate", "human"):
        assert word not in page.locator("main").inner_html()
    for summary in ("The key is wrong",):
        if "corrected_answer" in words:
            page.click(f'summary:has-text("{summary}")')
    page.check(f'input[name="ruling"][value="{ruling}"]')
    if final:
        page.check(f'input[name="final_correct"][value="{final}"]')
    for field, value in words.items():
        page.fill(f'[name="{field}"]', value)
    page.fill('[name="rationale"]', f"I worked {name} through.")
    with page.expect_navigation():
        page.click('button:has-text("Decide and next")')
    expect(page.locator("main")).to_contain_text("Decided.")


def test_a_study_is_played_through(
    open_page: Open, study: Study, traces: dict[str, Trace], ana: User, adam: User, tmp_path: Path
) -> None:
    ben = make_person("ben", study=study, roles=[Role.ANNOTATOR])
    for place, person in enumerate((ana, ben)):
        page = open_page(person)
        for name, trace in traces.items():
            _label(page, trace, SAID[name][place])
    call_command("import_debate", str(_debate(tmp_path / "debate.jsonl")), study=study.slug)
    kinds = {one.trace.question.external_id: one.kinds for one in Dispute.objects.all()}
    assert kinds == {
        "step": ["step"],
        "presence": ["presence"],
        "answer": ["answer"],
        "three": ["step"],
        "key": ["answer"],
        "unusable": ["answer", "presence"],
    }

    lead = open_page(adam, path=reverse("disputes", args=[study.slug]))
    expect(lead.locator("tbody tr")).to_have_count(6)
    lead.click('nav[aria-label="Kind of difference"] a:has-text("presence")')
    expect(lead.locator("tbody tr")).to_have_count(2)
    for name in RULED:
        _decide(lead, study, name)
    assert Decision.objects.count() == 6
    assert ReferenceAnswer.objects.get(question__external_id="key", version=2).text == "$43$"
    assert Question.objects.get(external_id="unusable").exclusion_reason == "It needs a figure."

    # One ruling is taken back and made again; on another the lead guesses, then sees the sources.
    three = Dispute.objects.get(trace__question__external_id="three")
    lead.goto(reverse("dispute", args=[study.slug, three.token]))
    lead.fill('[name="rationale"]', "Too quick.")
    lead.click('button:has-text("Take the ruling back")')
    expect(lead.locator("main")).to_contain_text("open again")
    _decide(lead, study, "three")
    step = Dispute.objects.get(trace__question__external_id="step")
    lead.goto(reverse("dispute", args=[study.slug, step.token]))
    lead.click('summary:has-text("Who proposed what")')
    lead.check('input[name="guess"][value="debate"]')
    lead.click('button:has-text("Show who proposed what")')
    expect(lead.locator("#sources")).to_contain_text("You took proposal A for the debate's.")
    expect(lead.locator("#sources")).to_contain_text("Ana, Ben")
    assert Guess.objects.get().source == "debate"
    lead.click('a:has-text("Read the debate")')
    expect(lead.locator("main")).to_contain_text("maker/one")

    lead.goto(reverse("standards", args=[study.slug]))
    lead.fill('[name="note"]', "The first")
    lead.click('button:has-text("Freeze the next version")')
    expect(lead.locator("main")).to_contain_text("6 of 7 traces ready")
    standard = ReferenceStandard.objects.get()
    cells = {label.trace.question.external_id: label.cell for label in standard.labels.all()}
    expected = {
        "step": "critical",
        "presence": "critical",
        "answer": "clean",
        "three": "wrong",
        "key": "clean",
        "unusable": None,
        "agreed": "critical",
    }
    assert cells == expected

    call_command(
        "patch_standard",
        *("--study", study.slug, "--from", "1", "--set", "agreed/Response A:first_error_step=none"),
        *("--reason", "Step 2 is a convention."),
    )
    lead.goto(reverse("standard_difference", args=[study.slug, 1, 2]))
    expect(lead.locator("tbody tr")).to_have_count(1)
    expect(lead.locator("main")).to_contain_text("Step 2 is a convention.")
    lead.click('a:has-text("Which figures change")')
    expect(lead.locator("main")).to_contain_text(
        "1 label differs. The same verdicts are scored against both."
    )

    call_command("export_release", str(tmp_path / "out"), study=study.slug, standard=2)
    call_command("import_release", str(tmp_path / "out"), study="elsewhere")
    call_command("export_release", str(tmp_path / "again"), study="elsewhere")
    for path in (tmp_path / "out").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
    there = ReferenceStandard.objects.get(study__slug="elsewhere")
    assert there.labels.filter(status="ready").count() == 6
