"""The options of a build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lumos_queue.builds.calls import FORMAT, is_tool_agent
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.defaults import USUAL
from lumos_queue.formulations.registry import FORMULATIONS, tool_agent_names, trainable_names
from lumos_queue.records import LEVELS

FORMATS = ("lumos", "parquet", "trl-sft", "trl-preference")
SELECTIONS = ("all", "best", "shortest", "newest")


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """All options that affect the rows of a build. Their JSON form is part of the digest."""

    where: str = ""  #: filter of the episodes: see db/queries/filters.py
    format: str = "lumos"
    formulations: tuple[str, ...] = (USUAL,)
    select: str = "all"  #: order of the episodes of a task, one of SELECTIONS
    per_task: int = 0  #: at most this many of a task's episodes; 0: all
    level: str = ""  #: only rows checked at least at this level (records.LEVELS); empty: any
    mix: Mapping[str, float] = field(default_factory=dict)  #: benchmark or domain to its part of the episodes
    rows: int = 0  #: at most this many episodes in all; 0: all
    near: float = 0.0  #: similarity from which a solution is a near-duplicate; 0: not checked
    dev_share: float = 0.0  #: part of the source tasks that goes into `dev/`
    seed: int = 0  #: for the random choice of a mix or a number of rows; the split does not depend on it
    against: tuple[str, ...] = ()  #: test splits to check the task texts against: see contamination.py
    allow_test: bool = False  #: whether to accept episodes of test splits, and tasks that are stored as tests
    allow_contaminated: bool = False  #: whether to accept tasks whose text is in a test split
    reexecute: bool = False  #: run the actions again and exclude episodes with other results
    perturbed: bool = False  #: exclude solutions that fail with other numbers in the question
    min_precision: float = 0.0  #: keep only strata of `audit` with at least this precision; 0: any episode
    audit: str = ""  #: name of the audit of annotations that measured the precision

    def __post_init__(self) -> None:
        """Check the options. Raises SpecError naming the first invalid option."""
        for kind, value, choices in (("format", self.format, FORMATS), ("selection", self.select, SELECTIONS)):
            if value not in choices:
                raise unknown(kind, value, choices)
        if self.level and self.level not in LEVELS:
            raise unknown("check level", self.level, LEVELS)
        trainable = (*trainable_names(), *tool_agent_names())
        for name in self.formulations:
            formulation = FORMULATIONS.find(name)
            if formulation is None or not (formulation.trainable or formulation.is_tool_agent):
                raise unknown("formulation", name, trainable)
        if not self.formulations:
            raise SpecError(f"A build needs at least one formulation: {', '.join(trainable)}.")
        tool_agents = [name for name in self.formulations if is_tool_agent(name)]
        if tool_agents and (self.format != FORMAT or self.level or self.reexecute or self.perturbed):
            raise SpecError(
                f"Rows of {tool_agents[0]} are single calls, which are not executed again: give --format {FORMAT}, "
                "and leave out --level, --reexecute and --perturbed."
            )
        if self.format == "trl-preference" and self.formulations != (USUAL,):
            raise SpecError("Preference pairs are made of iterative episodes: leave --formulations out.")
        selection_options = (
            *(self.per_task, self.level, self.mix, self.rows, self.near),
            *(self.reexecute, self.perturbed, self.audit),
        )
        if self.format == "trl-preference" and any(selection_options):
            raise SpecError(
                "Preference pairs are made of all tries at a task: leave out --per-task, --level, --mix, "
                "--rows, --near-duplicates, --reexecute, --perturbed and --min-precision."
            )
        if (self.per_task > 0) != (self.select != "all"):
            raise SpecError(
                "--select (best, shortest or newest) and --per-task NUMBER need each other: give both, or neither."
            )
        if (self.min_precision > 0) != bool(self.audit):
            raise SpecError("--min-precision NUMBER and --audit NAME need each other: give both, or neither.")
        if self.dev_share == 1:
            raise SpecError("--dev-share is 1, which leaves no row to train on: expected a number below 1.")

    def as_json(self) -> dict[str, Any]:
        values = asdict(self)
        if not self.rows:  # earlier builds, made without this option, keep their digest
            del values["rows"]
        if not self.audit:
            del values["min_precision"], values["audit"]
        return values


def read_mix(text: str) -> dict[str, float]:
    """Read `gsm8k=0.7,svamp=0.3` as shares that add up to 1. Raises SpecError naming the part that cannot be read."""
    shares: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, share = part.partition("=")
        try:
            value = float(share)
        except ValueError:
            value = 0.0
        if not equals or not name.strip() or not 0 < value < float("inf"):
            raise SpecError(f"Cannot read '{part}' in --mix: expected BENCHMARK=SHARE with a share above 0.")
        if name.strip() in shares:
            raise SpecError(f"'{name.strip()}' appears twice in --mix: give each name once.")
        shares[name.strip()] = value
    total = sum(shares.values())
    return {name: share / total for name, share in sorted(shares.items())}
