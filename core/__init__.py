"""Core: people and roles, access gates, the audit trail, mathematical text."""
