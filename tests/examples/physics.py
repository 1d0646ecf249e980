"""Computes the physics of the sample study anew: every answer, every number that matters, every false step.

The routes differ from those of the traces where they can (quadrature, integration of the equation of motion,
diagonalisation of a Hamiltonian, summing beams), with the standard library and numpy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache

import numpy as np

PI = math.pi
H, M_E = 6.626e-34, 9.109e-31  # as given in the question
K_E = 8.988e9
K_B_EV = 8.617e-5


def integral(f: Callable[[np.ndarray], np.ndarray], a: float, b: float, n: int = 20_000) -> float:
    """Return the integral of f over [a, b] by Simpson's rule with n (even) intervals."""
    x = np.linspace(a, b, n + 1)
    weights = np.ones(n + 1)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    return float(np.dot(weights, f(x)) * (b - a) / n / 3)


def derivative(f: Callable[[float], float], x: float, h: float = 1e-5) -> float:
    """Return the derivative of f at x by a central difference of relative width h."""
    d = h * abs(x)
    return (f(x + d) - f(x - d)) / (2 * d)


def root(f: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of f between two points of opposite sign, by bisection."""
    sign = f(low) > 0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if (f(middle) > 0) == sign else (low, middle)
    return 0.5 * (low + high)


# ---------------------------------------------------------------- one calculation per question


@cache
def bowl_period(moment: float = 0.4) -> float:
    """Return the period of a ball of moment `moment` M r^2 by integrating its motion (energy, no slip)."""
    r, arc, g = 0.02, 0.35, 9.81
    # one radian per second about the bowl's centre moves the ball's centre at `arc`; no slip: spin = arc / r
    inertia = arc**2 + moment * r**2 * (arc / r) ** 2
    angle, rate, t, dt = 1e-3, 0.0, 0.0, 1e-4
    while angle > 0:  # a quarter of a period, by velocity Verlet
        rate -= 0.5 * dt * g * arc * math.sin(angle) / inertia
        before, angle = angle, angle + dt * rate
        rate -= 0.5 * dt * g * arc * math.sin(angle) / inertia
        t += dt
    return 4 * (t + dt * angle / (before - angle))


def drag_speed(t: float = 2.0, n: int = 2000) -> float:
    """Return the speed after t seconds by the classical Runge-Kutta rule with n steps."""
    v, h = 0.0, t / n

    def a(speed: float) -> float:
        return 9.80 - 0.0200 * speed**2

    for _ in range(n):
        k1 = a(v)
        k2 = a(v + h * k1 / 2)
        k3 = a(v + h * k2 / 2)
        k4 = a(v + h * k3)
        v += h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
    return v


@cache
def coax_inductance(*, inside: bool = True) -> float:
    """Return the inductance per metre from the field energy of one ampere."""
    mu, a, b = 4e-7 * PI, 1e-3, 4e-3

    def density(r: np.ndarray, share: np.ndarray) -> np.ndarray:
        field = mu * share / (2 * PI * r)
        return np.asarray(field**2 / (2 * mu) * 2 * PI * r)

    energy = integral(lambda r: density(r, np.ones_like(r)), a, b)
    if inside:
        energy += integral(lambda r: density(r, (r / a) ** 2), 1e-12, a)
    return 2 * energy


def image_force(x: float) -> float:
    """Return the pull on 5 nC at x from the plane: the stress sigma^2/(2 epsilon) over the induced charge."""
    q, eps = 5e-9, 1 / (4 * PI * K_E)
    # sigma = -q x / (2 pi (rho^2 + x^2)^1.5), with rho = x tan(u)
    return integral(
        lambda u: (q * np.cos(u) ** 3 / (2 * PI * x**2)) ** 2 / eps * PI * x**2 * np.sin(u) / np.cos(u) ** 3,
        0,
        PI / 2 - 1e-9,
        2000,
    )


@cache
def image_work() -> float:
    """Return the work from 3 cm to infinity, with x = 0.03/u."""
    return integral(lambda u: np.array([image_force(0.03 / v) * 0.03 / v**2 for v in u]), 1e-6, 1, 200)


@cache
def ice_entropies() -> tuple[float, float, float, float, float]:
    """Return the four entropy changes in J/K and the final temperature in K, by quadrature of C dT/T."""
    ice, melt, warm, latent, zero = 0.2 * 2100, 0.2 * 4180, 0.5 * 4180, 0.2 * 3.34e5, 273.15
    end = root(lambda t: ice * 10 + latent + melt * (t - zero) - warm * (zero + 40 - t), zero, zero + 40)
    return (
        ice * integral(lambda t: 1 / t, zero - 10, zero),
        latent / zero,
        melt * integral(lambda t: 1 / t, zero, end),
        warm * integral(lambda t: 1 / t, zero + 40, end),
        end,
    )


@cache
def vdw_cooling() -> float:
    """Return the temperature change at constant U, with (dU/dV)_T from the equation of state."""
    gas, a, b, c_v = 8.314462618, 0.137, 3.87e-5, 20.8

    def pressure(t: float, v: float) -> float:
        return gas * t / (v - b) - a / v**2

    def slope(t: float, v: float) -> float:
        return -(t * derivative(lambda s: pressure(s, v), t) - pressure(t, v)) / c_v

    t, n = 300.0, 20_000
    v = np.geomspace(1e-3, 1e-2, n + 1)
    for low, high in itertools.pairwise(v):
        middle = t + 0.5 * (high - low) * slope(t, float(low))
        t += (high - low) * slope(middle, float(0.5 * (low + high)))
    return t - 300.0


@cache
def well_element() -> float:
    """Return <1|x|2> in units of L."""
    return integral(lambda x: 2 * x * np.sin(PI * x) * np.sin(2 * PI * x), 0, 1)


def well_frequency() -> float:
    """Return (E2 - E1)/h of the box in Hz."""
    return ((2 * PI / 1e-9) ** 2 - (PI / 1e-9) ** 2) * (H / (2 * PI)) ** 2 / (2 * M_E) / H


def quartic_energy(b: float, n: int = 2000) -> float:
    """Return <H> of the Gaussian of width parameter b, in units with hbar = m = lambda = 1."""
    norm = integral(lambda x: np.exp(-2 * b * x**2), -12, 12, n)
    kinetic = integral(lambda x: 0.5 * (2 * b * x * np.exp(-b * x**2)) ** 2, -12, 12, n)
    return (kinetic + integral(lambda x: x**4 * np.exp(-2 * b * x**2), -12, 12, n)) / norm


@cache
def quartic_bound() -> float:
    """Return the least <H> over the Gaussians, by a golden-section search."""
    low, high, g = 0.5, 1.5, (math.sqrt(5) - 1) / 2
    for _ in range(60):
        x, y = high - g * (high - low), low + g * (high - low)
        low, high = (low, y) if quartic_energy(x) < quartic_energy(y) else (x, high)
    return quartic_energy(0.5 * (low + high))


@cache
def quartic_ground() -> float:
    """Return the exact ground-state energy of p^2/2 + x^4, by diagonalisation on a grid."""
    x, h = np.linspace(-5, 5, 801, retstep=True)
    matrix = (
        np.diag(1 / h**2 + x**4)
        - np.diag(np.full(800, 0.5 / h**2), 1)
        - np.diag(np.full(800, 0.5 / h**2), -1)
    )
    return float(np.linalg.eigvalsh(matrix)[0])


@cache
def film_reflectance(beams: int = 60) -> float:
    """Return the reflectance of the coated surface, adding the given number of beams with their phases."""
    n, s = 1.38, 1.52
    front, back = (1 - n) / (1 + n), (n - s) / (n + s)
    into, out = 2 / (1 + n), 2 * n / (1 + n)
    total, bounce = front, back * -1.0  # half a wavelength of path there and back
    for k in range(beams - 1):
        total += into * out * bounce * (-front * bounce) ** k
    return total**2


def lens_image() -> tuple[float, float]:
    """Return where two paraxial rays of one object point meet behind the second lens, and how high, in cm."""
    ends = []
    for angle in (0.0, 0.01):
        y, u = 1.0, angle
        y += 30 * u
        u -= y / 20
        y += 40 * u
        u -= y / -30
        ends.append((y, u))
    (y1, u1), (y2, u2) = ends
    where = (y1 - y2) / (u2 - u1)
    return where, y1 + where * u1


@cache
def debye_fraction(u: float = 4.0) -> float:
    """Return C_V/3R at theta/T = u, as the derivative of the internal energy."""

    def energy(t: float) -> float:  # in units of 3 R theta, t = T/theta
        return 3 * t**4 * integral(lambda x: x**3 / np.expm1(x), 1e-9, 1 / t, 4000)

    return derivative(energy, 1 / u, 1e-4)


@cache
def schottky_temperature() -> float:
    """Return the temperature of the largest C of levels 0 and 1 meV, by search over a derivative of <E>."""

    def heat(t: float) -> float:
        return derivative(lambda s: 1 / (math.exp(1e-3 / (K_B_EV * s)) + 1), t, 1e-4)

    low, high, g = 1.0, 20.0, (math.sqrt(5) - 1) / 2
    for _ in range(60):
        x, y = high - g * (high - low), low + g * (high - low)
        low, high = (x, high) if heat(x) < heat(y) else (low, y)
    return 0.5 * (low + high)


@cache
def rocket() -> tuple[float, float, float]:
    """Return (ship time, Earth time, gamma half way): integrating rapidity, distance and time to 6 ly."""
    a, h = 1.03, 1e-4
    tau, x, t = 0.0, 0.0, 0.0
    while x < 6.0:
        middle = a * (tau + h / 2)
        before, x = x, x + h * math.sinh(middle)
        t += h * math.cosh(middle)
        tau += h
    part = (x - 6.0) / (x - before)
    return 2 * (tau - part * h), 2 * (t - part * h * math.cosh(a * tau)), math.cosh(a * (tau - part * h))


def pion() -> tuple[float, float]:
    """Return (momentum, kinetic energy of the muon) in MeV, by bisection on energy conservation."""
    heavy, light = 139.570, 105.658
    p = root(lambda p: math.hypot(p, light) + p - heavy, 0, heavy)
    return p, math.hypot(p, light) - light


def answers() -> dict[str, list[float]]:
    """Return the right answer of each question, as the numbers that a boxed result must show in its unit."""
    return {
        "mech-bowl": [bowl_period()],
        "mech-drag": [drag_speed()],
        "em-coax": [coax_inductance() * 1e6],
        "em-image": [image_work() * 1e6],
        "thermo-ice": [sum(ice_entropies()[:4])],
        "thermo-vdw": [vdw_cooling()],
        "quantum-well": [well_frequency(), abs(well_element())],
        "quantum-quartic": [quartic_bound()],
        "optics-film": [film_reflectance() * 100],
        "optics-lenses": [lens_image()[0]],
        "stat-debye": [debye_fraction()],
        "stat-schottky": [schottky_temperature()],
        "rel-rocket": [rocket()[0]],
        "rel-pion": [pion()[1]],
    }
