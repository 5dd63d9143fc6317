"""OpenAGI: 185 tasks that are solved by composing expert models into a plan (arXiv:2304.04370).

Without `--data`, pictures and texts are generated (MIT; data/samples.py). With `--data`, they are read from a folder in
the released layout (released_folder.py). An episode solves a task for all samples at once: each channel (an input) has
a list with a value for each sample.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult, RowReader
from lumos_queue.benchmarks.openagi.baselines import plan_by_keywords, plan_of_nearest
from lumos_queue.benchmarks.openagi.rows import NAME
from lumos_queue.benchmarks.openagi.scores import (
    AGREEMENT,
    COMPARISONS,
    GROUPS,
    OVERALLS,
    baseline_verdicts,
    is_judged_by,
    score_episode,
)
from lumos_queue.benchmarks.openagi.splits import HELDOUT, LABELLED, SPLITS, tasks_of
from lumos_queue.errors import BadRow, SpecError, unknown
from lumos_queue.experts.graph import read_signature
from lumos_queue.experts.plans import read_wire
from lumos_queue.experts.runs import annotate_plan
from lumos_queue.records import Annotation, Level, Score, Task
from lumos_queue.scoring.media.paper import BERT, check_layer, remark_on_layers
from lumos_queue.util.model_loading import import_libraries

SAMPLES, MAX_SAMPLES = 10, 1000
PROFILES = ("released", "strong")
OPTIONS = {
    "samples": f"how many samples a task has, {SAMPLES} by default as in the released code; the paper has 100",
    "profile": f"how strong augmentations of generated data are: '{PROFILES[0]}' (default) or '{PROFILES[1]}'",
}


class OpenAGI(Benchmark):
    name = NAME
    domain = "experts"
    licence = "MIT"
    splits = SPLITS
    test_splits = (HELDOUT,)
    test_rows = frozenset(str(task.id) for task in tasks_of(HELDOUT))
    needs_data = False
    by_answer = False
    slow = True
    metrics = ("feasible", "recovery", *AGREEMENT, *dict.fromkeys(comparison.metric for comparison in COMPARISONS))
    options = OPTIONS
    groups = GROUPS
    overalls = OVERALLS
    reward = "proxies"  # the paper's metrics need weights
    check_level = Level.FORMAT  # gold plans are not run by a conversion

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        check_layer()
        samples = _read_samples(options.get("samples", str(SAMPLES)))
        profile = options.get("profile", PROFILES[0])
        if profile not in PROFILES:
            raise unknown("profile", profile, PROFILES)
        if split not in SPLITS:
            raise unknown("split", split, SPLITS)
        if path is not None and "profile" in options:
            raise SpecError("--option profile=… is for generated data: leave it out with --data.")
        return self._generate(split, samples, profile) if path is None else self._read_folder(path, split, samples)

    def _generate(self, split: str, samples: int, profile: str) -> Iterator[Task]:
        with import_libraries("lumos_queue.benchmarks.openagi.generated_tasks.generate_task"):
            from lumos_queue.benchmarks.openagi.generated_tasks import generate_task

        artifacts: dict[str, bytes] = {}
        self.artifacts = artifacts
        samples_text = f"{samples:,} sample{'' if samples == 1 else 's'} a task"
        self.notes = [f"pictures and texts are generated, {samples_text}, profile '{profile}'"]
        for spec in tasks_of(split):
            yield generate_task(spec, samples, profile, artifacts)

    def _read_folder(self, path: Path, split: str, samples: int) -> Iterator[Task | BadRow]:
        from lumos_queue.benchmarks.openagi.released_folder import ReleasedFolder

        folder = ReleasedFolder(path)
        self.artifacts, self.notes = folder.artifacts, []
        fewest = samples
        for number, spec in enumerate(tasks_of(split), start=1):
            row = folder.read_task(spec, number, samples)
            if isinstance(row, Task):
                fewest = min(fewest, len(row.inputs["channels"][0]["values"]))
            yield row
        if fewest < samples:
            self.notes.append(f"at least one task has only {fewest:,} of {samples:,} samples")

    @property
    def teaching(self) -> RowReader:
        """The reader of only the labelled tasks, because planners must not see the plans of other tasks."""
        return RowReader((LABELLED,), self.options, self.read)

    def gold(self, task: Task) -> Annotation:
        """Return the gold plan as an annotation: each run of an expert is a subgoal, without results."""
        return annotate_plan(read_wire(task.gold["plan"]), read_signature(task.inputs))

    def gold_answer(self, task: Task) -> str:
        """Return the gold plan in wire form. Other plans can be right, too."""
        return task.gold["plan"]

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        return score_episode(task, result)

    def metrics_of(self, task: Task) -> tuple[str, ...]:
        return tuple(name for name in self.metrics if is_judged_by(task, name))

    def remark_on_versions(self, versions: Mapping[str, Collection[str]]) -> list[str]:
        return remark_on_layers(versions.get(BERT, ()))

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[float]]:
        """Return the scores of plans that rules make: `RULE` to the scores of `feasible`, `RULE: METRIC` to others."""
        rules = {"keyword rule": plan_by_keywords, "nearest demonstration": plan_of_nearest}
        return {
            rule if metric == "feasible" else f"{rule}: {metric}": values
            for rule, make in rules.items()
            for metric, values in baseline_verdicts(tasks, make).items()
        }


def _read_samples(text: str) -> int:
    """Return the number of samples. Raises SpecError."""
    if text.isascii() and text.isdecimal() and 0 < int(text[:9]) <= MAX_SAMPLES:
        return int(text)
    raise SpecError(f"--option samples={text[:40]} cannot be read: expected a number from 1 to {MAX_SAMPLES:,}.")


benchmark = OpenAGI()
