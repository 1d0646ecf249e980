"""Template tags of verification."""
