"""Tolerances carried through a transformation of a task into another one with comparable values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from core.errors import UserError


class BadTransformation(UserError):
    """Constants for which the statement does not hold."""


@dataclass(frozen=True)
class Transformation:
    """A bijection Phi of feasible sets with |J'(Phi(u)) - (a J(u) + b)| <= eps for all feasible u, a > 0."""

    a: Fraction
    b: Fraction
    eps: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.a <= 0:
            raise BadTransformation(f"a must be positive, not {self.a}: otherwise minima become maxima")
        if self.eps < 0:
            raise BadTransformation(f"eps must not be negative, but is {self.eps}")

    def value(self, v: Fraction) -> tuple[Fraction, Fraction]:
        """Return the interval that holds the new optimal value v': a v + b -+ eps."""
        centre = self.a * v + self.b
        return centre - self.eps, centre + self.eps

    def optimality(self, delta: Fraction) -> Fraction:
        """Return the tolerance to which Phi(u) is optimal if u is delta-optimal: a delta + 2 eps."""
        if delta < 0:
            raise BadTransformation(f"delta must not be negative, but is {delta}")
        return self.a * delta + 2 * self.eps

    def then(self, other: Transformation) -> Transformation:
        """Return this transformation followed by another, with the tolerance that both leave."""
        return Transformation(self.a * other.a, other.a * self.b + other.b, other.a * self.eps + other.eps)
