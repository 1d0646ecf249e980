"""Fifty people at a site in production settings while a batch runs; with faults, while its servers are killed too.

Nothing that anybody was told is saved may be lost or kept twice, the batch ends with one verdict a call, and every
audit chain and kept count is right afterwards. Without faults no request may fail, 95 of 100 pages of each kind take
less than 400 ms, and the batch keeps four fifths of the speed that it had alone, before the people came.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.bench.desk_load import write_questions
from tests.conftest import ROOT
from tests.faults.run import OwnRedis
from tests.load import accounting
from tests.load.accounting import Key, Values
from tests.load.fill import SLUG
from tests.load.outcome import KINDS, WARM, Fault, Options, Outcome, missed, tell
from tests.load.people import Browser, label, settle, start, watch
from tests.load.servers import OwnPostgres, children_of, model_server, seconds_of, website
from tests.monitoring.installation import Installation, wait_until

LOOK = 0.25  # seconds between looks at the batch
FINISH = 900.0  # seconds for the rest of the batch
LABELS = """
SELECT u.username, t.token, COALESCE(CAST(l.first_error_step AS text), ''), l.comment FROM annotation_label l
JOIN core_user u ON u.id = l.person_id JOIN annotation_trace t ON t.id = l.trace_id WHERE l.source = 'desk'
"""
DECISIONS = """
SELECT u.username, d.token, x.chosen_mark, x.rationale FROM adjudication_decision x
JOIN core_user u ON u.id = x.decided_by_id JOIN adjudication_dispute d ON d.id = x.dispute_id
"""
MISCOUNTED = """
SELECT count(*) FROM (
    SELECT run_id, 'call' AS kind, status AS name, count(*) AS n FROM monitoring_call GROUP BY 1, 3
    UNION ALL SELECT run_id, 'verdict', outcome, count(*) FROM monitoring_verdict GROUP BY 1, 3
) counted FULL JOIN (
    SELECT run_id, kind, name, number FROM monitoring_runcount WHERE kind IN ('call', 'verdict') AND number <> 0
) kept USING (run_id, kind, name) WHERE counted.n IS DISTINCT FROM kept.number
"""


@dataclass
class Stage:
    """The servers of a run."""

    postgres: OwnPostgres
    broker: OwnRedis
    made: Installation
    model: int  # processes
    port: int = 0
    web: int = 0
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_worker(self) -> None:
        """Start a worker, as compose does."""
        self.workers.append(self.made.worker("--pool", "prefork", "--concurrency", "2", "--beat"))

    def kill_worker(self) -> None:
        """Kill the worker with its pool, and start another: what a supervisor does."""
        os.killpg(self.workers[-1].pid, signal.SIGKILL)
        self.workers[-1].wait(timeout=20)
        self.start_worker()

    def kill_web(self) -> None:
        """Kill one of gunicorn's processes; its master starts another."""
        os.kill(children_of(self.web)[0], signal.SIGKILL)

    def restart_broker(self) -> None:
        """Restart Redis, which forgets everything."""
        self.broker.stop()
        self.broker.start()

    def computing(self) -> dict[str, float]:
        """Return the processor seconds that each part has used so far; those of a killed worker are forgotten."""
        return {
            "web": seconds_of(self.web),
            "PostgreSQL": seconds_of(self.postgres.process.pid),
            "worker": seconds_of(self.workers[-1].pid),
            "model": seconds_of(self.model),
            "people": time.process_time(),
        }

    def faults(self) -> dict[str, Callable[[], None]]:
        """Return what is done to the servers, in order."""
        return {
            "a web process killed": self.kill_web,
            "Redis restarted, empty": self.restart_broker,
            "PostgreSQL crashed and restarted": self.postgres.restart,
            "the worker killed": self.kill_worker,
        }


