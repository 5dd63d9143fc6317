"""Settings of a fit that change none of its optimizer steps: when it is evaluated and saved, when it ends, and which
weights are exported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

#: The checkpoint that is exported: that with the lowest development loss, or that of the last step. AUTO: BEST if there
#: are development conversations, else LAST.
AUTO, BEST, LAST = "", "best", "last"


@dataclass(frozen=True, slots=True)
class FitControl:
    """The settings. The defaults are those of jobs that were stored without them."""

    eval_every: int = 0  #: optimizer steps between two development losses; 0: those of a window
    patience: int = 0  #: windows without a lower development loss after which the fit ends; 0: it does not end early
    keep: str = LAST
    checkpoint_seconds: float = 60.0  #: between two checkpoints within a window, at least
    report_to: tuple[str, ...] = ()  #: names of experiment trackers

    def as_json(self) -> dict[str, Any]:
        """Return the settings that differ from the defaults."""
        defaults = asdict(DEFAULTS)
        values = {name: value for name, value in asdict(self).items() if value != defaults[name]}
        return values | ({"report_to": list(self.report_to)} if self.report_to else {})

    @classmethod
    def from_json(cls, settings: Mapping[str, Any]) -> FitControl:
        return cls(**{**settings, "report_to": tuple(settings.get("report_to", ()))})


DEFAULTS = FitControl()
#: The settings of a new fit whose submitter chooses none.
NEW = FitControl(keep=AUTO)
