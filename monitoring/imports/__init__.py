"""Imports of a text-free release: a published standard and the verdicts of monitors on it."""
