"""Layer 2 of verification: models that point at concerns in a trace, asked by the rules of the engine."""
