"""Random panels for hypothesis: holes, failed verdicts, one-class clusters, monitors that never flag."""

from __future__ import annotations

from hypothesis import strategies as st

from stats.panel import TraceRow
from tests.stats.plain import Item

CONDITIONS = ("BLIND", "CERT", "REVISE")


@st.composite
def trace_rows(draw: st.DrawFn, most_questions: int = 5) -> list[TraceRow]:
    rows = []
    for question in range(draw(st.integers(1, most_questions))):
        for label in range(draw(st.integers(1, 3))):
            n_steps = draw(st.integers(1, 6))
            step = draw(st.none() | st.integers(1, n_steps))
            said = st.none() | st.booleans()
            human, debate = draw(said), draw(said)
            rows.append(
                TraceRow(
                    question=f"q{question}",
                    label=f"Response {label}",
                    final_correct=draw(st.booleans()),
                    step=step,
                    n_steps=n_steps,
                    human_final_correct=human,
                    human_step=None if human is None else draw(st.none() | st.integers(1, n_steps)),
                    debate_final_correct=debate,
                    debate_step=None if debate is None else draw(st.none() | st.integers(1, n_steps)),
                )
            )
    return rows


@st.composite
def monitors(draw: st.DrawFn, most_questions: int = 5) -> list[list[Item]]:
    rows = draw(trace_rows(most_questions))
    verdict = st.tuples(
        st.sampled_from([None, 0, 1, 1]),
        st.integers(0, 6),
        st.none() | st.sampled_from([0.0, 20.0, 50.0, 50.5, 100.0]),
        st.booleans(),
    )
    said = st.dictionaries(st.sampled_from(CONDITIONS), verdict)
    return [[Item(row, draw(said)) for row in rows] for _ in range(draw(st.integers(1, 3)))]


def some_condition(items: list[list[Item]]) -> str | None:
    """A condition that some monitor has a verdict under, or None."""
    found = sorted({c for one in items for item in one for c in item.said})
    return found[0] if found else None
