"""Words for values of adjudication."""

from __future__ import annotations

from django import template

register = template.Library()

PROVENANCE = {
    "both_arms_agree": "both arms agree",
    "one_arm_only": "one arm only",
    "adjudicated": "adjudicated",
    "patched": "patched",
}


@register.filter
def provenance(word: str) -> str:
    """Return where a label came from in words; a release's own word as it is."""
    return PROVENANCE.get(word, word)
