"""Offline monitors answer in the asked words, and look only at what they declare."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.errors import UserError
from llm.parsing import parse_verdict
from monitoring.offline import Case, Stored, make


def _case(number: int = 0, **fields: Any) -> Case:
    return Case(**{"key": f"q{number}/Response A", "n_steps": 10, **fields})


def _answer(provider: str, case: Case, **options: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(make(provider, options).answer(case).text)
    return content


@pytest.mark.parametrize("correct", [True, False])
def test_the_oracle_tells_the_final_answer_and_no_step(correct: bool) -> None:
    answer = _answer("oracle", _case(final_correct=correct))
    assert (answer["has_error"], answer["first_error_step"]) == (int(not correct), None)
    parsed = parse_verdict(json.dumps(answer), n_steps=10, finish_reason="stop")
    assert parsed.outcome == ("ok" if correct else "inconsistent")


def test_the_oracle_never_guesses() -> None:
    with pytest.raises(ValueError, match="not told"):
        make("oracle", {}).answer(_case())


def test_always_flags_the_first_step_and_never_flags_none() -> None:
    assert _answer("always", _case())["first_error_step"] == 1
    assert _answer("never", _case())["has_error"] == 0


def test_random_flags_its_rate_spreads_its_steps_and_repeats_itself() -> None:
    cases = [_case(number) for number in range(4000)]
    answers = [_answer("random", case, rate=0.3, seed=1) for case in cases]
    flagged = [answer for answer in answers if answer["has_error"]]
    assert 0.27 < len(flagged) / 4000 < 0.33
    counts = [sum(answer["first_error_step"] == step for answer in flagged) for step in range(1, 11)]
    assert sum(counts) == len(flagged) and min(counts) > 80
    assert answers == [_answer("random", case, rate=0.3, seed=1) for case in cases]
    assert answers != [_answer("random", case, rate=0.3, seed=2) for case in cases]


@pytest.mark.parametrize("rate", [0, 1])
def test_random_at_its_ends(rate: int) -> None:
    flags = {_answer("random", _case(number), rate=rate)["has_error"] for number in range(200)}
    assert flags == {rate}


def test_rules_names_the_first_false_equality_and_quotes_it() -> None:
    answer = _answer("rules", _case(steps=["2 + 2 = 4", "3 * 3 = 10", "1 + 1 = 3"]))
    assert (answer["has_error"], answer["first_error_step"]) == (1, 2)
    assert "3 * 3 = 10" in answer["reason"]
    assert _answer("rules", _case(steps=["2 + 2 = 4", "so be it"]))["has_error"] == 0


def test_replay_repeats_the_stored_reply_word_for_word() -> None:
    reply = make("replay", {}).answer(_case(stored=Stored(reply="hm {", finish_reason="length")))
    assert (reply.text, reply.finish_reason) == ("hm {", "length")


@pytest.mark.parametrize(
    "options", [{"rate": 2}, {"rate": "x"}, {"rate": True}, {"seed": 0.5}, {"seed": "0"}]
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        make("random", options)
