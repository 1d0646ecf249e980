"""The debate arm: five rounds between two models on each trace, whose consensus is the arm's label."""
