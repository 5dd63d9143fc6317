"""Find the module that made an episode fail: the gold solution replaces each module from the first wrong step on.

The first subgoals, as long as they match the gold steps, are not changed. After them, two runs differ:

- *gold planner*: the run has the gold subgoals, and the model grounds them;
- *gold grounder*: the run has the episode's next subgoal with the gold actions. Then the model plans, and its subgoals
  get the gold actions until a subgoal has other words than the gold subgoal, because there are no gold actions for it.
  If already the episode's next subgoal has other words, the run repeats the whole episode and fails like it.

The planner is at fault if only the run with the gold planner succeeds, the grounder if only the run with the gold
grounder succeeds, *both* if no run succeeds, and *neither* if both runs succeed. If a prompt is the same, a run repeats
the reply of the episode. So the fault is in the episode's replies, not in what the models would reply now. The method
has two limits. A right subgoal that the grounder did not understand counts as the planner's fault unless its words are
those of the gold plan. A one-pass plan is replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lumos_queue.benchmarks.registry import open_benchmark_of_episode
from lumos_queue.builds.stages import Stage, matches_gold_step, replies_of, stages_of
from lumos_queue.execution.prefill import bare, same_subgoal, source_row
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.notation import KEEP_PLANNING, read_actions, read_plan, says_stop, write_actions
from lumos_queue.prompts.gold_replies import GoldSolution
from lumos_queue.records import MODULES, Annotation, Completion, FinishReason, Role
from lumos_queue.rollouts.derivation import (
    Derivation,
    ExcludedEpisode,
    formulation_of,
    gold_of,
    is_right,
    require_ended,
)

if TYPE_CHECKING:
    from db.journal.step_records import RecordedStep
    from db.queries.trajectories import StoredEpisode

FAULTS = (Role.PLANNER, Role.GROUNDER, "both", "neither", "not finished")


def replacements(episode: StoredEpisode) -> Mapping[str, Sequence[Derivation]]:
    """Derive from an episode, by module, a run with a gold planner and a run with a gold grounder.

    Raises ExcludedEpisode if the failure of the episode cannot be blamed on a module.
    """
    require_ended(episode)
    benchmark = open_benchmark_of_episode(episode)
    if is_right(benchmark, episode):
        raise ExcludedEpisode("its answer is right")
    if not any(step.role == Role.PLANNER for step in episode.steps):
        raise ExcludedEpisode("it has no planner")
    gold, formulation = gold_of(benchmark, episode.task), FORMULATIONS.load(formulation_of(episode))
    if formulation.write_gold is None or not formulation.is_modular:
        raise ExcludedEpisode("no gold solution replaces its modules")
    replies = formulation.write_gold(GoldSolution(gold, benchmark.domain))
    parts = _at_once(episode, replies) if formulation.whole_plans else _stepwise(episode, gold, replies)
    return {module: [Derivation(f"gold-{module}", *parts[module], {"gold": module})] for module in MODULES}


#: Replies by role, the number of the episode's subgoals that are unchanged, and the subgoals that get gold actions.
Parts = tuple[Mapping[str, Sequence[str]], int, Sequence[str] | None]


def _stepwise(episode: StoredEpisode, gold: Annotation, replies: Mapping[str, list[str]]) -> Mapping[str, Parts]:
    stages, own_plans = stages_of(episode.steps), replies_of(episode.steps, Role.PLANNER)
    match_count = 0
    while match_count < min(len(stages), len(gold.steps)) and matches_gold_step(
        stages[match_count], gold.steps[match_count]
    ):
        match_count += 1
    if match_count == len(stages) == len(gold.steps) and says_stop(own_plans[-1]):
        raise ExcludedEpisode("its steps match the gold solution's, but it fails")
    groundings = [stage.grounding for stage in stages]
    same = match_count < min(len(stages), len(gold.steps)) and _same_words(stages[match_count], gold, match_count)
    gold_plan_run: Mapping[str, Sequence[str]] = {
        Role.PLANNER: own_plans[:match_count] + replies[Role.PLANNER][match_count:],
        Role.GROUNDER: groundings[: match_count + same],
    }
    planner: Parts = (gold_plan_run, match_count, None)
    if not same:
        return {
            Role.PLANNER: planner,
            Role.GROUNDER: ({Role.PLANNER: own_plans, Role.GROUNDER: groundings}, match_count, None),
        }
    subgoals = [stage.subgoal.text for stage in stages[:match_count]] + [
        step.subgoal.text for step in gold.steps[match_count:]
    ]
    gold_action_run: Mapping[str, Sequence[str]] = {
        Role.PLANNER: own_plans[: match_count + 1],
        Role.GROUNDER: groundings[:match_count] + replies[Role.GROUNDER][match_count:],
    }
    return {Role.PLANNER: planner, Role.GROUNDER: (gold_action_run, match_count, subgoals)}


def _same_words(stage: Stage, gold: Annotation, index: int) -> bool:
    return same_subgoal(stage.subgoal.text, gold.steps[index].subgoal.text)


def _at_once(episode: StoredEpisode, replies: Mapping[str, list[str]]) -> Mapping[str, Parts]:
    own_plans, own_groundings = replies_of(episode.steps, Role.PLANNER), replies_of(episode.steps, Role.GROUNDER)
    gold_plans, gold_groundings = replies[Role.PLANNER], replies[Role.GROUNDER]
    same = _parse(Role.PLANNER, own_plans[0]) == _parse(Role.PLANNER, gold_plans[0])
    if same and list(map(_actions, own_groundings)) == list(map(_actions, gold_groundings)):
        raise ExcludedEpisode("its steps match the gold solution's, but it fails")
    return {
        Role.PLANNER: ({Role.PLANNER: gold_plans, Role.GROUNDER: own_groundings if same else []}, 0, None),
        Role.GROUNDER: ({Role.PLANNER: own_plans, Role.GROUNDER: gold_groundings if same else own_groundings}, 0, None),
    }


def fault(gold_planner: bool | None, gold_grounder: bool | None) -> str:
    """Return which module is at fault. Arguments: whether the run with this gold module succeeded; None: not ended."""
    if gold_planner is None or gold_grounder is None:
        return "not finished"
    if gold_planner == gold_grounder:
        return "neither" if gold_planner else "both"
    return Role.PLANNER if gold_planner else Role.GROUNDER


@dataclass(frozen=True, slots=True)
class Difference:
    """The first reply of a module in a failed episode that differs from a right reply to the same prompt."""

    prompt: str
    chosen: str
    rejected: str
    earlier: tuple[str, ...]  #: the module's earlier replies
    first_prompt: str
    by: str  #: 'gold' when the chosen reply is the gold solution's, 'sample' when a model made it


def find_difference(
    module: str, failed_steps: Sequence[RecordedStep], replacement_runs: Sequence[tuple[Sequence[RecordedStep], bool]]
) -> Difference | None:
    """Find the first prompt of the module that got another reply in a replacement run; None if there is none.

    `replacement_runs`: the steps of runs in which the module was replaced, and whether the run succeeded. Prompts must
    be equal byte for byte. In runs that did not succeed, only the gold replies count. Of several replies to a prompt,
    the first counts.
    """
    better: dict[str, Completion] = {}
    for steps, is_success in replacement_runs:
        for step in _completions_of(module, steps):
            if is_success or step.result.finish_reason == FinishReason.GIVEN:
                better.setdefault(step.prompt, step.result)
    earlier: list[str] = []
    module_steps = list(_completions_of(module, failed_steps))
    for step in module_steps:
        better_completion = better.get(step.prompt)
        if better_completion and _parse(module, better_completion.text) != _parse(module, step.result.text):
            by = "gold" if better_completion.finish_reason == FinishReason.GIVEN else "sample"
            return Difference(
                step.prompt, better_completion.text, step.result.text, tuple(earlier), module_steps[0].prompt, by
            )
        earlier.append(step.result.text)
    return None


def preference_row(
    episode: StoredEpisode, module: str, difference: Difference, fault_name: str, jobs: Sequence[str]
) -> dict[str, Any]:
    """Return a row with a preference pair, the right and the wrong reply to a prompt, and its lineage."""
    pair = {
        "prompt": difference.prompt,
        "chosen": difference.chosen,
        "rejected": difference.rejected,
        "chosen_by": difference.by,
    }
    return pair | _lineage(episode, module, fault_name, jobs)


def label_row(
    episode: StoredEpisode, module: str, difference: Difference, fault_name: str, jobs: Sequence[str]
) -> dict[str, Any]:
    """Return a row with labels of the replies of the module at fault: all before the different reply are right."""
    row = {
        "prompt": difference.first_prompt,
        "completions": [*difference.earlier, difference.rejected],
        "labels": [True] * len(difference.earlier) + [False],
    }
    return row | _lineage(episode, module, fault_name, jobs)


def _lineage(episode: StoredEpisode, module: str, fault_name: str, jobs: Sequence[str]) -> dict[str, Any]:
    return {
        "module": module,
        "fault": fault_name,
        "id": f"{episode.task.benchmark}/{source_row(episode.task)}",
        "episode": episode.name,
        "jobs": list(jobs),
        "split": episode.split,
        "licence": episode.licence,
    }


def _completions_of(module: str, steps: Sequence[RecordedStep]) -> Iterator[Any]:
    return (step for step in steps if step.role == module and isinstance(step.result, Completion))


def _parse(module: str, reply: str) -> Any:
    """Return the content of a reply, by which replies are compared."""
    if module == Role.GROUNDER:
        return _actions(reply)
    return says_stop(reply) or [bare(subgoal.text) for subgoal in read_plan(reply.strip().removeprefix(KEEP_PLANNING))]


def _actions(reply: str) -> str:
    return write_actions(read_actions(reply))
