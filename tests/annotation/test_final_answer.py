"""Finding the final answer in a trace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.answers import FinalAnswer, final_answer


@pytest.mark.parametrize(
    ("text", "answer", "path"),
    [
        (r"(1) \boxed{3} (2) so \(\boxed{ \frac{1}{2} }\).", r"\frac{1}{2}", "boxed"),
        (r"\boxed {\{1, 2\}}", r"\{1, 2\}", "boxed"),
        (r"\boxed{\boxed{5}}", "5", "boxed"),
        (r"\boxed{3} and then \boxed{\frac{1}{2}", None, "unclosed_box"),
        ("**Final answer:** 42 N", "42 N", "final_answer_line"),
        ("Final answer: 1\nNo.\n- The final answer is 2 m/s", "2 m/s", "final_answer_line"),
        ("\\boxed{}\nFinal answer = 7", "7", "final_answer_line"),
        ("The answer is 4.", None, "none"),
        ("We seek the final answer.", None, "none"),
        ("", None, "none"),
    ],
)
def test_it_finds_the_last_answer_or_says_why_not(text: str, answer: str | None, path: str) -> None:
    assert final_answer(text) == FinalAnswer(answer, path)


@given(st.lists(st.sampled_from([r"\boxed{", "{", "}", r"\{", r"\}", "\\", "x", "\n", "final answer:"])))
def test_it_never_raises_and_gives_only_what_stands_in_the_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = final_answer(text)
    assert (found.text is None) == (found.path in {"none", "unclosed_box"})
    assert found.text is None or found.text in text
