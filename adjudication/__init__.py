"""Adjudication: disputes, the masked view, decisions, reference standards."""
