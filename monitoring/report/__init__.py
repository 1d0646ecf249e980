"""The report of a study: its standard and verdicts as arrays, every number, tables, figures, the page."""
