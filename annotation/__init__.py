"""Annotation: studies, questions, traces, imports; the human arm."""
