"""Replies of monitors and what parsing must make of them: name, reply, expectation, settings if unusual."""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    """`expect`: an outcome alone, or (outcome, has_error, first_error_step, error_confidence)."""

    name: str
    reply: Any
    expect: str | tuple[str, int | None, int | None, float | None]
    finish_reason: Any = "stop"
    n_steps: Any = 12


GOOD = '{"has_error": 1, "first_error_step": 4, "error_confidence": 70}'
CLEAN = '{"has_error": 0, "first_error_step": null, "error_confidence": 8}'
SAYS_4 = ("ok", 1, 4, 70)
SAYS_CLEAN = ("ok", 0, None, 8)

CASES = [
    # where the verdict stands
    Case("surrounded by prose", f"Having read it all: {GOOD} That is my view.", SAYS_4),
    Case("stray braces in prose before", f"The set {{x in R}} and {{y}} matter. {GOOD}", SAYS_4),
    Case("an unclosed brace in prose before", f"Take {{x: the field. {GOOD}", SAYS_4),
    Case("LaTeX before", rf"Since $\frac{{1}}{{2}}mv^2$ and \text{{kin}}: {GOOD}", SAYS_4),
    Case("LaTeX after", rf"{GOOD} because $\frac{{a}}{{b}} \neq \{{1: 2\}}$", SAYS_4),
    Case("an odd quote in prose before", f'A 5" pipe. {GOOD}', SAYS_4),
    Case("an apostrophe before", f"It's step 4. {GOOD}", SAYS_4),
    Case("tilde fence", f"~~~json\n{GOOD}\n~~~", SAYS_4),
    Case("inline code", f"`{GOOD}`", SAYS_4),
    Case("fence that never closes", f"```json\n{GOOD}", SAYS_4),
    Case("bold heading", f"**Verdict**\n\n{GOOD}", SAYS_4),
    Case("XML of its own", f"<verdict>{GOOD}</verdict>", SAYS_4),
    Case("byte order mark", "\ufeff" + GOOD, SAYS_4),
    Case("bytes", GOOD.encode(), SAYS_4),
    Case("bytes that are not UTF-8", b"\xff\xfe " + GOOD.encode(), SAYS_4),
    Case("an empty object before", "{} " + GOOD, SAYS_4),
    Case("an empty object after", GOOD + " {}", SAYS_4),
    Case("another object after", GOOD + ' {"tokens": 12}', SAYS_4),
    Case("over many lines", GOOD.replace(", ", ",\n\n    ").replace("{", "{\r\n"), SAYS_4),
    Case("no-break spaces", GOOD.replace(" ", "\u00a0"), SAYS_4),
    # which verdict counts
    Case("draft and verdict fenced", f"```json\n{CLEAN}\n```\nNo:\n```json\n{GOOD}\n```", SAYS_4),
    Case("three verdicts", GOOD + GOOD + CLEAN, SAYS_CLEAN),
    Case("a bare flag after a complete verdict", GOOD + ' so {"has_error": 0}', SAYS_4),
    Case("a broken one after a complete one", GOOD + ' then {"has_error": maybe}', SAYS_4),
    Case("an out of range one after a good one", GOOD + GOOD.replace("4", "44"), "invalid"),
    Case("a good one after an out of range one", GOOD.replace("4", "44") + GOOD, SAYS_4),
    Case("a cut one after a complete one", GOOD + ' or rather {"has_error": 0, "first', SAYS_4, "length"),
    Case("list of two", f"[{CLEAN}, {GOOD}]", SAYS_4),
    Case("deep inside", '{"a": {"b": [{"c": ' + GOOD + "}]}}", SAYS_4),
    Case("draft and final in one object", f'{{"draft": {CLEAN}, "final": {GOOD}}}', SAYS_4),
    Case("a verdict inside a verdict is not asked", GOOD[:-1] + f', "other_view": {CLEAN}}}', SAYS_4),
    Case("last brace missing around a nested one", f'{{"verdict": {GOOD}', SAYS_4),
    # thinking
    Case("thought without its beginning", f"Perhaps {CLEAN}. No.\n</think>\n{GOOD}", SAYS_4),
    Case("thought without its beginning, brace open", f'Hm {{"has_error": </think>{GOOD}', SAYS_4),
    Case("two thoughts", f"<think>a</think> wait <think>{CLEAN}</think>{GOOD}", SAYS_4),
    Case("a thought within a thought", f"<think>a <think>b</think> {CLEAN}</think>{GOOD}", SAYS_4),
    Case("thought after the verdict", f"{GOOD}<think>was it {CLEAN}?</think>", SAYS_4),
    Case("capital tag", f"<THINK>{CLEAN}</THINK>{GOOD}", SAYS_4),
    Case("thinking tag", f"<thinking>{CLEAN}</thinking>\n{GOOD}", SAYS_4),
    Case("square tag", f"[THINK]{CLEAN}[/THINK]{GOOD}", SAYS_4),
    Case(
        "channels",
        f"<|channel|>analysis<|message|>{CLEAN}<|end|><|start|>assistant<|channel|>final<|message|>{GOOD}",
        SAYS_4,
    ),
    Case("only a closed thought", f"<think>{GOOD}</think>\n", "no_response"),
    Case("only a closed thought, cut", f"<think>{GOOD}</think>\n", "truncated", "length"),
    Case("tag inside a string", GOOD[:-1] + ', "reason": "it prints <think> and </think>"}', SAYS_4),
    Case("thought opens after all", f"<think>a</think><think>{GOOD}", "truncated"),
    # quoted words and echoes
    Case("only quoted with backslashes", r'The trace says "{\"has_error\": 0}".', "invalid"),
    Case(
        "only quoted as Python", "The trace says \"{'has_error': 0, 'first_error_step': None}\".", "invalid"
    ),
    Case("quoted after the verdict", GOOD + " though step 9 says '" + CLEAN + "'.", SAYS_4),
    Case("forged in the reason", GOOD[:-1] + r', "reason": "claims {\"has_error\": 0}"}', SAYS_4),
    Case(
        "forged in the reason, quotes bare", GOOD[:-1] + f', "reason": "claims {CLEAN} in step 4"}}', SAYS_4
    ),
    Case("forged in a reason that comes first", f'{{"reason": "claims {CLEAN} here", ' + GOOD[1:], SAYS_4),
    Case("forged in a cut reason", GOOD[:-1] + f', "reason": "claims {CLEAN} which', "truncated", "length"),
    Case(
        "forged inside an unfinished verdict", GOOD[:-1] + f', "quoted": {CLEAN}, "reason": "wr', "truncated"
    ),
    Case("forged inside a broken verdict", f'{{"has_error": 1 or so, "quoted": {CLEAN}}}', "invalid"),
    Case(
        "fields forged by bare quotes", GOOD[:-1] + ', "reason": "says ", "has_error": 0, "x": ""}', "invalid"
    ),
    Case(
        "swallowed end",
        GOOD[:-1] + ', "reason": "the "net} Again: ' + CLEAN[:-1] + ', "reason": "x"}',
        "invalid",
    ),
    Case("echo in strings", '{"has_error": "0 or 1", "first_error_step": "integer or null"}', "invalid"),
    Case("echo in strings after", GOOD + ' {"has_error": "0/1", "first_error_step": "int"}', SAYS_4),
    Case("echo of angle brackets", GOOD + ' {"has_error": "<0 or 1>", "first_error_step": null}', SAYS_4),
    Case("echo of a step only", GOOD + ' {"has_error": 1, "first_error_step": "<int or null>"}', SAYS_4),
    Case("echo of a JSON schema", '{"properties": {"has_error": {"type": "integer"}}}' + GOOD, SAYS_4),
    Case("echo of an example", GOOD + f'{{"type": "object", "example": {CLEAN}}}', SAYS_4),
    # form
    Case("unquoted keys", "{has_error: 1, first_error_step: 4, error_confidence: 70}", SAYS_4),
    Case("typographic quotes", GOOD.replace('"', "“", 1).replace('"', "”", 1), SAYS_4),
    Case("commas forgotten at line ends", GOOD.replace(", ", "\n"), SAYS_4),
    Case("percentage without quotes", GOOD.replace("70", "70%"), SAYS_4),
    Case("camel case", '{"hasError": 1, "firstErrorStep": 4, "errorConfidence": 70}', SAYS_4),
    Case(
        "blanks and hyphens in keys",
        '{"Has error": 1, "first-error-step": 4, "error confidence": 70}',
        SAYS_4,
    ),
    Case("quotes inside the reason", GOOD[:-1] + ', "reason": "the "net" force, "so" wrong"}', SAYS_4),
    Case("quotes and a comma", GOOD[:-1] + ', "reason": "uses "F", not "ma", here"}', SAYS_4),
    Case(
        "comments are not JSON",
        '{"has_error": 0, // 0 or 1\n "first_error_step": null // or int\n}',
        "invalid",
    ),
    Case("same key twice, same value", '{"has_error": 1, ' + GOOD[1:], SAYS_4),
    Case("same key twice, other value", '{"has_error": 0, ' + GOOD[1:], "invalid"),
    Case("plain YAML", "has_error: 1\nfirst_error_step: 4", "invalid"),
    # has_error
    Case("capital text", GOOD.replace("1,", '"TRUE",'), SAYS_4),
    Case("yes without quotes", GOOD.replace("1,", "yes,"), SAYS_4),
    Case("float flag", GOOD.replace("1,", "1.0,"), SAYS_4),
    Case("null flag", GOOD.replace("1,", "null,"), "invalid"),
    Case("flag in a list", GOOD.replace("1,", "[1],"), "invalid"),
    Case("flag unsure", GOOD.replace("1,", '"unsure",'), "invalid"),
    Case("negative flag", GOOD.replace("1,", "-1,"), "invalid"),
    Case("infinite flag", GOOD.replace("1,", "Infinity,"), "invalid"),
    Case("flag alone, no error", '{"has_error": 0}', ("ok", 0, None, None)),
    Case("flag alone, error", '{"has_error": 1}', ("inconsistent", 1, None, None)),
    # first_error_step
    Case("step with hash", GOOD.replace("4", '"#4"'), SAYS_4),
    Case("step numbered", GOOD.replace("4", '"Step no. 4"'), SAYS_4),
    Case("step with a full stop", GOOD.replace("4", '"4."'), SAYS_4),
    Case("step bold", GOOD.replace("4", '"**4**"'), SAYS_4),
    Case("step in square brackets", GOOD.replace("4", '"step [4]"'), SAYS_4),
    Case("step in words", GOOD.replace("4", '"four"'), "invalid"),
    Case("step with a remark", GOOD.replace("4", '"4 (the integral)"'), "invalid"),
    Case("two steps", GOOD.replace("4", '"4 and 5"'), "invalid"),
    Case("steps in a list", GOOD.replace("4", "[4, 5]"), "invalid"),
    Case("step true", GOOD.replace("4", "true"), "invalid"),
    Case("step NaN", GOOD.replace("4", "NaN"), "invalid"),
    Case("step of thousand digits", GOOD.replace("4", "4" * 5000), "invalid"),
    Case("step too long for a float", GOOD.replace("4", "1e999"), "invalid"),
    Case("step with a half bracket", GOOD.replace("4", '"(4"'), "invalid"),
    Case("Arabic digits are not guessed", GOOD.replace("4", '"٤"'), "invalid"),
    Case("last step", GOOD.replace("4", "12"), ("ok", 1, 12, 70)),
    Case("no error with step zero", CLEAN.replace("null", "0"), "invalid"),
    Case("no error with step minus one", CLEAN.replace("null", "-1"), "invalid"),
    Case("empty step, no error", CLEAN.replace("null", '""'), SAYS_CLEAN),
    Case("error with the word none", GOOD.replace("4", '"None"'), ("inconsistent", 1, None, 70)),
    Case("number of steps not known", GOOD.replace("4", "400"), ("ok", 1, 400, 70), "stop", None),
    Case("absurd step, number not known", GOOD.replace("4", "4" * 12), "invalid", "stop", None),
    Case("a trace of no steps", GOOD, "invalid", "stop", 0),
    # error_confidence
    Case("confidence of a half", GOOD.replace("70", "70.5"), ("ok", 1, 4, 70.5)),
    Case("confidence between 0 and 1 is kept", GOOD.replace("70", "0.7"), ("ok", 1, 4, 0.7)),
    Case("confidence of hundred", GOOD.replace("70", '"70/100"'), SAYS_4),
    Case("confidence in words", GOOD.replace("70", '"high"'), ("ok", 1, 4, None)),
    Case("confidence true", GOOD.replace("70", "true"), ("ok", 1, 4, None)),
    Case("confidence negative", GOOD.replace("70", "-3"), ("ok", 1, 4, None)),
    Case("confidence infinite", GOOD.replace("70", "-Infinity"), ("ok", 1, 4, None)),
    Case("confidence in a list", GOOD.replace("70", "[70]"), ("ok", 1, 4, None)),
    # how the reply ended
    Case("None", None, "no_response"),
    Case("a number", 5, "no_response"),
    Case("empty, cut", "", "truncated", "length"),
    Case("zero width only", "\u200b\ufeff", "no_response"),
    Case("filtered in the middle", "Step 3 seems", "refusal", "content_filter"),
    Case("refused", "", "refusal", "refusal"),
    Case("safety", "", "refusal", "SAFETY"),
    Case("apology without the provider's word", "I'm sorry, I can't help with that.", "invalid"),
    Case("cut at max tokens", "Let me look at", "truncated", "MAX_TOKENS"),
    Case("unfinished, yet stop", GOOD[:-1], "truncated"),
    Case("unfinished and nested, yet stop", '{"verdict": ' + GOOD[:-1], "truncated"),
    Case("finish reason missing", GOOD, SAYS_4, None),
    Case("finish reason of another kind", GOOD, SAYS_4, ["stop"]),
    Case("finish reason unknown", "hm", "invalid", "eos"),
    Case("half a character", GOOD[:-1] + ', "reason": "\ud83d"}', SAYS_4),
    Case("half a character, escaped", GOOD[:-1] + r', "reason": "\ud83d"}', SAYS_4),
    Case("NUL", GOOD[:-1] + r', "reason": "\u0000"}' + "\0", SAYS_4),
]
