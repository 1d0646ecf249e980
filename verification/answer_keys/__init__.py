"""Audits of answer keys: sentence-valued keys, structured rules, and what re-scoring would change."""
