"""Importing a text-free release: questions, traces, labels of both arms, the standard, the verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from adjudication.models import CriticalRole, ReferenceStandard
from adjudication.services.assembly import Draft
from adjudication.services.hashing import StandardRow
from adjudication.services.locking import lock_study
from adjudication.services.standards import create_version
from annotation import hooks
from annotation.imports.reading import Source
from annotation.imports.studies import study_for_import
from annotation.models import Label, Question, Study, Trace
from annotation.services import tally
from core import audit
from core.errors import UserError
from core.models import User
from monitoring.imports.folder import ROLES_FILE, STANDARD_FILE, ReleaseFile, ReleaseFolder, open_release
from monitoring.imports.released_labels import EXCLUDED, READY, Key, ReleasedLabel, read_standard
from monitoring.imports.released_roles import read_roles
from monitoring.imports.released_verdicts import VerdictFile, monitor_and_condition, read_verdicts
from monitoring.imports.report import ReleaseReport
from monitoring.models import Batch, Monitor, Run, Verdict

CHUNK = 500
LABELLERS = {Label.Arm.HUMAN: "released-human", Label.Arm.DEBATE: "released-debate"}
OUTSIDE = "not in the release's standard"
SOURCE = "release:"


def import_release(
    *, path: str | Path, study_slug: str, dry_run: bool = False, actor: User | None = None
) -> ReleaseReport:
    """Import a release, all of it or nothing; what is here already stays as it is.

    The same release a second time changes nothing; a later one with the same standard brings only its new
    verdict files. Raises UserError for a folder that is not what its manifest says or that contradicts the
    study, ImportRefused for bad rows.
    """
    folder = open_release(path)
    with transaction.atomic():
        study, made = study_for_import(slug=study_slug, actor=actor)
        # Numbers of standards and batches are given out under this lock.
        study = lock_study(study.pk)
        report = ReleaseReport(
            str(path),
            study.slug,
            dry_run,
            manifest_sha256=folder.manifest_sha256,
            study_made=made,
            left_alone=folder.left_alone,
        )
        _Import(study, folder, report, actor).run()
        if dry_run:
            transaction.set_rollback(True)
        elif report.new.total():
            tally.refresh(study)
            audit.record(
                scope=study.slug,
                actor=actor,
                action="release imported",
                subject=folder.name[:200],
                payload=report.as_json(),
            )
    return report


class _Import:
    """One import, in the order of its parts."""

    def __init__(
        self, study: Study, folder: ReleaseFolder, report: ReleaseReport, actor: User | None
    ) -> None:
        self.study, self.folder, self.report, self.actor = study, folder, report, actor
        self.source = f"{SOURCE}{folder.name}"[:200]
        self.labels: dict[Key, ReleasedLabel] = {}
        self.traces: dict[Key, Trace] = {}

    def run(self) -> None:
        """Read, check and write everything."""
        with Source.of_bytes(STANDARD_FILE, self.folder.files[STANDARD_FILE].content) as source:
            self.labels = read_standard(source)
            source.raise_if_bad()
        if not self.labels:
            raise UserError(f"{STANDARD_FILE} holds no rows")
        self._find_traces()
        verdicts = self._read_verdicts()
        self._write_traces(verdicts)
        self._write_labels()
        standard = self._write_standard()
        if self.report.new["labels"]:
            # After the standard: what it settles is no dispute.
            hooks.labels_changed(study=self.study, actor=self.actor)
        self._write_roles()
        self._write_verdicts(standard, verdicts)

    def _find_traces(self) -> None:
        """Find the traces that are here, and hold the release against them."""
        held = Trace.objects.filter(study=self.study).select_related("question").defer("steps", "preamble")
        self.traces = {(trace.question.external_id, trace.response_label): trace for trace in held}
        for key, label in self.labels.items():
            trace = self.traces.get(key)
            if trace is None:
                continue
            for name, here, there in (
                ("n_steps", trace.n_steps, label.n_steps),
                ("generator", trace.generator, label.generator),
            ):
                if here != there:
                    raise UserError(
                        f'{STANDARD_FILE}:{label.line}: "{"/".join(key)}" is already in study '
                        f'"{self.study.slug}" with {name} {here}, not {there}'
                    )

    def _read_verdicts(self) -> list[VerdictFile]:
        lengths: dict[Key, int | None] = {key: trace.n_steps for key, trace in self.traces.items()}
        lengths.update({key: label.n_steps for key, label in self.labels.items()})
        files = []
        for name, file in self.folder.files.items():
            if name in (STANDARD_FILE, ROLES_FILE):
                continue
            named = monitor_and_condition(name)
            if named is None:
                if name.startswith("monitor_"):
                    raise UserError(f"{name}: no condition has this code, or no monitor this name")
                self.report.not_read.append(name)
                continue
            files.append(self._read_file(file, *named, lengths))
        models: dict[str, str] = {}
        for read in files:
            if models.setdefault(read.monitor, read.model) != read.model:
                raise UserError(
                    f'{read.name}: its model is "{read.model}", that of {read.monitor} is '
                    f'"{models[read.monitor]}" in another file'
                )
        return files

    def _read_file(
        self, file: ReleaseFile, monitor: str, condition: Any, lengths: dict[Key, int | None]
    ) -> VerdictFile:
        with Source.of_bytes(file.name, file.content) as source:
            if not file.content.strip():
                raise UserError(f"{file.name} holds no rows")
            read = read_verdicts(
                source,
                sha256=file.sha256,
                monitor=monitor,
                condition=condition,
                labels=self.labels,
                lengths=lengths,
            )
            source.raise_if_bad()
        self.report.fields_left_out.update(read.left_out)
        outcomes = Counter(str(verdict.outcome) for verdict in read.kept.values())
        self.report.files.append(
            {
                "file": read.name,
                "monitor": monitor,
                "condition": str(condition),
                "rows": read.rows,
                "repeats_dropped": read.repeats,
                "verdicts": len(read.kept),
                "outside_the_ready_set": sum(not self._ready(key) for key in read.kept),
                "outcomes": dict(sorted(outcomes.items())),
                "new": False,
            }
        )
        return read

    def _ready(self, key: Key) -> bool:
        label = self.labels.get(key)
        return label is not None and label.ready

    def _write_traces(self, files: Iterable[VerdictFile]) -> None:
        """Make the questions and traces that are not here, those outside the standard too."""
        held = {question.external_id: question for question in Question.objects.filter(study=self.study)}
        outside = {key: file for file in files for key in file.kept if key not in self.labels}
        questions: dict[str, Question] = {}
        for question_id in dict.fromkeys(key[0] for key in [*self.labels, *outside]):
            if question_id not in held:
                questions[question_id] = self._question(question_id)
        Question.objects.bulk_create(questions.values(), batch_size=CHUNK)
        held.update(questions)
        traces: dict[Key, Trace] = {}
        for key, label in self.labels.items():
            if key not in self.traces:
                traces[key] = self._trace(held[key[0]], key, f"{STANDARD_FILE}:{label.line}", label)
        for key, file in outside.items():
            if key not in self.traces:
                traces[key] = self._trace(held[key[0]], key, f"{file.name}:{file.kept[key].line}", None)
        Trace.objects.bulk_create(traces.values(), batch_size=CHUNK)
        self.traces.update(traces)
        self.report.new["questions"] += len(questions)
        self.report.new["traces"] += len(traces)

    def _question(self, question_id: str) -> Question:
        """Make a question without text; it is excluded if no trace of it is in the ready set."""
        labels = [label for label in self.labels.values() if label.question_id == question_id]
        question = Question(study=self.study, external_id=question_id)
        if not any(label.ready for label in labels):
            question.status = Question.Status.EXCLUDED
            reasons = ", ".join(sorted({label.provenance for label in labels}))
            question.exclusion_reason = f"excluded by the release: {reasons}" if labels else OUTSIDE
        return question

    def _trace(self, question: Question, key: Key, source: str, label: ReleasedLabel | None) -> Trace:
        return Trace(
            study=self.study,
            question=question,
            response_label=key[1],
            generator=label.generator if label else "",
            cut=Trace.Cut.TEXT_FREE,
            n_steps=label.n_steps if label else None,
            sha256="",
            source=source[:200],
        )

    def _write_labels(self) -> None:
        """Write what each arm had said; a released label that is here must say the same."""
        held = {
            (label.trace_id, label.arm): (label.final_correct, label.first_error_step)
            for label in Label.objects.filter(
                trace__study=self.study, labeller__in=LABELLERS.values(), superseded_by__isnull=True
            )
        }
        new: list[Label] = []
        for key, released in self.labels.items():
            trace = self.traces[key]
            for arm, said in ((Label.Arm.HUMAN, released.human), (Label.Arm.DEBATE, released.debate)):
                if said is None:
                    continue
                earlier = held.get((trace.pk, str(arm)))
                if earlier is None:
                    new.append(
                        Label(
                            trace=trace,
                            arm=arm,
                            labeller=LABELLERS[arm],
                            final_correct=said[0],
                            first_error_step=said[1],
                            source=f"{STANDARD_FILE}:{released.line}",
                        )
                    )
                elif earlier != said:
                    raise UserError(
                        f"{STANDARD_FILE}:{released.line}: the {arm} arm says otherwise of "
                        f'"{"/".join(key)}" in study "{self.study.slug}"; import into another study'
                    )
        Label.objects.bulk_create(new, batch_size=CHUNK)
        self.report.new["labels"] += len(new)

    def _write_standard(self) -> ReferenceStandard:
        """Freeze the release's labels as the study's next version, unless a version says exactly this."""
        frozen = create_version(
            study=self.study,
            drafts=[self._draft(label) for _, label in sorted(self.labels.items())],
            guideline=None,
            parent=None,
            reason=f"from {self.source}, {STANDARD_FILE} (sha256 {self.folder.files[STANDARD_FILE].sha256})",
            actor=self.actor,
            imported=True,
        )
        self.report.standard, self.report.standard_new = frozen.standard.version, frozen.created
        self.report.standard_sha256 = frozen.standard.sha256
        self.report.new["standards"] += frozen.created
        self.report.traces.update(READY if label.ready else EXCLUDED for label in self.labels.values())
        return frozen.standard

    def _write_roles(self) -> None:
        """Write the roles that are not here; one that is here must be the same."""
        roles = read_roles(self.folder, self.labels)
        traces = {self.traces[key].pk: role for key, role in roles.items()}
        held = dict(
            CriticalRole.objects.filter(trace__study=self.study, superseded_by__isnull=True).values_list(
                "trace", "kind"
            )
        )
        for pk, role in traces.items():
            if held.get(pk, role.kind) != role.kind:
                raise UserError(
                    f'{ROLES_FILE}:{role.line}: "{"/".join(role.key)}" is coded otherwise in study '
                    f'"{self.study.slug}"; import into another study'
                )
        new = [CriticalRole(trace_id=pk, kind=role.kind) for pk, role in traces.items() if pk not in held]
        CriticalRole.objects.bulk_create(new, batch_size=CHUNK)
        if new:
            self.report.new["critical_roles"] += len(new)

    def _draft(self, label: ReleasedLabel) -> Draft:
        human, debate = label.human or (None, None), label.debate or (None, None)
        trace = self.traces[label.key]
        row = StandardRow(
            question_id=label.question_id,
            response_label=label.response_label,
            trace_sha256=trace.sha256,
            status=READY if label.ready else EXCLUDED,
            status_reason="" if label.ready else label.provenance,
            final_correct=label.final_correct,
            first_error_step=label.first_error_step,
            first_error_step_min=label.first_error_step_min,
            first_error_step_max=label.first_error_step_max,
            provenance=label.provenance,
            human_final_correct=human[0],
            human_first_error_step=human[1],
            debate_final_correct=debate[0],
            debate_first_error_step=debate[1],
        )
        return Draft(row, trace.pk, trace.n_steps, None)

    def _write_verdicts(self, standard: ReferenceStandard, files: list[VerdictFile]) -> None:
        """Write a finished batch of the files that are not here yet."""
        held = {
            (run.monitor.slug, run.condition): run
            for run in Run.objects.filter(
                batch__study=self.study, batch__source__startswith=SOURCE
            ).select_related("monitor")
        }
        fresh = []
        for file in files:
            run = held.get((file.monitor, str(file.condition)))
            if run is None:
                fresh.append(file)
            elif run.settings.get("sha256") != file.sha256:
                raise UserError(
                    f"{file.name}: {file.monitor} under {file.condition} is already in study "
                    f'"{self.study.slug}" with other verdicts; import into another study'
                )
        if not fresh:
            return
        monitors = self._monitors(fresh)
        now = timezone.now()
        newest = Batch.objects.filter(study=self.study).aggregate(newest=Max("number"))["newest"] or 0
        batch = Batch.objects.create(
            study=self.study,
            standard=standard,
            number=newest + 1,
            status=Batch.Status.FINISHED,
            source=self.source,
            launched_by=self.actor,
            finished_at=now,
        )
        self.report.batch = batch.number
        names = {file.name for file in fresh}
        for entry in self.report.files:
            entry["new"] = entry["file"] in names
        for file in fresh:
            run = Run.objects.create(
                batch=batch,
                monitor=monitors[file.monitor],
                condition=file.condition,
                status=Run.Status.FINISHED,
                finished_at=now,
                settings={
                    "file": file.name,
                    "sha256": file.sha256,
                    "rows": file.rows,
                    "repeats_dropped": file.repeats,
                    "api_models": dict(file.api_models),
                },
            )
            Verdict.objects.bulk_create(self._verdicts(run, file), batch_size=CHUNK)
            self.report.new["verdicts"] += len(file.kept)

    def _monitors(self, files: list[VerdictFile]) -> dict[str, Monitor]:
        monitors = {monitor.slug: monitor for monitor in Monitor.objects.filter(study=self.study)}
        for file in files:
            monitor = monitors.get(file.monitor)
            if monitor is None:
                monitors[file.monitor] = Monitor.objects.create(
                    study=self.study,
                    slug=file.monitor,
                    provider=Monitor.Provider.RELEASED,
                    model=file.model,
                    api_model=file.api_models.most_common(1)[0][0],
                    temperature=None,
                )
                self.report.new["monitors"] += 1
            elif (monitor.provider, monitor.model) != (Monitor.Provider.RELEASED, file.model):
                raise UserError(
                    f'{file.name}: a monitor "{file.monitor}" is already in study "{self.study.slug}", '
                    f'run by {monitor.provider} with model "{monitor.model}"'
                )
        return monitors

    def _verdicts(self, run: Run, file: VerdictFile) -> Iterable[Verdict]:
        for key, verdict in file.kept.items():
            source = verdict.certificate_source
            yield Verdict(
                run=run,
                trace=self.traces[key],
                outcome=verdict.outcome,
                has_error=verdict.has_error,
                first_error_step=verdict.first_error_step,
                error_confidence=verdict.error_confidence,
                parse_path="released",
                raw=verdict.raw,
                prior_has_error=verdict.prior_has_error,
                prior_first_error_step=verdict.prior_first_error_step,
                self_review=verdict.self_review,
                certificate_source=self.traces[source] if source else None,
            )
