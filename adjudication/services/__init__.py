"""What adjudication does: one module per theme, one verb per function."""
