"""Which process runs which tests: a file stays together, and what takes longest begins first.

The files of a group share what is dear: a demo, a browser, an installation with workers. xdist's own
`loadgroup` marks groups in the ids of tests, which pytest 9.2 does not let it do: they would silently be no groups.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from xdist.scheduler import LoadScopeScheduling

# group: its files. Two browsers: one would take longer than all other tests together.
GROUPS = {
    "pages in a browser": (
        "tests/browser/test_axe.py",
        "tests/browser/test_verification.py",
        "tests/browser/test_study_through.py",
    ),
    "browser": ("tests/browser/",),
    "demo": ("tests/test_demo.py",),
    "workers": ("tests/monitoring/test_real_worker.py",),
}
# After the groups, the files that take longest; then all others, those with many tests first.
LONG = (
    "tests/test_page_matrix.py",
    "tests/api/test_fuzz.py",
    "tests/annotation/test_export_labels.py",
    "tests/monitoring/test_report_files.py",
    "tests/test_blind_everywhere.py",
    "tests/verification/test_certificates.py",
    "tests/verification/test_equalities.py",
    "tests/stats/test_coverage.py",
)


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out files and groups of files, the longest first."""

    _ordered = False

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.split("::", 1)[0]
        for group, paths in GROUPS.items():
            if path.startswith(paths):
                return group
        return path

    def _assign_work_unit(self, node: Any) -> None:
        if not self._ordered:
            self._ordered = True
            first = [*GROUPS, *LONG]
            order = {scope: number for number, scope in enumerate(first)}
            units = sorted(
                self.workqueue.items(), key=lambda unit: (order.get(unit[0], len(order)), -len(unit[1]))
            )
            self.workqueue = OrderedDict(units)
        super()._assign_work_unit(node)
