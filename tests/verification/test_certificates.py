"""Certificates of quadratic programmes: the published table, every perturbation caught, wrong input named."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st

from verification.certificates import (
    BadProgramme,
    BadTransformation,
    Certificate,
    Programme,
    Transformation,
    run_benchmark,
    verify,
)
from verification.certificates.benchmark import make_family, make_programme
from verification.certificates.linear import add, apply, transpose

# minimise 1/2 (x^2 + y^2) - x subject to x + y = 2: x = 3/2, y = 1/2, J = -1/4, nu = -1/2 (by hand)
BY_HAND = ([[1, 0], [0, 1]], [-1, 0], [[1, 1]], [2])
SOLUTION = Certificate((Fraction(3, 2), Fraction(1, 2)), Fraction(-1, 4), (Fraction(-1, 2),))


def test_a_solution_by_hand_is_verified_and_its_defects_are_named() -> None:
    programme = Programme.of(*BY_HAND)
    assert verify(programme, SOLUTION).valid
    assert (SOLUTION.x, SOLUTION.nu) == programme.by_lagrange()
    assert programme.by_elimination() == SOLUTION.x
    wrong = verify(programme, Certificate((Fraction(0), Fraction(0)), Fraction(1)))
    assert wrong.reasons == (
        "the point does not satisfy Ax = b",
        "the value is not that of the point",
        "the gradient does not vanish along ker A",
    )
    false_nu = verify(programme, Certificate(SOLUTION.x, SOLUTION.value, (Fraction(1),)))
    assert (false_nu.stationary, false_nu.reasons) == (True, ("Hx + c + A'nu is not 0",))


@pytest.mark.parametrize(("seed", "families"), [(0, 600), (1, 60), (2026, 60)])
def test_the_benchmark_gives_the_published_table(seed: int, families: int) -> None:
    """Source: SPEC.md B1, 600 families: 1,800/0, 0/600, 0/0 and 600 of 600; in proportion for any seed."""
    result = run_benchmark(families=families, seed=seed)
    assert result["submissions"] == {
        "valid": 2 * families,
        "invalid": 4 * families,
        "invalid_with_right_value": 3 * families,
    }
    assert result["protocols"] == {
        "final_answer": {"false_acceptances": 3 * families, "false_rejections": 0},
        "reference_path": {"false_acceptances": 0, "false_rejections": families},
        "certificate": {"false_acceptances": 0, "false_rejections": 0},
    }
    assert result["residual_bound"] == {"checked": families, "held": families}


def test_each_defect_fails_for_its_own_reason() -> None:
    source = random.Random(3)
    for _ in range(100):
        family = make_family(source)
        rulings = {s.kind: verify(family.programme, s.certificate) for s in family.submissions}
        assert rulings["lagrange"].valid and rulings["elimination"].valid
        assert not rulings["infeasible point"].feasible
        hidden = rulings["infeasible, stationary along the kernel"]
        assert hidden.stationary and not hidden.feasible
        false_nu = rulings["false multiplier"]
        assert false_nu.feasible and false_nu.value and false_nu.stationary and false_nu.multiplier is False
        value = rulings["wrong objective value"]
        assert value.feasible and value.stationary and value.multiplier and not value.value


PROGRAMMES = [make_programme(random.Random(seed)) for seed in range(200)]
SOLVED = [(programme, *programme.by_lagrange()) for programme in PROGRAMMES]
PARTS = (
    "point",
    "point with its own value",
    "along the kernel",
    "value",
    "multiplier",
    "point and multiplier",
)


def perturbed(source: random.Random, part: str, with_multiplier: bool) -> tuple[Programme, Certificate]:
    """Return a valid certificate with one part changed by a random non-zero rational."""

    def nonzero() -> Fraction:
        return Fraction(source.choice((-1, 1)) * source.randint(1, 10**6), source.choice((1, 7, 1000, 10**9)))

    programme, x, nu = source.choice(SOLVED)
    value = programme.objective(x)
    if part.startswith("point"):
        place = source.randrange(len(x))
        x = (*x[:place], x[place] + nonzero(), *x[place + 1 :])
    if part == "along the kernel":
        x = add(x, apply(transpose(programme.kernel, programme.size), [nonzero() for _ in programme.kernel]))
    if part in ("point with its own value", "along the kernel"):
        value = programme.objective(x)
    if part == "value":
        value += nonzero()
    if part.endswith("multiplier"):
        place = source.randrange(len(nu))
        nu = (*nu[:place], nu[place] + nonzero(), *nu[place + 1 :])
        with_multiplier = True
    return programme, Certificate(x, value, nu if with_multiplier else None)


def test_ten_thousand_perturbations_of_valid_certificates_are_all_caught() -> None:
    assert all(verify(p, Certificate(x, p.objective(x), nu)).valid for p, x, nu in SOLVED)
    assert all(verify(p, Certificate(x, p.objective(x))).valid for p, x, _ in SOLVED)
    source = random.Random(7)
    passed = []
    for _ in range(10_000):
        part = source.choice(PARTS)
        programme, certificate = perturbed(source, part, source.random() < 0.5)
        if verify(programme, certificate).valid:
            passed.append((part, programme, certificate))
    assert passed == []


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(PARTS), st.booleans())
def test_no_search_finds_a_perturbation_that_passes(
    source: random.Random, part: str, with_multiplier: bool
) -> None:
    programme, certificate = perturbed(source, part, with_multiplier)
    assert not verify(programme, certificate).valid


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(PROGRAMMES), st.data())
def test_the_residual_bound_holds_for_every_feasible_point_and_any_multiplier(
    programme: Programme, data: st.DataObject
) -> None:
    x, _ = programme.by_lagrange()
    small = st.fractions(-3, 3, max_denominator=20)
    weights = data.draw(st.tuples(*[small] * len(programme.kernel)))
    nu = data.draw(st.tuples(*[small] * len(programme.a)))
    point = add(x, apply(transpose(programme.kernel, programme.size), weights))
    gap = programme.objective(point) - programme.objective(x)
    assert 0 <= gap <= programme.residual_bound(point, nu)
    assert programme.residual_bound(point, nu) == programme.residual_bound(point)
    assert (gap == 0) == (not any(weights))


def test_the_residual_bound_is_refused_off_the_plane() -> None:
    with pytest.raises(BadProgramme, match="feasible points only"):
        Programme.of(*BY_HAND).residual_bound((Fraction(0), Fraction(0)))


@pytest.mark.parametrize(
    ("h", "c", "a", "b", "message"),
    [
        ([], [], [], [], "empty"),
        ([[1, 0]], [0, 0], [], [], "H must be 2 by 2"),
        ([[1, 2], [3, 1]], [0, 0], [], [], r"entry \(2, 1\) is 3, entry \(1, 2\) is 2"),
        (
            [[1, 0], [0, -1]],
            [0, 0],
            [[1, 0]],
            [0],
            r"not positive definite on the kernel of A: d'Hd is -1 for d = \(0, 1\)",
        ),
        ([[0, 0], [0, 1]], [0, 0], [[0, 1]], [0], "d'Hd is 0"),
        ([[1, 0], [0, 1]], [0, 0], [[1, 1], [2, 2]], [1, 3], "contradict each other"),
        ([[1, 0], [0, 1]], [0, 0], [[1]], [1], "A, row 1: 1 entries instead of 2"),
        ([[1, 0], [0, 1]], [0, 0], [[1, 1]], [], "b has 0 entries, A has 1 rows"),
        ([[0.1, 0], [0, 1]], [0, 0], [], [], "H, row 1, entry 1: 0.1 is no exact number"),
        ([[1, 0], [0, 1]], ["1/0", 0], [], [], "c, entry 1"),
    ],
)
def test_a_wrong_programme_is_refused_with_what_and_where(
    h: list, c: list, a: list, b: list, message: str
) -> None:
    with pytest.raises(BadProgramme, match=message):
        Programme.of(h, c, a, b)


def test_convexity_is_asked_for_on_the_kernel_only() -> None:
    programme = Programme.of([[1, 0], [0, -1]], [0, 0], [[0, 1]], [3])
    assert programme.by_elimination() == (0, 3)
    assert programme.modulus == pytest.approx(1, rel=0.01)


def test_a_certificate_of_the_wrong_shape_is_refused() -> None:
    programme = Programme.of(*BY_HAND)
    with pytest.raises(BadProgramme, match="1 entries instead of 2"):
        verify(programme, Certificate((Fraction(1),), Fraction(0)))
    with pytest.raises(BadProgramme, match="multiplier has 2 entries"):
        verify(programme, Certificate(SOLUTION.x, SOLUTION.value, (Fraction(0), Fraction(0))))


def test_tolerances_are_carried_through_transformations() -> None:
    first = Transformation(Fraction(2), Fraction(1), Fraction(1, 10))
    second = Transformation(Fraction(3), Fraction(-1), Fraction(1, 5))
    assert first.value(Fraction(4)) == (Fraction(89, 10), Fraction(91, 10))
    assert first.optimality(Fraction(1, 2)) == Fraction(6, 5)
    assert first.then(second) == Transformation(Fraction(6), Fraction(2), Fraction(1, 2))
    assert Transformation(Fraction(5), Fraction(0)).optimality(Fraction(0)) == 0
    with pytest.raises(BadTransformation, match="a must be positive"):
        Transformation(Fraction(0), Fraction(0))
    with pytest.raises(BadTransformation, match="eps"):
        Transformation(Fraction(1), Fraction(0), Fraction(-1))
    with pytest.raises(BadTransformation, match="delta"):
        first.optimality(Fraction(-1))


def test_the_command_prints_the_table_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "benchmark.json"
    call_command("certificate_benchmark", "--families", "20", "--json", str(file))
    printed = capsys.readouterr().out
    assert "false acceptances of 80" in printed
    assert "20 of 20 feasible perturbations" in printed
    assert json.loads(file.read_text()) == run_benchmark(families=20, seed=0)


def test_the_command_refuses_an_empty_benchmark() -> None:
    with pytest.raises(CommandError, match="at least one family"):
        call_command("certificate_benchmark", "--families", "0")
