"""LUMOS-O on questions: what its last action is asked (spec/lumos.md 5.2), and how jobs of version 1 go on."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lumos_queue.actions.qa.answer import CLOSED_BOOK, FORCED_YES_NO, WITH_CONTEXT, YES_NO
from lumos_queue.actions.qa.interface import QaActions, QaSession
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import Ask, Call, Do, Final, digest
from lumos_queue.episode import StepContext
from lumos_queue.formulations.base import VERSION
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Annotation, Completion, Execution, Subgoal, Task
from tests.gold_qa import OracleQa, ScriptedRole, plans_of, try_out
from tests.unit.test_benchmarks_qa_gold import step
from tests.unit.test_benchmarks_qa_gold import task as hotpot

FIRST = step(1, ("R1", "QA", "[], Question: How high is Mount Ann?", "2,500 metres"))
SECOND = step(2, ("R2", "QA", "[R1], Question: Is R1 more than a mile?", "yes"))


class Says(ScriptedRole):
    """A QA tool that replies in this order, and then gives no answer."""

    def __init__(self, *replies: str):
        super().__init__()
        self._replies = list(replies)

    def reply(self, row: str, prompt: str) -> str:
        return self._replies.pop(0) if self._replies else "No answer"


def strategy(question: str = "Could a mountaineer climb Mount Ann in slippers?") -> Task:
    paragraphs = [{"title": "Mount Ann", "text": "Mount Ann is 2,500 metres high."}]
    gold = {"answer": "Yes", "facts": [], "questions": [], "evidence": []}
    return Task("strategyqa", "rows", "1", question, {"paragraphs": paragraphs}, gold)


def run(task: Task, steps, *replies: str, version: int = VERSION, answer_by: str = ""):
    """The outcome, and the prompts that the QA tool got."""
    qa = Says(*replies)
    (result,) = try_out(
        open_benchmark(task.benchmark),
        [(task, Annotation(tuple(steps), "x"))],
        qa,
        "one-pass",
        answer_by,
        version=version,
    )
    return result.outcome, [prompt for _, prompt in qa.asked]


def with_context(question: str, context: str) -> str:
    return WITH_CONTEXT.format(question=question, context=context)


# --- HotpotQA ---------------------------------------------------------------------------------------------------------

BORN = [
    step(1, ("R1", "QA", "[], Question: Who founded Acme?", "Ann Berg")),
    step(2, ("R2", "QA", "[R1], Question: Where was R1 born?", "Oslo")),
]
ANN = "Question: Who founded Acme?; Answer: Ann Berg"


def test_the_last_qa_is_asked_the_question_of_the_task_and_nobody_is_asked_after_it():
    task = hotpot("1")
    outcome, asked = run(task, BORN, "Answer: Ann Berg", "Answer: Oslo")
    assert asked == [CLOSED_BOOK.format(question="Who founded Acme?"), with_context(task.question, ANN)]
    assert outcome and (outcome.ending, outcome.answer) == ("answered", "Oslo")


def test_it_is_asked_its_own_question_after_no_answer_to_that_of_the_task():
    task = hotpot("1")
    outcome, asked = run(task, BORN, "Answer: Ann Berg", "No answer", "No answer.", "Answer: Oslo")
    assert asked[1:] == [
        with_context(task.question, ANN),
        CLOSED_BOOK.format(question=task.question),
        with_context("Where was Ann Berg born?", ANN),
    ]
    assert outcome and outcome.answer == "Oslo"
    outcome, asked = run(task, BORN, "Answer: Ann Berg")
    assert asked[-1] == CLOSED_BOOK.format(question="Where was Ann Berg born?") and len(asked) == 5
    assert outcome and (outcome.ending, outcome.answer) == ("answered", "No answer")


def test_the_only_action_is_the_last_one_and_so_is_an_output():
    task = hotpot("1", "Where was R1 built?")  # what looks like a variable stays as it is
    for variable in ("R1", "Output"):
        only = [step(1, (variable, "QA", "[], Question: What is R1?", "x"))]
        outcome, asked = run(task, only, "Answer: Linz")
        assert asked == [CLOSED_BOOK.format(question=task.question)]
        assert outcome and outcome.answer == "Linz"


def test_a_last_action_that_is_no_qa_gives_its_value():
    steps = [*BORN, step(3, ("R3", "Calculator", "2 + 3", "5"))]
    outcome, asked = run(hotpot("1"), steps, "Answer: Ann Berg", "Answer: Oslo")
    assert outcome and outcome.answer == "5"
    assert asked[-1] == with_context("Where was Ann Berg born?", ANN) and len(asked) == 2


def test_where_the_answer_is_the_last_value_every_action_keeps_its_question():
    outcome, asked = run(hotpot("1"), BORN, "Answer: Ann Berg", "Answer: Oslo", answer_by="last")
    assert asked[-1] == with_context("Where was Ann Berg born?", ANN) and len(asked) == 2
    assert outcome and outcome.answer == "Oslo"


# --- StrategyQA -------------------------------------------------------------------------------------------------------


def test_the_last_qa_keeps_its_question_and_must_answer_yes_or_no():
    high = "Question: How high is Mount Ann?; Answer: 2,500 metres"
    own = f"Is 2,500 metres more than a mile? {YES_NO}"
    outcome, asked = run(strategy(), [FIRST, SECOND], "Answer: 2,500 metres", "Answer: yes")
    assert asked == [CLOSED_BOOK.format(question="How high is Mount Ann?"), with_context(own, high)]
    assert outcome and outcome.answer == "yes"
    outcome, asked = run(strategy(), [FIRST, SECOND], "Answer: 2,500 metres", "No answer", "Answer: no")
    assert asked[1:] == [with_context(own, high), FORCED_YES_NO.format(question=own)]
    assert outcome and outcome.answer == "no"
    outcome, asked = run(strategy(), [FIRST, SECOND], "Answer: 2,500 metres")
    assert len(asked) == 3 and outcome and outcome.answer == "No answer"


def test_the_only_action_must_answer_yes_or_no_too():
    only = [step(1, ("R1", "QA", "[], Question: Is the sea wet?", "yes"))]
    outcome, asked = run(strategy(), only, "Answer: yes")
    assert asked == [FORCED_YES_NO.format(question=f"Is the sea wet? {YES_NO}")]
    assert outcome and outcome.answer == "yes"


@pytest.mark.parametrize(
    ("formula", "context"),
    [
        ("R1 > 1600 metres", "R1 > 1600 metres = yes\nR1: 2,500 metres"),
        ("R1 is high", "R1 is high\nR1: 2,500 metres"),  # not to be reckoned
        ("R1 / 2", "R1 / 2 = 1250 metres\nR1: 2,500 metres"),  # no answer yet
    ],
)
def test_a_calculator_asks_the_question_of_the_last_subgoal(formula, context):
    last = step(2, ("R2", "Calculator", formula, "yes"))
    steps = [FIRST, replace(last, subgoal=Subgoal(2, "Subgoal 2: Is that high?"))]
    outcome, asked = run(strategy(), steps, "Answer: 2,500 metres", "Answer: yes")
    assert asked[1:] == [with_context(f"Is that high? {YES_NO}", context)]
    assert outcome and (outcome.ending, outcome.answer) == ("answered", "yes")
    outcome, asked = run(strategy(), steps[1:], "Answer: no")
    assert outcome and outcome.ending == "action_error" and not asked  # R1 is not set


def test_a_calculator_of_a_plan_without_subgoals_gives_what_it_reckons():
    place = StepContext(0, 0, {}, (), None, Final("yes/no", ""))
    session = QaSession(QaActions({}), strategy())
    done = asyncio.run(session.execute(Action(("R1",), "Calculator", "2 > 1"), place))
    assert done.ok and done.result == "yes"


@pytest.mark.parametrize(
    ("answer_by", "searched"), [("qa", ["Who is it? Wikipedia"]), ("yes/no", [])]
)  # the original searches for HotpotQA's own question, and for none of StrategyQA's
def test_what_is_searched_for_when_nobody_knows_the_answer(answer_by, searched):
    commands = []

    async def step(command, position, branch):
        commands.append(command)
        return Completion("No answer", "stop") if isinstance(command, Ask) else Execution("no_pages")

    session = QaSession(QaActions({"knowledge": "live"}), hotpot("1"))
    action = Action(("R1",), "QA", "[], Question: Who is it?")
    done = asyncio.run(session.execute(action, StepContext(0, 0, {}, (), step, Final(answer_by))))
    assert done.result == "No answer"
    assert [one.arguments["query"] for one in commands if isinstance(one, Call)] == searched


def test_gold_plans_ask_as_many_questions_as_they_have_qa_actions(shared_data):
    for file in ("hotpotqa/hotpot_dev_distractor_sample.json", "strategyqa/bigbench_task.json"):
        benchmark = open_benchmark(file.split("/")[0])
        tasks = [task for task in benchmark.read(shared_data / file, "test") if isinstance(task, Task)]
        plans = plans_of(benchmark, tasks)[0][:60]
        actions = sum(action.name == "QA" for _, plan in plans for one in plan.steps for action in one.actions)
        for version, calls in [(1, actions + len(plans)), (2, actions)]:
            qa = OracleQa(plans)
            results = try_out(benchmark, plans, qa, "one-pass", version=version)
            assert sum(result.scores[0].value for result in results) == len(plans) == 60
            assert len(qa.asked) == calls and qa.unknown == []


# --- versions ---------------------------------------------------------------------------------------------------------


def test_version_1_asks_once_more_as_it_did():
    task = hotpot("1")
    outcome, asked = run(task, BORN, "Answer: Ann Berg", "Answer: Bergen", "Answer: Oslo", version=1)
    born = "Question: Where was Ann Berg born?; Answer: Bergen"
    assert asked[1:] == [with_context("Where was Ann Berg born?", ANN), with_context(task.question, f"{ANN}; {born}")]
    assert outcome and outcome.answer == "Oslo"


def test_the_version_is_in_what_a_job_is_made_of_and_one_without_it_is_of_version_1():
    new = Infer("hotpotqa", "rows", "dev", "one-pass", Agent({}, "complex_qa"))
    assert new.as_json()["formulation_version"] == VERSION == 4 and Infer.from_json(new.as_json()) == new
    before = {name: value for name, value in new.as_json().items() if name != "formulation_version"}
    assert Infer.from_json(before) == replace(new, formulation_version=1) != new


def test_other_formulations_are_the_same_in_both_versions():
    caption = FORMULATIONS.load("caption")
    assert caption.at_version(1) is caption.at_version(2)


def test_what_is_recorded_tells_a_last_action_from_another():
    action = Action(("R1",), "QA", "[], Question: Who?")
    plain = Do(action).digest
    assert plain == digest("do", "R1", "QA", "[], Question: Who?"), "as recorded by the code before"
    finals = [Final("qa", ""), Final("yes/no", ""), Final("yes/no", "Compare them.")]
    assert len({plain, *(Do(action, final).digest for final in finals)}) == 4