class Looks:
    """Looks at the number of verdicts now and then, whatever happens to the database meanwhile."""

    def __init__(self, made: Installation) -> None:
        self.counts: list[tuple[float, int]] = []
        self._made = made
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="looks", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        query = "SELECT COALESCE(SUM(number), 0) FROM monitoring_runcount WHERE kind = 'verdict'"
        while not self._over.is_set():
            try:
                with psycopg.connect(
                    self._made.database_url, connect_timeout=5, autocommit=True
                ) as connection:
                    while not self._over.is_set():
                        [number] = connection.execute(query).fetchone() or (0,)
                        self.counts.append((time.monotonic(), int(number)))
                        self._over.wait(LOOK)
            except psycopg.Error:
                self._over.wait(LOOK)

    def close(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join(timeout=20)


def run(options: Options) -> bool:
    """Run, say what came of it, and return whether everything held."""
    begun = time.monotonic()
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="falsestep-load-")))
        postgres = OwnPostgres()
        stack.callback(postgres.close)
        broker = OwnRedis()
        stack.callback(broker.stop)
        model, model_process = stack.enter_context(model_server(options.latency))
        made = Installation.make(
            home,
            DATABASE_URL=postgres.url,
            REDIS_URL=broker.url,
            FALSESTEP_SECRET_KEY=secrets.token_hex(32),
        )
        stack.callback(made.close)
        made.manage("collectstatic", "--no-input", "--verbosity", "0")
        known = _fill(made, model, options)
        _say(begun, f"{options.traces:,} traces, {len(known['disputes']):,} disputes to decide")
        stage = Stage(postgres, broker, made, model_process)
        stage.port, stage.web = stack.enter_context(website(made))
        outcome = _measured(stage, known, options, stack, begun)
    tell(outcome, options)
    wrong = missed(outcome, options)
    print("\n" + ("\n".join(f"MISSED  {words}" for words in wrong) or "everything held"))
    return not wrong


