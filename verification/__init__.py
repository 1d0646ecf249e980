"""Verification: layered checks: rules, answer keys, certificates."""
