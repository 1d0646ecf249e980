"""Prompts: versioned files, and the rendering that fills them. Nothing here ever sees a label."""

from monitoring.prompts.rendering import neutralise, render
from monitoring.prompts.store import CURRENT, Prompt, PromptError, load

__all__ = ["CURRENT", "Prompt", "PromptError", "load", "neutralise", "render"]
