"""The equality checker: what it must find, what it must leave alone, and that no text breaks it."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from verification.equalities import check, check_step, check_trace

FALSE = r"""
3 * 4 * 5 = 50
So 2 + 2 = 5.
$2 \times 3 = 7$
\frac{1}{2} + \frac{1}{3} = \frac{2}{5}
$$\frac{9.8 \times 2}{4} = 4.8$$
(2)(3) = 7
2(3) = 8
10^3 = 100
3.2 \times 10^{-3} = 0.032
3.2e-3 = 0.032
\sqrt{16} = 5
5 - - 9 = -4
The force is F = 3 * 9.8 = 39.4 N.
$F = (2.0\ \mathrm{kg})(3.0\ \mathrm{m/s^2}) = 8.5\ \mathrm{N}$
12 km = 1200 m
$1.5 \mathrm{~kJ} = 150 \mathrm{~J}$
3 m = 30 cm
$\sin 30^\circ = 0.6$
\cos(60°) = 0.4
\ln 2 = 0.71
0.2 * 50 = 25%
20/92 = 25%
**2 + 2 = 5**
1,500 + 500 = 2,100
4! = 20
22/7 ≈ 3.3
$v = \sqrt{2 \cdot 9.8 \cdot 5} = \sqrt{98} = 10.9$
\left( 3 + 4 \right)^2 = 25
[2 + 3] * 4 = 24
2^10 = 1000
100/3 = 33
(1) 3 + 4 = 8
1. 3 + 4 = 8
Step 4: 3 + 4 = 8
A = 5. B = 7. A + B = 13
Let x = 3. Then x^2 + 1 = 11.
E = 13.6/4 = 3.6 eV
10 + 5 × 2 = 30
1.25 * 4 = 5.1
7 - 3 = 5 apples
\boxed{2+3} = 6
3 + 4 = 7 = 8
6 ÷ 2 = 4
2.5 \cdot 10^3 + 500 = 3500
10⁻³ = 0.01
5² = 24
1 h = 360 s
1 eV = 1.6e-18 J
P = \frac{120^2}{60} = 420 W
so 3·4 = 13, which gives
(((2 + 3) * 4) = ((6) * 4) = 24
$$\begin{aligned} x &= 2 \times 3 \\ &= 7 \end{aligned}$$
""".strip().splitlines()

LEFT_ALONE = r"""
3 * 4 * 5 = 60
The sum of 3 and 4 = 7
twice 3 + 4 = 10
If 2 + 2 = 5, then
2 + 2 = 5 is wrong
It is not true that 2 + 2 = 5.
"2 + 2 = 5" would be a contradiction
Suppose that 1 = 2.
Let A = 5.
2 + 2 = 5?
12 = 1 dozen
24 = 2 dozen
60 minutes = 1 hour
3600 s = 1 h
5 * 12 = 60 inches = 5 feet
3 * 12 = 3 feet
1/3 = 0.33
2/3 = 0.66
2/3 = 0.67
0.33 * 3 = 1
1000/3 = 333
\pi = 3.14
22/7 ≈ 3.14
9.8 * 3 \approx 30
10 ≈ 9.8
$5 + $3 = $8
It costs $5 and $3 * 2 = $6
(2) 3 + 4 = 7
(2) (3) = 6
3 + 4 = 7 (2)
3 + 4 = 7 [2]
- 3 + 4 = 7
- 3 + 4 = 1
- -9 = 9
x = 3 or 4
f(2) = 5
n = 2, 3 = 3
sin(30) = 0.5
sin(30) = -0.988
log 100 = 2
log(2.718281828) = 1
1 \text{ J} = 1 \text{ N m}
6.674 30(15) = 6
1.602(3) = 1.6
-2^2 = -4
-2^2 = 4
6/2(3) = 9
6/2(3) = 1
3 \frac{1}{2} = 3.5
3 \frac{1}{2} = 1.5
5! = 120
The answer = 5!
0.25 = 25%
5/20 * 100 = 25%
20% of 50 = 10
10 % 3 = 1
17 mod 5 = 2
7 = 1 mod 3
3:4 = 6:8
The ratio is 3 : 4 = 0.75
2024-01-02 = 5
12 + 7 = 19:00
pages 3–5 = 4
1 + 2 + ... + 10 = 55
5 ± 2 = 4
25 °C = 298 K
20/92 = 21.7%
20/92 = 22%
1/3 = 33.3\%
90° = \pi/2
$E_2 = -13.6/4 = -3.4$ eV
level 2 = 13.6 eV
\sum_{i=1}^{3} i = 6
\int_0^1 x dx = 1/2
x = 1. x = 2. x + 1 = 3
x = 1. x = 2. x + 1 = 2
E = 2 * 13.6 = 4.36e-18 J
5 * 60 = 5 h
30 * 5 = 0.15 m
20 m/s = 72 km/h
$6 \mathrm{~m}^3 / \mathrm{kg} \cdot \mathrm{s}^2 = 6 \mathrm{~m}^3 \mathrm{kg}^{-1} \mathrm{s}^{-2}$
e^2 = 2.56e-38
9^9^9 = 3
1/0 = 0
(1, 2) = (3, 4)
|3 - 5| = 2
A = 2, B = 3, so AB = 6
a) 3 + 4 = 7
In 2005 3 + 4 = 7
3 x 4 = 12
7/2 = 3 r 1
$\text{Speed} = \frac{100\text{ m}}{9.58\text{ s}} = 10.4\text{ m/s}$
2 H + O = 5
KE = 1/2 (2)(3)^2 = 9
1.0 × 10^-3 / 2.0 × 10^-6 = 500
$\frac12 + \frac12 = 1$
3 + 4 = 7 < 10
1,5 + 1,5 = 3
p = 5 kg m/s = 5 N s
0.1 + 0.2 = 0.3
2 * 3 * = 5
""".strip().splitlines()


@pytest.mark.parametrize("text", FALSE)
def test_it_finds_a_false_equality(text: str) -> None:
    assert check_step(text), f"nothing found in {text!r}"


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_it_leaves_alone_what_is_true_or_cannot_be_judged(text: str) -> None:
    assert check_step(text) == []


def test_a_finding_says_where_and_why() -> None:
    steps = ["Here A = 3.", "Then (3 * 4 * 5) = 3 * 4 * 5 = 50, so $2 + 2 = 5$."]
    finding = check_trace(steps)
    assert finding is not None
    assert (finding.step, finding.left, finding.right) == (2, "3 * 4 * 5", "50")
    assert (finding.left_value, finding.right_value) == (Fraction(60), Fraction(50))
    assert finding.explanation == "3 * 4 * 5 = 50: the left side is 60, not 50"
    result = check(steps)
    assert [found.text for found in result.findings] == ["3 * 4 * 5 = 50", "2 + 2 = 5"]
    assert (result.checked, result.not_checkable, result.checked_per_step) == (3, 1, (0, 3))


def test_values_are_shown_in_the_unit_of_the_right_side() -> None:
    finding = check_trace([r"so $\frac{12\ \mathrm{km}}{2} = 600\ \mathrm{m}$"])
    assert finding is not None
    assert (finding.left_value, finding.right_value) == (6000, 600)
    assert finding.text == r"\frac{12\ \mathrm{km}}{2} = 600\ \mathrm{m}"


def test_a_symbol_keeps_every_value_it_was_given() -> None:
    assert check_trace(["A = 2", "B = 3", "Then A * B = 6"]) is None
    assert check_trace(["A = 2", "B = 3", "Then A * B = 7"]) is not None
    assert check_trace(["A = 2", "Now A = 5", "B = 3", "Then A * B = 15"]) is None
    assert check_trace(["A = 2.13", "B = 3", "Then A * B = 7"]) is None  # measured: not followed
    assert check_trace(["A = 2", "A = C", "B = 3", "Then A * B = 7"]) is None  # no longer known


def test_the_question_can_define_symbols_and_is_not_itself_reported() -> None:
    assert check_trace(["Then A + 1 = 4"]) is None
    assert check(["Then A + 1 = 4"], context="Let A = 2, and 1 + 1 = 3.").findings[0].step == 1


def test_it_says_how_much_it_could_check() -> None:
    assert check(["a = b", "if 2 = 3, then"]).checked == 0
    assert check(["a = b", "if 2 = 3, then"]).not_checkable == 2
    assert check(["x" * 200_000]).cut


@pytest.mark.parametrize(
    "text",
    [
        "9^9^9 = 3",
        "2^(2^(2^(2^(2^2)))) = 3",
        "9" * 25_000 + " = 3",
        "1e99999 = 3",
        "10^{10^{10}} = 10^{100000}",
        "300!^300! = 2",
        "(" * 12_500 + "3" + ")" * 12_500 + " = 4",
        "1+" * 12_500 + "1 = 3",
        "2^" * 7_500 + "2 = 1",
        "=" * 25_000,
        "-" * 24_750 + "3 = 4",
        "3 = " * 6_250,
        "$" * 25_000,
        "{" * 25_000,
        "\\frac{" * 4_000,
        "_{" * 12_500,
        "a_" * 12_500,
        "\\mathrm{" * 3_000,
        "1,234" * 5_000 + "=3",
        "$5 " * 8_250,
        "(1" * 12_500 + "=",
        "2(3)/4(5)/6(7)/8(9)%" * 10 + " = 3",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_is_read_within_bounds(text: str) -> None:
    start = time.process_time()
    check([text])
    assert time.process_time() - start < 3, "a quarter of what the longest text may hold"


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_it_never_raises_on_any_text(text: str) -> None:
    check([text, text], context=text)


PIECES = r"""
3 12 0 -7 2.5 0.001 1e5 10 + - * / ^ ! % = = = ≈ < ( ) [ ] { } \frac \sqrt \left( \right) \times
\cdot ° ^\circ \mathrm{m} \text{kg} km s $ $$ \\ & , . ; : A B x e \pi sin \ln _ _{i} ... … ² ⁻¹ and
so if | \n - – — ** 1,000 10^ \begin{aligned} \boxed{ ± \approx not dozen
"""


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES.split()), max_size=60), st.sampled_from(["", " "]))
def test_it_never_raises_on_pieces_of_mathematics(pieces: list[str], joint: str) -> None:
    check([joint.join(pieces).replace("\\n", "\n")] * 2)


# -- random trees: printed true equalities are never flagged, perturbed ones always --------------------


@st.composite
def arithmetic(draw: st.DrawFn, depth: int = 4) -> tuple[str, Fraction]:
    """Draw an expression as text, fully bracketed where needed, with its exact value."""
    kind = draw(
        st.sampled_from(
            ["number", "decimal", "+", "-", "*", "/", "^", "negative", "frac"] if depth else ["number"]
        )
    )
    if kind == "number":
        number = draw(st.integers(-99, 99))
        return (str(number) if number >= 0 else f"({number})"), Fraction(number)
    if kind == "decimal":
        tenths = draw(st.integers(1, 99))
        return f"{tenths // 10}.{tenths % 10}", Fraction(tenths, 10)
    left, a = draw(arithmetic(depth=depth - 1))
    if kind == "negative":
        return f"(-{left})", -a
    if kind == "^":
        power = draw(st.integers(0, 3))
        assume(a != 0)
        return f"({left})^{{{power}}}", a**power
    right, b = draw(arithmetic(depth=depth - 1))
    if kind in ("/", "frac"):
        assume(b != 0)
        return (f"({left} / ({right}))" if kind == "/" else rf"\frac{{{left}}}{{{right}}}"), a / b
    sign = draw(st.sampled_from([" * ", r" \times ", " · ", r" \cdot "])) if kind == "*" else f" {kind} "
    value = {"+": a + b, "-": a - b, "*": a * b}[kind]
    return f"({left}{sign}{right})", value


def as_text(value: Fraction) -> str:
    """Print a value exactly."""
    if value.denominator == 1:
        return str(value.numerator)
    return f"{value.numerator}/{value.denominator}"


@settings(max_examples=250, deadline=None)
@given(arithmetic(), st.sampled_from(["{} = {}", "Thus {} = {}.", "$${} = {}$$", "We get ${}$ = ${}$"]))
def test_true_equalities_of_random_trees_are_checked_and_never_flagged(
    drawn: tuple[str, Fraction], frame: str
) -> None:
    text, value = drawn
    assume(max(value.numerator.bit_length(), value.denominator.bit_length()) < 150)
    bare = text.lstrip("(").rstrip(")").replace(".", "").isdigit() or text.startswith("(-")
    result = check([frame.format(f"1 * {text}" if bare else text, as_text(value))])
    assert result.findings == ()
    assert result.checked == 1


@settings(max_examples=250, deadline=None)
@given(
    arithmetic(),
    st.fractions(min_value=-1000, max_value=1000, max_denominator=50).filter(lambda step: abs(step) >= 1),
    st.sampled_from(["{} = {}", "Thus {} = {}.", "$${} = {}$$"]),
)
def test_perturbed_equalities_of_random_trees_are_always_flagged(
    drawn: tuple[str, Fraction], step: Fraction, frame: str
) -> None:
    text, value = drawn
    wrong = value + step
    assume(max(wrong.numerator.bit_length(), wrong.denominator.bit_length()) < 150)
    findings = check_step(frame.format(f"1 * {text}", as_text(wrong)))
    assert len(findings) == 1
    assert (findings[0].left_value, findings[0].right_value) == (value, wrong)


# -- real texts ------------------------------------------------------------------------------------


def rows(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.shared
def test_it_finds_what_people_marked_and_what_they_overlooked(shared: Path) -> None:
    """Source: BIG-Bench Mistake, multistep arithmetic, 300 traces, and the limits that `rules` must keep on them."""
    traces = rows(shared / "cases/bigbench_mistake_multistep_arithmetic.jsonl")
    found = [(trace, check_trace(trace["steps"])) for trace in traces]
    wrong = [(trace["mistake_index"] + 1, f) for trace, f in found if trace["mistake_index"] is not None]
    assert len(wrong) == 238
    assert sum(f is not None for _, f in wrong) / 238 >= 0.97
    assert sum(f is not None and f.step == step for step, f in wrong) / 238 >= 0.95
    unmarked = [(t, f) for t, f in found if t["mistake_index"] is None]
    right = [f for t, f in unmarked if t["answer"] == t["target"]]
    overlooked = [f for t, f in unmarked if t["answer"] != t["target"]]
    assert (len(right), len(overlooked)) == (44, 18)
    assert sum(f is None for f in right) >= 42
    assert sum(f is not None for f in overlooked) >= 14


@pytest.mark.shared
def test_textbook_solutions_and_logic_raise_no_alarm(shared: Path) -> None:
    """Source: SciBench texts (30) and BIG-Bench Mistake logical deduction (40)."""
    texts = [[row["problem"], row["solution"]] for row in rows(shared / "cases/physics_text_30.jsonl")]
    checked = [check(steps) for steps in texts]
    assert [finding.explanation for result in checked for finding in result.findings] == []
    assert sum(result.checked for result in checked) >= 30
    for row in rows(shared / "cases/bigbench_mistake_logical_deduction_40.jsonl"):
        assert check_trace(row["steps"]) is None
