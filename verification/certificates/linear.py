"""Linear algebra over the rationals, by elimination: exact, for the small systems of certificates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Vector = tuple[Fraction, ...]
Matrix = tuple[Vector, ...]


def dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    """Return the inner product; summed over a common denominator and reduced once, which costs a quarter."""
    top, bottom = 0, 1
    for a, b in zip(left, right, strict=True):
        numerator = a.numerator * b.numerator
        if numerator:
            denominator = a.denominator * b.denominator
            if denominator == bottom:
                top += numerator
            else:
                top, bottom = top * denominator + numerator * bottom, bottom * denominator
    return Fraction(top, bottom)


def apply(matrix: Sequence[Sequence[Fraction]], vector: Sequence[Fraction]) -> Vector:
    """Return matrix times vector."""
    return tuple(dot(row, vector) for row in matrix)


def transpose(matrix: Sequence[Sequence[Fraction]], columns: int) -> Matrix:
    """Return the transpose of a matrix with `columns` columns (it may have no rows)."""
    return tuple(tuple(row[column] for row in matrix) for column in range(columns))


def multiply(left: Sequence[Sequence[Fraction]], right: Sequence[Sequence[Fraction]], columns: int) -> Matrix:
    """Return left times right, where right has `columns` columns."""
    by_column = transpose(right, columns)
    return tuple(tuple(dot(row, column) for column in by_column) for row in left)


def add(left: Sequence[Fraction], right: Sequence[Fraction], scale: Fraction | int = 1) -> Vector:
    """Return left + scale * right."""
    return tuple(a + scale * b for a, b in zip(left, right, strict=True))


def reduce_rows(matrix: Sequence[Sequence[Fraction]], columns: int) -> tuple[list[list[Fraction]], list[int]]:
    """Return the reduced row echelon form over the first `columns` columns, and its pivot columns."""
    rows = [list(row) for row in matrix]
    pivots: list[int] = []
    for column in range(columns):
        top = len(pivots)
        found = next((index for index in range(top, len(rows)) if rows[index][column]), None)
        if found is None:
            continue
        rows[top], rows[found] = rows[found], rows[top]
        pivot = rows[top][column]
        if pivot != 1:
            rows[top] = [entry / pivot if entry else entry for entry in rows[top]]
        for index, row in enumerate(rows):
            if index != top and row[column]:
                factor = row[column]
                rows[index] = [a - factor * b if b else a for a, b in zip(row, rows[top], strict=True)]
        pivots.append(column)
    return rows, pivots


def solve(matrix: Sequence[Sequence[Fraction]], right: Sequence[Fraction], columns: int) -> Vector | None:
    """Return one solution of matrix x = right (free unknowns 0), or None if there is none."""
    rows, pivots = reduce_rows([[*row, entry] for row, entry in zip(matrix, right, strict=True)], columns)
    if any(row[columns] for row in rows[len(pivots) :]):
        return None
    solution = [Fraction(0)] * columns
    for row, column in zip(rows, pivots, strict=False):
        solution[column] = row[columns]
    return tuple(solution)


def kernel(matrix: Sequence[Sequence[Fraction]], columns: int) -> Matrix:
    """Return a basis of the kernel, one vector a row; no rows if only 0 is in it."""
    rows, pivots = reduce_rows(matrix, columns)
    basis = []
    for free in (column for column in range(columns) if column not in pivots):
        vector = [Fraction(0)] * columns
        vector[free] = Fraction(1)
        for row, column in zip(rows, pivots, strict=False):
            vector[column] = -row[free]
        basis.append(tuple(vector))
    return tuple(basis)


def direction_without_curvature(matrix: Sequence[Sequence[Fraction]]) -> Vector | None:
    """Return some d != 0 with d'Md <= 0 for a symmetric M, or None if M is positive definite."""
    size = len(matrix)
    for count in range(1, size + 1):
        # leading minors are positive so far, so the block before is invertible: complete the square
        block = [row[: count - 1] for row in matrix[: count - 1]]
        column = [-matrix[index][count - 1] for index in range(count - 1)]
        head = solve(block, column, count - 1)
        assert head is not None
        direction = (*head, Fraction(1), *[Fraction(0)] * (size - count))
        if dot(direction, apply(matrix, direction)) <= 0:
            return direction
    return None
