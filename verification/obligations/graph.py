"""Obligations that need each other: a directed acyclic graph, and what follows from the state of each.

A conclusion stands by induction over a topological order: an obligation holds if its own derivation is valid
and everything it needs holds. What lies beyond one that does not hold is unverified, not false.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from core.errors import UserError

VALID, FAILED, UNVERIFIED, UNRESOLVED = "valid", "failed", "unverified", "unresolved"
STATUSES = (VALID, FAILED, UNVERIFIED, UNRESOLVED)
MAX_OBLIGATIONS = 200


class BadGraph(UserError):
    """Obligations that are no graph; the text says which one and why."""


class Cycle(BadGraph):
    """Obligations that need each other in a circle; `path` begins and ends with the same one."""

    def __init__(self, path: Sequence[str]) -> None:
        self.path = tuple(path)
        super().__init__(f"the obligations need each other in a circle: {' -> '.join(path)}")


@dataclass(frozen=True)
class Obligation:
    """One thing to be shown, and the obligations that it rests on."""

    name: str
    text: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """Obligations in the order in which they were given; checked by graph_of."""

    obligations: tuple[Obligation, ...]

    @cached_property
    def by_name(self) -> dict[str, Obligation]:
        """The obligations by name."""
        return {one.name: one for one in self.obligations}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """A topological order: of those whose needs are met, the one given first comes first. Cycle if none."""
        left = dict(self.by_name)
        done: list[str] = []
        met: set[str] = set()
        while left:
            ready = next((one for one in left.values() if met.issuperset(one.needs)), None)
            if ready is None:
                raise Cycle(_cycle_in(left))
            done.append(ready.name)
            met.add(ready.name)
            del left[ready.name]
        return tuple(done)

    @cached_property
    def depth(self) -> dict[str, int]:
        """The length of the longest way from a root to each obligation."""
        depth: dict[str, int] = {}
        for name in self.order:
            depth[name] = max((depth[one] + 1 for one in self.by_name[name].needs), default=0)
        return depth

    def descendants(self, name: str) -> frozenset[str]:
        """Return what rests on an obligation, directly or not."""
        found: set[str] = set()
        for other in self.order:
            if any(one == name or one in found for one in self.by_name[other].needs):
                found.add(other)
        return frozenset(found)


def _cycle_in(left: Mapping[str, Obligation]) -> list[str]:
    """Return a cycle among obligations each of which needs another of them, in the order of "needs"."""
    path = [next(iter(left))]
    while True:
        following = next(one for one in left[path[-1]].needs if one in left)
        if following in path:
            return [*path[path.index(following) :], following]
        path.append(following)


def graph_of(rows: Any) -> Graph:
    """Return the graph of [{"id", "text", "needs": [...]}, ...]; BadGraph or Cycle says what is wrong where."""
    if not isinstance(rows, list):
        raise BadGraph('"obligations" must be a list')
    if len(rows) > MAX_OBLIGATIONS:
        raise BadGraph(f"more than {MAX_OBLIGATIONS} obligations")
    obligations = tuple(_obligation(row, place) for place, row in enumerate(rows, start=1))
    names = [one.name for one in obligations]
    for name in names:
        if names.count(name) > 1:
            raise BadGraph(f'the obligation "{name}" stands twice')
    for one in obligations:
        for need in one.needs:
            if need not in names:
                raise BadGraph(f'the obligation "{one.name}" needs "{need}", which is not there')
    graph = Graph(obligations)
    assert len(graph.order) == len(names)
    return graph


def _obligation(row: Any, place: int) -> Obligation:
    if not isinstance(row, dict) or set(row) - {"id", "text", "needs"}:
        raise BadGraph(f'obligation {place} must be an object with "id", "text" and "needs"')
    name, text, needs = row.get("id"), row.get("text"), row.get("needs", [])
    if not isinstance(name, str) or not name.strip() or len(name) > 60:
        raise BadGraph(f'obligation {place}: "id" must be a text of at most 60 characters')
    if not isinstance(text, str) or not text.strip():
        raise BadGraph(f'obligation {place}: "text" must say what is to be shown')
    if not isinstance(needs, list) or not all(isinstance(one, str) for one in needs):
        raise BadGraph(f'obligation {place}: "needs" must be a list of ids')
    return Obligation(name, text, tuple(dict.fromkeys(needs)))


def chain_of(n_steps: int) -> Graph:
    """Return the graph of a trace without one: each step rests on the step before."""
    return Graph(
        tuple(
            Obligation(str(step), f"step {step}", (str(step - 1),) if step > 1 else ())
            for step in range(1, n_steps + 1)
        )
    )


@dataclass(frozen=True)
class Conclusion:
    """What follows: each obligation's state after induction, those that fail first, and whether all holds."""

    states: Mapping[str, str]
    first_failed: tuple[str, ...]
    established: bool


def conclude(graph: Graph, own: Mapping[str, str]) -> Conclusion:
    """Run the induction over the states that the obligations have by themselves; missing ones are unverified.

    An obligation keeps its own state if all that it needs is valid; otherwise it is unverified, whatever was
    said of it: a right calculation under a false premise proves nothing.
    """
    for name, state in own.items():
        if name not in graph.by_name:
            raise BadGraph(f'there is no obligation "{name}"')
        if state not in STATUSES:
            raise BadGraph(f'the obligation "{name}" cannot be "{state}"')
    states: dict[str, str] = {}
    for name in graph.order:
        stands = all(states[need] == VALID for need in graph.by_name[name].needs)
        states[name] = own.get(name, UNVERIFIED) if stands else UNVERIFIED
    failed = tuple(name for name in graph.order if states[name] == FAILED)
    return Conclusion(states, failed, bool(states) and all(state == VALID for state in states.values()))
