"""Obligations: order, induction, cycles; and what execution records show."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verification.obligations import BadGraph, Cycle, Graph, chain_of, conclude, graph_of
from verification.obligations.drawing import draw
from verification.obligations.execution import (
    Execution,
    Restrictions,
    forbidden_calls,
    idle_attempts,
    loops,
    passed_limits,
    repeated_calls,
)


def make_graph(**needs: str) -> Graph:
    return graph_of([{"id": name, "text": name, "needs": list(of)} for name, of in needs.items()])


DIAMOND = {"a": "", "b": "a", "c": "a", "d": "bc"}


def test_a_conclusion_stands_when_every_obligation_is_valid() -> None:
    found = conclude(make_graph(**DIAMOND), dict.fromkeys("abcd", "valid"))
    assert found.established
    assert found.first_failed == ()


def test_what_rests_on_a_failed_obligation_is_unverified_not_false() -> None:
    found = conclude(make_graph(**DIAMOND), {"a": "valid", "b": "failed", "c": "valid", "d": "valid"})
    assert found.states == {"a": "valid", "b": "failed", "c": "valid", "d": "unverified"}
    assert (found.first_failed, found.established) == (("b",), False)


def test_a_second_failure_beyond_the_first_is_unverified() -> None:
    found = conclude(make_graph(a="", b="a"), {"a": "failed", "b": "failed"})
    assert found.states == {"a": "failed", "b": "unverified"}


def test_a_suspected_error_stays_unresolved_and_what_rests_on_it_unverified() -> None:
    found = conclude(make_graph(**DIAMOND), {"a": "unresolved", "b": "valid", "c": "valid", "d": "valid"})
    assert found.states == {"a": "unresolved", "b": "unverified", "c": "unverified", "d": "unverified"}


def test_nothing_said_is_unverified_and_no_obligations_establish_nothing() -> None:
    assert set(conclude(make_graph(**DIAMOND), {}).states.values()) == {"unverified"}
    assert not conclude(graph_of([]), {}).established


def test_without_a_graph_steps_are_a_chain() -> None:
    found = conclude(chain_of(4), {"1": "valid", "2": "failed", "3": "valid", "4": "valid"})
    assert list(found.states.values()) == ["valid", "failed", "unverified", "unverified"]


def test_a_cycle_is_refused_and_shown() -> None:
    with pytest.raises(Cycle, match="b -> d -> c -> b") as caught:
        make_graph(a="", b="d", c="b", d="c", e="a")
    assert caught.value.path == ("b", "d", "c", "b")
    with pytest.raises(Cycle, match="a -> a"):
        make_graph(a="a")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("x", "must be a list"),
        ([1], "obligation 1 must be an object"),
        ([{"id": "", "text": "t"}], "id"),
        ([{"id": "a", "text": ""}], "text"),
        ([{"id": "a", "text": "t", "needs": "b"}], "needs"),
        ([{"id": "a", "text": "t"}] * 2, "stands twice"),
        ([{"id": "a", "text": "t", "needs": ["z"]}], 'needs "z"'),
        ([{"id": "a", "text": "t", "colour": 1}], "must be an object"),
        ([{"id": str(place), "text": "t"} for place in range(201)], "more than 200"),
    ],
)
def test_what_is_no_graph_is_refused(rows: Any, words: str) -> None:
    with pytest.raises(BadGraph, match=words):
        graph_of(rows)


def test_a_state_of_something_unknown_is_refused() -> None:
    with pytest.raises(BadGraph, match='no obligation "z"'):
        conclude(make_graph(a=""), {"z": "valid"})
    with pytest.raises(BadGraph, match='cannot be "odd"'):
        conclude(make_graph(a=""), {"a": "odd"})


@st.composite
def graphs(draw_: Any) -> Graph:
    size = draw_(st.integers(1, 8))
    needs = [
        draw_(st.lists(st.integers(0, place - 1), unique=True, max_size=3)) if place else []
        for place in range(size)
    ]
    rows = [
        {"id": f"o{place}", "text": "t", "needs": [f"o{n}" for n in wants]}
        for place, wants in enumerate(needs)
    ]
    return graph_of(draw_(st.permutations(rows)))


@given(graphs(), st.data())
def test_induction_agrees_with_the_definition(graph: Graph, data: Any) -> None:
    """An obligation is valid exactly if it and all that it rests on, directly or not, are valid."""
    states = st.sampled_from(["valid", "failed", "unverified", "unresolved"])
    own = {name: data.draw(states) for name in graph.by_name}
    found = conclude(graph, own)
    for name in graph.by_name:
        above = [other for other in graph.by_name if name in graph.descendants(other)]
        assert (found.states[name] == "valid") == all(own[one] == "valid" for one in [name, *above])
        if found.states[name] == "failed":
            assert all(found.states[below] == "unverified" for below in graph.descendants(name))
    places = {name: place for place, name in enumerate(graph.order)}
    assert all(places[need] < places[one.name] for one in graph.obligations for need in one.needs)


@given(graphs())
def test_boxes_of_a_drawing_never_overlap(graph: Graph) -> None:
    picture = draw(graph, dict.fromkeys(graph.by_name, "valid"), {})
    for one in picture.boxes:
        assert one.x >= 0 and one.x + picture.box_width <= picture.width
        assert one.y >= 0 and one.y + picture.box_height <= picture.height
        for other in picture.boxes:
            if one is not other and one.y == other.y:
                assert abs(one.x - other.x) > picture.box_width
    assert len(picture.lines) == sum(len(one.needs) for one in graph.obligations)


def call(tool: str = "python", arguments: Any = "1+1", result: Any = "2", **more: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments, "result": result, **more}


def test_calls_outside_the_permission_are_listed() -> None:
    execution = Execution([call(), call("web"), call(environment="laptop")])
    allowed = Restrictions(tools=["python"], environments=["sandbox"])
    found = forbidden_calls(execution, allowed)
    assert any('"web"' in one for one in found)
    assert any('"laptop"' in one for one in found)
    assert any("call 1 runs in an unknown environment" in one for one in found)
    assert forbidden_calls(execution, Restrictions()) == []
    assert forbidden_calls(execution, Restrictions(tools=["python", "web"])) == []


def test_limits_are_passed_kept_or_unknown() -> None:
    execution = Execution([call(attempt=1), call(attempt=2)], seconds=10)
    limits = {"max_calls": 1, "max_attempts": 2, "max_seconds": 9.5}
    passed, unknown = passed_limits(execution, limits)
    assert passed == ["2 tool calls, 1 are allowed", "10 seconds, 9.5 are allowed"]
    assert unknown == []
    assert len(passed_limits(Execution([call()]), limits)[1]) == 2


def test_repeats_idle_attempts_and_loops_are_listed() -> None:
    execution = Execution(
        [
            call(attempt=1), call("web", "q", "r", attempt=1),
            call(attempt=2), call("web", "q", "r", attempt=2),
            call(attempt=3, result="3"),
        ]
    )  # fmt: skip
    assert [one.rsplit(": ", 1)[1] for one in repeated_calls(execution)] == ["calls 1, 3, 5", "calls 2, 4"]
    assert idle_attempts(execution) == ["attempt 2 brings no new evidence"]
    assert loops(execution) == ["calls 1 to 4 repeat the same run of 2 calls 2 times"]
    assert loops(Execution([call()] * 3)) == ["calls 1 to 3 repeat the same call 3 times"]
    assert loops(Execution([call(), call(result="3")])) == []
