"""The product under load and under faults: python -m tests.load [--faults] (an own PostgreSQL, Redis and servers)."""
