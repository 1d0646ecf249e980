"""Prompts: versioned files, and the rendering that fills them. Nothing here ever sees a label."""
