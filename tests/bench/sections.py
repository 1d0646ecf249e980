"""The sections of the bench; each yields figures."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from django.core.management import call_command
from django.test import Client
from matplotlib.figure import Figure as MplFigure

from adjudication.services.standards import freeze_standard
from annotation.exports.streams import FORMATS
from annotation.imports.labels import import_labels
from annotation.imports.traces import import_traces
from annotation.models import Label, Role, Study, Trace
from annotation.services.exporting import export_labels
from core import bulk
from core.mathtext import render
from monitoring.engine.launch import launch_batch
from monitoring.engine.planning import monitors_named
from monitoring.engine.supervise import wait_for
from monitoring.models import Condition
from stats import Resample, build_report, detect, localise
from tests.bench import plain, synthetic
from tests.bench.measure import Figure, median, once, peak_mb
from tests.bench.report import measured
from tests.build import make_person

ROOT = Path(__file__).resolve().parents[2]


def statistics(_: Path) -> Iterator[Figure]:
    """Statistics, 2,000 resamples (published shape: 79 questions, 237 traces, 5 monitors, 6 conditions)"""
    panel = synthetic.panel(questions=79, monitors=5)
    seconds = median(lambda: build_report(panel), repeats=5)
    yield Figure("the whole report, from arrays", seconds)

    def matrix() -> None:
        resample = Resample(79, resamples=2000, seed=0)
        for condition in plain.LADDER:
            detect(panel.reference, panel.verdicts[condition], resample, with_auc=False)
            localise(panel.reference, panel.verdicts[condition], resample)

    sampled = 40
    loop = once(lambda: plain.bootstrap(panel, resamples=sampled)) * 2000 / sampled
    part = median(matrix)
    yield Figure(
        "balanced accuracy and L0 as loops over dicts", loop, f"extrapolated from {sampled} resamples"
    )
    yield Figure("the same and more of detection and localisation", part, f"{loop / part:.0f} times faster")
    items = plain.items_of(panel)
    few = 2
    whole = once(lambda: plain.report_loop(items, list(panel.verdicts), resamples=few)) * 2000 / few
    yield Figure("the report's main statistics as plain loops", whole, f"extrapolated from {few} resamples")
    yield Figure("the whole report", seconds, f"{whole / seconds:.0f} times faster")


# Questions, traces a question, monitors, conditions.
RELEASE_SHAPE = (79, 3, 5, 8)
GROWTH = ((2_000, 2, 5, 2), (8_000, 2, 5, 2), (20_000, 2, 5, 2), (50_000, 2, 5, 2))


def reports(_: Path) -> Iterator[Figure]:
    """The whole report from the database (SQLite), 2,000 resamples, each in a process of its own"""
    found = measured(*RELEASE_SHAPE)
    yield Figure(
        f"the release's shape, {found['verdicts']:,} verdicts",
        found["seconds"],
        f"{found['cpu']:.2f} s of one core, peak {found['peak_mb']:.0f} MB (wanted: 2 s, 500 MB)",
    )
    grown = []
    for size in GROWTH:
        found = measured(*size)
        grown.append(found)
        wanted = " (wanted: 60 s, 4 GB)" if size == GROWTH[-1] else ""
        yield Figure(
            f"{found['questions']:,} questions, {found['verdicts']:,} verdicts",
            found["seconds"],
            f"{found['cpu']:.1f} s of processor time, {1e6 * found['cpu'] / found['verdicts']:.0f} µs a verdict, "
            f"peak {found['peak_mb']:.0f} MB{wanted}",
        )
    if "--write" in sys.argv:
        draw_growth(grown)


def draw_growth(grown: list[dict[str, float]]) -> None:
    """Draw time and memory against verdicts into docs/pictures/report-growth.svg."""
    figure = MplFigure(figsize=(6.4, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    verdicts = [found["verdicts"] for found in grown]
    for axis, name, title in (
        (left, "cpu", "processor time, s"),
        (right, "peak_mb", "peak memory, MB"),
    ):
        axis.plot(verdicts, [found[name] for found in grown], marker="o", color="#1f4e8c")
        axis.set_xlim(0)
        axis.set_ylim(0)
        axis.set_xlabel("verdicts")
        axis.set_title(title, loc="left", fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value / 1e6:g} M")
    figure.savefig(ROOT / "docs/pictures/report-growth.svg", metadata={"Date": None, "Creator": None})


def mathematics(_: Path) -> Iterator[Figure]:
    """Mathematics, text to safe HTML with MathML"""
    texts = [
        trace["text"]
        for line in (ROOT / "examples/sample/questions.jsonl").read_text(encoding="utf-8").splitlines()
        for trace in json.loads(line)["traces"]
        if "text" in trace
    ]

    def uncached() -> None:
        for number, text in enumerate(texts):
            render(f"{text}\n\n{random.random()}{number}")

    seconds = median(uncached)
    cached = median(lambda: [render(text) for text in texts])
    size = sum(map(len, texts)) / 1000
    yield Figure(
        f"{len(texts)} traces ({size:.0f} kB), first time",
        seconds,
        f"{1e3 * seconds / len(texts):.2f} ms a trace",
    )
    yield Figure(f"{len(texts)} traces, from the cache", cached, f"{seconds / cached:.0f} times faster")


def write_traces(path: Path, n: int) -> Path:
    """Write a file of `n` traces of 12 steps, three to a question."""
    steps = [f"({k}) Then $x_{{{k}}} = \\frac{{{k}}}{{2}}$ by the step before.\n" for k in range(1, 13)]
    with path.open("w", encoding="utf-8") as file:
        for number in range(n // 3):
            traces = [
                {"response_label": f"Response {letter}", "generator": "g", "text": "".join(steps) + letter}
                for letter in "ABC"
            ]
            question = {"question_id": f"q{number}", "statement": "Find $x$.", "reference_answer": "6"}
            file.write(json.dumps({**question, "traces": traces}) + "\n")
    return path


def imports(home: Path) -> Iterator[Figure]:
    """Imports, SQLite"""
    call_command("migrate", verbosity=0)
    n = 9_000
    path = write_traces(home / "questions.jsonl", n)
    seconds = once(lambda: import_traces(path=path, study_slug="bench"))
    yield Figure(f"{n:,} traces of 12 steps", seconds, f"{n / seconds:,.0f} traces a second")


def exports(home: Path) -> Iterator[Figure]:
    """Exports, SQLite, labels of 9,000 traces by three people"""
    study = Study.objects.create(slug="bench-exports", name="bench exports")
    import_traces(path=home / "questions.jsonl", study_slug=study.slug)
    traces = list(Trace.objects.filter(study=study).defer("steps", "preamble"))
    bulk.insert(
        [
            Label(
                trace=trace, arm="human", labeller=who, final_correct=True, comment="x" * 200, source="bench"
            )
            for trace in traces
            for who in ("ana", "bo", "cy")
        ]
    )
    before = peak_mb()
    for name, format in FORMATS.items():
        path = home / f"labels{format.suffix}"
        seconds = once(lambda: export_labels(study=study, format=name, arm="all", path=path))  # noqa: B023
        rows = 3 * len(traces)
        yield Figure(f"{rows:,} labels as {name}", seconds, f"{rows / seconds:,.0f} rows a second")
    grown = peak_mb() - before
    path = home / "labels.jsonl"
    seconds = once(lambda: import_labels(path=path, study_slug=study.slug, arm="all", dry_run=True))
    yield Figure("read again, nothing new", seconds, f"the exports had raised the peak by {grown:.0f} MB")


def desk(_: Path) -> Iterator[Figure]:
    """The desk, SQLite, 9,000 traces, whole request through Django"""
    study = Study.objects.get(slug="bench")
    ana = make_person("bench-ana", study=study, roles=[Role.ANNOTATOR])
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(ana)
    trace = Trace.objects.filter(study=study).order_by("pk").last()
    assert trace is not None
    address = f"/studies/bench/traces/{trace.token}/"
    assert client.get(address).status_code == 200
    yield Figure("annotation page", median(lambda: client.get(address), repeats=20))
    yield Figure("queue page", median(lambda: client.get("/studies/bench/queue/"), repeats=10))


def engine(_: Path) -> Iterator[Figure]:
    """The engine, SQLite and Celery on files, offline monitors, one worker"""
    study = Study.objects.get(slug="bench")
    traces = list(Trace.objects.filter(study=study).order_by("pk")[:1_000])
    Label.objects.bulk_create(
        Label(trace=trace, arm="human", labeller="bench", final_correct=True, source="bench")
        for trace in traces
    )
    standard = freeze_standard(study=study).standard
    batch = launch_batch(
        study=study,
        standard=standard,
        monitors=monitors_named(study, ["always", "rules"]),
        conditions=[Condition.BLIND],
        max_cost=None,
        actor=None,
    )
    seconds = once(lambda: wait_for(batch, timeout=300))
    yield Figure("2,000 calls, worker start included", seconds, f"{2_000 / seconds:.0f} calls a second")


ALL: tuple[Callable[[Path], Iterator[Figure]], ...] = (
    statistics,
    reports,
    mathematics,
    imports,
    exports,
    desk,
    engine,
)
