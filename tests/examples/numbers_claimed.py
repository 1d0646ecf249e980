"""Numbers that steps of the sample print, each beside the value computed here, to which it must round."""

from __future__ import annotations

from math import cosh, exp, log, pi, sinh, sqrt, tanh

import numpy as np

from tests.examples import physics
from tests.examples.physics import K_B_EV, M_E, H, integral, root
from tests.examples.sample import Key


def _numbers() -> dict[Key, list[tuple[int, str, float]]]:
    g_over_vt = 9.8 * 2 / sqrt(490)
    ds = physics.ice_entropies()
    end = ds[4]
    e1 = H**2 / (8 * M_E * 1e-18)
    x12, nu = abs(physics.well_element()), physics.well_frequency()
    x_max = 1e-3 / K_B_EV / physics.schottky_temperature()
    y_max = root(lambda y: y * tanh(y) - 1, 0.5, 2)
    ship, earth, gamma = physics.rocket()
    p, t_mu = physics.pion()

    def tail_term(n: int) -> float:
        return integral(lambda x: n * x**4 * np.exp(-n * x), 4, 4 + 60 / n)

    tail = [tail_term(n) for n in range(1, 5)]
    debye_integral = physics.debye_fraction() * 64 / 3
    ice = [
        (1, "263.15", 273.15 - 10),
        (1, "273.15", 273.15),
        (1, "313.15", 313.15),
        (2, "420", 0.2 * 2100),
        (3, "836", 0.2 * 4180),
        (4, "2090", 0.5 * 4180),
        (5, "66800", 0.2 * 3.34e5),
        (8, "2926", 836 + 2090),
        (8, "4.306", end - 273.15),
        (8, "277.456", end),
        (9, "1.038001", 273.15 / 263.15),
        (9, "0.037297", log(273.15 / 263.15)),
        (9, "15.665", ds[0]),
        (10, "244.554", ds[1]),
        (11, "1.015764", 277.456 / 273.15),
        (11, "13.076", 836 * log(277.456 / 273.15)),
        (12, "0.886016", 277.456 / 313.15),
        (12, "-252.93", ds[3]),
        (15, "252.9", -ds[3]),
        (16, "20", sum(ds[:4])),
    ]
    return {
        ("mech-bowl", "A"): [
            (8, "0.350", 0.37 - 0.02),
            (8, "20.02", 5 * 9.81 / (7 * 0.35)),
            (8, "4.474", 2 * pi / physics.bowl_period()),
            (9, "1.40", physics.bowl_period()),
        ],
        ("mech-bowl", "C"): [
            (7, "0.04995", 7 * 0.35 / 5 / 9.81),
            (7, "0.2235", sqrt(7 * 0.35 / 5 / 9.81)),
            (7, "1.404", physics.bowl_period()),
            (8, "1.19", physics.bowl_period(0.0)),
            (8, "1.18", physics.bowl_period() / physics.bowl_period(0.0)),
        ],
        ("mech-drag", "A"): [
            (1, "22.136", sqrt(490)),
            (6, "0.88544", g_over_vt),
            (7, "0.7091", tanh(g_over_vt)),
            (7, "4.8760", exp(2 * g_over_vt) - 1),
            (8, "15.70", physics.drag_speed()),
        ],
        ("mech-drag", "B"): [(46, "22.1", sqrt(490)), (46, "19.6", 19.6), (47, "15.7", physics.drag_speed())],
        ("mech-drag", "C"): [(1, "490", 9.8 / 0.02), (1, "22.136", sqrt(490))],
        ("em-coax", "A"): [
            (8, "2.000\\times 10^{-7}", 2e-7),
            (8, "1.3863", log(4)),
            (9, "3.273\\times 10^{-7}", physics.coax_inductance()),
        ],
        ("em-coax", "B"): [
            (3, "2.773\\times 10^{-7}", physics.coax_inductance(inside=False)),
            (10, "0.500\\times 10^{-7}", physics.coax_inductance() - physics.coax_inductance(inside=False)),
            (11, "3.273\\times 10^{-7}", physics.coax_inductance()),
        ],
        ("em-image", "B"): [
            (5, "2.50\\times10^{-17}", 25e-18),
            (5, "0.120", 0.12),
            (7, "1.87\\times10^{-6}", physics.image_work()),
        ],
        ("em-image", "C"): [
            (6, "1.8725\\times10^{-6}", physics.image_work()),
            (7, "6.242\\times10^{-5}", physics.image_force(0.03)),
            (8, "-8.84\\times10^{-7}", -5e-9 / (2 * pi * 0.03**2)),
        ],
        ("thermo-ice", "A"): [
            (4, "4.306", end - 273.15),
            (4, "277.456", end),
            (6, "15.66", ds[0]),
            (7, "244.55", ds[1]),
            (8, "13.08", ds[2]),
            (9, "-252.93", ds[3]),
            (10, "20.36", 15.66 + 244.55 + 13.08 - 252.93),
        ],
        ("thermo-ice", "B"): [(3, "4.306", end - 273.15), (3, "277.456", end), (5, "15.66", ds[0])],
        ("thermo-ice", "C"): ice,
        ("thermo-vdw", "A"): [
            (7, "-5.93", physics.vdw_cooling()),
            (6, "123.3", -20.8 * physics.vdw_cooling()),
        ],
        ("thermo-vdw", "C"): [(2, "123.3", integral(lambda v: 0.137 / v**2, 1e-3, 1e-2))],
        ("quantum-well", "A"): [(2, "2.728\\times 10^{14}", nu), (9, "0.1801", x12), (10, "0.1801", x12)],
        ("quantum-well", "B"): [
            (2, "4.3904\\times10^{-67}", H**2),
            (2, "7.2872\\times10^{-48}", 8 * M_E * 1e-18),
            (2, "6.0248\\times10^{-20}", e1),
            (3, "2.728\\times10^{14}", nu),
            (11, "88.826", 9 * pi**2),
            (11, "0.1801", x12),
            (12, "0.32", 0.5 - x12),
            (12, "0.68", 0.5 + x12),
        ],
        ("quantum-well", "C"): [
            (1, "6.025\\times10^{-20}", e1),
            (1, "0.376", e1 / 1.602e-19),
            (2, "2.728\\times10^{14}", nu),
        ],
        ("quantum-quartic", "A"): [
            (9, "0.681", physics.quartic_bound()),
            (9, "0.6814", physics.quartic_bound()),
        ],
        ("quantum-quartic", "B"): [
            (11, "0.90856", 0.75 ** (1 / 3)),
            (12, "0.45428", 0.75 ** (1 / 3) / 2),
            (12, "0.22714", 3 / 16 / 0.75 ** (2 / 3)),
            (13, "0.68142", physics.quartic_bound()),
        ],
        ("quantum-quartic", "C"): [(6, "0.9086", 0.75 ** (1 / 3))],
        ("optics-film", "A"): [(1, "0.15966", 0.38 / 2.38), (2, "0.04828", 0.14 / 2.90)],
        ("optics-film", "B"): [
            (3, "99.6", 550 / 4 / 1.38),
            (5, "1.2529", 1.38**2 / 1.52),
            (6, "-0.1123", -sqrt(physics.film_reflectance())),
            (7, "0.0126", physics.film_reflectance()),
            (8, "0.0426", (0.52 / 2.52) ** 2),
            (8, "3.4", (0.52 / 2.52) ** 2 / physics.film_reflectance()),
        ],
        ("optics-film", "C"): [
            (1, "-0.15966", -0.38 / 2.38),
            (2, "-0.048276", -0.14 / 2.90),
            (6, "0.0077079", 0.38 / 2.38 * 0.14 / 2.9),
            (8, "-0.11225", -sqrt(physics.film_reflectance())),
            (9, "0.0126", physics.film_reflectance()),
            (10, "1.233", sqrt(1.52)),
        ],
        ("optics-lenses", "A"): [
            (2, "60.0", root(lambda s: 1 / 30 + 1 / s - 1 / 20, 1, 1e4)),
            (5, "+60.0", physics.lens_image()[0]),
            (6, "-6", physics.lens_image()[1]),
        ],
        ("optics-lenses", "B"): [(11, "60.0", physics.lens_image()[0]), (12, "-6", physics.lens_image()[1])],
        ("optics-lenses", "C"): [(2, "60.0", root(lambda s: 1 / 30 + 1 / s - 1 / 20, 1, 1e4))],
        ("stat-debye", "A"): [
            *((3 * k + 4, f"{v:#.7g}", v) for k, v in ((k, exp(k / 4)) for k in range(1, 17))),
            *(
                (3 * k + 6, f"{v:.4f}", v)
                for k, v in ((k, (k / 4) ** 4 * exp(k / 4) / (exp(k / 4) - 1) ** 2) for k in range(1, 17))
            ),
            (58, "10.732", debye_integral),
            (59, "0.5031", physics.debye_fraction()),
        ],
        ("stat-debye", "B"): [],
        ("stat-debye", "C"): [
            (4, "25.97576", 4 * pi**4 / 15),
            (4, "97.40909", pi**4),
            (10, "0.018315639", exp(-4)),
            (11, "15.09209", tail[0]),
            (13, "3.354626\\times10^{-4}", exp(-8)),
            (14, "0.14945", tail[1]),
            (15, "366.52", tail[2] * exp(12)),
            (16, "6.14421\\times10^{-6}", exp(-12)),
            (17, "0.00225", tail[2]),
            (18, "333.59375", tail[3] * exp(16)),
            (19, "1.12535\\times10^{-7}", exp(-16)),
            (19, "0.00004", tail[3]),
            (22, "10.73193", debye_integral),
            (23, "0.50306", physics.debye_fraction()),
        ],
        ("stat-schottky", "A"): [
            (5, "0.833655", tanh(1.2)),
            (5, "0.000386", 1.2 * tanh(1.2) - 1),
            (6, "0.69498", tanh(1.2) ** 2),
            (6, "1.1997", tanh(1.2) + 1.2 / cosh(1.2) ** 2),
            (7, "1.19968", y_max),
            (8, "0.833557", tanh(1.19968)),
            (9, "2.3994", x_max),
            (10, "11.605", 1e-3 / K_B_EV),
            (11, "4.837", physics.schottky_temperature()),
        ],
        ("stat-schottky", "B"): [
            (5, "-0.44", -1 / sinh(1.2) ** 2),
            (27, "11.605", 1e-3 / K_B_EV),
            (27, "4.837", physics.schottky_temperature()),
        ],
        ("rel-rocket", "A"): [
            (2, "7.18", gamma),
            (3, "2.6596", 1.03 * ship / 2),
            (4, "5.164", ship),
            (5, "0.9903", sqrt(1 - 1 / gamma**2)),
            (6, "13.81", earth),
        ],
        ("rel-rocket", "B"): [
            (4, "7.18", gamma),
            (5, "7.1100", sinh(1.03 * ship / 2)),
            (6, "2.6596", 1.03 * ship / 2),
        ],
        ("rel-rocket", "C"): [
            (6, "11.6505", 12 / 1.03),
            (6, "6.9029", earth / 2),
            (9, "7.1100", 1.03 * earth / 2),
            (10, "2.6596", 1.03 * ship / 2),
            (11, "2.5821", ship / 2),
            (12, "5.1642", ship),
            (13, "13.81", earth),
        ],
        ("rel-pion", "A"): [
            (4, "19479.8", 139.57**2),
            (4, "11163.6", 105.658**2),
            (4, "29.792", p),
            (5, "109.778", 139.57 - p),
            (6, "4.120", t_mu),
            (7, "4.120", t_mu),
        ],
        ("rel-pion", "B"): [(1, "33.912", 139.57 - 105.658)],
        ("rel-pion", "C"): [
            (8, "30643.398", 139.57**2 + 105.658**2),
            (9, "109.7779", 139.57 - p),
            (10, "4.1199", t_mu),
            (11, "29.7921", p),
            (11, "29.792", p),
            (12, "0.271", p / (139.57 - p)),
            (13, "4.20", p**2 / 2 / 105.658),
            (13, "4.12", t_mu),
        ],
    }


NUMBERS = _numbers()
