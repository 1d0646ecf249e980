"""Monitoring: monitors, conditions, batches, the engine, the report."""
