"""Which module made an episode fail: each is replaced by the gold solution in turn, from the first wrong step on.

The leading stages that do what the gold steps do are kept as they are. Then two runs differ:

- *gold planner*: the gold subgoals are given, the model grounds them;
- *gold grounder*: the episode's next subgoal is given with the gold actions, the model plans on, and the gold actions
  are given as long as its subgoals are worded as the gold ones. A subgoal worded otherwise has no gold actions: where
  the episode leaves the gold plan there, the run is the episode itself, given whole, and fails as it did.

The planner is at fault when only its replacement makes the episode succeed, the grounder when only its own does; *both*
when neither run succeeds, *neither* when each does. What the modules said in the episode is given again where the
prompt is the same, so the blame is for what was said there, not for what the models would say now. Two limits: a
subgoal that is right, but that the grounder did not understand, counts as the planner's fault unless it is worded as in
the gold plan; and a one-pass plan is the gold one only as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lumos_queue.benchmarks.registry import open_benchmark_of_episode
from lumos_queue.builds.stages import Stage, matches_gold_step, replies_of, stages_of
from lumos_queue.execution.prefill import bare, same_subgoal, source_row
from lumos_queue.notation import KEEP_PLANNING, read_actions, read_plan, says_stop, write_actions
from lumos_queue.prompts.gold_replies import grounder_replies, planner_replies
from lumos_queue.records import MODULES, Annotation, Completion, FinishReason
from lumos_queue.rollouts.derivation import (
    Derivation,
    ExcludedEpisode,
    formulation_of,
    gold_of,
    is_right,
    require_ended,
)

if TYPE_CHECKING:
    from db.step_records import RecordedStep
    from db.trajectories import StoredEpisode

FAULTS = ("planner", "grounder", "both", "neither", "not finished")


def replacements(episode: StoredEpisode) -> Mapping[str, Sequence[Derivation]]:
    """The episode once with a gold planner and once with a gold grounder. Raises LeftOut when it has no blame."""
    require_ended(episode)
    benchmark = open_benchmark_of_episode(episode)
    if is_right(benchmark, episode):
        raise ExcludedEpisode("its answer is right")
    if not any(step.role == "planner" for step in episode.steps):
        raise ExcludedEpisode("no planner made it")
    gold, name = gold_of(benchmark, episode.task), formulation_of(episode)
    replies = {"planner": planner_replies(gold, name), "grounder": grounder_replies(gold, name, benchmark.domain)}
    parts = _one_pass(episode, replies) if name == "one-pass" else _iterative(episode, gold, replies)
    return {module: [Derivation(f"gold-{module}", *parts[module], {"gold": module})] for module in MODULES}


#: Role to given replies, subgoals kept of the episode, and the subgoals for which gold actions are given.
Parts = tuple[Mapping[str, Sequence[str]], int, Sequence[str] | None]


def _iterative(episode: StoredEpisode, gold: Annotation, replies: Mapping[str, list[str]]) -> Mapping[str, Parts]:
    stages, said = stages_of(episode.steps), replies_of(episode.steps, "planner")
    kept = 0
    while kept < min(len(stages), len(gold.steps)) and matches_gold_step(stages[kept], gold.steps[kept]):
        kept += 1
    if kept == len(stages) == len(gold.steps) and says_stop(said[-1]):
        raise ExcludedEpisode("it does what the gold solution does, and fails")
    groundings = [stage.grounding for stage in stages]
    same = kept < min(len(stages), len(gold.steps)) and _same_words(stages[kept], gold, kept)
    replanned = {"planner": said[:kept] + replies["planner"][kept:], "grounder": groundings[: kept + same]}
    planner: Parts = (replanned, kept, None)
    if not same:
        return {"planner": planner, "grounder": ({"planner": said, "grounder": groundings}, kept, None)}
    subgoals = [stage.subgoal.text for stage in stages[:kept]] + [step.subgoal.text for step in gold.steps[kept:]]
    replaced = {"planner": said[: kept + 1], "grounder": groundings[:kept] + replies["grounder"][kept:]}
    return {"planner": planner, "grounder": (replaced, kept, subgoals)}


def _same_words(stage: Stage, gold: Annotation, index: int) -> bool:
    return same_subgoal(stage.subgoal.text, gold.steps[index].subgoal.text)


def _one_pass(episode: StoredEpisode, replies: Mapping[str, list[str]]) -> Mapping[str, Parts]:
    said, grounded = replies_of(episode.steps, "planner"), replies_of(episode.steps, "grounder")
    plan, grounding = replies["planner"], replies["grounder"]
    same = _parse("planner", said[0]) == _parse("planner", plan[0])
    if same and list(map(_actions, grounded)) == list(map(_actions, grounding)):
        raise ExcludedEpisode("it does what the gold solution does, and fails")
    return {
        "planner": ({"planner": plan, "grounder": grounded if same else []}, 0, None),
        "grounder": ({"planner": said, "grounder": grounding if same else grounded}, 0, None),
    }


def fault(gold_planner: bool | None, gold_grounder: bool | None) -> str:
    """Which module is at fault, by whether the run with that gold module succeeded; None: it has not ended."""
    if gold_planner is None or gold_grounder is None:
        return "not finished"
    if gold_planner == gold_grounder:
        return "neither" if gold_planner else "both"
    return "planner" if gold_planner else "grounder"


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where a module of a failed episode replied differently from a run that was right there."""

    prompt: str
    chosen: str
    rejected: str
    earlier: tuple[str, ...]  #: the module's replies before it
    first_prompt: str
    by: str  #: 'gold' when the chosen reply is the gold solution's, 'sample' when a model made it


