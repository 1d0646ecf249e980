"""Every figure that the published files must give, compared with independent ones to 1e-9."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stats.panel import Panel
from stats.report import build_report
from tests.stats.release import load_panel

PRINTED = {  # arXiv 2609.00264, Table 1: flag, sensitivity, specificity, balanced accuracy, AUC
    "deepseek_deepseek-chat-v4flash": (0.945, 0.972, 0.078, 0.525, 0.473),
    "qwen_qwen3-32b": (0.646, 0.676, 0.380, 0.528, 0.514),
    "meta-llama_llama-3.3-70b-instruct": (0.544, 0.648, 0.543, 0.595, 0.570),
    "x-ai_grok-4.3": (0.283, 0.426, 0.837, 0.632, 0.642),
    "google_gemini-3.1-pro-preview": (0.447, 0.769, 0.822, 0.795, 0.816),
}
COLUMNS = ("flag_rate", "sensitivity", "specificity", "balanced_accuracy", "auc")


@pytest.fixture(scope="module")
def release(shared: Path) -> Path:
    return shared / "release"


@pytest.fixture(scope="module")
def panel(release: Path) -> Panel:
    return load_panel(release)


@pytest.fixture(scope="module")
def computed(panel: Panel) -> dict[str, Any]:
    return build_report(panel)


def leaves(content: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Walk a JSON document down to its numbers, strings and nulls."""
    if isinstance(content, dict):
        for name, value in content.items():
            yield from leaves(value, (*path, name))
    elif isinstance(content, list):
        for position, value in enumerate(content):
            yield from leaves(value, (*path, str(position)))
    else:
        yield path, content


def follow(content: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        content = content[int(name)] if isinstance(content, list) else content[name]
    return content


def differences(computed: Any, expected: Any) -> list[str]:
    """List where the figures of `expected` are missing or other than 1e-9 in `computed`."""
    wrong = []
    for path, value in leaves(expected):
        try:
            ours = follow(computed, path)
        except (KeyError, IndexError, TypeError):
            wrong.append(f"{'/'.join(path)}: missing, expected {value}")
            continue
        same = ours == value if not isinstance(value, float) else ours == pytest.approx(value, abs=1e-9)
        if not same:
            wrong.append(f"{'/'.join(path)}: {ours}, expected {value}")
    return wrong


def close_to(first: Any, second: Any) -> bool:
    """Whether two documents hold the same, floats to 1e-9."""
    return not differences(first, second) and not differences(second, first)


def test_every_expected_figure_of_the_release_is_met(computed: dict[str, Any], release: Path) -> None:
    expected = json.loads((release / "EXPECTED.json").read_text(encoding="utf-8"))
    assert len(list(leaves(expected))) > 700
    assert differences(computed, expected) == []


def test_the_report_holds_only_plain_json(computed: dict[str, Any]) -> None:
    assert json.loads(json.dumps(computed, allow_nan=False)) == computed


def test_every_null_has_its_reason_beside_it(computed: dict[str, Any]) -> None:
    for path, value in leaves(computed):
        if value is None:
            reason = follow(computed, path[:-1]).get(f"{path[-1]}_reason")
            assert reason, "/".join(path)


def test_the_printed_table_is_met_with_its_superseded_label(release: Path) -> None:
    panel = load_panel(release, {("66b727d367968fa27f2dddda", "Response A"): 1})
    assert panel.reference.has_error.sum() == 108
    blind = build_report(panel)["detection"]["BLIND"]["monitors"]
    ours = {name: tuple(f"{blind[name][column]:.3f}" for column in COLUMNS) for name in PRINTED}
    assert ours == {name: tuple(f"{value:.3f}" for value in row) for name, row in PRINTED.items()}


def test_monitors_are_named_by_what_follows_the_double_underscore(panel: Panel, release: Path) -> None:
    names = {path.stem.partition("__")[2] for path in release.glob("monitor_*.jsonl")}
    assert set(panel.monitors) == names == set(PRINTED)
