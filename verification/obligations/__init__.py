"""Proof obligations as an acyclic graph: order, induction, and where to draw them; no Django in here."""

from verification.obligations.graph import (
    BadGraph,
    Cycle,
    Graph,
    Obligation,
    chain_of,
    conclude,
    graph_of,
)

__all__ = ["BadGraph", "Cycle", "Graph", "Obligation", "chain_of", "conclude", "graph_of"]
