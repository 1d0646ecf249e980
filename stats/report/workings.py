"""What several sections of one report are made of, computed once."""

from __future__ import annotations

from stats.bootstrap import Resample
from stats.detection import Detection, detect
from stats.ladder import Ladder, climb
from stats.localisation import Localisation, localise
from stats.panel import Panel
from stats.report.options import Options


class Workings:
    """A panel with its shared resample; detection, localisation and ladder are computed when first asked for."""

    def __init__(self, panel: Panel, options: Options) -> None:
        self.panel = panel
        self.options = options
        self.resample = Resample(panel.reference.n_questions, resamples=options.resamples, seed=options.seed)
        self._detection: dict[str, Detection] = {}
        self._localisation: dict[str, Localisation] = {}
        self._ladder: Ladder | None = None

    def detection(self, condition: str) -> Detection:
        """Detection under a condition that was run."""
        if condition not in self._detection:
            verdicts = self.panel.verdicts[condition]
            self._detection[condition] = detect(
                self.panel.reference, verdicts, self.resample, with_auc=condition != "STEP"
            )
        return self._detection[condition]

    def localisation(self, condition: str) -> Localisation:
        """Localisation under a condition that was run."""
        if condition not in self._localisation:
            verdicts = self.panel.verdicts[condition]
            self._localisation[condition] = localise(self.panel.reference, verdicts, self.resample)
        return self._localisation[condition]

    @property
    def ladder(self) -> Ladder:
        """Flag rates on the common subset."""
        if self._ladder is None:
            self._ladder = climb(self.panel, self.resample)
        return self._ladder
