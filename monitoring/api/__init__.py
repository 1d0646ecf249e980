"""The API of monitors, batches and reports: the same services as the administrators' pages."""
