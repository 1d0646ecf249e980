"""The engine: the database is the truth, the broker only wakes workers."""
