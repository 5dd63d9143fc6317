"""The scores of an episode: was its plan feasible, how near is it to the gold plan, and did its values come out right.

The plan is what ran: the actions of the episode as a graph, those that failed or were left out after a failure, too.
An infeasible plan scores 0 in everything; a feasible one whose experts fail keeps its `feasible`, and the samples that
have no value score 0.
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
    """A metric that compares final values with what is wanted, sample by sample."""

    metric: str
    output: Kind  #: of the tasks that it judges
    compare: Callable[[Value, Value], float]  #: (value, what is wanted) → from 0 to 1
    wanted: str = "references"  #: where the task's gold has what is wanted: 'references' or 'captions'
    is_available: Callable[[], bool] = lambda: True  #: whether what it needs is there; else it is not run
    judges: str = ""  #: only the tasks that the paper judges by this metric, as it is named in their gold
    version: Callable[[], str] = lambda: "1"  #: of what compares: values of other versions are not comparable


def _has_weights(metric: str) -> Callable[[], bool]:
    return lambda: has_score_weights(metric)


def _name_weights(metric: str) -> Callable[[], str]:
    return lambda: name_score_weights(metric)


#: The paper's metrics, which need weights, and proxies of other names, which need none.
COMPARISONS: tuple[Comparison, ...] = (
    Comparison("ssim", Kind.IMAGE, lambda value, wanted: max(0.0, ssim(_data(value), _data(wanted)))),
    Comparison("chrf", Kind.TEXT, lambda value, wanted: chrf(str(value), str(wanted))),
    Comparison(
        VIT,
        Kind.IMAGE,
        lambda value, wanted: vit_score(_data(value), _data(wanted)),
        is_available=_has_weights(VIT),
        version=_name_weights(VIT),
        judges="vit",
    ),
    Comparison(
        BERT,
        Kind.TEXT,
        lambda value, wanted: bert_score(str(value), str(wanted)),
        is_available=_has_weights(BERT),
        version=_name_weights(BERT),
        judges="bert",
    ),
    Comparison(
        CLIP,
        Kind.IMAGE,
        lambda value, wanted: clip_score(_data(value), str(wanted)),
        wanted="captions",
        is_available=_has_weights(CLIP),
        version=_name_weights(CLIP),
        judges="clip",
    ),
)


@dataclass(frozen=True, slots=True)
class PlanRun:
    """What an episode did."""

    plan: Plan | None  #: None where what ran is not a plan
    problem: str  #: why it is not feasible; '' if it is
    items: Sequence[str | None]  #: the final value of each sample: a text or a sha256


def score_episode(
    task: Task, result: EpisodeResult, comparisons: Sequence[Comparison] = COMPARISONS
) -> Sequence[Score]:
    """A score for each metric that applies to the task."""
    ran = read_run(task, result)
    gold = read_wire(task.gold["plan"])
    found = [Score("feasible", float(not ran.problem), detail=ran.problem)]
    if references := task.gold["references"]:
        right = [] if ran.problem else _count_equal(ran.items, references)
        of = len(references)
        found.append(Score("recovery", sum(right) / of, detail=f"{sum(right)} of {of}", of=of))
    difference = name_difference(ran.plan, gold) if ran.plan else ""
    for name, agree in AGREEMENT.items():
        value = agree(ran.plan, gold) if ran.plan and not ran.problem else 0.0
        found.append(Score(name, value, detail=difference))
    return (*found, *_compare(task, ran, result, comparisons))


def read_run(task: Task, result: EpisodeResult) -> PlanRun:
    """The plan that ran, and what came out of it."""
    wanted = len(task.inputs["channels"][0]["values"])
    nothing: list[str | None] = [None] * wanted
    if result.ending == Ending.INFEASIBLE:
        return PlanRun(None, "the plan that was proposed is not feasible", nothing)
    if not result.seen:
        return PlanRun(None, "no expert ran", nothing)
    signature = read_signature(task.inputs)
    try:
        nodes = [read_node(action) for action, _ in result.seen]
        plan = read_graph(nodes, signature)
    except ValueError as error:
        return PlanRun(None, f"what ran is not a plan: {error}", nothing)
    problem = infeasible_because(plan, signature)
    if not problem and not _is_same_graph(nodes, plan, signature):
        problem = "what ran is not a plan: an expert was not given what the one before it made"
    return PlanRun(plan, problem, _final_items(result.seen[-1][1], wanted))


def _is_same_graph(nodes: Sequence[PlanNode], plan: Plan, signature: Signature) -> bool:
    """Whether these runs are those of the plan, whatever their variables are called."""
    meant = [node for level in ready_sets(plan, signature) for node in level]
    return Counter(_history(nodes)) == Counter(_history(meant))


def _history(nodes: Sequence[PlanNode]) -> list[str]:
    """How each value came about, in words: 'Colorization(Image Deblurring(image))'."""
    made: dict[str, str] = {}
    for node in nodes:
        made[node.variable] = f"{node.expert}({', '.join(made.get(one, one) for one in node.inputs)})"
    return list(made.values())


def _final_items(execution: Execution, wanted: int) -> Sequence[str | None]:
    """The value of each sample; None for those that have none."""
    values = execution.values[0] if execution.ok and execution.values else {}
    items = values.get("items")
    if not isinstance(items, list) or len(items) != wanted:
        return [None] * wanted
    return [one if isinstance(one, str) else None for one in items]


def _count_equal(items: Sequence[str | None], references: Sequence[str]) -> list[bool]:
    return [one is not None and one == wanted for one, wanted in zip(items, references, strict=True)]


def _compare(task: Task, ran: PlanRun, result: EpisodeResult, comparisons: Sequence[Comparison]) -> list[Score]:
    """The scores of values: a mean over the task's samples, where one without a value counts 0."""
    found = []
    for one in comparisons:
        wanted = task.gold[one.wanted]
        if not (_judges(one, task) and one.is_available()):
            continue
        if one.output is Kind.IMAGE and result.artifact is None and not ran.problem:
            continue  # whoever scores without the bytes of pictures
        values = [0.0] * len(wanted)
        if not ran.problem:
            for place, (item, expected) in enumerate(zip(ran.items, wanted, strict=True)):
                if item is not None:
                    value, aim = _load(item, one.output, result), _load_wanted(expected, one, result)
                    with contextlib.suppress(ValueError):  # a picture that cannot be decoded scores 0
                        values[place] = min(1.0, max(0.0, one.compare(value, aim)))  # rounding makes 1.0000002
        found.append(Score(one.metric, sum(values) / len(values), one.version(), of=len(values)))
    return found


