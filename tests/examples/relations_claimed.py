"""Formulas that steps of the sample state: both sides at sample values of the symbols, and what is false.

FALSE_STEPS holds, for each trace with an error, what its first false step claims and what is true.
"""

from __future__ import annotations

import math
from math import asinh, cosh, exp, log, pi, sin, sinh, sqrt, tanh

import numpy as np

from tests.examples import physics
from tests.examples.physics import K_E, M_E, H, derivative, integral
from tests.examples.sample import Key

# Sample values of the symbols: odd numbers, so that a wrong formula cannot agree by accident.
_A, _B, _R, _V = 1.3, 2.9, 0.7, 2.1
_MU0 = 4e-7 * pi


def _relations() -> dict[Key, list[tuple[int, float, float]]]:
    q = integral
    # van der Waals, any temperature and volume
    gas, a, b, t0, v0 = 8.314462618, 0.137, 3.87e-5, 310.0, 2e-3

    def pressure(t: float, v: float) -> float:
        return gas * t / (v - b) - a / v**2

    pi_t = t0 * derivative(lambda t: pressure(t, v0), t0) - pressure(t0, v0)
    inside = _MU0 / (4 * pi * _A**4) * q(lambda r: r**3, 0, _A)  # energy per metre of one ampere
    gap = q(lambda r: (_MU0 / (2 * pi * r)) ** 2 / (2 * _MU0) * 2 * pi * r, _A, _B)
    linkage = q(lambda r: r**2 / _A**2 * _MU0 * r / (2 * pi * _A**2), 0, _A)
    bb = 0.83  # width parameter of the Gaussian
    norm = q(lambda x: np.exp(-2 * bb * x**2), -12, 12)
    x2 = q(lambda x: x**2 * np.exp(-2 * bb * x**2), -12, 12) / norm
    x4 = q(lambda x: x**4 * np.exp(-2 * bb * x**2), -12, 12) / norm
    kin = q(lambda x: 0.5 * (2 * bb * x * np.exp(-bb * x**2)) ** 2, -12, 12) / norm
    best = 0.75 ** (1 / 3)

    def c_two(x: float) -> float:  # heat capacity of two levels in units of k_B: -x^2 d<E>/dx
        return -(x**2) * derivative(lambda s: 1 / (exp(s) + 1), x)

    def log_c(x: float) -> float:
        return 2 * log(x) + x - 2 * log(exp(x) + 1)

    r1, r2 = -0.38 / 2.38, -0.14 / 2.90
    series = sum(r1 if k == 0 else -(1 - r1**2) * r2 * (r1 * r2) ** (k - 1) for k in range(40))
    eta, acc = 1.7, 1.03
    m1, m2 = 3.7, 2.3
    p = (m1**2 - m2**2) / (2 * m1)
    e2 = sqrt(p**2 + m2**2)
    bose = q(lambda x: x**3 / np.expm1(x), 1e-9, 60)
    debye_inf = q(lambda x: x**4 * np.exp(x) / np.expm1(x) ** 2, 1e-9, 60)
    tail_bose = q(lambda x: x**3 / np.expm1(x), 4, 60)
    quartic = [
        (1, x2, 1 / (4 * bb)),
        (2, kin, bb / 2),
        (3, x4, 3 / (16 * bb**2)),
        (4, kin + x4, bb / 2 + 3 / 16 / bb**2),
        (5, derivative(lambda s: s / 2 + 3 / 16 / s**2, bb), 0.5 - 3 / 8 / bb**3),
        (5, 0.5 - 3 / 8 / best**3, 0.0),
        (6, derivative(lambda s: 0.5 - 3 / 8 / s**3, bb), 9 / 8 / bb**4),
        (7, 3 / 16 / best**2, best / 4),
        (8, 0.75 ** (4 / 3), 0.75 * best),
    ]
    theta = 0.4
    return {
        ("mech-bowl", "A"): [
            (4, 0.5 * _B**2 + 0.5 * 0.4 * _R**2 * (_B / _R) ** 2, 0.7 * _B**2),
            (5, 1 - math.cos(1e-3), 0.5e-6),
            (7, 2 * pi / sqrt(5 * 9.81 / 7 / 0.35), physics.bowl_period()),
        ],
        ("mech-bowl", "C"): [
            (4, -(0.4 * _R**2 * (_B / _R)) / _R, -0.4 * _B),
            (6, 2 * pi * sqrt(7 * 0.35 / 5 / 9.81), physics.bowl_period()),
        ],
        ("mech-drag", "A"): [
            (2, 9.8 - 0.02 * _V**2, 9.8 * (1 - _V**2 / 490)),
            (4, q(lambda v: 1 / (1 - v**2 / 490), 0, _V), sqrt(490) * math.atanh(_V / sqrt(490))),
            (5, sqrt(490) * tanh(9.8 * 0.7 / sqrt(490)), physics.drag_speed(0.7)),
        ],
        ("mech-drag", "C"): [(1, 9.8 - 0.02 * _V**2, 0.02 * (490 - _V**2))],
        ("em-coax", "A"): [
            (5, inside, _MU0 / (16 * pi)),
            (6, gap, _MU0 / (4 * pi) * log(_B / _A)),
            (7, 2 * (inside + gap), _MU0 / 2 / pi * (0.25 + log(_B / _A))),
        ],
        ("em-coax", "B"): [
            (2, q(lambda r: _MU0 / (2 * pi * r), _A, _B), _MU0 / 2 / pi * log(_B / _A)),
            (6, inside, _MU0 / 16 / pi),
            (7, 2 * inside, _MU0 / 8 / pi),
            (9, linkage, _MU0 / 8 / pi),
        ],
        ("em-image", "A"): [(2, K_E * 25e-18 / 0.06**2, physics.image_force(0.03))],
        ("em-image", "B"): [
            (2, K_E * 25e-18 / (4 * 0.04**2), physics.image_force(0.04)),
            (4, K_E * 25e-18 / (4 * 0.03), physics.image_work()),
        ],
        ("em-image", "C"): [
            (3, K_E * 25e-18 / (4 * 0.03), physics.image_work()),
            (7, physics.image_force(0.03) * 0.03, physics.image_work()),
            (
                8,
                q(
                    lambda u: (
                        0.03
                        / (2 * pi * (0.03 / np.cos(u)) ** 3)
                        * 2
                        * pi
                        * 0.03
                        * np.tan(u)
                        * 0.03
                        / np.cos(u) ** 2
                    ),
                    0,
                    pi / 2 - 1e-9,
                ),
                1.0,
            ),
        ],
        ("thermo-ice", "C"): [
            (
                6,
                420 * 10 + 66800 + 836 * (physics.ice_entropies()[4] - 273.15),
                2090 * (313.15 - physics.ice_entropies()[4]),
            )
        ],
        ("thermo-vdw", "A"): [
            (3, t0 * derivative(lambda t: pressure(t, v0), t0), gas * t0 / (v0 - b)),
            (4, pi_t, a / v0**2),
            (5, q(lambda v: a / v**2, 1e-3, 1e-2), a * (1e3 - 1e2)),
        ],
        ("thermo-vdw", "B"): [(3, pi_t, a / v0**2)],
        ("quantum-well", "A"): [
            (1, physics.well_frequency(), 3 * H / (8 * M_E * 1e-18)),
            (4, q(lambda x: 2 * x * np.sin(2 * pi * x) ** 2, 0, 1), 0.5),
            (7, sin(theta) * sin(2 * theta), 0.5 * (math.cos(theta) - math.cos(3 * theta))),
            (8, q(lambda x: x * np.cos(3 * pi * x), 0, 1), -2 / 9 / pi**2),
            (8, q(lambda x: x * np.cos(pi * x), 0, 1), -2 / pi**2),
            (9, physics.well_element(), -16 / 9 / pi**2),
        ],
        ("quantum-well", "B"): [
            (8, physics.well_element(), 2 / pi**2 * q(lambda s: s * np.sin(s) * np.sin(2 * s), 0, pi)),
            (9, sin(theta) * sin(2 * theta), derivative(lambda s: 2 / 3 * sin(s) ** 3, theta)),
            (9, q(lambda s: s * np.sin(s) * np.sin(2 * s), 0, pi), -8 / 9),
            (9, q(lambda s: np.sin(s) ** 3, 0, pi), 4 / 3),
            (10, physics.well_element(), -16 / 9 / pi**2),
        ],
        ("quantum-well", "C"): [(3, physics.well_element(), -16 / 9 / pi**2)],
        ("quantum-quartic", "A"): quartic,
        ("quantum-quartic", "B"): [
            (2, q(lambda x: x**4 * np.exp(-_A * x**2), -12, 12), 3 / 4 / _A**2 * sqrt(pi / _A)),
            (2, q(lambda x: x**2 * np.exp(-_A * x**2), -12, 12), 1 / 2 / _A * sqrt(pi / _A)),
            (3, 1 / norm, sqrt(2 * bb / pi)),
            (
                4,
                derivative(lambda x: -2 * bb * x * exp(-bb * x**2), 0.9),
                (4 * bb**2 * 0.81 - 2 * bb) * exp(-bb * 0.81),
            ),
            (5, kin, bb / 2),
            (6, x4, 3 / 16 / bb**2),
            (11, derivative(lambda s: s / 2 + 3 / 16 / s**2, bb), 0.5 - 3 / 8 / bb**3),
            (11, best**3, 0.75),
        ],
        ("quantum-quartic", "C"): [
            (2, 2 * kin, bb),
            (2, 2 * kin, 1 / (4 * x2)),
            (4, x4, 3 * x2**2),
            (6, 0.75 * best, physics.quartic_bound()),
        ],
        ("optics-film", "A"): [(4, 1 - r1**2, 0.97451)],
        ("optics-film", "C"): [
            (7, series, (r1 - r2) / (1 - r1 * r2)),
            (7, r1 - (1 - r1**2) * r2 / (1 - r1 * r2), (r1 - r2) / (1 - r1 * r2)),
            (7, series**2, physics.film_reflectance()),
        ],
        ("stat-debye", "B"): [
            (4, bose, pi**4 / 15),
            (
                5,
                tail_bose,
                sum(exp(-4 * n) * (64 / n + 48 / n**2 + 24 / n**3 + 6 / n**4) for n in range(1, 20)),
            ),
        ],
        ("stat-debye", "C"): [
            (3, debye_inf, 4 * bose),
            (3, debye_inf, 4 * pi**4 / 15),
            (5, exp(_A) / (exp(_A) - 1) ** 2, sum(n * exp(-n * _A) for n in range(1, 60))),
            (7, q(lambda x: 2 * x**4 * np.exp(-2 * x), 4, 40), exp(-8) * (256 + 128 + 48 + 12 + 1.5)),
        ],
        ("stat-schottky", "A"): [
            (2, c_two(_V), (_V / 2 / cosh(_V / 2)) ** 2),
            (2, c_two(_V), _V**2 * exp(_V) / (exp(_V) + 1) ** 2),
            (3, derivative(lambda y: y / cosh(y), _A), (cosh(_A) - _A * sinh(_A)) / cosh(_A) ** 2),
            (4, derivative(lambda y: y * tanh(y) - 1, _A), tanh(_A) + _A / cosh(_A) ** 2),
        ],
        ("stat-schottky", "B"): [
            (3, c_two(_V), _V**2 * exp(_V) / (exp(_V) + 1) ** 2),
            (4, derivative(log_c, _V), 2 / _V + 1 - 2 * exp(_V) / (exp(_V) + 1)),
            (4, 2 * exp(_V) / (exp(_V) + 1) - 1, tanh(_V / 2)),
            (4, 2 / tanh(_V / 2), 2 * (1 + exp(-_V)) / (1 - exp(-_V))),
        ],
        ("stat-schottky", "C"): [
            (3, c_two(_V), _V**2 * exp(_V) / (exp(_V) + 1) ** 2),
            (4, log(c_two(_V)), log_c(_V)),
        ],
        ("rel-rocket", "A"): [
            (1, q(lambda s: np.sinh(acc * s), 0, eta), (cosh(acc * eta) - 1) / acc),
            (1, q(lambda s: np.cosh(acc * s), 0, eta), sinh(acc * eta) / acc),
        ],
        ("rel-rocket", "B"): [
            (3, q(lambda s: np.sinh(acc * s), 0, eta), (cosh(acc * eta) - 1) / acc),
            (7, 2 * log(7.18 + sqrt(7.18**2 - 1)) / acc, physics.rocket()[0]),
        ],
        ("rel-rocket", "C"): [
            (
                4,
                q(lambda t: acc * t / np.sqrt(1 + acc**2 * t**2), 0, _V),
                (sqrt(1 + acc**2 * _V**2) - 1) / acc,
            ),
            (8, q(lambda t: 1 / np.sqrt(1 + acc**2 * t**2), 0, _V), asinh(acc * _V) / acc),
        ],
        ("rel-pion", "A"): [(3, e2 + p, m1), (7, m1 - p - m2, (m1 - m2) ** 2 / (2 * m1))],
        ("rel-pion", "C"): [(5, e2, (m1**2 + m2**2) / (2 * m1)), (3, m1**2 + m2**2 - 2 * m1 * e2, 0.0)],
    }


