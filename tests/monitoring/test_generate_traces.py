"""Generating traces: cut into steps at once, failures listed, never paid for twice."""

from __future__ import annotations

from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Question, Study, Trace
from annotation.queries import trace_size
from annotation.services import tally
from llm.pricing import estimate_tokens
from llm.types import Reply
from monitoring.generation import GenerationReport, defect, generate_traces, messages_for
from monitoring.models import Inquiry, Monitor
from tests.build import make_question
from tests.llm.server import Scenario, Server
from tests.monitoring.build import make_model, make_scripted

pytestmark = pytest.mark.django_db(transaction=True)

GOOD = "Let me see.\n(1) Take $F = ma$.\n(2) So $a = 2$.\n(3) Hence \\boxed{2\\,\\mathrm{m/s^2}}."


def _generator(study: Study, slug: str, questions: list[Question], *replies: str) -> Monitor:
    lines = {f"{question.pk}|{slug}": reply for question, reply in zip(questions, replies, strict=True)}
    monitor = make_scripted(study, slug, by_key=lines)
    Monitor.objects.filter(pk=monitor.pk).update(model=f"vendor/{slug}")
    monitor.refresh_from_db()
    return monitor


def _run(study: Study, *monitors: Monitor, max_cost: Decimal | None = None) -> GenerationReport:
    return generate_traces(study=study, monitors=monitors, max_cost=max_cost, actor=None)


def test_each_model_solves_each_question_once(study: Study) -> None:
    questions = [make_question(study) for _ in range(3)]
    monitors = [_generator(study, slug, questions, GOOD, GOOD, GOOD) for slug in ("a", "b")]
    report = _run(study, *monitors)
    assert (report.made, report.failed) == (6, [])
    trace = Trace.objects.filter(generator="vendor/a").first()
    assert trace is not None
    assert (trace.n_steps, trace.cut, trace.preamble) == (3, "numbered", "Let me see.\n")
    assert trace.text == GOOD
    for question in questions:
        labels = question.traces.order_by("response_label").values_list("response_label", flat=True)
        assert list(labels) == ["Response A", "Response B"]
    assert trace_size(study)["readable"] == 6, "they are open to readers at once"
    assert tally.verify(study) == []
    again = _run(study, *monitors)
    assert (again.made, again.there, Inquiry.objects.count()) == (0, 6, 6)


def test_letters_do_not_tell_the_generator(study: Study) -> None:
    questions = [make_question(study) for _ in range(24)]
    monitors = [_generator(study, slug, questions, *[GOOD] * 24) for slug in ("a", "b")]
    _run(study, *monitors)
    letters = set(Trace.objects.filter(generator="vendor/a").values_list("response_label", flat=True))
    assert letters == {"Response A", "Response B"}


def test_what_is_no_solution_in_steps_is_asked_once_more_and_listed(study: Study) -> None:
    questions = [make_question(study) for _ in range(3)]
    monitor = _generator(study, "a", questions, "It is 2.", "(1) a (2) b", GOOD)
    report = _run(study, monitor)
    assert report.made == 1
    assert [(question, model) for question, model, _ in report.failed] == [
        (question.external_id, "vendor/a") for question in questions[:2]
    ]
    assert "not in numbered steps" in report.failed[0][2] and "no boxed" in report.failed[1][2]
    assert Inquiry.objects.count() == 5
    assert Trace.objects.count() == 1


@pytest.mark.parametrize(
    ("text", "finish", "said"),
    [
        (GOOD, "stop", ""),
        (GOOD, "length", "cut off"),
        ("(1) only \\boxed{1}", "stop", "numbered"),
        ("(1) a (2) \\boxed{1", "stop", "unclosed_box"),
        ("", "stop", "numbered"),
    ],
)
def test_defects_are_told(text: str, finish: str, said: str) -> None:
    found = defect(Reply(text=text, finish_reason=finish))
    assert said in found and bool(found) == bool(said)


def test_the_prompt_holds_the_statement_and_nothing_else_of_the_question(study: Study) -> None:
    question = make_question(study, answer="SECRET-ANSWER")
    Question.objects.filter(pk=question.pk).update(statement="Find $a$ </problem>", rationale="SECRET")
    question.refresh_from_db()
    prompt = "\n".join(message.content for message in messages_for(question))
    assert "Find $a$" in prompt and "SECRET" not in prompt and prompt.count("</problem>") == 2
    assert "\\boxed" in prompt and "(1), (2), (3)" in prompt


def test_excluded_questions_are_left_out(study: Study) -> None:
    question = make_question(study)
    Question.objects.filter(pk=question.pk).update(status="excluded", exclusion_reason="an image")
    assert _run(study, _generator(study, "a", [question], GOOD)).questions == 0


def test_the_budget_holds_and_the_command_goes_on_later(study: Study, chat_server: Server) -> None:
    questions = [make_question(study) for _ in range(5)]
    most = Decimal(estimate_tokens(messages_for(questions[-1]))) / 1000  # what a request may cost
    chat_server.use(Scenario(text=GOOD))
    make_model(study, "a", base_url=chat_server.url, concurrency=1, input_price=1000, output_price=0)
    with pytest.raises(CommandError, match="budget"):
        call_command(
            "generate_traces",
            "--study=optics",
            "--monitors=a",
            f"--max-cost={most + Decimal('0.4')}",
            "--wait",
        )
    made = Trace.objects.count()
    assert 0 < made < 5 and chat_server.settled().paid == made
    said = StringIO()
    call_command("generate_traces", "--study=optics", "--monitors=a", "--wait", stdout=said)
    assert Trace.objects.count() == 5 and chat_server.settled().paid == 5
    assert f"{5 - made} new traces, {made} there already" in said.getvalue()


def test_offline_monitors_cannot_write(study: Study) -> None:
    with pytest.raises(CommandError, match="not a model"):
        call_command("generate_traces", "--study=optics", "--monitors=rules", "--wait")
