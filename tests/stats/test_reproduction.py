"""docs/reproduction.md says what the code computes now, and where it agrees with print."""

from __future__ import annotations

import re
from pathlib import Path

from tests.reproduction import PAGE, page


def test_the_page_on_reproduction_is_what_the_code_computes(shared: Path) -> None:
    computed = page(shared / "release")
    assert PAGE.read_text(encoding="utf-8") == computed, "run python -m tests.reproduction"
    # Every number of one monitor that print and release have is met, to the digits given.
    section = computed.split("## Exact localisations")[1].split("## False certificates")[0]
    cells = re.findall(r"\| ([^|/]+) / ([^|/]+) (?=\|)", section)
    assert len(cells) > 80
    assert [cell for cell in cells if cell[0].strip() != cell[1].strip()] == []
    roles = computed.split("(Table 2)")[1].split("## Means")[0]
    assert [a == b for a, b in re.findall(r"\| (\d+) / (\d+) \|", roles)] == [True] * 4
    assert len(re.findall(r"^\d+\. \*\*", computed, re.M)) == 13
