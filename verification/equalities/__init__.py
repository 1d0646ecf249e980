"""The first numerically false equality of a trace, found by exact arithmetic: pure Python, no Django."""

from verification.equalities.checker import Checked, Finding, check, check_step, check_trace

__all__ = ["Checked", "Finding", "check", "check_step", "check_trace"]
