"""The pages of monitors and batches: administrators only, plan before launch, progress, control."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Study
from core.models import AuditEntry, User
from monitoring import queries, words
from monitoring.engine import identity
from monitoring.engine.worker import drive
from monitoring.models import Batch, Call, Condition, Monitor, Run, Verdict
from tests.monitoring.build import make_batch, make_model, make_scripted, make_small_standard

PAGES = ["monitors", "batches", "batch_new", "batch", "batch_progress"]
POSTS = ["monitor_add", "batch_new", "batch_pause", "batch_resume", "batch_cancel", "batch_retry"]
MODEL = {
    "slug": "new-one",
    "model": "vendor/new",
    "base_url": "https://models.example/v1",
    "key_env": "NEW_KEY",
    "input_price": "0.5",
    "output_price": "1.5",
    "max_tokens": "2000",
    "temperature": "0",
    "concurrency": "8",
}


@pytest.fixture
def batch(study: Study) -> Batch:
    return make_batch(make_small_standard(study), [make_model(study)], max_cost=Decimal(1))


def _url(name: str, study: Study) -> str:
    of_a_batch = name.startswith("batch") and name not in ("batches", "batch_new")
    return reverse(name, args=[study.slug, 1] if of_a_batch else [study.slug])


def _in(client: Client, person: User) -> Client:
    client.force_login(person)
    return client


@pytest.mark.django_db
@pytest.mark.parametrize("name", PAGES)
def test_only_administrators_see_the_pages(
    name: str, client: Client, study: Study, batch: Batch, ana: User, adam: User, olga: User, eve: User
) -> None:
    url = _url(name, study)
    assert client.get(url).status_code == 302
    statuses = [_in(client, person).get(url).status_code for person in (olga, ana, adam, eve)]
    assert statuses == [200, 403, 403, 404]


@pytest.mark.django_db
@pytest.mark.parametrize("name", POSTS)
def test_only_administrators_act(
    name: str, client: Client, study: Study, batch: Batch, ana: User, adam: User, eve: User
) -> None:
    url = _url(name, study)
    before = (Batch.objects.count(), Monitor.objects.count(), Batch.objects.get().status)
    data = {**MODEL, "monitors": ["rules"], "conditions": ["BLIND"], "standard": "1"}
    statuses = [_in(client, person).post(url, data).status_code for person in (ana, adam, eve)]
    assert statuses == [403, 403, 404]
    assert (Batch.objects.count(), Monitor.objects.count(), Batch.objects.get().status) == before


@pytest.mark.django_db
@pytest.mark.parametrize("name", [name for name in POSTS if name != "batch_new"])
def test_what_changes_is_never_done_by_get(
    name: str, client: Client, study: Study, batch: Batch, olga: User
) -> None:
    assert _in(client, olga).get(_url(name, study)).status_code == 405


@pytest.mark.django_db
def test_a_batch_that_does_not_exist_is_not_found(client: Client, study: Study, olga: User) -> None:
    assert _in(client, olga).get(reverse("batch", args=[study.slug, 7])).status_code == 404


@pytest.mark.django_db
def test_a_monitor_is_added_once_and_its_key_is_never_shown(
    client: Client, study: Study, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEW_KEY", "sk-very-secret")
    _in(client, olga)
    assert client.post(_url("monitor_add", study), MODEL).status_code == 302
    page = client.get(_url("monitors", study)).content.decode()
    assert "NEW_KEY" in page and "is set here" in page and "sk-very-secret" not in page
    again = client.post(_url("monitor_add", study), MODEL)
    assert again.status_code == 422 and "already" in again.content.decode()
    assert Monitor.objects.count() == 1
    assert "sk-very-secret" not in str(list(AuditEntry.objects.values()))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"key_env": "sk-very-secret"}, "never the key"),
        ({"base_url": "ftp://x"}, "base URL"),
        ({"base_url": "https://me:pw@host/v1"}, "no name, password"),
        ({"slug": "a b"}, "letters, digits"),
        ({"slug": "oracle"}, "built-in"),
        ({"output_price": ""}, "both prices"),
        ({"input_price": "-1"}, "greater than or equal to 0"),
        ({"concurrency": "0"}, "greater than or equal to 1"),
    ],
)
def test_a_monitor_that_cannot_work_is_refused_with_a_reason(
    changes: dict[str, str], said: str, client: Client, study: Study, olga: User
) -> None:
    answer = _in(client, olga).post(_url("monitor_add", study), {**MODEL, **changes})
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not Monitor.objects.exists()


@pytest.mark.django_db
def test_planning_shows_calls_cost_and_exclusions_and_writes_nothing(
    client: Client, study: Study, olga: User
) -> None:
    make_small_standard(study)
    make_model(study, "priced")
    _in(client, olga)
    answer = client.get(
        _url("batch_new", study),
        {"monitors": ["priced", "rules"], "conditions": ["BLIND", "CERT"], "standard": "1"},
    )
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "24 calls" in page and "at most 0." in page and "free" in page and "Launch" in page
    assert not Batch.objects.exists() and not Monitor.objects.filter(slug="rules").exists()


@pytest.mark.django_db
def test_a_monitor_without_a_price_cannot_be_launched(client: Client, study: Study, olga: User) -> None:
    make_small_standard(study)
    make_model(study, "unpriced", input_price=None, output_price=None)
    data = {"monitors": ["unpriced"], "conditions": ["BLIND"], "standard": "1"}
    _in(client, olga)
    plan = client.get(_url("batch_new", study), data).content.decode()
    assert "no price is known for unpriced" in plan and "Launch</button>" not in plan
    answer = client.post(_url("batch_new", study), data)
    assert answer.status_code == 422 and "no price is known for unpriced" in answer.content.decode()
    assert not Batch.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"monitors": ["nobody"]}, 422),
        ({"conditions": ["DARK"]}, 422),
        ({"step_prefixes": "some"}, 422),
        ({"invalid_retries": "9"}, 422),
        ({"standard": "9"}, 422),
        ({"max_cost": "0"}, 422),
        ({"max_cost": "NaN"}, 422),
        ({"monitors": []}, 422),
    ],
)
def test_nonsense_in_a_plan_is_refused(
    changes: dict[str, object], status: int, client: Client, study: Study, olga: User
) -> None:
    make_small_standard(study)
    data = {"monitors": ["rules"], "conditions": ["BLIND"], "standard": "1", **changes}
    _in(client, olga)
    assert client.get(_url("batch_new", study), data).status_code == status
    assert client.post(_url("batch_new", study), data).status_code == status
    assert not Batch.objects.exists()


@pytest.mark.django_db
def test_planning_without_a_standard_says_who_makes_one(client: Client, study: Study, olga: User) -> None:
    assert "no standard to run on yet" in _in(client, olga).get(_url("batch_new", study)).content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_launch_from_the_page_runs_and_the_page_tells_of_it(
    client: Client, study: Study, olga: User, woken: list[int]
) -> None:
    make_small_standard(study)
    _in(client, olga)
    data = {"monitors": ["oracle", "always"], "conditions": ["BLIND", "CERT"], "standard": "1"}
    answer = client.post(_url("batch_new", study), data)
    batch = Batch.objects.get()
    assert answer.status_code == 302 and batch.launched_by == olga and woken == [batch.pk]
    fragment = client.get(_url("batch_progress", study), {"status": "running"})
    said = fragment.content.decode()
    assert "0 of 24 calls" in said and "hx-get" in said and "<html" not in said
    assert "HX-Refresh" not in fragment
    drive(batch_id=batch.pk, owner=identity.owner())
    fragment = client.get(_url("batch_progress", study), {"status": "running"})
    assert fragment["HX-Refresh"] == "true", "the verbs that fit the new state come with the whole page"
    page = client.get(_url("batch", study)).content.decode()
    assert "Finished: 24 of 24 calls" in page and "hx-get" not in page
    assert "2 inconsistent" in page and 'class="is-ok"' in page


@pytest.mark.django_db
def test_a_run_without_a_call_is_not_said_to_be_waiting(client: Client, study: Study, olga: User) -> None:
    oracle = Monitor.objects.create(study=study, slug="oracle", provider="oracle")
    batch = make_batch(make_small_standard(study), [oracle], conditions=[Condition.BLIND, Condition.STEP])
    client.force_login(olga)
    page = client.get(reverse("batch", args=[study.slug, batch.number])).content.decode()
    assert (page.count("nothing yet"), page.count("no calls")) == (1, 1)


def test_pause_resume_and_cancel_are_verbs_that_can_be_repeated(
    client: Client, study: Study, batch: Batch, olga: User
) -> None:
    _in(client, olga)
    states = []
    for name in ("pause", "pause", "resume", "resume", "cancel", "cancel"):
        assert client.post(_url(f"batch_{name}", study)).status_code == 302
        batch.refresh_from_db()
        states.append(batch.status)
    assert states == ["paused", "paused", "running", "running", "cancelled", "cancelled"]
    assert client.post(_url("batch_resume", study)).status_code == 409
    assert client.post(_url("batch_pause", study)).status_code == 409
    assert client.post(_url("batch_retry", study)).status_code == 409
    actions = list(AuditEntry.objects.order_by("sequence").values_list("action", flat=True))
    assert actions == ["batch launched", "batch paused", "batch resumed", "batch cancelled"]
    assert set(Run.objects.values_list("status", flat=True)) == {"cancelled"}


@pytest.mark.django_db
def test_a_batch_stopped_by_its_budget_goes_on_with_another(
    client: Client, study: Study, batch: Batch, olga: User
) -> None:
    Batch.objects.update(status="paused", status_reason="budget", spent=Decimal("0.5"))
    _in(client, olga)
    refused = client.post(_url("batch_resume", study), {"max_cost": "0.4"})
    assert refused.status_code == 422 and "spent already" in refused.content.decode()
    assert client.post(_url("batch_resume", study), {"max_cost": "2"}).status_code == 302
    batch.refresh_from_db()
    assert (batch.status, batch.max_cost) == ("running", Decimal(2))


@pytest.mark.django_db(transaction=True)
def test_only_the_failed_calls_are_tried_again_and_their_attempts_stay(
    client: Client, study: Study, olga: User
) -> None:
    good = '{"has_error": 0, "first_error_step": null, "error_confidence": 1, "reason": "x"}'
    script = make_scripted(study, replies=[good, "?", "", good, good, good], repeat=True)
    batch = make_batch(make_small_standard(study), [script])
    drive(batch_id=batch.pk, owner=identity.owner())
    kept = set(Verdict.objects.filter(outcome="ok").values_list("pk", flat=True))
    assert Verdict.objects.exclude(outcome="ok").count() == 2
    _in(client, olga)
    assert "Try the 2 failed again" in client.get(_url("batch", study)).content.decode()
    assert client.post(_url("batch_retry", study)).status_code == 302
    batch.refresh_from_db()
    assert batch.status == "running"
    Run.objects.update(settings={**Run.objects.get().settings, "options": {"reply": good}})
    drive(batch_id=batch.pk, owner=identity.owner())
    batch.refresh_from_db()
    assert batch.status == "finished"
    assert Verdict.objects.filter(outcome="ok").count() == 6
    assert kept <= set(Verdict.objects.values_list("pk", flat=True))
    calls = batch.runs.get().calls.all()
    assert sorted(call.attempts.count() for call in calls) == [1, 1, 1, 1, 2, 2]
    entry = AuditEntry.objects.get(action="failed calls retried")
    assert entry.payload == {"calls": 2, "outcomes": {"invalid": 1, "no_response": 1}}


@pytest.mark.django_db
def test_the_list_takes_the_same_queries_however_many_batches(
    client: Client, study: Study, olga: User
) -> None:
    standard = make_small_standard(study)
    model = make_model(study)
    make_batch(standard, [model])
    _in(client, olga)
    with CaptureQueriesContext(connection) as one:
        client.get(_url("batches", study))
    for _ in range(5):
        make_batch(standard, [model])
    with CaptureQueriesContext(connection) as many:
        client.get(_url("batches", study))
    assert len(many) == len(one)


@pytest.mark.django_db
def test_the_time_left_is_that_of_the_slowest_monitor(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, quick = make_model(study, "slow"), make_model(study, "quick")
    batch = make_batch(make_small_standard(study, n_traces=12), [slow, quick])
    now = timezone.now()
    for run, done, every in zip(batch.runs.order_by("pk"), (3, 12), (4.0, 0.1), strict=True):
        for place, call in enumerate(run.calls.order_by("pk")[:done]):
            Call.objects.filter(pk=call.pk).update(status="done")
            then = now - timedelta(seconds=every * (done - place))
            with monkeypatch.context() as clock:
                clock.setattr(timezone, "now", lambda: then)  # noqa: B023
                Verdict.objects.create(run=run, trace=call.trace, outcome="refusal")
    progress = queries.progress_of(batch)
    assert progress.per_second == pytest.approx(3 / 12, rel=0.05), "the quick one is done and tells nothing"
    assert progress.seconds_left == pytest.approx(9 / (3 / 12), rel=0.05)


@pytest.mark.django_db
def test_there_is_no_time_left_to_tell_before_there_is_a_rate(study: Study, batch: Batch) -> None:
    assert queries.progress_of(batch).seconds_left is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(3, "a few seconds"), (42, "about 40 seconds"), (200, "about 3 minutes"), (3 * 3600, "about 3 hours")],
)
def test_time_is_told_in_words(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        ("0", "0 USD"),
        ("12.3456", "12.35 USD"),
        ("0.0042", "0.0042 USD"),
        ("0.0000004", "less than 0.000001 USD"),
    ],
)
def test_money_is_told_so_that_little_is_not_nothing(amount: str, said: str) -> None:
    assert words.usd(Decimal(amount)) == said
