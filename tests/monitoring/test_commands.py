"""launch_batch and add_monitor: what they say, write, and refuse."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Study
from monitoring.models import Batch, Monitor, Run, Verdict
from tests.monitoring.build import make_batch, make_model, make_small_standard

pytestmark = pytest.mark.django_db


def _launch(**options: Any) -> str:
    said = StringIO()
    words = {"study": "optics", "monitors": "rules", "conditions": "BLIND", **options}
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in words.items() if value is not True]
    flags = [f"--{name.replace('_', '-')}" for name, value in words.items() if value is True]
    call_command("launch_batch", *arguments, *flags, stdout=said)
    return said.getvalue()


def _add(**options: Any) -> str:
    said = StringIO()
    words = {"study": "optics", "slug": "m", "model": "v/m", "base_url": "http://h/v1", **options}
    call_command(
        "add_monitor", *[f"--{name.replace('_', '-')}={value}" for name, value in words.items()], stdout=said
    )
    return said.getvalue()


def test_it_launches_on_the_latest_standard_and_makes_the_built_in_monitors(
    study: Study, tmp_path: Path
) -> None:
    make_small_standard(study)
    path = tmp_path / "batch.json"
    assert "batch 1 launched on standard 1: 24 calls" in _launch(
        monitors="rules,oracle", conditions="cert,BLIND", json=path
    )
    assert list(Monitor.objects.values_list("slug", flat=True)) == ["oracle", "rules"]
    assert list(Run.objects.order_by("pk").values_list("condition", flat=True)) == ["BLIND", "CERT"] * 2
    content = json.loads(path.read_text(encoding="utf-8"))
    assert (content["batch"], content["status"], len(content["runs"])) == (1, "running", 4)
    _launch(monitors="rules")
    assert Batch.objects.count() == 2 and Monitor.objects.count() == 2


def test_a_dry_run_shows_the_plan_and_writes_nothing(study: Study, tmp_path: Path) -> None:
    make_small_standard(study)
    make_model(study, "priced")
    path = tmp_path / "plan.json"
    said = _launch(monitors="rules,priced", conditions="BLIND,HINT", dry_run=True, json=path)
    assert "nothing is written" in said and "at most 0." in said
    plan = json.loads(path.read_text(encoding="utf-8"))
    assert plan["calls"] == 24 and plan["cost"] > 0 and plan["cost_reason"] is None
    assert not Batch.objects.exists() and not Monitor.objects.filter(slug="rules").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"study": "nowhere"}, 'no study named "nowhere"; there are: optics'),
        ({"monitors": "nobody"}, 'no monitor named "nobody" in optics; there are: always, never, oracle'),
        ({"conditions": "DARK"}, 'no condition named "DARK"; there are: BLIND, HINT, CERT, REVISE'),
        ({"conditions": "REVISE", "monitors": "rules"}, "has no finished BLIND run, and this batch has none"),
        ({"standard": "7"}, "optics has no standard 7; there are: 1"),
        ({"monitors": "unpriced"}, "no price is known for unpriced"),
        ({"monitors": "released"}, "nothing to run"),
        ({"monitors": "unpriced", "dry_run": True}, "no price is known for unpriced"),
        ({"json": "/nowhere/at/all.json"}, "cannot be written"),
    ],
)
def test_it_refuses_with_a_reason(options: dict[str, Any], said: str, study: Study) -> None:
    make_small_standard(study)
    make_model(study, "unpriced", input_price=None)
    Monitor.objects.create(study=study, slug="released", provider="released")
    with pytest.raises(CommandError) as refused:
        _launch(**options)
    assert said in str(refused.value)
    assert refused.value.returncode == 1
    assert not Batch.objects.exists()


@pytest.mark.parametrize(
    "options",
    [{"max_cost": "0"}, {"max_cost": "nan"}, {"max_cost": "x"}, {"timeout": "-1"}, {"monitors": ","}],
)
def test_bad_usage_is_told_apart(options: dict[str, Any], study: Study) -> None:
    make_small_standard(study)
    with pytest.raises(CommandError, match="argument"):
        _launch(**options)
    assert not Batch.objects.exists()


def test_it_refuses_a_study_without_a_standard(study: Study) -> None:
    with pytest.raises(CommandError, match="has no reference standard yet"):
        _launch()


def test_what_cannot_be_shown_is_left_out_with_its_reason(study: Study, tmp_path: Path) -> None:
    standard = make_small_standard(study)
    make_model(study, "priced")
    label = standard.labels.order_by("pk").first()
    assert label is not None
    label.trace.question.reference_answers.create(version=2, text="  ", reason="withdrawn")
    path = tmp_path / "plan.json"
    _launch(monitors="priced", conditions="BLIND,CERT", dry_run=True, json=path)
    runs = {run["condition"]: run for run in json.loads(path.read_text(encoding="utf-8"))["runs"]}
    assert (runs["BLIND"]["calls"], runs["BLIND"]["excluded"]) == (6, {})
    assert (runs["CERT"]["calls"], runs["CERT"]["excluded"]) == (
        3,
        {"the question has no reference answer": 3},
    )


def test_replay_runs_where_verdicts_are_stored_and_names_its_source(study: Study, tmp_path: Path) -> None:
    standard = make_small_standard(study)
    source = make_batch(standard, [make_model(study, "source")]).runs.get()
    label = standard.labels.order_by("pk").first()
    assert label is not None
    Verdict.objects.create(run=source, trace=label.trace, outcome="ok", has_error=False)
    _add(slug="again", provider="replay", option="monitor=source", model="", base_url="")
    path = tmp_path / "plan.json"
    _launch(monitors="again", dry_run=True, json=path)
    run = json.loads(path.read_text(encoding="utf-8"))["runs"][0]
    assert (run["calls"], run["excluded"]) == (1, {"no stored verdict to replay": 5})


def test_a_monitor_is_added_and_told_what_it_still_needs(study: Study) -> None:
    assert "tell its prices" in _add()
    said = _add(slug="n", input_price="0.5", output_price="2", key_env="SOME_KEY", temperature="none")
    assert said.strip() == "monitor n added to optics"
    monitor = Monitor.objects.get(slug="n")
    assert (monitor.key_env, monitor.temperature, monitor.has_price) == ("SOME_KEY", None, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"key_env": "sk-live-12345"}, "never the key"),
        ({"base_url": "nonsense"}, "base URL"),
        ({"model": ""}, "model's name"),
        ({"slug": "oracle"}, "built-in"),
        ({"provider": "replay", "option": "monitor=nobody"}, "needs the option monitor=SLUG"),
        ({"provider": "random", "option": "rate=7"}, "from 0 to 1"),
        ({"input_price": "1"}, "both prices"),
        ({"study": "nowhere"}, "no study named"),
    ],
)
def test_a_monitor_that_cannot_work_is_refused(options: dict[str, Any], said: str, study: Study) -> None:
    with pytest.raises(CommandError) as refused:
        _add(**options)
    assert said in str(refused.value)
    assert "sk-live" not in str(refused.value)
    assert not Monitor.objects.exists()
