"""Score an episode: is its plan feasible, how near is the plan to the gold plan, and how right are the final values?

The plan is the graph of the episode's actions. It includes actions that failed, or were skipped after a failure. An
infeasible plan has 0 in every score. If experts of a feasible plan fail, `feasible` stays 1, and each sample without a
final value scores 0. The setting `feasibility` of the job says which plans are feasible.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.openagi.agreement import is_exact, name_difference, order, overlap
from lumos_queue.experts.base import Kind
from lumos_queue.experts.feasibility import infeasible_because
from lumos_queue.experts.graph import PlanNode, read_graph, read_signature, ready_sets
from lumos_queue.experts.plans import Plan, Signature, read_wire
from lumos_queue.experts.released_feasibility import RELEASED
from lumos_queue.experts.runs import read_node
from lumos_queue.records import Ending, Execution, Score, Task
from lumos_queue.scoring.media.chrf import chrf
from lumos_queue.scoring.media.paper import (
    BERT,
    CLIP,
    VIT,
    bert_score,
    clip_score,
    has_score_weights,
    name_score_weights,
    vit_score,
)
from lumos_queue.scoring.media.pixels import ssim

Value = bytes | str  #: a picture's bytes, or a text
AGREEMENT = {"plan_exact": is_exact, "plan_set": overlap, "plan_order": order}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A metric that compares final values with targets, sample by sample."""

    metric: str
    output: Kind  #: the output of the tasks that it judges
    compare: Callable[[Value, Value], float]  #: (value, target) → from 0 to 1
    source: str = "references"  #: the key of the targets in the task's gold: 'references' or 'captions'
    is_available: Callable[[], bool] = lambda: True  #: whether its weights are installed; if not, it is not run
    judges: str = ""  #: the paper's metric, as gold names it: only tasks that the paper judges by it; '': all tasks
    version: Callable[[], str] = lambda: "1"  #: version of the comparison: scores of two versions are not comparable


def _has_weights(metric: str) -> Callable[[], bool]:
    return lambda: has_score_weights(metric)


def _name_weights(metric: str) -> Callable[[], str]:
    return lambda: name_score_weights(metric)


#: The paper's metrics, which need weights, and proxies with other names, which need none.
COMPARISONS: tuple[Comparison, ...] = (
    Comparison("ssim", Kind.IMAGE, lambda value, target: max(0.0, ssim(_data(value), _data(target)))),
    Comparison("chrf", Kind.TEXT, lambda value, target: chrf(str(value), str(target))),
    Comparison(
        VIT,
        Kind.IMAGE,
        lambda value, target: vit_score(_data(value), _data(target)),
        is_available=_has_weights(VIT),
        version=_name_weights(VIT),
        judges="vit",
    ),
    Comparison(
        BERT,
        Kind.TEXT,
        lambda value, target: bert_score(str(value), str(target)),
        is_available=_has_weights(BERT),
        version=_name_weights(BERT),
        judges="bert",
    ),
    Comparison(
        CLIP,
        Kind.IMAGE,
        lambda value, target: clip_score(_data(value), str(target)),
        source="captions",
        is_available=_has_weights(CLIP),
        version=_name_weights(CLIP),
        judges="clip",
    ),
)


@dataclass(frozen=True, slots=True)
class PlanRun:
    """The plan that an episode ran, and its final values."""

    plan: Plan | None  #: None if the actions are not a plan
    problem: str  #: the reason why the plan is not feasible; '' if it is feasible
    items: Sequence[str | None]  #: the final value of each sample: a text or a sha256


def score_episode(
    task: Task, result: EpisodeResult, comparisons: Sequence[Comparison] = COMPARISONS
) -> Sequence[Score]:
    """Return a score for each metric that applies to the task."""
    run = read_run(task, result)
    gold = read_wire(task.gold["plan"])
    scores = [Score("feasible", float(not run.problem), detail=run.problem)]
    if references := task.gold["references"]:
        right = [] if run.problem else _count_equal(run.items, references)
        of = len(references)
        scores.append(Score("recovery", sum(right) / of, detail=f"{sum(right)} of {of}", of=of))
    difference = name_difference(run.plan, gold) if run.plan else ""
    for name, agree in AGREEMENT.items():
        value = agree(run.plan, gold) if run.plan and not run.problem else 0.0
        scores.append(Score(name, value, detail=difference))
    return (*scores, *_compare(task, run, result, comparisons))


def read_run(task: Task, result: EpisodeResult) -> PlanRun:
    """Return the plan that an episode ran, its problem if it is not feasible, and its final values."""
    sample_count = len(task.inputs["channels"][0]["values"])
    no_items: list[str | None] = [None] * sample_count
    if result.ending == Ending.INFEASIBLE:
        return PlanRun(None, "the plan that was proposed is not feasible", no_items)
    is_released = result.settings.get("feasibility") == RELEASED
    if not result.seen:
        is_feasible = is_released and result.ending == Ending.ACTION_ERROR
        return PlanRun(None, "" if is_feasible else "no expert ran", no_items)
    signature = read_signature(task.inputs)
    try:
        nodes = [read_node(action) for action, _ in result.seen]
        plan = read_graph(nodes, signature)
    except ValueError as error:
        return PlanRun(None, f"what ran is not a plan: {error}", no_items)
    problem = infeasible_because(plan, signature, strict=not is_released)
    if not problem and not _is_same_graph(nodes, plan, signature):
        problem = "what ran is not a plan: an expert was not given what the one before it made"
    return PlanRun(plan, problem, _final_items(result.seen[-1][1], sample_count))


