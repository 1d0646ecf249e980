"""Families of programmes with two valid and four defective submissions each, judged under three protocols."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from verification.certificates.linear import (
    Matrix,
    Vector,
    add,
    apply,
    kernel,
    multiply,
    reduce_rows,
    transpose,
)
from verification.certificates.programme import BadProgramme, Certificate, Programme, verify


@dataclass(frozen=True)
class Submission:
    """A certificate with the path by which it was found, and whether it is valid by construction."""

    kind: str
    path: str
    certificate: Certificate
    valid: bool


@dataclass(frozen=True)
class Family:
    """A programme, its solution, its six submissions, and one feasible point that is not optimal."""

    programme: Programme
    reference: Submission
    submissions: tuple[Submission, ...]
    perturbed: Vector


def _integers(source: random.Random, count: int, size: int) -> Vector:
    return tuple(Fraction(source.randint(-size, size)) for _ in range(count))


def _nonzero(source: random.Random, count: int, size: int = 3) -> Vector:
    while True:
        vector = _integers(source, count, size)
        if any(vector):
            return vector


def make_programme(source: random.Random) -> Programme:
    """Return a random programme: 2 to 5 unknowns, independent rows, sometimes not convex off ker A."""
    n = source.randint(2, 5)
    m = source.randint(1, n - 1)
    while True:
        a: Matrix = tuple(_integers(source, n, 3) for _ in range(m))
        if len(reduce_rows(a, n)[1]) == m:
            break
    root = tuple(_integers(source, n, 2) for _ in range(n))
    square = multiply(transpose(root, n), root, n)
    # subtracting a multiple of A'A leaves H as it is on ker A and can make it indefinite elsewhere
    weight = Fraction(source.choice((0, 0, 1, 5)))
    normal = multiply(transpose(a, n), a, n)
    h = tuple(tuple(square[i][j] + (i == j) - weight * normal[i][j] for j in range(n)) for i in range(n))
    c = _integers(source, n, 5)
    b = apply(a, _integers(source, n, 4))
    return Programme.of(h, c, a, b)


def make_family(source: random.Random) -> Family:
    """Return a family; every defect is real by construction, whatever the draw."""
    programme = make_programme(source)
    n, m = programme.size, len(programme.a)
    x, nu = programme.by_lagrange()
    value = programme.objective(x)
    reference = Submission("lagrange", "lagrange", Certificate(x, value, nu), valid=True)
    eliminated = programme.by_elimination()
    across = transpose(programme.a, n)

    # off the plane Ax = b: A'w is orthogonal to ker A, so A(x + A'w) != b
    off = add(x, apply(across, _nonzero(source, m)))
    # off the plane and yet stationary along ker A: Z'H s = 0 with As != 0
    conditions = multiply(programme.kernel, programme.h, n)
    stationary = next(s for s in kernel(conditions, n) if any(apply(programme.a, s)))
    hidden = add(x, stationary, source.choice((-2, -1, 1, 2)))
    false_nu = add(nu, _nonzero(source, m))
    off_value = value + Fraction(source.choice((-3, -1, 1, 2)), source.randint(1, 4))

    submissions = (
        reference,
        Submission(
            "elimination", "elimination", Certificate(eliminated, programme.objective(eliminated)), valid=True
        ),
        Submission("infeasible point", "lagrange", Certificate(off, value, nu), valid=False),
        Submission(
            "infeasible, stationary along the kernel", "elimination", Certificate(hidden, value), valid=False
        ),
        Submission("false multiplier", "lagrange", Certificate(x, value, false_nu), valid=False),
        Submission("wrong objective value", "lagrange", Certificate(x, off_value, nu), valid=False),
    )
    along = apply(transpose(programme.kernel, n), _nonzero(source, len(programme.kernel)))
    perturbed = add(x, along, Fraction(1, source.randint(1, 10)))
    return Family(programme, reference, submissions, perturbed)


def _by_final_answer(family: Family, submission: Submission) -> bool:
    return submission.certificate.value == family.reference.certificate.value


def _by_reference_path(family: Family, submission: Submission) -> bool:
    same_path = submission.path == family.reference.path
    return same_path and submission.certificate == family.reference.certificate


def _by_certificate(family: Family, submission: Submission) -> bool:
    return verify(family.programme, submission.certificate).valid


PROTOCOLS: dict[str, Callable[[Family, Submission], bool]] = {
    "final_answer": _by_final_answer,
    "reference_path": _by_reference_path,
    "certificate": _by_certificate,
}


def run_benchmark(*, families: int, seed: int) -> dict[str, Any]:
    """Return the counts of false acceptances and rejections per protocol, and of the residual bound.

    Keys as in DESIGN.md section 4, with the numbers of valid and invalid submissions beside them.
    """
    if families < 1:
        raise BadProgramme(f"the benchmark needs at least one family, not {families}")
    source = random.Random(seed)  # noqa: S311 - reproducible draws, not secrets
    counts = {name: {"false_acceptances": 0, "false_rejections": 0} for name in PROTOCOLS}
    valid = invalid = right_value = checked = held = 0
    for _ in range(families):
        family = make_family(source)
        optimum = family.reference.certificate.value
        for submission in family.submissions:
            valid += submission.valid
            invalid += not submission.valid
            right_value += not submission.valid and submission.certificate.value == optimum
            for name, accepts in PROTOCOLS.items():
                accepted = accepts(family, submission)
                counts[name]["false_acceptances"] += accepted and not submission.valid
                counts[name]["false_rejections"] += not accepted and submission.valid
        gap = family.programme.objective(family.perturbed) - optimum
        # any multiplier will do: the projector removes it
        nu = _integers(source, len(family.programme.a), 3)
        checked += 1
        held += 0 <= gap <= family.programme.residual_bound(family.perturbed, nu)
    return {
        "families": families,
        "seed": seed,
        "submissions": {"valid": valid, "invalid": invalid, "invalid_with_right_value": right_value},
        "protocols": counts,
        "residual_bound": {"checked": checked, "held": held},
    }
