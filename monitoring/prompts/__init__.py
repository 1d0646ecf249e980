"""Prompts: versioned files, and the rendering that fills them. Nothing here ever sees a label."""

from monitoring.prompts.rendering import Exchange, neutralise, render
from monitoring.prompts.store import CONDITIONS, CURRENT, FOLLOW_UPS, Prompt, PromptError, load

__all__ = [
    "CONDITIONS",
    "CURRENT",
    "FOLLOW_UPS",
    "Exchange",
    "Prompt",
    "PromptError",
    "load",
    "neutralise",
    "render",
]
