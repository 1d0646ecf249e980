"""Equality-constrained convex quadratic programmes, and the exact verification of their certificates.

The programme is: minimise 1/2 x'Hx + c'x subject to Ax = b, with H symmetric and positive definite on ker A.
All arithmetic is rational; there is no tolerance anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from core.errors import UserError
from verification.certificates.linear import (
    Matrix,
    Vector,
    add,
    apply,
    direction_without_curvature,
    dot,
    kernel,
    multiply,
    solve,
    transpose,
)


class BadProgramme(UserError):
    """A programme or a certificate that the theorem does not cover; the text says what is wrong and where."""


def rationals(numbers: Sequence[object], what: str) -> Vector:
    """Return exact numbers from whole numbers, fractions or texts such as "3/4"; floats are refused."""
    exact = []
    for place, number in enumerate(numbers, start=1):
        if isinstance(number, bool) or not isinstance(number, int | str | Fraction):
            raise BadProgramme(
                f"{what}, entry {place}: {number!r} is no exact number (write 3/4 or 0.75 in quotes)"
            )
        try:
            exact.append(Fraction(number))
        except (ValueError, ZeroDivisionError) as error:
            raise BadProgramme(f"{what}, entry {place}: {number!r} is no number") from error
    return tuple(exact)


@dataclass(frozen=True)
class Programme:
    """minimise 1/2 x'Hx + c'x subject to Ax = b: H (n, n), c (n,), A (m, n), b (m,); m may be 0."""

    h: Matrix
    c: Vector
    a: Matrix
    b: Vector

    @classmethod
    def of(
        cls,
        h: Sequence[Sequence[object]],
        c: Sequence[object],
        a: Sequence[Sequence[object]],
        b: Sequence[object],
    ) -> Programme:
        """Return a checked programme; BadProgramme says which entry or property is wrong."""
        programme = cls(
            tuple(rationals(row, f"H, row {place}") for place, row in enumerate(h, start=1)),
            rationals(c, "c"),
            tuple(rationals(row, f"A, row {place}") for place, row in enumerate(a, start=1)),
            rationals(b, "b"),
        )
        programme.check()
        return programme

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return len(self.c)

    def check(self) -> None:
        """Raise BadProgramme unless shapes, symmetry, feasibility and convexity on the kernel hold."""
        n = self.size
        if n == 0:
            raise BadProgramme("the programme is empty: c has no entries")
        if len(self.h) != n or any(len(row) != n for row in self.h):
            raise BadProgramme(f"H must be {n} by {n}, as c has {n} entries")
        for place, row in enumerate(self.a, start=1):
            if len(row) != n:
                raise BadProgramme(f"A, row {place}: {len(row)} entries instead of {n}")
        if len(self.b) != len(self.a):
            raise BadProgramme(f"b has {len(self.b)} entries, A has {len(self.a)} rows")
        for i in range(n):
            for j in range(i):
                if self.h[i][j] != self.h[j][i]:
                    raise BadProgramme(
                        f"H is not symmetric: entry ({i + 1}, {j + 1}) is {self.h[i][j]}, "
                        f"entry ({j + 1}, {i + 1}) is {self.h[j][i]}"
                    )
        if solve(self.a, self.b, n) is None:
            raise BadProgramme("no point satisfies Ax = b: its rows contradict each other")
        flat = direction_without_curvature(self.reduced)
        if flat is not None:
            along = apply(transpose(self.kernel, n), flat)
            raise BadProgramme(
                "H is not positive definite on the kernel of A: d'Hd is "
                f"{dot(along, apply(self.h, along))} for d = ({', '.join(map(str, along))})"
            )

    @cached_property
    def kernel(self) -> Matrix:
        """A basis of ker A, one vector a row."""
        return kernel(self.a, self.size)

    @cached_property
    def reduced(self) -> Matrix:
        """Z'HZ for the basis Z of the kernel."""
        z = transpose(self.kernel, self.size)
        return multiply(self.kernel, multiply(self.h, z, len(self.kernel)), len(self.kernel))

    @cached_property
    def gram(self) -> Matrix:
        """Z'Z."""
        return multiply(self.kernel, transpose(self.kernel, self.size), len(self.kernel))

    def objective(self, x: Vector) -> Fraction:
        """Return J(x)."""
        return dot(x, apply(self.h, x)) / 2 + dot(self.c, x)

    def gradient(self, x: Vector) -> Vector:
        """Return Hx + c."""
        return add(apply(self.h, x), self.c)

    def is_feasible(self, x: Vector) -> bool:
        """Tell whether Ax = b, exactly."""
        return apply(self.a, x) == self.b

    def projected_square(self, residual: Vector) -> Fraction:
        """Return |P r|^2, P the orthogonal projector on ker A."""
        if not self.kernel:
            return Fraction(0)
        along = apply(self.kernel, residual)
        weights = solve(self.gram, along, len(along))
        assert weights is not None, "the Gram matrix of a basis is invertible"
        return dot(along, weights)

    @cached_property
    def modulus(self) -> Fraction:
        """A rational mu > 0 with d'Hd >= mu d'd on ker A, within 1% of the largest; 1 if ker A is 0."""
        if not self.kernel:
            return Fraction(1)

        def holds(mu: Fraction) -> bool:
            shifted = tuple(add(row, gram, -mu) for row, gram in zip(self.reduced, self.gram, strict=True))
            return direction_without_curvature(shifted) is None

        low = Fraction(1)
        while not holds(low):
            low /= 2
        high = 2 * low
        while holds(high):
            low, high = high, 2 * high
        while high * 100 > low * 101:
            middle = (low + high) / 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low

    def residual_bound(self, x: Vector, nu: Vector | None = None) -> Fraction:
        """Return |P r|^2 / (2 mu) with r = Hx + c + A'nu: at least J(x) - v* for a feasible x, for any nu.

        BadProgramme if x is not feasible: the bound says nothing then.
        """
        self._shaped(x, nu)
        if not self.is_feasible(x):
            raise BadProgramme("the point does not satisfy Ax = b: the bound holds for feasible points only")
        return self.projected_square(self.residual(x, nu)) / (2 * self.modulus)

    def residual(self, x: Vector, nu: Vector | None) -> Vector:
        """Return Hx + c + A'nu (without the last term if no multiplier is given)."""
        if nu is None:
            return self.gradient(x)
        return add(self.gradient(x), apply(transpose(self.a, self.size), nu))

    def _shaped(self, x: Vector, nu: Vector | None) -> None:
        if len(x) != self.size:
            raise BadProgramme(f"the point has {len(x)} entries instead of {self.size}")
        if nu is not None and len(nu) != len(self.a):
            raise BadProgramme(f"the multiplier has {len(nu)} entries, A has {len(self.a)} rows")

    def by_lagrange(self) -> tuple[Vector, Vector]:
        """Return the solution and a multiplier from the full system (H A'; A 0)(x; nu) = (-c; b)."""
        n, m = self.size, len(self.a)
        columns = transpose(self.a, n)
        rows = [(*self.h[i], *columns[i]) for i in range(n)]
        rows += [(*row, *[Fraction(0)] * m) for row in self.a]
        solution = solve(rows, (*(-entry for entry in self.c), *self.b), n + m)
        assert solution is not None, "a checked programme has a solution"
        return solution[:n], solution[n:]

    def by_elimination(self) -> Vector:
        """Return the solution by elimination: x = p + Zy with p feasible, and Z'HZ y = -Z'(Hp + c)."""
        point = solve(self.a, self.b, self.size)
        assert point is not None
        if not self.kernel:
            return point
        downhill = tuple(-entry for entry in apply(self.kernel, self.gradient(point)))
        y = solve(self.reduced, downhill, len(self.kernel))
        assert y is not None
        return add(point, apply(transpose(self.kernel, self.size), y))


