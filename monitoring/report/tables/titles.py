"""What tables call cells and figures."""

CELL_TITLES = {"wrong": "wrong answer", "critical": "critical", "clean": "clean"}
FIGURES = {
    "balanced_accuracy": "balanced accuracy",
    "L0": "L0",
    "L0_in_range": "L0, any defensible step",
    "wrong": "recall, wrong",
    "critical": "recall, critical",
}
