"""The targets of `make fuzz` hold for their seeds and for what hypothesis makes of them."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.__main__ import main
from tests.fuzz.names import NAMES
from tests.fuzz.targets import SEEDS, TARGETS

EXAMPLES = int(os.environ.get("FALSESTEP_FUZZ_EXAMPLES", "25"))


def test_every_target_has_a_name_and_seeds() -> None:
    assert set(NAMES) == set(TARGETS) == set(SEEDS)


def test_every_target_is_run_unless_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run(command: list[str], check: bool) -> subprocess.CompletedProcess[str]:
        ran.append(command[3])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    assert main([]) == 0
    assert ran == list(NAMES)
    assert main(["reply", "--seconds", "1"]) == 0
    assert ran[len(NAMES) :] == ["reply"]
    with pytest.raises(SystemExit, match="2"):
        main(["replies"])


@st.composite
def spoiled(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """A seed with pieces cut out, doubled, or put in from others."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 20)))
        other = draw(st.sampled_from(seeds))
        begin = draw(st.integers(0, len(other)))
        piece = draw(
            st.sampled_from([b"", data[start:end] * 2, other[begin : begin + 20]]) | st.binary(max_size=8)
        )
        data = data[:start] + piece + data[end:]
    return data


@pytest.mark.parametrize("name", NAMES)
def test_a_target_holds(name: str) -> None:
    for seed in SEEDS[name]:
        TARGETS[name](seed)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(data=spoiled(SEEDS[name]) | st.binary(max_size=200))
    def attempt(data: bytes) -> None:
        TARGETS[name](data)

    attempt()
