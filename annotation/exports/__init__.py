"""Exports: rows of the database out as CSV, JSON Lines or Parquet, in constant memory."""
