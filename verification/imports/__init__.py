"""Importing what verification works on (docs/verification.md)."""
