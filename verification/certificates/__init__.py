"""Certificates of equality-constrained convex quadratic programmes, verified in exact arithmetic."""

from verification.certificates.benchmark import run_benchmark
from verification.certificates.programme import BadProgramme, Certificate, Programme, Ruling, verify
from verification.certificates.transformation import BadTransformation, Transformation

__all__ = [
    "BadProgramme",
    "BadTransformation",
    "Certificate",
    "Programme",
    "Ruling",
    "Transformation",
    "run_benchmark",
    "verify",
]
