"""Mathematical text: formulas survive Markdown, nothing hostile survives anything."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.mathtext import excerpt, markup, render, render_inline
from core.mathtext import mathml as formulas
from core.mathtext.scan import Formula, split

# Lines of the 600 real formulas that are no valid LaTeX, as docs/mathematics.md lists them. May only shrink.
REFUSED = {125: "a backslash with nothing after it, where the source was cut"}


def alttexts(html: str) -> list[str]:
    return re.findall(r'<math[^>]* alttext="([^"]*)"', html)


def shown(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html)


def test_every_valid_formula_of_600_real_ones_becomes_mathml(shared: Path) -> None:
    refused = {}
    lines = (shared / "cases" / "latex_physics_600.jsonl").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        row = json.loads(line)
        try:
            found = formulas.mathml(row["tex"], display=row["display"])
        except formulas.Unreadable:
            tail = row["tex"].rstrip()
            cut = tail.endswith("\\") and not tail.endswith("\\\\")
            refused[number] = "a backslash with nothing after it, where the source was cut" if cut else tail
            continue
        assert found.startswith("<math")
        assert ' alttext="' in found
        assert " style=" not in found
    assert len(lines) == 600
    assert refused == REFUSED


def test_the_docs_list_every_formula_that_is_refused() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "mathematics.md").read_text(encoding="utf-8")
    listed = {int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert listed == set(REFUSED)
    assert f"{600 - len(REFUSED)} render" in text


@pytest.mark.parametrize(
    ("tex", "tag", "count"),
    [
        (r"\begin{align} a &= b \\ c &= d \end{align}", "mtr", 2),
        (r"\begin{cases} x & x > 0 \\ -x & x < 0 \end{cases}", "mtr", 2),
        (r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}", "mtd", 4),
        (r"\begin{vmatrix} a & b \\ c & d \end{vmatrix}", "mtd", 4),
        (r"\boxed{E = mc^2}", "menclose", 1),
        (r"x = 1 \tag{3.1}", "mtext", 1),
        (r"\SI{9.81}{\metre\per\second\squared}", "msup", 1),
        (r"\left.\frac{\partial f}{\partial x}\right|_{x=0}", "mfrac", 1),
    ],
)
def test_what_physicists_write_becomes_structure_not_letters(tex: str, tag: str, count: int) -> None:
    html = render(f"$${tex}$$")
    assert "formula-error" not in html
    assert len(re.findall(rf"<{tag}[ >]", html)) == count, html


def test_thirty_real_texts_show_no_formula_box_and_no_stray_delimiter(shared: Path) -> None:
    texts = [
        value
        for line in (shared / "cases" / "physics_text_30.jsonl").read_text(encoding="utf-8").splitlines()
        for value in json.loads(line).values()
        if isinstance(value, str) and "$" in value
    ]
    assert texts
    for text in texts:
        html = render(text)
        assert "formula-error" not in html, text
        assert "<math" in html


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("inline $E = mc^2$ here", ["E = mc^2"]),
        ("$$\n\\frac{1}{2}\n$$", [r"\frac{1}{2}"]),
        (r"round \(a_b\) and square \[c^2\]", ["a_b", "c^2"]),
        (r"\begin{align}a&=b\\c&=d\end{align}", [r"\begin{align}a&amp;=b\\c&amp;=d\end{align}"]),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", [r"\begin{pmatrix}1&amp;2\\3&amp;4\end{pmatrix}"]),
        (r"so \boxed{42\,\mathrm{N}}.", [r"\boxed{42\,\mathrm{N}}"]),
        ("less $a<b$ and $c > d$", ["a&lt;b", "c &gt; d"]),
        ("products $a_1*b_1$ and $a_2*b_2$", ["a_1*b_1", "a_2*b_2"]),
        ("spaced $ x_1 = 3 $ as some models write", ["x_1 = 3"]),
        ("**bold $x_{*}$ still** and *$y$*", ["x_{*}", "y"]),
        ("| $|x|$ | b |\n|---|---|\n| 1 | $\\|y\\|$ |", ["|x|", r"\|y\|"]),
        (r"escaped \\(no formula\\) but \(yes\)", ["yes"]),
        (r"prices \$5, \$6, then $x$", ["x"]),
    ],
)
def test_it_finds_the_formulas_and_hands_them_over_untouched(text: str, sources: list[str]) -> None:
    assert alttexts(render(text)) == sources


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $6.",
        "It costs $5, or $7 with tax, not $8.",
        "from $10 to $20 a piece",
        "an open $ sign",
        "an open $$ sign\n\nand another $$ later",
        "`$code$` stays",
        "```\n$x$ and \\(y\\)\n```",
        "one $a\n\nb$ two",
        r"open \( and \[ and \begin{align} without end",
    ],
)
def test_it_leaves_prose_alone(text: str) -> None:
    assert "<math" not in render(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2*3*4 = 24", "2*3*4 = 24"),
        ("(a)*(b)*(c)", "(a)*(b)*(c)"),
        ("$a$*b*$c$", "a*b*c"),
        ("x**2 + y**2", "x**2 + y**2"),
        (
            "[1]: https://example.org looks like a definition",
            "[1]: https://example.org looks like a definition",
        ),
        ("a line\n===", "a line\n==="),
        ("x <y> & z", "x &lt;y&gt; &amp; z"),
        ("    indented steps are prose", "indented steps are prose"),
    ],
)
def test_it_hides_no_sign_of_a_plain_calculation(text: str, expected: str) -> None:
    assert shown(render(text)).strip() == expected


def test_numbers_of_a_list_stay_as_written() -> None:
    assert re.findall(r'value="(\d+)"', render("3. third\n5. fifth")) == ["3", "5"]


def test_one_bad_formula_shows_its_source_and_breaks_nothing_else() -> None:
    html = render(r"good $x$, bad $\foo{<b>}$, good $y$ and *text*")
    assert alttexts(html) == ["x", "y"]
    assert (
        r'<code class="formula-error" title="This formula cannot be typeset">$\foo{&lt;b&gt;}$</code>' in html
    )
    assert "<em>text</em>" in html


def test_punctuation_stays_with_the_formula_it_touches() -> None:
    html = render("see ($x$), then $y$ and $\\foo$.")
    assert re.search(r'see <span class="tied">\(<math.*?</math>\),</span> then <math', html)
    assert html.rstrip().endswith("</code>.</p>")


def test_the_pieces_joined_are_the_text() -> None:
    text = "a $x$ b $$y$$ c \\(z\\) `$q$` \\[w\\] \\begin{cases}1\\end{cases} $5 and $6 \\boxed{1}"
    assert "".join(p.source if isinstance(p, Formula) else p for p in split(text)) == text


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        (r"\SI{3.5e-3}{\metre\per\second\squared}", "3.5×10−3ms−2"),
        (r"\qty{20}{\kilo\watt\hour}", "20kWh"),
        (r"\si{kg.m^2/s}", "kgm2s−1"),
        (r"\num{6.02e23}", "6.02×1023"),
        (r"\ang{30}", "30∘"),
        (r"\ce{H2O}", "H2O"),
        (r"\tag{3.1} x", "(3.1)x"),
        (r"\text{if $x>0$}", "if\xa0x&gt;0"),
        (r"50% of it", "50%ofit"),
        (r"\dv{f}{x}", "dfdx"),
        (r"\widetilde{\nu}", "ν˜"),
        (r"\begin{eqnarray}a&=&b\end{eqnarray}", "a=b"),
        (r"\begin{alignat*}{2}a&=b\end{alignat*}", "a=b"),
    ],
)
def test_it_reads_what_the_converter_does_not(tex: str, expected: str) -> None:
    found = shown(formulas.mathml(tex, display=False)).replace("\u2061", "")
    assert found == expected


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1)) [y](data:text/html,x) [z](vbscript:x)",
    "[x](  JaVaScRiPt:alert(1))",
    "![x](https://example.org/track.png)",
    "<a href='javascript:alert(1)'>x</a>",
    r"$\href{javascript:alert(1)}{x}$",
    r"$\text{<script>alert(1)</script>}$",
    r"$\text{</mtext></math><img src=x onerror=alert(1)>}$",
    r"$\mathrm{<style>*{display:none}</style>}$",
    r"$\unknown{<img src=x onerror=alert(1)>}$",
    r"$\eqref{\" onclick=\"alert(1)}$",
    r"$\color{red;background:url(https://example.org)}{x}$",
    r"$\hspace{1em\" onclick=\"x}$",
    '<math><annotation-xml encoding="text/html"><script>alert(1)</script></annotation-xml></math>',
    '<math href="javascript:alert(1)"><maction actiontype="statusline">x</maction></math>',
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
    '[a](https://example.org "$x$\\" onmouseover=\\"alert(1)")',
    '`$x$" onmouseover="alert(1)`',
    "\ue000" + "0\ue000 $x$ \ue0001\ue001",
    "<svg><animate onbegin=alert(1)></svg>",
    '"><script>alert(1)</script>$x$',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_inert(text: str) -> None:
    for html in (render(text), render_inline(text)):
        tags = re.findall(r"<[^>]*>", html)
        for tag in tags:
            bare = re.sub(r'"[^"]*"', '""', tag)
            assert not re.search(r"\son\w+\s*=|\sstyle\s*=|\ssrc\s*=", bare, re.IGNORECASE), tag
            assert not re.match(
                r"</?(script|style|img|svg|annotation|maction|iframe|object|form|input|link|base)\b",
                tag,
                re.I,
            ), tag
            for address in re.findall(r'(?:href|src|action|xlink:href)="([^"]*)"', tag):
                assert address.startswith(("http://", "https://")), tag


@pytest.mark.parametrize(
    "tex",
    [
        "{" * 100_000,
        "{" * 5_000 + "x" + "}" * 5_000,
        r"\hat" * 50_000 + " x",
        r"\binom1" * 50_000,
        r"\left(" * 20_000,
        r"\not" * 50_000 + "=",
        "x_{" * 3_000 + "y" + "}" * 3_000,
        r"\sqrt[" * 50_000,
        r"\begin{matrix}" * 9_000,
        r"\def\a{\a\a}\a",
        r"\newcommand{\a}{\a\a}\a",
        r"\text{$" * 5_000,
    ],
)
def test_deep_or_self_expanding_formulas_show_their_source(tex: str) -> None:
    html = render(f"before ${tex}$ after")
    assert "<math" not in html
    assert html.startswith("<p>before ")
    assert html.rstrip().endswith(" after</p>")


def test_the_deepest_formula_allowed_fits_a_small_stack() -> None:
    """In a process of its own, since an overflow would end it: a thread with 1 MB of stack."""
    code = (
        "import threading; threading.stack_size(1 << 20)\n"
        "from core.mathtext import mathml as m\n"
        "m.MAX_DEPTH = 10 ** 9\n"
        "texs = [r'\\hat' * 490 + ' x', r'\\binom1' * 490 + ' x', r'\\left(' * 249 + r'\\right)' * 249,\n"
        "        r'\\sqrt[' * 490, r'\\not' * 490 + ' =', 'x_{' * 59 + 'y' + '}' * 59,\n"
        "        r'\\overline' * 490 + ' x', r'\\frac1' * 490 + 'x']\n"
        "def work():\n"
        "    for tex in texs:\n"
        "        try: m.mathml(tex, display=True)\n"
        "        except m.Unreadable: pass\n"
        "    print('alive')\n"
        "t = threading.Thread(target=work); t.start(); t.join()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.stdout.strip() == "alive", (run.returncode, run.stderr[-500:])


@pytest.mark.parametrize(
    "text",
    [
        r"\(" * 100_000,
        "$" * 100_001,
        "`" * 50_000 + "x",
        "".join("`" * k + " " for k in range(1, 400)),
        r"\begin{align}" * 20_000,
        r"\boxed{" * 3_000,
        "$a " * 50_000,
        r"\$" * 100_000,
    ],
)
def test_unclosed_delimiters_are_scanned_in_linear_time(text: str) -> None:
    code = (
        "import sys, time; from core.mathtext.scan import split\n"
        "text = sys.stdin.read(); t = time.process_time(); list(split(text)); print(time.process_time() - t)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], input=text, capture_output=True, text=True, timeout=60, check=True
    )
    assert float(run.stdout) < 2.0


WORDS = [
    *"ab12 $\\{}[]()^_&%*`<>\"'\n|#-=~.!é\x00\ue000",
    *("\\frac", "\\sqrt", "\\SI{", "\\text{", "\\tag{", "\\ce{", "\\left(", "\\right)"),
    *("\\begin{align}", "\\end{align}", "\\(", "\\)", "\\[", "\\]", "$$", "**", "``"),
]
TEX_LIKE = st.lists(st.sampled_from(WORDS), max_size=60).map("".join)


@settings(max_examples=400, deadline=None)
@given(st.one_of(TEX_LIKE, st.text(max_size=80)))
def test_it_is_total_and_never_loses_the_text(text: str) -> None:
    html = render(text)
    render_inline(text)
    assert "<script" not in html.lower()
    assert "".join(p.source if isinstance(p, Formula) else p for p in split(text)) == text


@settings(max_examples=300, deadline=None)
@given(TEX_LIKE)
def test_any_formula_gives_mathml_or_its_source(tex: str) -> None:
    html = formulas.formula_html(tex, display=False, source=tex)
    assert html.startswith(("<math", "<code"))


@pytest.mark.parametrize(
    ("text", "length", "expected"),
    [
        ("short $x$ text", 40, r"short \(x\) text"),
        ("one two three four", 9, "one two …"),
        ("with $$\n\\frac{1}{2}\n$$ shown", 60, r"with \(\frac{1}{2}\) shown"),
        (r"before \(a + b + c + d\) after", 12, "before …"),
        ("x" * 50, 10, "x" * 50 + " …"),
        ("", 10, ""),
    ],
)
def test_an_excerpt_never_cuts_a_formula(text: str, length: int, expected: str) -> None:
    assert excerpt(text, length) == expected


@settings(max_examples=200, deadline=None)
@given(TEX_LIKE, st.integers(1, 60))
def test_an_excerpt_is_one_line(text: str, length: int) -> None:
    assert "\n" not in excerpt(text, length)


@pytest.mark.parametrize(
    "tex",
    [
        "[" * 60,
        "(" * 200,
        "{(}" * 59,
        r"\{" * 100,
        r"\left(" + "(" * 60 + r"\right)",
        r"\bigl(" * 60,
        "{((((((}" * 20 + ")" * 200,
    ],
)
def test_brackets_that_nothing_closes_do_not_double_the_work_each(tex: str) -> None:
    """Found by fuzzing: sixty of them kept the converter busy for longer than the universe is old."""
    assert "formula-error" in render(f"${tex}x$")


@pytest.mark.parametrize(
    "tex",
    [
        "]0, 1[" * 3,
        "[0, 1) \\cup [2, 3)",
        "(" * 40 + "x" + ")" * 40,
        r"\begin{aligned} a &= (b \\ &+ c) \end{aligned}",
        r"\left\{ x \right.",
        r"\left[ 0, 1 \right)",
    ],
)
def test_brackets_as_people_write_them_are_typeset(tex: str) -> None:
    assert "formula-error" not in render(f"${tex}$")


SIGNS = "ab A(.,;:)?!+-=/'\"@%^{}1 2\n\t*`_[]<>&#|~\\é“”\u00a0\ue000\x0b\u2028"
WORDS = ["$x$", "$$y$$", r"\(z\)", r"\[w\]", "http://a.b", "1. ", "- ", "a_b", "--", "ab ", "cd\n", "Then"]
PIECES = st.sampled_from([*SIGNS, *WORDS])


@given(st.lists(PIECES, max_size=12).map("".join), st.booleans())
def test_prose_is_written_as_markdown_would_write_it(text: str, inline: bool) -> None:
    found = markup.to_html(text, inline=inline)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markup, "_PROSE", re.compile("(?!)"))
        assert markup.to_html(text, inline=inline) == found
