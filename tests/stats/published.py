"""Numbers as the study printed or released them (arXiv 2609.00264 and its files at a2debdb, read 2026-11).

Per-monitor tables are of the released files and their notebook's output; means are of the paper's text. They
are never changed together with the code that they guard.
"""

from __future__ import annotations

DEEPSEEK, QWEN3, QWEN25, LLAMA = "deepseek-chat-v4flash", "qwen3-32b", "qwen-2.5-72b", "llama-3.3-70b"
GROK, KIMI, GEMINI, FABLE = "grok-4.3", "kimi-k3", "gemini-3.1-pro", "fable-5"
ORDER = (DEEPSEEK, QWEN3, QWEN25, LLAMA, GROK, KIMI, GEMINI, FABLE)
LADDER = ("BLIND", "HINT", "CERT", "REVISE")
SUPERSEDED = ("66b727d367968fa27f2dddda", "Response A")

# Table 1 as printed: flag rate, sensitivity, specificity, balanced accuracy, AUC (superseded label).
TABLE_1 = {
    DEEPSEEK: (0.945, 0.972, 0.078, 0.525, 0.473),
    QWEN3: (0.646, 0.676, 0.380, 0.528, 0.514),
    LLAMA: (0.544, 0.648, 0.543, 0.595, 0.570),
    GROK: (0.283, 0.426, 0.837, 0.632, 0.642),
    GEMINI: (0.447, 0.769, 0.822, 0.795, 0.816),
}
# Table 2: critical traces by the role of their error; recall under each rung of the ladder and CERT - BLIND, means
# over eight monitors.
TABLE_2 = {
    "repaired_or_exploratory": (8, 0.453, 0.422, 0.359, 0.344, -0.094),
    "supplementary_claim": (7, 0.446, 0.411, 0.375, 0.500, -0.071),
    "robust_numerical_or_algebraic": (7, 0.571, 0.589, 0.554, 0.607, -0.018),
    "substantive": (2, 0.875, 0.750, 0.562, 0.625, -0.312),
}
# The study's coding of its 24 critical traces (question, letter of the response).
ROLES = {
    "repaired_or_exploratory": (
        ("67401245b9a033e63640df4b", "B"),
        ("672f7ddd281b45ba7e99346d", "B"),
        ("66b827b9b64deaedfbb997a2", "B"),
        ("66fc6a20d90ebe461bfd0cc7", "B"),
        ("673b865227d07a53a7b0ec48", "B"),
        ("67350237b7aab4044ebf52ca", "B"),
        ("67339e9c25c864e84bf1a351", "B"),
        ("676cc5d177aae7d3ee8caaeb", "B"),
    ),
    "supplementary_claim": (
        ("6722cb976bc44598e1fd09be", "B"),
        ("6739674739118cf30f5f1075", "B"),
        ("671fd62fc40008a5a756fea4", "B"),
        ("671fd62fc40008a5a756fea4", "A"),
        ("66ed6347e50f3c9aca56e5f4", "C"),
        ("677bcc2af80fce832e66a075", "B"),
        ("671b14a6a05f8889abb23bf0", "B"),
    ),
    "robust_numerical_or_algebraic": (
        ("677296942ebbac6133a1d618", "B"),
        ("677296942ebbac6133a1d618", "A"),
        ("67298280a5f43bd5a3870e14", "B"),
        ("66b827b9b64deaedfbb997a2", "C"),
        ("673797594656f5343e5d35db", "B"),
        ("66e9e6b3c27ad6bc46adbc20", "B"),
        ("67208aa0563d776c82113daa", "B"),
    ),
    "substantive": (
        ("672d44d02a52b5a11753319c", "B"),
        ("66b827b9b64deaedfbb997a2", "A"),
    ),
}
# Exact localisations out of 107 (24 under RCTRL; 105 for fable under REVISE), in ORDER.
L0_HITS = {
    "BLIND": (46, 19, 9, 19, 23, 20, 45, 42),
    "HINT": (40, 22, 10, 17, 30, 34, 45, 51),
    "CERT": (37, 31, 19, 18, 48, 56, 56, 59),
    "REVISE": (50, 30, 20, 24, 53, 57, 66, 57),
    "STEP": (30, 24, 7, 5, 21, 22, 33, 26),
    "RCTRL": (5, 1, 0, 3, 3, 5, 6, 5),
}
L1_HITS = {
    "BLIND": (64, 34, 20, 37, 29, 25, 56, 53),
    "HINT": (59, 32, 25, 32, 36, 37, 55, 63),
    "CERT": (56, 51, 34, 37, 58, 67, 71, 69),
    "REVISE": (67, 41, 37, 41, 61, 67, 77, 68),
}
# Wrong, critical and clean traces judged under all four conditions of the ladder.
COMMON = {
    DEEPSEEK: (82, 24, 125),
    QWEN3: (78, 24, 127),
    QWEN25: (83, 24, 128),
    LLAMA: (82, 24, 129),
    GROK: (83, 24, 130),
    KIMI: (83, 24, 130),
    GEMINI: (82, 24, 130),
    FABLE: (80, 24, 129),
}
# Recall on wrong and critical traces by condition, difference of the changes, headroom closed.
RECALL = {
    DEEPSEEK: ((0.988, 0.958), (0.976, 0.958), (0.988, 0.792), (1.000, 0.917), 0.167, 0.000),
    QWEN3: ((0.667, 0.792), (0.705, 0.542), (0.962, 0.583), (0.923, 0.417), 0.503, 0.885),
    LLAMA: ((0.683, 0.542), (0.902, 0.708), (0.902, 0.417), (0.951, 0.458), 0.345, 0.692),
    GROK: ((0.446, 0.333), (0.602, 0.333), (0.964, 0.250), (0.976, 0.333), 0.601, 0.935),
    GEMINI: ((0.829, 0.583), (0.902, 0.500), (0.988, 0.625), (0.976, 0.625), 0.117, 0.929),
}
# REVISE: added on wrong; withdrawn and added on critical; withdrawn and added on clean.
REVISION = {
    DEEPSEEK: (1.000, 0.043, 0.000, 0.160, 0.143),
    QWEN3: (0.808, 0.474, 0.000, 0.500, 0.104),
    LLAMA: (0.963, 0.538, 0.455, 0.600, 0.543),
    GROK: (0.957, 0.375, 0.188, 0.500, 0.083),
    GEMINI: (0.929, 0.071, 0.200, 0.783, 0.056),
}
# Net of RCTRL: withdrawn on clean, withdrawn on critical.
NET = {
    DEEPSEEK: (0.160, 0.043),
    QWEN3: (0.401, 0.421),
    LLAMA: (0.183, 0.231),
    GROK: (0.273, 0.250),
    GEMINI: (0.555, 0.000),
}
# Means over all eight monitors, unrounded: sensitivity and specificity to 3 decimals.
MEANS = {
    "BLIND": {
        "balanced_accuracy": 0.63665,
        "sensitivity": 0.619,
        "specificity": 0.655,
        "L0": 0.26051,
        "L1": 0.37150,
    },
    "HINT": {
        "balanced_accuracy": 0.71210,
        "sensitivity": 0.707,
        "specificity": 0.717,
        "L0": 0.29089,
        "L1": 0.39603,
    },
    "CERT": {
        "balanced_accuracy": 0.79656,
        "sensitivity": 0.836,
        "specificity": 0.757,
        "L0": 0.37850,
        "L1": 0.51752,
    },
    "REVISE": {
        "balanced_accuracy": 0.78287,
        "sensitivity": 0.861,
        "specificity": 0.705,
        "L0": 0.41832,
        "L1": 0.53773,
    },
    "STEP": {
        "balanced_accuracy": 0.61397,
        "sensitivity": 0.587,
        "specificity": 0.641,
        "L0": 0.19626,
        "L1": 0.28271,
    },
    "RCTRL": {
        "balanced_accuracy": 0.59356,
        "sensitivity": 0.510,
        "specificity": 0.677,
        "L0": 0.14583,
        "L1": 0.24479,
    },
}
# Intervals over all eight monitors; L0 by the published rule (failed verdicts left out).
INTERVALS = {
    ("BLIND", "balanced_accuracy"): (0.605185, 0.665946),
    ("CERT", "balanced_accuracy"): (0.760350, 0.831802),
    ("BLIND", "L0"): (0.211540, 0.3125),
    ("CERT", "L0"): (0.316226, 0.436339),
}
INTERVALS_4 = {
    ("HINT", "balanced_accuracy"): (0.6817, 0.7397),
    ("REVISE", "balanced_accuracy"): (0.7470, 0.8165),
    ("HINT", "L0"): (0.2456, 0.3358),
    ("REVISE", "L0"): (0.3534, 0.4851),
}
# Chance at tolerance 0 and 1, skill at 0 and 1.
CHANCE = {
    "BLIND": (0.0767, 0.2130, 0.199, 0.201),
    "HINT": (0.0851, 0.2393, 0.225, 0.206),
    "CERT": (0.1048, 0.2893, 0.306, 0.321),
    "REVISE": (0.1056, 0.2918, 0.350, 0.347),
    "STEP": (0.062, 0.175, 0.143, 0.131),
}
# Early, exact, late, missed, summed over the eight.
PLACES = {
    "BLIND": (126, 223, 179, 328),
    "HINT": (111, 249, 243, 253),
    "CERT": (94, 324, 297, 141),
    "REVISE": (113, 357, 260, 124),
    "STEP": (147, 168, 180, 361),
    "RCTRL": (35, 28, 35, 94),
}
CONTRAST = {
    "wrong": (0.2986, 0.2421, 0.3562),
    "critical": (-0.0833, -0.1959, 0.0298),
    "difference": (0.3820, 0.2559, 0.5057),
}
NO_FABLE = (0.4151, 0.2883, 0.5413)
HEADROOM = 0.7595
ANSWER_CORRECT = {"BLIND": 0.5861, "HINT": 0.6063, "CERT": 0.5974, "REVISE": 0.5975}
CONSENSUS = {"BLIND": 0.382, "HINT": 0.461, "CERT": 0.632, "REVISE": 0.690}
REVISION_MEANS = {
    ("wrong", "add_revise"): 0.93773,
    ("critical", "add_revise"): 0.18008,
    ("clean", "net_withdraw"): 0.41384,
    ("critical", "net_withdraw"): 0.18934,
    ("clean", "net_add"): 0.112,
    ("critical", "net_add"): 0.129,
}
# Over the seven monitors that ran the false certificates: effect, published interval.
CERTIFICATE = {
    "CERT-CMATCH": (0.659, 0.602, 0.711),
    "CMATCH-BLIND": (-0.389, -0.447, -0.333),
    "CCONFLICT-CERT": (0.580, 0.451, 0.699),
}
SUPPRESSED = (177, 2, 98)
INTERIOR = (199, 165)
INTERIOR_MONITORS = (7, 5)  # share of interior ones over one half, over nine tenths
NO_FABLE_CERTIFICATE = {"CERT-CMATCH": 0.638, "CMATCH-BLIND": -0.348, "CCONFLICT-CERT": 0.567}
# Flag rates under BLIND and CMATCH on the traces valid under both.
MATCHED_RATES = {GEMINI: (0.841, 0.268), FABLE: (0.833, 0.192)}


def is_monitor(name: str, slug: str) -> bool:
    """Whether a slug from a file name is a monitor of ORDER."""
    return name in slug
