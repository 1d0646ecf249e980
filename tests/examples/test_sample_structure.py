"""The files of the sample study keep their contract: counts, cells, ranges, decisions, mathematics."""

from __future__ import annotations

import re
from collections import Counter

import math_core
import pytest

from tests.examples.sample import Key, cell, cut_into_steps, read_lines, standard, traces

SUBJECTS = {
    "mechanics",
    "electromagnetism",
    "thermodynamics",
    "quantum mechanics",
    "optics",
    "statistical physics",
    "relativity",
}
GENERATORS = {"Response A": "heron-2", "Response B": "tern-large", "Response C": "plover-mini"}
ROLES = {
    "repaired_or_exploratory",
    "supplementary_claim",
    "robust_numerical_or_algebraic",
    "substantive",
}

# The standard as its author knows it: number of steps and verdict of A, B and C. "-": clean,
# "w3": wrong answer, first false step 3; "c9": right answer, first false step 9.
EXPECTED = {
    "mech-bowl": ((9, "-"), (7, "w3"), (10, "c9")),
    "mech-drag": ((8, "-"), (47, "c31"), (7, "w3")),
    "em-coax": ((10, "-"), (12, "c5"), (7, "w3")),
    "em-image": ((7, "w4"), (8, "-"), (9, "-")),
    "thermo-ice": ((11, "-"), (9, "w6"), (16, "-")),
    "thermo-vdw": ((7, "-"), (7, "w5"), (7, "c3")),
    "quantum-well": ((11, "c5"), (13, "-"), (7, "w4")),
    "quantum-quartic": ((9, "-"), (14, "-"), (9, "c8")),
    "optics-film": ((7, "w4"), (9, "-"), (11, "-")),
    "optics-lenses": ((7, "-"), (13, "-"), (7, "w3")),
    "stat-debye": ((60, "-"), (9, "w3"), (24, "-")),
    "stat-schottky": ((12, "-"), (28, "c11"), (9, "w5")),
    "rel-rocket": ((9, "c8"), (10, "w8"), (14, "-")),
    "rel-pion": ((8, "-"), (8, "c3"), (14, "-")),
}

QUESTIONS = read_lines("questions.jsonl")
HUMAN = read_lines("labels_human.jsonl")
DEBATE = read_lines("labels_debate.jsonl")
DECISIONS = read_lines("decisions.jsonl")
TRACES = traces()


def key_of(row: dict[str, str]) -> Key:
    return row["question_id"], row["response_label"][-1]


def proposals() -> dict[Key, set[tuple[bool, int | None]]]:
    found: dict[Key, set[tuple[bool, int | None]]] = {key: set() for key in TRACES}
    for row in HUMAN + DEBATE:
        found[key_of(row)].add((row["final_correct"], row["first_error_step"]))
    return found


def test_there_are_two_questions_of_each_subject_with_three_solutions_each() -> None:
    assert Counter(row["subject"] for row in QUESTIONS) == dict.fromkeys(SUBJECTS, 2)
    assert len({row["question_id"] for row in QUESTIONS}) == len(QUESTIONS)
    for row in QUESTIONS:
        assert {trace["response_label"]: trace["generator"] for trace in row["traces"]} == GENERATORS


def test_the_standard_is_the_one_its_author_knows() -> None:
    verdicts = standard()
    assert verdicts.keys() == TRACES.keys()
    code = {"clean": "-", "wrong": "w", "critical": "c"}
    assert {
        question: tuple(
            (len(TRACES[question, letter]), code[cell(verdict)] + (str(verdict[1]) if verdict[1] else ""))
            for letter in "ABC"
            for verdict in [verdicts[question, letter]]
        )
        for question in EXPECTED
    } == EXPECTED
    assert Counter(map(cell, verdicts.values())) == {"clean": 21, "wrong": 12, "critical": 9}


def test_every_step_begins_a_line_and_its_number_is_no_reference() -> None:
    """The parser takes any "(k)" that is the next number, so only the marks themselves may look like that."""
    for row in QUESTIONS:
        for trace in row["traces"]:
            at_line_starts = re.findall(r"^\((\d+)\) ", trace["text"], re.M)
            steps = cut_into_steps(trace["text"])
            assert [int(n) for n in at_line_starts] == list(range(1, len(steps) + 1))
            assert all(step.startswith(f"({n}) ") for n, step in enumerate(steps, 1))
            assert trace["text"].startswith("(1) ")


def test_the_lengths_reach_from_short_to_sixty_steps() -> None:
    lengths = sorted(map(len, TRACES.values()))
    assert lengths[0] >= 4
    assert lengths[-1] == 60
    assert sum(length >= 20 for length in lengths) >= 4


def test_every_trace_boxes_one_answer_in_its_last_step() -> None:
    for key, steps in TRACES.items():
        assert [step.count(r"\boxed{") for step in steps] == [0] * (len(steps) - 1) + [1], key


