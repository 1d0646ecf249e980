"""Structured sentences: keys as templates with slots, responses read by rules that are data."""

from verification.comparators.sentences.reading import Reading
from verification.comparators.sentences.rule import (
    Claim,
    Decision,
    Rule,
    SentenceRule,
    builtin_rules,
    read_rule,
)
from verification.comparators.sentences.templates import Template

__all__ = ["Claim", "Decision", "Reading", "Rule", "SentenceRule", "Template", "builtin_rules", "read_rule"]
