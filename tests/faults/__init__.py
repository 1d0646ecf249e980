"""The engine under faults, at length: python -m tests.faults (PostgreSQL at DATABASE_URL, an own Redis)."""
