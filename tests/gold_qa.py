"""Scripted agents for questions over paragraphs: a planner and grounder that know the gold plan, and a QA tool that
knows the answer to every question of it (or gives a wrong one). The dialogue, the actions and the scoring
are real.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lumos_queue.actions.qa.answer import MAX_ANSWER, YES_NO
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Endpoint, ModelCall
from lumos_queue.endpoints.replies import completion
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.base import VERSION
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.base import ItemResult, Work
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer, InferContext
from lumos_queue.notation import replace_variables, write_action
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import ASSISTANT
from lumos_queue.prompts.gold_replies import GoldSolution
from lumos_queue.rationales.questions.hops import Hop, annotation
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Action, Annotation, Completion, Task
from lumos_queue.scoring.answer_kinds import AnswerKind

WRONG = "Xyzzyx Quuxton"  #: has no word in common with any answer
_ASKED = re.compile(r"\n\nQuestion: (.*?)\n(?:Context: |\Z)", re.DOTALL)


class ScriptedRole:
    """An endpoint that knows which episode asks. `asked` keeps (row, prompt) of every call."""

    url = "scripted:"
    admission = None

    def __init__(self):
        self.asked: list[tuple[str, str]] = []

    async def generate(self, call: ModelCall) -> Completion:
        row = call.episode.split(" ", 1)[1].rpartition(" ")[0]
        self.asked.append((row, call.prompt))
        return completion(self.reply(row, call.prompt), call.sampling.stop, truncated=False)

    def reply(self, row: str, prompt: str) -> str:
        raise NotImplementedError

    async def identity(self) -> dict:
        return {"model": "scripted"}

    async def close(self) -> None:
        """Nothing is held."""


class GoldRole(ScriptedRole):
    """A planner or grounder: the replies of the gold plan, by turn."""

    def __init__(self, replies: Mapping[str, Sequence[str]]):
        super().__init__()
        self._replies = replies

    def reply(self, row: str, prompt: str) -> str:
        return self._replies[row][prompt.count(ASSISTANT) - 1]


class OracleQa(ScriptedRole):
    """The QA tool that knows the gold plan. It answers each question of the plan, with gold answers for references, and
    the task's own question. Any other question gets `No answer`, and is in `unknown` with its row.
    """

    def __init__(self, plans: Iterable[tuple[Task, Annotation]]):
        super().__init__()
        self._answers = {task.row: {task.question.strip(): plan.answer, **questions(plan)} for task, plan in plans}
        self._tasks = {task.row: (task.question.strip(), plan.answer) for task, plan in plans}
        self.unknown: list[tuple[str, str]] = []

    def reply(self, row: str, prompt: str) -> str:
        question = find_question(prompt)
        answer = self.final(*self._tasks[row]) if question == self._tasks[row][0] else self._answers[row].get(question)
        if not answer:
            self.unknown.append((row, question))
        return f"Answer: {answer}" if answer else "No answer"

    def final(self, question: str, answer: str) -> str:
        """Return the answer to the task's own question."""
        return answer


class WrongQa(OracleQa):
    """Knows every step, but answers the task wrongly: yes for no, no for yes, otherwise a name that is in no row."""

    def __init__(self, plans: Iterable[tuple[Task, Annotation]], negate: bool):
        super().__init__(plans)
        self._negate = negate

    def final(self, question: str, answer: str) -> str:
        return {"Yes": "No", "No": "Yes"}[answer] if self._negate else WRONG


def find_question(prompt: str) -> str:
    """Return the question of the QA tool's prompt, without the request for yes or no."""
    match = _ASKED.search(prompt)
    assert match, prompt
    return match[1].removesuffix(YES_NO).strip()


def questions(plan: Annotation) -> dict[str, str]:
    """Each question that the plan's QA actions ask, with earlier answers as parts of the sentence, and its answer."""
    values: dict[str, str] = {}
    answers = {}
    for step in plan.steps:
        for action, result in zip(step.actions, step.results, strict=True):
            if action.name == "QA":
                question = action.arguments.partition("Question: ")[2]
                answers[" ".join(replace_variables(question, lambda name: values[name]).split())] = result
            values[action.variables[0]] = result[:MAX_ANSWER].rstrip().rstrip(".")
    return answers


def facts_plan(task: Task) -> Annotation:
    """StrategyQA's decomposition, step by step over the row's facts; operations need no page.

    BIG-bench's rows have none: there the question itself is the only step. The rows state no answers of steps, so the
    oracle's are made up; the last is the task's. Raises NotConvertible.
    """
    decomposition, gold = task.gold["questions"] or [" ".join(task.question.split())], task.gold["answer"]
    title = task.inputs["paragraphs"][0]["title"]
    hops = []
    for number, question in enumerate(decomposition, start=1):
        marks = [annotator[number - 1]["operation"] for annotator in task.gold["evidence"]]
        titles = () if number > 1 and 2 * sum(marks) > len(marks) else (title,)
        answer = gold if number == len(decomposition) else f"finding {number}"
        hops.append(Hop(question, answer, titles, titles))
    return _of_page(annotation(hops, gold), title)