def _data(value: Value) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _load_wanted(expected: str, comparison: Comparison, result: EpisodeResult) -> Value:
    kind = comparison.output if comparison.wanted == "references" else Kind.TEXT
    return _load(expected, kind, result)


def _load(item: str, kind: Kind, result: EpisodeResult) -> Value:
    if kind is Kind.TEXT:
        return item
    assert result.artifact is not None, "an evaluation can load artifacts"
    return result.artifact(item)


def metric_of_paper(task: Task) -> str:
    """The one metric that the paper judges a task by."""
    return next(one.metric for one in COMPARISONS if one.judges == task.gold["metric"])


def proxy_of(task: Task) -> str:
    """The metric without weights that a task is judged by; '' where nothing says what is right."""
    if not task.gold["references"]:
        return ""
    return next(one.metric for one in COMPARISONS if not one.judges and one.output == task.inputs["output"])


def is_judged_by(task: Task, metric: str) -> bool:
    """Whether a metric judges a task, where what it needs is there."""
    comparisons = [one for one in COMPARISONS if one.metric == metric]
    if metric == "recovery":
        return bool(task.gold["references"])
    return not comparisons or any(_judges(one, task) for one in comparisons)


def _judges(comparison: Comparison, task: Task) -> bool:
    fits = comparison.output == task.inputs["output"] and comparison.judges in ("", task.gold["metric"])
    return fits and bool(task.gold[comparison.wanted])


GROUPS: Mapping[str, Callable[[Task], str]] = MappingProxyType(
    {
        "category": lambda task: task.gold["category"],
        "difficulty": lambda task: str(task.gold["difficulty"]),
        "metric": metric_of_paper,
    }
)
OVERALLS: Mapping[str, Callable[[Task], str]] = MappingProxyType({"paper": metric_of_paper, "proxies": proxy_of})


def baseline_verdicts(tasks: Iterable[Task], rule: Callable[[str], Plan]) -> Mapping[str, Sequence[float]]:
    """Of the plans that a rule makes from descriptions: metric to a value for each task, none of which is retained."""
    values: dict[str, list[float]] = {name: [] for name in ("feasible", *AGREEMENT)}
    for task in tasks:
        plan, gold = rule(task.question), read_wire(task.gold["plan"])
        feasible = not infeasible_because(plan, read_signature(task.inputs))
        values["feasible"].append(float(feasible))
        for name, agree in AGREEMENT.items():
            values[name].append(agree(plan, gold) * feasible)
    return values
