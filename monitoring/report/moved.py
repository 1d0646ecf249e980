"""Which figures change between two standards: the same verdicts scored under both, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache

from adjudication.models import ReferenceStandard
from annotation.models import Study
from monitoring.report.build import build, report_key
from monitoring.report.source import load
from stats.report import OWN, Options

# Points alone: a page that asks which figures move needs no intervals.
POINTS = Options(resamples=0, seed=0, convention=OWN)
SECTIONS = {
    "reference": "The standard",
    "arms": "The arms",
    "detection": "Detection",
    "localisation": "Localisation",
    "ladder_recall": "Recall of wrong and critical traces",
    "contrasts": "Contrasts",
    "answer_correct_subset": "Right answers only",
    "revision": "Second looks",
    "step": "Step by step",
    "oracle": "The oracle",
    "certificate": "False certificates",
    "critical_roles": "Roles of critical errors",
    "consensus_subset": "Where the arms agree",
    "lengths": "Lengths",
}
LEFT_OUT = frozenset({"version", "resamples", "seed"})
PRINTED = 3  # decimals that a table prints
KEPT = 3600


@dataclass(frozen=True)
class Figure:
    """One number of the report under two standards; None where it is undefined."""

    section: str
    path: tuple[str, ...]
    before: float | None
    after: float | None

    @property
    def name(self) -> str:
        return " · ".join(part.replace("_", " ") for part in self.path)

    @property
    def difference(self) -> float | None:
        if self.before is None or self.after is None:
            return None
        return self.after - self.before

    @property
    def changed(self) -> bool:
        return self.before != self.after

    @property
    def prints_otherwise(self) -> bool:
        """Whether a table of three decimals would print it otherwise."""
        return printed(self.before) != printed(self.after)


@dataclass(frozen=True)
class Comparison:
    """The figures that changed, by section, of how many that were compared."""

    sections: tuple[tuple[str, tuple[Figure, ...]], ...]
    compared: int
    changed: int
    printing_otherwise: int


def printed(value: float | None) -> str:
    """Return a number as a table prints it: whole numbers whole, others with three decimals."""
    if value is None:
        return "undefined"
    return str(int(value)) if float(value).is_integer() else f"{value:.{PRINTED}f}"


def figures_of(study: Study, standard: ReferenceStandard) -> dict[str, Any]:
    """Return the report of a standard on the verdicts that are stored now, without intervals; kept a while."""
    source = load(study, standard)
    key = f"figures:{report_key(standard, source.fingerprint, POINTS)}"
    document: dict[str, Any] | None = cache.get(key)
    if document is None:
        document = build(source, study, standard, POINTS)
        cache.set(key, document, KEPT)
    return document


def compare(old: dict[str, Any], new: dict[str, Any]) -> Comparison:
    """Compare two documents of a report, number by number."""
    found: list[Figure] = []
    for section, title in SECTIONS.items():
        before, after = dict(_numbers(old.get(section))), dict(_numbers(new.get(section)))
        # The order of the report, with what only the newer one has at the end.
        paths = [*before, *(path for path in after if path not in before)]
        found += [Figure(title, path, before.get(path), after.get(path)) for path in paths]
    changed = [figure for figure in found if figure.changed]
    sections = tuple(
        (title, tuple(figure for figure in changed if figure.section == title))
        for title in SECTIONS.values()
        if any(figure.section == title for figure in changed)
    )
    return Comparison(
        sections=sections,
        compared=len(found),
        changed=len(changed),
        printing_otherwise=sum(figure.prints_otherwise for figure in changed),
    )


def _numbers(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float | None]]:
    """Yield (path, number) of each figure; intervals, reasons and texts are none."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name.endswith(("_ci", "_reason")) or name in ("ci", *LEFT_OUT):
                continue
            # "monitors" is a level of the document, not a word of the figure.
            yield from _numbers(inner, path if name == "monitors" else (*path, name))
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield path, value