@dataclass(frozen=True)
class Certificate:
    """What a submission claims: an optimal point, its value, and a multiplier unless it used elimination."""

    x: Vector
    value: Fraction
    nu: Vector | None = None


@dataclass(frozen=True)
class Ruling:
    """The parts of a verification; a part that does not apply is None."""

    feasible: bool
    value: bool
    stationary: bool
    multiplier: bool | None

    @property
    def valid(self) -> bool:
        """True if the certificate proves optimality and reports the right value."""
        return self.feasible and self.value and self.stationary and self.multiplier is not False

    @property
    def reasons(self) -> tuple[str, ...]:
        """What fails, in words; empty for a valid certificate."""
        failures = {
            "the point does not satisfy Ax = b": self.feasible,
            "the value is not that of the point": self.value,
            "the gradient does not vanish along ker A": self.stationary,
            "Hx + c + A'nu is not 0": self.multiplier is not False,
        }
        return tuple(reason for reason, holds in failures.items() if not holds)


def verify(programme: Programme, certificate: Certificate) -> Ruling:
    """Verify a certificate without knowing the solution; exact.

    P A'nu = 0 for every nu, so stationarity along the kernel says nothing about a claimed multiplier:
    that one needs the full equation.
    """
    programme._shaped(certificate.x, certificate.nu)
    x, nu = certificate.x, certificate.nu
    return Ruling(
        feasible=programme.is_feasible(x),
        value=programme.objective(x) == certificate.value,
        stationary=not any(apply(programme.kernel, programme.gradient(x))),
        multiplier=None if nu is None else not any(programme.residual(x, nu)),
    )
