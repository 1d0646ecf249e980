"""The desk on PostgreSQL with 100,000 traces and 1,000,000 labels: single requests, then twenty people at once.

BENCH_QUESTIONS makes it smaller: three traces and thirty labels a question.

Run by `make bench` when DATABASE_URL is given, or alone: `python -m tests.bench.desk_load`. The site is served
by gunicorn on 127.0.0.1 over a scratch database, which is dropped again. Times are those of a client: from the
request's first byte to the answer's last, over one open connection.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql

from tests.bench.measure import Figure

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS, PEOPLE = int(os.environ.get("BENCH_QUESTIONS", "33334")), 20
SECONDS = 20
SETUP = """
import json, sys, time, django
django.setup()
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.core.management import call_command
from django.db import connection
from annotation.imports.traces import import_traces
from annotation.models import Label, Membership, Role, Study
from annotation.services import tally
from annotation.services.sharing import change_queue
from core.models import User

call_command("migrate", verbosity=0)
begun = time.perf_counter()
import_traces(path=sys.argv[1], study_slug="bench")
imported = time.perf_counter() - begun
study = Study.objects.get(slug="bench")
sessions = {}
for number in range(int(sys.argv[2])):
    person = User(username=f"p{number}")
    person.set_unusable_password()
    person.save()
    for role in (Role.ANNOTATOR, Role.LEAD, Role.ADMINISTRATOR)[: 3 if number == 0 else 1]:
        Membership.objects.create(study=study, person=person, role=role)
    session = SessionStore()
    session[SESSION_KEY] = str(person.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.create()
    sessions[person.username] = session.session_key
with connection.cursor() as cursor:
    # Each trace has the labels of every other person: ten of twenty, who agree. One more is wanted of each.
    cursor.execute(
        "INSERT INTO annotation_label (trace_id, arm, labeller, person_id, final_correct, first_error_step, "
        "comment, revision, source, created_at) "
        "SELECT t.id, 'human', u.username, u.id, true, NULL, '', 1, 'bench', "
        "now() - interval '1 year' + t.id * interval '1 second' "
        "FROM annotation_trace t JOIN core_user u ON MOD(t.id + u.id, 2) = 0 WHERE t.study_id = %s", [study.pk])
begun = time.perf_counter()
tally.refresh(study)
recount = time.perf_counter() - begun
change_queue(study=study, actor=None, overlap=11, coverage="complete", share=100, sharing="free",
             show_reference_answer=True)
with connection.cursor() as cursor:
    cursor.execute("VACUUM ANALYZE")
print(json.dumps({"sessions": sessions, "imported": imported, "recount": recount,
                  "traces": study.traces.count(), "labels": Label.objects.count()}))
"""
EXPORT = """
import itertools, json, sys, time, django
django.setup()
from annotation.exports.columns import LABEL_COLUMNS
from annotation.exports.labels import label_rows
from annotation.exports.streams import FORMATS
from annotation.models import Study
from tests.bench.measure import peak_mb
before, begun = peak_mb(), time.perf_counter()
rows = itertools.islice(label_rows(Study.objects.get(slug="bench")), int(sys.argv[1]))
with open(sys.argv[2], "wb") as file:
    file.writelines(FORMATS["csv"].stream(rows, LABEL_COLUMNS))
print(json.dumps([time.perf_counter() - begun, before, peak_mb()]))
"""
VERIFY = """
import django
django.setup()
from annotation.models import Label, Study
from annotation.services import tally
print(len(tally.verify(Study.objects.get(slug="bench"))), Label.objects.filter(source="desk").count())
"""


def write_questions(path: Path, questions: int = QUESTIONS) -> Path:
    """Write so many questions with three traces of 12 steps each, every formula different, about 1.5 kB a trace."""
    chance = random.Random(0)
    words = [
        "then",
        "hence",
        "with the field",
        "along the axis",
        "energy is conserved",
        "we find",
        "for small angles",
    ]
    with path.open("w", encoding="utf-8") as file:
        for number in range(questions):
            traces = []
            for letter in "ABC":
                steps = [
                    f"({k}) {' '.join(chance.choices(words, k=4))} "
                    f"$x_{{{k}}} = \\frac{{{chance.randrange(10**6)}}}{{2}} v_{{{number}}}^2 + {k}$ in the end.\n"
                    for k in range(1, 13)
                ]
                traces.append(
                    {"response_label": f"Response {letter}", "generator": "g", "text": "".join(steps)}
                )
            question = {
                "question_id": f"q{number}",
                "statement": f"A body of mass $m_{{{number}}}$ moves. Find $x$.",
                "reference_answer": f"${number}\\,\\mathrm{{m}}$",
                "subject": ("optics", "mechanics", "thermodynamics")[number % 3],
            }
            file.write(json.dumps({**question, "traces": traces}) + "\n")
    return path


class Meter:
    """The processor time that the site's processes and their database connections have used, where /proc tells it.

    On a machine with other work the time that a client waits says as much of that work as of the site.
    """

    def __init__(self, master: int, database: str) -> None:
        self.workers = [
            int(pid) for pid in Path(f"/proc/{master}/task/{master}/children").read_text().split()
        ]
        self.connection = psycopg.connect(database, autocommit=True)

    def seconds(self) -> float:
        """Return the seconds used so far."""
        rows = self.connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        spent = 0
        for pid in [*self.workers, *(row[0] for row in rows)]:
            try:
                tasks = list(Path(f"/proc/{pid}/task").iterdir())
                spent += sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)
            except FileNotFoundError:
                continue  # ended meanwhile
        return spent / 1e9


class Person:
    """One browser: a kept connection, a session, a CSRF token."""

    meter: Meter | None = None

    def __init__(self, port: int, session: str) -> None:
        self.computing = 0.0
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.token = secrets.token_hex(16)
        self.headers = {
            "Cookie": f"sessionid={session}; csrftoken={self.token}",
            "Content-Type": "application/x-www-form-urlencoded",
        }

    def call(self, path: str, **form: str) -> tuple[int, str, str, float]:
        """Send a request (POST if there is a form); return status, location, body and seconds."""
        body = urllib.parse.urlencode({"csrfmiddlewaretoken": self.token, **form}) if form else None
        before = self.meter.seconds() if self.meter else 0.0
        begun = time.perf_counter()
        self.connection.request("POST" if form else "GET", path, body=body, headers=self.headers)
        response = self.connection.getresponse()
        text = response.read().decode()
        spent = time.perf_counter() - begun
        self.computing = self.meter.seconds() - before if self.meter else 0.0
        return response.status, response.headers.get("Location", ""), text, spent


@dataclass
class Times:
    """Seconds of each kind of request, and what went wrong."""

    claim: list[float] = field(default_factory=list)
    read: list[float] = field(default_factory=list)
    save: list[float] = field(default_factory=list)
    computing: dict[str, list[float]] = field(default_factory=lambda: {"claim": [], "read": [], "save": []})
    loops: int = 0
    errors: list[str] = field(default_factory=list)


def loop(person: Person, times: Times) -> None:
    """Next, read, save: as the page does it with its form's own values. Each tenth label opens a dispute."""
    step = "3" if times.loops % 10 == 9 else ""
    status, page, _, spent = person.call("/studies/bench/queue/next/", go="1")
    if status != 302 or "/traces/" not in page:
        times.errors.append(f"next: {status} {page}")
        return
    times.claim.append(spent)
    times.computing["claim"].append(person.computing)
    status, _, text, spent = person.call(page)
    if status != 200 or text.count('class="step"') != 12 or text.count("<math") < 14:
        times.errors.append(f"read: {status}")
        return
    times.read.append(spent)
    times.computing["read"].append(person.computing)
    revision = re.search(r'name="revision" value="(\d+)"', text)
    status, _, _, spent = person.call(
        page,
        final="right",
        first_error="step" if step else "none",
        step=step,
        comment="",
        active_seconds="12",
        draft_version="0",
        revision=revision[1] if revision else "",
        then="queue",
    )
    if status != 302:
        times.errors.append(f"save: {status}")
        return
    times.save.append(spent)
    times.computing["save"].append(person.computing)
    times.loops += 1


def computing(seconds: list[float]) -> str:
    """Say the median of processor time, of which a request's waiting is at least made."""
    return f"of it computing {1000 * statistics.median(seconds):.1f} ms" if any(seconds) else ""


@contextmanager
def served(database: str, home: Path) -> Iterator[tuple[int, int]]:
    """Serve the site on a free port of 127.0.0.1; yield the port and the server's process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "config.wsgi",
        "--bind",
        f"127.0.0.1:{port}",
        "--workers",
        "2",
    ]
    command += ["--threads", "5", "--log-level", "error", "--keep-alive", "30"]
    process = subprocess.Popen(command, cwd=ROOT, env=_environment(database, home))
    try:
        for _ in range(150):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(timeout=30)


def _environment(database: str, home: Path) -> dict[str, str]:
    found = {key: value for key, value in os.environ.items() if key != "REDIS_URL"}
    return found | {
        "DATABASE_URL": database,
        "FALSESTEP_SECRET_KEY": "bench",
        "FALSESTEP_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }


def percentile(times: list[float], share: float) -> float:
    """Return the time that this share of the requests did not exceed."""
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def told(name: str, times: list[float], note: str = "") -> Figure:
    """Return the median, with the 95th percentile and the number of requests beside it."""
    p95 = f"p95 {1000 * percentile(times, 0.95):.1f} ms, n = {len(times)}"
    return Figure(name, statistics.median(times), f"{p95}{', ' + note if note else ''}")


def measure(server: str, home: Path) -> Iterator[Figure]:
    """Yield the figures of the desk under load, on a scratch database of the server."""
    name = f"falsestep_bench_{secrets.token_hex(4)}"
    base = server.rsplit("/", 1)[0]
    path = write_questions(home / "load.jsonl")
    with psycopg.connect(f"{base}/postgres", autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield from _measured(f"{base}/{name}", home, path)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _python(code: str, database: str, home: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env=_environment(database, home),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return done.stdout


def _measured(database: str, home: Path, path: Path) -> Iterator[Figure]:
    made = json.loads(_python(SETUP, database, home, str(path), str(PEOPLE)))
    traces, labels = made["traces"], made["labels"]
    yield Figure(
        f"import of {traces:,} traces of 12 steps",
        made["imported"],
        f"{traces / made['imported']:,.0f} traces a second",
    )
    yield Figure(f"counting the study anew, {labels:,} labels", made["recount"])
    with psycopg.connect(database) as connection:
        tokens = [row[0] for row in connection.execute("SELECT token FROM annotation_trace ORDER BY token")]
    with served(database, home) as (port, master):
        people = [Person(port, session) for session in made["sessions"].values()]
        chance = random.Random(1)
        for person in people:  # warms each worker's imports and templates
            person.call(f"/studies/bench/traces/{chance.choice(tokens)}/")
        if Path("/proc/self/schedstat").exists():
            Person.meter = Meter(master, database)
        single = Times()
        for _ in range(20):
            for person in people:
                loop(person, single)
        if single.errors:
            raise RuntimeError(f"{len(single.errors)} errors, the first: {single.errors[0]}")
        yield told("next: claim a trace", single.claim, computing(single.computing["claim"]))
        yield told("read: annotation page after a claim", single.read, computing(single.computing["read"]))
        yield told("save: submit a label", single.save, computing(single.computing["save"]))
        anywhere, used = [], []
        for k in range(400):
            person = chance.choice(people)
            anywhere.append(person.call(f"/studies/bench/traces/{tokens[int(k * len(tokens) / 400)]}/")[3])
            used.append(person.computing)
        yield told("annotation page of any trace, first to last", anywhere, computing(used))
        for words, address in (
            ("queue page", "queue/"),
            ("queue page, far back", f"queue/?after={tokens[0]}"),
            ("questions, first page", "questions/"),
            ("questions, last page", f"questions/?page={QUESTIONS // 50}"),
            ("who reads what", "queue/rules/"),
            ("study", ""),
        ):
            found, used = [], []
            for _ in range(12):
                found.append(people[0].call(f"/studies/bench/{address}"))
                used.append(people[0].computing)
            if {answer[0] for answer in found} != {200}:
                raise RuntimeError(f"{address}: {found[0][0]}")
            yield told(words, [answer[3] for answer in found[2:]], computing(used[2:]))
        Person.meter = None
        together = _together(port, list(made["sessions"].values()))
        yield Figure(
            f"{PEOPLE} people in a closed loop for {SECONDS} s: a loop",
            SECONDS * PEOPLE / together.loops,
            f"{together.loops / SECONDS:.1f} loops a second, {len(together.errors)} errors",
        )
        for words, times in (("next", together.claim), ("read", together.read), ("save", together.save)):
            yield told(f"  {words}, {PEOPLE} people at once", times)
    for size in (labels // 10, labels):
        file = str(home / "labels.csv")
        seconds, before, peak = json.loads(_python(EXPORT, database, home, str(size), file))
        yield Figure(f"export of {size:,} labels", seconds, f"peak {peak:.0f} MB, {before:.0f} MB before")
    wrong, kept = _python(VERIFY, database, home).split()
    done = single.loops + together.loops
    yield Figure("labels kept, of those saved", 0, f"{kept} of {done}; counts that are wrong: {wrong}")


def _together(port: int, sessions: list[str]) -> Times:
    """Let everybody loop without think time until the time is over; bounded by the clock and by count."""
    times = [Times() for _ in sessions]
    barrier = threading.Barrier(len(sessions))

    def work(session: str, mine: Times) -> None:
        person = Person(port, session)
        barrier.wait(timeout=30)
        end = time.perf_counter() + SECONDS
        for _ in range(5_000):
            if time.perf_counter() >= end or len(mine.errors) > 5:
                break
            try:
                loop(person, mine)
            except (OSError, http.client.HTTPException) as error:
                mine.errors.append(repr(error))
                person = Person(port, session)

    threads = [
        threading.Thread(target=work, args=(session, mine))
        for session, mine in zip(sessions, times, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=SECONDS + 60)
    total = Times()
    for mine in times:
        total.claim += mine.claim
        total.read += mine.read
        total.save += mine.save
        total.loops += mine.loops
        total.errors += mine.errors
    return total


def main() -> None:
    """Measure alone, on the server that DATABASE_URL names."""
    server = os.environ.get("DATABASE_URL", "")
    if not server.startswith("postgres"):
        raise SystemExit("set DATABASE_URL to a PostgreSQL database; a scratch one is made beside it")
    with tempfile.TemporaryDirectory(prefix="falsestep-bench-") as home:
        for figure in measure(server, Path(home)):
            print(f"  {figure}", flush=True)


if __name__ == "__main__":
    main()
