"""Other readings of the standard: one arm's labels alone, disputed traces left out, traces a monitor had to do with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stats.panel import Arm, Bools, Reference


def by_arm(reference: Reference, arm: Arm) -> tuple[Reference, Bools]:
    """Return the reference that an arm's labels alone would make, and the traces (n_traces,) that it judged.

    A trace on which the arm was silent keeps the standard's label; leave those out by the mask.
    """
    spoke = arm.spoke
    step = np.where(spoke, arm.step, reference.step)
    return (
        replace(
            reference,
            final_correct=np.where(spoke, arm.final_correct > 0, reference.final_correct),
            step=step,
            step_min=np.where(spoke, step, reference.step_min),
            step_max=np.where(spoke, step, reference.step_max),
        ),
        spoke,
    )


def disputed(reference: Reference) -> Bools:
    """Traces on which both arms spoke and differ in the answer or in the step, none included: (n_traces,)."""
    human, debate = reference.human, reference.debate
    differ = (human.final_correct != debate.final_correct) | (human.step != debate.step)
    result: Bools = human.spoke & debate.spoke & differ
    return result