def find_difference(
    module: str, failed: Sequence[RecordedStep], others: Sequence[tuple[Sequence[RecordedStep], bool]]
) -> Difference | None:
    """Where the prompts are equal byte for byte and the replies differ; None when there is no such place.

    `others` are runs with the module replaced, and whether they succeeded: of one that did not, only what was given
    counts. The first of them that replied to a prompt counts.
    """
    better: dict[str, Completion] = {}
    for steps, succeeded in others:
        for step in _completions_of(module, steps):
            if succeeded or step.result.finish_reason == FinishReason.GIVEN:
                better.setdefault(step.prompt, step.result)
    earlier: list[str] = []
    asked = list(_completions_of(module, failed))
    for step in asked:
        other = better.get(step.prompt)
        if other and _parse(module, other.text) != _parse(module, step.result.text):
            by = "gold" if other.finish_reason == FinishReason.GIVEN else "sample"
            return Difference(step.prompt, other.text, step.result.text, tuple(earlier), asked[0].prompt, by)
        earlier.append(step.result.text)
    return None


def preference_row(
    episode: StoredEpisode, module: str, found: Difference, blamed: str, jobs: Sequence[str]
) -> dict[str, Any]:
    """A preference pair with its lineage."""
    pair = {"prompt": found.prompt, "chosen": found.chosen, "rejected": found.rejected, "chosen_by": found.by}
    return pair | _lineage(episode, module, blamed, jobs)


def label_row(
    episode: StoredEpisode, module: str, found: Difference, blamed: str, jobs: Sequence[str]
) -> dict[str, Any]:
    """Stepwise labels of the module at fault: its replies are right up to the one that differs."""
    labelled = {
        "prompt": found.first_prompt,
        "completions": [*found.earlier, found.rejected],
        "labels": [True] * len(found.earlier) + [False],
    }
    return labelled | _lineage(episode, module, blamed, jobs)


def _lineage(episode: StoredEpisode, module: str, blamed: str, jobs: Sequence[str]) -> dict[str, Any]:
    return {
        "module": module,
        "fault": blamed,
        "id": f"{episode.task.benchmark}/{source_row(episode.task)}",
        "episode": episode.name,
        "jobs": list(jobs),
        "split": episode.split,
        "licence": episode.licence,
    }


def _completions_of(module: str, steps: Sequence[RecordedStep]) -> Iterator[Any]:
    return (step for step in steps if step.role == module and isinstance(step.result, Completion))


def _parse(module: str, reply: str) -> Any:
    """The content of a reply: two with the same content do not differ."""
    if module == "grounder":
        return _actions(reply)
    return says_stop(reply) or [bare(subgoal.text) for subgoal in read_plan(reply.strip().removeprefix(KEEP_PLANNING))]


def _actions(reply: str) -> str:
    return write_actions(read_actions(reply))