def _false_steps() -> dict[Key, tuple[int, str, float, float]]:
    """Return (step, words of it, what it claims, what is true) of every trace with an error."""
    q, d = 5e-9, 0.03
    r1, r2 = 0.38 / 2.38, 0.14 / 2.90
    x = 1.9
    full = physics.film_reflectance()
    ship, _, gamma = physics.rocket()
    beta = sqrt(1 - 1 / gamma**2)
    return {
        ("mech-bowl", "B"): (
            3,
            r"\omega=\frac{R}{r}\,\dot{\theta}",
            37 / 2,
            35 / 2,
        ),  # spin per unit of theta'
        ("mech-bowl", "C"): (
            9,
            "shorter than that of the solid ball",
            -1.0,
            math.copysign(1, physics.bowl_period(2 / 3) - physics.bowl_period()),
        ),
        ("mech-drag", "B"): (31, "7.2379", 7.2379, 9.8 - 0.02 * 11.5154**2),
        ("mech-drag", "C"): (3, r"\dfrac{1}{v_t}\left(", (1 / (3 - 2) + 1 / (3 + 2)) / 3, 1 / (3**2 - 2**2)),
        ("em-coax", "B"): (
            5,
            r"L'_{\text{int}}=\frac{\mu_0}{4\pi}",
            1e-7,
            physics.coax_inductance() - physics.coax_inductance(inside=False),
        ),
        ("em-coax", "C"): (3, "the field is zero", 0.0, _MU0 * 0.5 / (2 * pi * 1e-3)),  # at half the radius
        ("em-image", "A"): (4, "U=qV", -K_E * q * q / (2 * d), -physics.image_work()),
        ("thermo-ice", "B"): (6, "254.55", 254.55, 66800 / 273.15),
        ("thermo-vdw", "B"): (
            5,
            r"\frac{1}{V_2}-\frac{1}{V_1}",
            -900.0,
            integral(lambda v: 1 / v**2, 1e-3, 1e-2),
        ),
        ("thermo-vdw", "C"): (3, "work that the gas does on its surroundings", 123.3, 0.0),
        ("quantum-well", "A"): (5, "x_{12}=0", 0.0, physics.well_element()),
        ("quantum-well", "C"): (4, r"2\,x_{12}", 2 * physics.well_element(), physics.well_element()),
        ("quantum-quartic", "C"): (
            8,
            "somewhat above",
            1.0,
            math.copysign(1, physics.quartic_ground() - physics.quartic_bound()),
        ),
        ("optics-film", "A"): (4, "less than one part in a thousand", 1e-3, full / (r1 - r2) ** 2 - 1),
        ("optics-lenses", "C"): (3, "s_2=+20.0", 20.0, 40.0 - 60.0),
        ("stat-debye", "B"): (
            3,
            r"C_V=\frac{U}{T}",
            3 / 64 * integral(lambda s: s**3 / np.expm1(s), 1e-9, 4),
            physics.debye_fraction(),
        ),
        ("stat-schottky", "B"): (11, "2.34980", 2.34980, 2 * 1.09906 / 0.90094),
        ("stat-schottky", "C"): (
            5,
            r"\dfrac2x-\dfrac{2e^x}{e^x+1}",
            2 / x - 2 * exp(x) / (exp(x) + 1),
            derivative(lambda s: 2 * log(s) + s - 2 * log(exp(s) + 1), x),
        ),
        ("rel-rocket", "A"): (8, r"\gamma=7.18", gamma, gamma * (1 + beta)),
        ("rel-rocket", "B"): (8, "5.48", 5.48, ship),
        ("rel-pion", "B"): (3, "33.9", 33.9, physics.pion()[0]),
    }


RELATIONS = _relations()
FALSE_STEPS = _false_steps()
