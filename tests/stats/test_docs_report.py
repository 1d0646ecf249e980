"""The example of docs/report.md runs and gives what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "report.md"


def test_the_example_in_python_gives_the_numbers_beside_it() -> None:
    example = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[0]
    names: dict[str, Any] = {}
    exec(example, names)
    assert f"# {names['sensitivity']}" in example
    assert f"# from {names['bounds'].low} to {names['bounds'].high}" in example