def _of_page(plan: Annotation, title: str) -> Annotation:
    """Return the plan with every page requested by this title, because the questions of some steps do not match it."""

    def ask_by_title(action: Action) -> Action:
        title_action = Action(
            action.variables, action.name, title if action.name == "KnowledgeQuery" else action.arguments
        )
        return replace(title_action, raw=write_action(title_action))

    steps = [replace(step, actions=tuple(map(ask_by_title, step.actions))) for step in plan.steps]
    return replace(plan, steps=tuple(steps))


def pages_plan(task: Task) -> Annotation:
    """HotpotQA's supporting pages, one after the other, and the task's question over what they say.

    By rule only some rows have a plan, one that says what it seeks: here every row with pages has one. Raises
    NotConvertible.
    """
    if not task.gold["pages"]:
        raise NotConvertible("no_support")
    hops = [
        Hop(f"What does the page {page['title']} say?", " ".join(page["sentences"]), [page["title"]], [page["title"]])
        for page in task.gold["pages"]
    ]
    return annotation([*hops, Hop(" ".join(task.question.split()), task.gold["answer"])], task.gold["answer"])


@dataclass(frozen=True)
class Trial:
    """The scores of the agents: the values of each metric, in the order of the tasks; and why tasks have no plan."""

    n: int
    means: Mapping[str, float]
    endings: Mapping[str, int]
    exceptions: Mapping[str, int]
    wrong: Sequence[tuple[str, str | None]]  #: (row, answer) of each that is not 1 by the main metric
    unknown: Sequence[tuple[str, str]]  #: (row, question) that the QA tool was asked and is not of the plan


def plans_of(benchmark: Benchmark, tasks: Iterable[Task]) -> tuple[list[tuple[Task, Annotation]], Counter[str]]:
    """Return the gold plan of each task that has one, and the number of tasks without, by reason."""
    make = {"strategyqa": facts_plan, "hotpotqa": pages_plan}.get(benchmark.name, benchmark.gold)
    plans, exceptions = [], Counter()
    for task in tasks:
        try:
            plans.append((task, make(task)))
        except NotConvertible as error:
            exceptions[error.reason] += 1
    return plans, exceptions


def try_out(
    benchmark: Benchmark,
    plans: Sequence[tuple[Task, Annotation]],
    qa: Endpoint,
    formulation: str = "iterative",
    answer_by: str = "",
    judge: Endpoint | None = None,
    agents: dict[str, Endpoint] | None = None,
    max_subgoals: int = 20,
    at_limit: str = "",
    version: int = VERSION,
) -> list[ItemResult]:
    """Evaluate the gold planner and grounder with this QA tool on every task, as a job does.

    `agents` is filled with the endpoints by role.
    """
    write_gold = FORMULATIONS.load(formulation).write_gold
    assert write_gold is not None
    replies = {task.row: write_gold(GoldSolution(plan, benchmark.domain)) for task, plan in plans}
    endpoints: dict[str, Endpoint] = {
        role: GoldRole({row: row_replies[role] for row, row_replies in replies.items()})
        for role in ("planner", "grounder")
    }
    endpoints |= {"qa": qa} | ({"judge": judge} if judge else {})
    if agents is not None:
        agents |= endpoints
    agent = Agent(
        dict.fromkeys(endpoints, "scripted:"),
        benchmark.domain,
        max_subgoals=max_subgoals,
        answer_by=answer_by or ("yes/no" if benchmark.answers == AnswerKind.YES_NO else "qa"),
        at_limit=at_limit,
    )
    job = Evaluate(Infer(benchmark.name, "rows", "test", formulation, agent, formulation_version=version))

    async def run() -> list[ItemResult]:
        actions = DOMAINS.load(benchmark.domain).open_actions()
        context = InferContext(Executor(endpoints, actions, agent.sampling, 0), (), {})
        try:
            return [await job.run(Work(0, 0, task), MemoryJournal(), context) for task, _ in plans]
        finally:
            await actions.close()

    return asyncio.run(run())


def trial(benchmark: Benchmark, tasks: Iterable[Task], wrong: bool = False, **how) -> Trial:
    """Try the gold agent, or the wrong one, on all tasks that have a plan."""
    plans, exceptions = plans_of(benchmark, tasks)
    qa = WrongQa(plans, benchmark.answers == AnswerKind.YES_NO) if wrong else OracleQa(plans)
    results = try_out(benchmark, plans, qa, **how)
    values = {metric: [] for metric in benchmark.metrics}
    for result in results:
        for score in result.scores:
            values[score.metric].append(score.value)
    outcomes = [result.outcome for result in results if result.outcome]
    failed_rows = [
        (task.row, outcome.answer or outcome.message)
        for (task, _), outcome, value in zip(plans, outcomes, values[benchmark.metrics[0]], strict=True)
        if value < 1
    ]
    means = {metric: sum(scores) / len(scores) for metric, scores in values.items() if scores}
    return Trial(
        len(plans), means, Counter(outcome.ending for outcome in outcomes), exceptions, failed_rows, qa.unknown
    )
