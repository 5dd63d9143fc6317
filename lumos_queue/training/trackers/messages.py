"""The messages between a worker and the process of a tracker are lines of JSON.

The worker sends a RunHeader, then a TrackedStep for each optimizer step, then END. The process answers with a Reply
whenever its stage changes, a step is logged, or something fails.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum

ConfigValue = bool | int | float | str

PROJECT = "lumos-queue"  #: the project, or experiment, of all runs
END = b"{}\n"  #: the line after the last step


@dataclass(frozen=True, slots=True)
class RunHeader:
    """The run of a job."""

    tracker: str  #: of TRACKERS
    job: str
    digest: str  #: of the job's recipe
    folder: str  #: of the fit, absolute; TensorBoard writes below it
    config: Mapping[str, ConfigValue]  #: the job's request

    @property
    def run(self) -> str:
        """The name of the run, by which a later process continues it."""
        return f"{self.job}-{self.digest[:12]}"

    def as_line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> RunHeader:
        return cls(**json.loads(line))


@dataclass(frozen=True, slots=True)
class TrackedStep:
    """The figures of an optimizer step. Later figures of the same step, such as `dev_loss`, may be another value."""

    fit: str  #: its name within the job; '' = the only one
    step: int  #: of the fit, from 1
    figures: Mapping[str, float]  #: loss, rate, grad_norm, …; no entry for an unknown figure

    def as_line(self, position: int) -> bytes:
        """Return the line. `position`: the number of the step within the job, from 1."""
        prefix = f"{self.fit}/" if self.fit else ""
        figures = {prefix + name: figure for name, figure in self.figures.items()}
        return json.dumps({"position": position, "figures": figures}).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class LoggedStep:
    """A TrackedStep as the process of a tracker reads it."""

    position: int
    figures: dict[str, float]  #: by the tracker's name for it: `loss`, or `FIT/loss` in a job with several fits

    @classmethod
    def from_line(cls, line: bytes) -> LoggedStep | None:
        """Return the step, or None for the line END."""
        fields = json.loads(line)
        return cls(**fields) if fields else None


class Stage(StrEnum):
    """What the process of a tracker does."""

    IMPORTING = "importing"  #: it loads the tracker's package
    WAITING = "waiting"  #: for the process of a killed worker, which ends within seconds
    OPENING = "opening"  #: it opens the run
    RUNNING = "running"
    FINISHING = "finishing"  #: it has logged all steps, and closes the run
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Reply:
    """A line of the process."""

    stage: Stage
    position: int = 0  #: the newest that is logged; 0 = none
    lines: int = 0  #: lines with steps that it has dealt with
    problem: str = field(default="")  #: one line without keys; the process tries again unless it ends

    def as_line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Reply:
        fields = json.loads(line)
        return cls(Stage(fields["stage"]), fields["position"], fields["lines"], fields["problem"])


def flatten(request: Mapping[str, object]) -> dict[str, ConfigValue]:
    """Return a JSON object as the flat configuration of a run: names joined by dots, lists as JSON, no nulls."""
    config: dict[str, ConfigValue] = {}
    for name, setting in request.items():
        if isinstance(setting, Mapping):
            config |= {f"{name}.{key}": inner for key, inner in flatten(setting).items()}
        elif isinstance(setting, bool | int | float | str):
            config[name] = setting
        elif setting is not None:
            config[name] = json.dumps(setting)
    return config