def _is_same_graph(nodes: Sequence[PlanNode], plan: Plan, signature: Signature) -> bool:
    """Return whether the nodes compute the same values as the plan, whatever their variables are called."""
    plan_nodes = [node for level in ready_sets(plan, signature) for node in level]
    return Counter(_history(nodes)) == Counter(_history(plan_nodes))


def _history(nodes: Sequence[PlanNode]) -> list[str]:
    """Return each value as the expression that computes it: 'Colorization(Image Deblurring(image))'."""
    expressions: dict[str, str] = {}
    for node in nodes:
        expressions[node.variable] = (
            f"{node.expert}({', '.join(expressions.get(variable, variable) for variable in node.inputs)})"
        )
    return list(expressions.values())


def _final_items(execution: Execution, sample_count: int) -> Sequence[str | None]:
    """Return the final value of each sample; None for samples without one."""
    values = execution.values[0] if execution.ok and execution.values else {}
    items = values.get("items")
    if not isinstance(items, list) or len(items) != sample_count:
        return [None] * sample_count
    return [output if isinstance(output, str) else None for output in items]


def _count_equal(items: Sequence[str | None], references: Sequence[str]) -> list[bool]:
    return [output is not None and output == reference for output, reference in zip(items, references, strict=True)]


def _compare(task: Task, run: PlanRun, result: EpisodeResult, comparisons: Sequence[Comparison]) -> list[Score]:
    """Return the scores of the final values, as means over the task's samples. A sample without a value counts 0."""
    scores = []
    for comparison in comparisons:
        targets = task.gold[comparison.source]
        if not (_judges(comparison, task) and comparison.is_available()):
            continue
        if comparison.output is Kind.IMAGE and result.artifact is None and not run.problem:
            continue  # the caller scores without the bytes of pictures
        values = [0.0] * len(targets)
        if not run.problem:
            for index, (item, target) in enumerate(zip(run.items, targets, strict=True)):
                if item is not None:
                    value, aim = _load(item, comparison.output, result), _load_wanted(target, comparison, result)
                    with contextlib.suppress(ValueError):  # a picture that cannot be decoded scores 0
                        values[index] = min(1.0, max(0.0, comparison.compare(value, aim)))  # rounding makes 1.0000002
        scores.append(Score(comparison.metric, sum(values) / len(values), comparison.version(), of=len(values)))
    return scores


def _data(value: Value) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _load_wanted(target: str, comparison: Comparison, result: EpisodeResult) -> Value:
    kind = comparison.output if comparison.source == "references" else Kind.TEXT
    return _load(target, kind, result)


def _load(item: str, kind: Kind, result: EpisodeResult) -> Value:
    if kind is Kind.TEXT:
        return item
    assert result.artifact is not None, "an evaluation can load artifacts"
    return result.artifact(item)


def metric_of_paper(task: Task) -> str:
    """Return the metric by which the paper judges a task."""
    return next(comparison.metric for comparison in COMPARISONS if comparison.judges == task.gold["metric"])


def proxy_of(task: Task) -> str:
    """Return the metric that judges a task and needs no model weights; '' if the task has no references."""
    if not task.gold["references"]:
        return ""
    return next(
        comparison.metric
        for comparison in COMPARISONS
        if not comparison.judges and comparison.output == task.inputs["output"]
    )


def is_judged_by(task: Task, metric: str) -> bool:
    """Return whether a metric applies to a task, whether or not the metric's weights are installed."""
    comparisons = [comparison for comparison in COMPARISONS if comparison.metric == metric]
    if metric == "recovery":
        return bool(task.gold["references"])
    return not comparisons or any(_judges(comparison, task) for comparison in comparisons)


def _judges(comparison: Comparison, task: Task) -> bool:
    fits = comparison.output == task.inputs["output"] and comparison.judges in ("", task.gold["metric"])
    return fits and bool(task.gold[comparison.source])


GROUPS: Mapping[str, Callable[[Task], str]] = MappingProxyType(
    {
        "category": lambda task: task.gold["category"],
        "difficulty": lambda task: str(task.gold["difficulty"]),
        "metric": metric_of_paper,
    }
)
OVERALLS: Mapping[str, Callable[[Task], str]] = MappingProxyType({"paper": metric_of_paper, "proxies": proxy_of})


def baseline_verdicts(tasks: Iterable[Task], rule: Callable[[str], Plan]) -> Mapping[str, Sequence[float]]:
    """Return metric to a score for each task, for the plans that a rule makes from the tasks' descriptions.

    `tasks` is read once; no task is kept in memory.
    """
    values: dict[str, list[float]] = {name: [] for name in ("feasible", *AGREEMENT)}
    for task in tasks:
        plan, gold = rule(task.question), read_wire(task.gold["plan"])
        feasible = not infeasible_because(plan, read_signature(task.inputs))
        values["feasible"].append(float(feasible))
        for name, agree in AGREEMENT.items():
            values[name].append(agree(plan, gold) * feasible)
    return values
