"""`manage.py demo`: set-up and the main job on the sample study, then the site."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command

from adjudication.models import ReferenceStandard
from adjudication.services.disputes import recompute_disputes
from adjudication.services.rules import state_gap
from adjudication.services.standards import freeze_standard
from annotation.imports.labels import import_labels
from annotation.imports.traces import import_traces
from annotation.models import Label, Study
from core.errors import UserError
from core.management.base import FalsestepCommand, count
from monitoring.demo import cast, lead
from monitoring.engine.children import ending_in_order, ends_with_us
from monitoring.engine.launch import launch_batch
from monitoring.engine.planning import monitors_named
from monitoring.engine.supervise import OwnWorker, wait_for
from monitoring.models import Batch, Condition
from monitoring.report.services import compute_report

SLUG = "sample"
SAMPLE = Path(settings.BASE_DIR) / "examples" / "sample"
MONITORS = ("oracle", "always", "never", "random", "rules")
CONDITIONS = (Condition.BLIND, Condition.HINT, Condition.CERT)


def refuse_taken(port: int) -> None:
    """Raise UserError if the site could not be served on this port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise UserError(
                f"the site cannot be served on port {port} ({error}); name another, as in "
                "`make demo PORT=8001`, or stop after the report with `make demo SERVE=0`"
            ) from error


class Command(FalsestepCommand):
    help = (
        "Migrate, load the sample study, settle its disputes by script, freeze a standard, run the offline "
        "monitors by a real Celery worker, report, then serve the site (SERVE=0 stops before). "
        "Can be run again on what is there."
    )
    requires_system_checks: tuple[str, ...] = ()  # the database may not be there yet

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="port of the site on 127.0.0.1")
        parser.add_argument(
            "--resamples", type=int, default=2000, help="resamples of the bootstrap (default 2000)"
        )
        parser.add_argument("--timeout", type=float, default=150, help="seconds to wait for the batch")

    def run(self, **options: Any) -> None:
        serve = os.environ.get("SERVE", "1") != "0"
        if serve:
            refuse_taken(options["port"])
        with self._alone():
            call_command("migrate", verbosity=0)
            study = self._load()
            standard = self._settle(study)
            self._run_monitors(study, standard, timeout=options["timeout"])
            self._report(study, standard, resamples=options["resamples"])
            self._sign_ins(study, options["port"], serve=serve)
        if serve:
            self._serve(options["port"])

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Let no second demo work on the same home meanwhile: two would migrate one new database at once."""
        with (Path(settings.HOME) / "demo.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.say("Another demo is at work here: waiting until it is through.")
                self.stdout.flush()
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _load(self) -> Study:
        traces = import_traces(path=SAMPLE / "questions.jsonl", study_slug=SLUG)
        study = Study.objects.get(slug=SLUG)
        if traces.study_made:
            study.name = "Sample study"
            study.overlap = 2
            study.save(update_fields=["name", "overlap"])
        self.people = cast.gather(study)
        import_labels(path=SAMPLE / "labels_human.jsonl", study_slug=SLUG, arm=Label.Arm.HUMAN)
        import_labels(path=SAMPLE / "labels_debate.jsonl", study_slug=SLUG, arm=Label.Arm.DEBATE)
        labels = Label.objects.filter(trace__study=study)
        self.say(
            f"Sample study: {study.questions.count()} questions, {study.traces.count()} traces, "
            f"{labels.filter(arm='human').count()} labels by people, "
            f"{labels.filter(arm='debate').count()} by the debate."
        )
        return study

    def _settle(self, study: Study) -> ReferenceStandard:
        adam = self.people["adam"]
        state_gap(study=study, reason="some solutions of the sample have one reader only", actor=adam)
        recompute_disputes(study=study, actor=adam)
        decided = lead.settle(study=study, lead=adam, path=SAMPLE / "decisions.jsonl")
        frozen = freeze_standard(study=study, note="The sample's standard", actor=adam)
        lead.code_roles(standard=frozen.standard, lead=adam, path=SAMPLE / "critical_roles.jsonl")
        state = "frozen now" if frozen.created else "nothing changed since it was frozen"
        self.say(f"Disputes: {decided} settled now by script, {study.disputes.count()} in all.")
        self.say(f"Standard {frozen.standard.version}: sha256 {frozen.standard.sha256[:16]}…, {state}.")
        return frozen.standard

    def _run_monitors(self, study: Study, standard: ReferenceStandard, *, timeout: float) -> None:
        batch = Batch.objects.filter(
            study=study,
            standard=standard,
            launched_by=self.people["olga"],
            status__in=["running", "finished"],
        ).first()
        if batch is None:
            batch = launch_batch(
                study=study,
                standard=standard,
                monitors=monitors_named(study, MONITORS),
                conditions=CONDITIONS,
                max_cost=None,
                actor=self.people["olga"],
            )
        self.say(f"Batch {batch.number}: {len(MONITORS)} monitors under {', '.join(CONDITIONS)}.")
        batch = wait_for(batch, timeout=timeout, tell=self._progress)
        verdicts = sum(run.verdicts.count() for run in batch.runs.all())
        self.say(f"Batch {batch.number} is finished: {verdicts} verdicts.")

    def _progress(self, done: int, total: int) -> None:
        self.say(f"  {done} of {count(total, 'call')}")
        self.stdout.flush()

    def _report(self, study: Study, standard: ReferenceStandard, *, resamples: int) -> None:
        folder = Path(settings.HOME) / "demo"
        folder.mkdir(parents=True, exist_ok=True)
        self.say()
        call_command(
            "report",
            study=study.slug,
            standard=standard.version,
            json=str(folder / "report.json"),
            csv=str(folder / "csv"),
            latex=str(folder / "tables.tex"),
            figures=str(folder / "figures"),
            resamples=resamples,
            stdout=self.stdout,
        )
        compute_report(study=study, standard=standard, resamples=resamples)
        self.say()
        self.say(f"Report:  {folder / 'report.json'}")
        self.say(f"Tables:  {folder / 'csv'} and {folder / 'tables.tex'}")
        self.say(f"Figures: {folder / 'figures'}")

    def _sign_ins(self, study: Study, port: int, *, serve: bool) -> None:
        self.say()
        self.say(f"Sign in as one of these, password {cast.password()}")
        for part in cast.CAST:
            self.say(f"  {part.username:<6} {part.display_name:<13} {part.role.value}")
        where = f"http://127.0.0.1:{port}/"
        self.say(f"The site: {where}" if serve else f"`make demo` without SERVE=0 serves the site on {where}")
        self.stdout.flush()

    def _serve(self, port: int) -> None:
        """Serve the site until Ctrl+C, with a worker beside it so that batches run."""
        command = [
            sys.executable, "-m", "gunicorn", "config.wsgi",
            "--bind", f"127.0.0.1:{port}", "--threads", "8", "--log-level", "warning",
        ]  # fmt: skip
        with ending_in_order(), OwnWorker() as worker:
            worker.ensure()
            site = subprocess.Popen(
                command,
                cwd=settings.BASE_DIR,
                preexec_fn=ends_with_us(),  # noqa: PLW1509 - it makes two calls into the C library, no more
            )
            try:
                while site.poll() is None:
                    worker.ensure()
                    try:
                        site.wait(timeout=5)
                    except subprocess.TimeoutExpired:
                        continue
            except KeyboardInterrupt:
                self.say("Stopping.")
            finally:
                site.terminate()
                site.wait(timeout=30)
        if site.returncode not in (0, -15):
            raise SystemExit(1)