def test_every_trace_has_a_human_label_and_one_of_the_debate() -> None:
    people = Counter(key_of(row) for row in HUMAN)
    assert people.keys() == TRACES.keys()
    assert 18 <= sum(n >= 2 for n in people.values()) <= 26
    assert {row["labeller"] for row in HUMAN} == {"ana", "ben", "chloe"}
    assert len({(key_of(row), row["labeller"]) for row in HUMAN}) == len(HUMAN)
    assert Counter(key_of(row) for row in DEBATE) == dict.fromkeys(TRACES, 1)
    assert {row["labeller"] for row in DEBATE} == {"debate"}


def test_every_label_and_decision_lies_within_its_trace() -> None:
    for row in HUMAN + DEBATE + DECISIONS:
        step, end = row["first_error_step"], len(TRACES[key_of(row)])
        assert row["final_correct"] in (True, False)
        assert step is None or 1 <= step <= end
        if "first_error_step_min" in row:
            assert 1 <= row["first_error_step_min"] <= step <= row["first_error_step_max"] <= end
    for row in DECISIONS:
        assert row["final_correct"] or row["first_error_step"] is not None


def test_a_decision_exists_for_exactly_the_disputed_traces() -> None:
    disputed = {key for key, values in proposals().items() if len(values) > 1}
    assert Counter(map(key_of, DECISIONS)) == dict.fromkeys(disputed, 1)
    assert all(len(row["rationale"]) > 40 for row in DECISIONS)
    assert sum("consulted" in row for row in DECISIONS) == 3
    assert sum("first_error_step_min" in row for row in DECISIONS) >= 1


def test_the_arms_agree_as_well_as_people_and_machines_do() -> None:
    debate = {key_of(row): row for row in DEBATE}
    pairs = [(row, debate[key_of(row)]) for row in HUMAN]
    answer = sum(a["final_correct"] == b["final_correct"] for a, b in pairs) / len(pairs)
    presence = sum((a["first_error_step"] is None) == (b["first_error_step"] is None) for a, b in pairs)
    both = [(a, b) for a, b in pairs if a["first_error_step"] and b["first_error_step"]]
    same = sum(a["first_error_step"] == b["first_error_step"] for a, b in both) / len(both)
    assert 0.9 <= answer <= 0.98
    assert 0.75 <= presence / len(pairs) <= 0.85
    assert 0.4 <= same <= 0.7


def test_wrong_keys_are_reported_by_people_and_corrected_by_the_lead() -> None:
    corrected = {row["question_id"] for row in DECISIONS if "corrected_answer" in row}
    assert {row["question_id"] for row in HUMAN if "key_wrong" in row} == corrected
    assert {row["question_id"] for row in DEBATE if "key_wrong" in row} == corrected
    assert len(corrected) == 2
    assert not any("corrected_answer" in row for row in QUESTIONS)


def test_the_critical_traces_have_roles_of_all_four_kinds() -> None:
    roles = {key_of(row): row["kind"] for row in read_lines("critical_roles.jsonl")}
    assert roles.keys() == {key for key, verdict in standard().items() if cell(verdict) == "critical"}
    assert set(roles.values()) == ROLES


def texts() -> list[tuple[str, str]]:
    found = []
    for row in QUESTIONS:
        for field in ("statement", "reference_answer", "rationale"):
            found.append((f"{row['question_id']} {field}", row[field]))
        for trace in row["traces"]:
            steps = enumerate(cut_into_steps(trace["text"]), 1)
            found += [
                (f"{row['question_id']}/{trace['response_label'][-1]} ({n})", step) for n, step in steps
            ]
    for row in DECISIONS:
        found.append((f"decision {key_of(row)}", row["rationale"]))
        if "corrected_answer" in row:
            found += [
                (f"correction {key_of(row)}", row["corrected_answer"][part]) for part in ("text", "reason")
            ]
    return found


def test_every_formula_is_closed_and_can_be_rendered() -> None:
    converter = math_core.LatexToMathML()
    rendered = 0
    for where, text in texts():
        assert text.count("$$") % 2 == 0, where
        assert text.replace("$$", "").count("$") % 2 == 0, where
        rest = re.sub(r"\$\$(.+?)\$\$|\$(.+?)\$", "", text, flags=re.S)
        assert "\\" not in rest, f"{where}: LaTeX outside of a formula"
        for found in re.finditer(r"\$\$(.+?)\$\$|\$(.+?)\$", text, re.S):
            formula = found[1] or found[2]
            assert formula.count("{") == formula.count("}"), where
            assert formula.count(r"\left") == formula.count(r"\right"), where
            try:
                converter.convert_with_local_state(formula, displaystyle=bool(found[1]))
            except math_core.LatexError as error:
                pytest.fail(f"{where}: {formula}: {error}")
            rendered += 1
    assert rendered > 1000