def _fill(made: Installation, model: str, options: Options) -> Any:
    questions = write_questions(made.home / "questions.jsonl", -(-options.traces // 3))
    numbers = [options.calls, model, options.labellers, options.leads, options.watchers]
    done = subprocess.run(
        [sys.executable, "-m", "tests.load.fill", str(questions), *map(str, numbers)],
        cwd=ROOT,
        env=made.environment,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def _measured(stage: Stage, known: Any, options: Options, stack: ExitStack, begun: float) -> Outcome:
    made = stage.made
    stage.start_worker()
    wait_until(
        lambda: made.number("SELECT count(*) FROM monitoring_workerheartbeat"), within=60, why="no worker"
    )
    people = _people(stage.port, known, options)
    for browser in people:  # warms each process's templates
        browser.call("/")
    made.manage("launch_batch", "--study", SLUG, "--monitors", "model", "--conditions", "BLIND")
    wait_until(made.done, within=120, why="the batch does not begin")
    looks = Looks(made)
    stack.callback(looks.close)
    time.sleep(WARM + options.alone)
    from_then = time.monotonic()
    _say(begun, f"the batch ran alone: {made.done():,} verdicts")
    until = from_then + options.seconds
    failures: list[str] = []
    used = stage.computing()
    threads = [_set_to_work(browser, known, options, until, failures) for browser in people]
    faults = _do(stage, from_then, options, begun) if options.faults else []
    for thread in threads:
        thread.join(timeout=max(0.0, until - time.monotonic()) + 90)
        if thread.is_alive():
            failures.append(f"{thread.name} does not come to an end")
    computing = {part: seconds - used[part] for part, seconds in stage.computing().items()}
    ended = max([until, *(one.ended for browser in people for one in browser.ledger.requests)])
    _say(begun, f"the people are gone: {made.done():,} verdicts")
    over = "SELECT count(*) FROM monitoring_batch WHERE status = 'finished'"
    wait_until(lambda: made.number(over), within=FINISH, why="the batch does not end")
    finished = time.monotonic()
    looks.close()
    _say(begun, "the batch is over")
    ledgers = [browser.ledger for browser in people]
    by_kind = {kind: [one.ledger for one in people if one.name.startswith(kind)] for kind in KINDS}
    assert sum(map(len, by_kind.values())) == len(ledgers)
    return Outcome(
        people=people,
        failures=failures,
        counts=looks.counts,
        begun=from_then,
        ended=min(ended, until),
        finished=finished,
        faults=faults,
        computing=computing,
        labels=accounting.account(by_kind["labellers"], _kept(made, LABELS)),
        decisions=accounting.account(by_kind["leads"], _kept(made, DECISIONS)),
        batch=_batch(made),
        broken=_broken(made),
    )


def _people(port: int, known: Any, options: Options) -> list[Browser]:
    return [
        Browser(port, session, name=name, chance=random.Random(f"{options.seed} {name}"))
        for sessions in known["sessions"].values()
        for name, session in sessions.items()
    ]


def _set_to_work(
    browser: Browser, known: Any, options: Options, until: float, failures: list[str]
) -> threading.Thread:
    kind, number = browser.name.split("-")
    disputes = known["disputes"]
    work: Callable[[], None]
    if kind == "labellers":
        work = lambda: label(browser, options.think)  # noqa: E731
    elif kind == "leads":
        first = disputes[int(number) * len(disputes) // options.leads]
        work = lambda: settle(browser, options.think, first)  # noqa: E731
    else:
        work = lambda: watch(browser, 1)  # noqa: E731
    return start(browser, work, until=until, within=options.think[1], failures=failures)


def _do(stage: Stage, begun: float, options: Options, said: float) -> list[Fault]:
    """Do the faults, one after another; return when each began and was done. The last has the longest to be felt."""
    done = []
    for number, (name, fault) in enumerate(stage.faults().items()):
        time.sleep(max(0.0, begun + (0.1 + 0.2 * number) * options.seconds - time.monotonic()))
        at = time.monotonic()
        fault()
        done.append(Fault(name, at, time.monotonic()))
        _say(said, name)
    return done


def _kept(made: Installation, query: str) -> Iterable[tuple[Key, Values]]:
    return [((who, what), tuple(values)) for who, what, *values in made.rows(query)]


def _batch(made: Installation) -> dict[str, int]:
    one = made.number
    return {
        "verdicts": one("SELECT count(*) FROM monitoring_verdict WHERE outcome = 'ok'"),
        "traces with a verdict": one("SELECT count(DISTINCT trace_id) FROM monitoring_verdict"),
        "calls with one accepted reply": one(
            "SELECT count(*) FROM (SELECT call_id FROM monitoring_attempt WHERE error_kind = '' "
            "AND finished_at IS NOT NULL GROUP BY call_id HAVING count(*) = 1) one"
        ),
        "left open": one(
            "SELECT (SELECT count(*) FROM monitoring_attempt WHERE finished_at IS NULL) "
            "+ (SELECT count(*) FROM monitoring_run WHERE status <> 'finished') "
            "+ (SELECT count(*) FROM monitoring_batch WHERE reserved <> 0)"
        ),
        "attempts lost": one("SELECT count(*) FROM monitoring_attempt WHERE error_kind = 'abandoned'"),
    }


def _broken(made: Installation) -> list[str]:
    """Return what does not hold of the trail and the counts that are kept."""
    broken = []
    for command in (("verify_audit_trail",), ("rebuild_progress", "--study", SLUG, "--check")):
        process = made.start(*command)
        said, _ = process.communicate(timeout=600)
        if process.returncode:
            broken.append(f"{command[0]}: {said[-300:]}")
    if wrong := made.number(MISCOUNTED):
        broken.append(f"{wrong} counts of runs are wrong")
    return broken


def _say(begun: float, what: str) -> None:
    print(f"{time.monotonic() - begun:7.1f} s  {what}", flush=True)
