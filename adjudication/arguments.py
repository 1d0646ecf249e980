"""Arguments for the proposals of a dispute, rewritten so that source, names, models, lengths and times go.

What it does, in this order: typographic marks, Markdown and line breaks are evened out; every sentence that
names a person of the study, a model, an arm, a round or a time is left out whole; all arguments are cut to the
same number of words. What it cannot do: a way of writing may still be known by who knows it. The page says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from adjudication.masking import Proposal

LONGEST = 150  # words
SHORTEST = 5
CUT = " …"

_PLAIN = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u2011": "-", "\u00a0": " "}
)
_MARKDOWN = re.compile(r"(?m)^\s*(?:#{1,6}\s+|[-*+•]\s+|\d+[.)]\s+|>\s+)|\*\*|__|`+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])")
_TELLING = re.compile(
    r"""
    \b(?:
      (?:chat)?gpt | claude | opus | sonnet | haiku | fable | gemini | gemma | grok | llama | deepseek | qwen
      | mistral | mixtral | kimi | glm | openai | anthropic | google | meta-llama | copilot | codex
      | o[1-9](?:-\w+)? | llms? | ai | a\.i\.
      | (?:language|other|first|second|another)\s+models?
      | assistants? | prompts? | tokens?
      | human(?:s|ly)? | people | person | physicists? | annotat(?:e|es|ed|ion|ions|or|ors)
      | label(?:s|led|ler|lers|ed|er|ers)? | student | professor | colleague | expert
      | debat(?:e|es|ed|er|ers|ing) | rounds? | r[1-3] | consensus | prior | blind | critiques? | critic
      | verdicts? | review(?:s|ed|er|ers)? | adjudicat\w* | disput\w* | agree(?:s|d|ment)? | disagree\w*
      | opponent | earlier\s+reading | first\s+reading | second\s+reading | changed\s+my\s+mind | confidence
      | minutes? | hours? | o'clock | today | yesterday | tomorrow
      | (?:mon|tues|wednes|thurs|fri|satur|sun)day
    )(?!\w)
    | \b\d{1,2}:\d{2}\b | \b\d{4}-\d{2}-\d{2}\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True)
class Argument:
    """What was said for a proposal, as it may be shown."""

    mark: str
    shape: str
    text: str


def arguments_for(
    shown: Sequence[Proposal],
    said: Mapping[tuple[bool, int | None], Collection[str]],
    *,
    names: Collection[str],
) -> list[Argument] | None:
    """Return one argument per proposal, in the proposals' order and of equal length in words.

    `said` holds the texts by the point they argue for; `names` are words that tell a source. None when some
    proposal is left without an argument: what is missing would tell it from the others.
    """
    words = {proposal.point: rewritten(said.get(proposal.point, ()), names=names) for proposal in shown}
    length = min([LONGEST, *map(len, words.values())])
    if length < SHORTEST:
        return None
    return [
        Argument(proposal.mark, proposal.shape, " ".join(words[proposal.point][:length]) + CUT)
        for proposal in shown
    ]


def rewritten(texts: Collection[str], *, names: Collection[str]) -> list[str]:
    """Return the words that may be shown of some texts, whatever order the texts came in."""
    named = _any_of(names)
    kept = []
    for text in sorted({_evened(text) for text in texts}):
        kept += [
            sentence
            for sentence in _SENTENCE.split(text)
            if not (_TELLING.search(sentence) or (named and named.search(sentence)))
        ]
    return " ".join(kept).split()


def _evened(text: str) -> str:
    text = _MARKDOWN.sub("", text.translate(_PLAIN))
    return " ".join(text.split())


def _any_of(names: Collection[str]) -> re.Pattern[str] | None:
    parts = sorted({re.escape(name.strip()) for name in names if name.strip()}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?!\w)", re.IGNORECASE) if parts else None
