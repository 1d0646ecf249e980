"""Speed and memory, in figures and as ratios against a plain implementation in the same run."""
