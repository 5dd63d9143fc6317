"""`--tool protocol=lumos`: what becomes of `No answer` and of a Calculator's formula, as in LUMOS's evaluation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from lumos_queue.actions.qa.answer import CLOSED_BOOK, FORCED_YES_NO, WITH_CONTEXT, YES_NO
from lumos_queue.actions.qa.interface import QaActions
from lumos_queue.actions.qa.original import list_operands
from lumos_queue.commands import Ask, Call, Commands, Do
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.episode import run_episode
from lumos_queue.errors import ActionError, SpecError
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, Execution, Outcome, Task
from lumos_queue.scoring.spans import is_no_answer

QUESTION = "Did Ann live longer than Bob?"
PAGES = [{"title": "Ann", "text": "Ann is a poet of two towns."}]
STOP = "Yes, I will stop planning."
PLANS = (
    "Subgoal 1: Answer the question: When did Ann die?",
    "No, I will keep planning. Subgoal 2: Answer the question: When did Bob die?",
    "No, I will keep planning. Subgoal 3: Compare the two dates.",
    STOP,
)
GROUNDINGS = (
    "R1 = QA([], Question: When did Ann die?)",
    "R2 = QA([R1], Question: When did Bob die?)",
    "R3 = Calculator(R1 > R2)",
)
WITHOUT_ANN = ("No answer", "Answer: 1810", "Answer: no", "Answer: no")


class Run:
    """An episode with scripted replies: its outcome, and the prompts by role."""

    def __init__(
        self,
        protocol: str,
        replies: Sequence[str],
        *,
        plans: Sequence[str] = PLANS,
        groundings: Sequence[str] = GROUNDINGS,
        formulation: str = "iterative",
        answer_by: str = "qa",
        before: MemoryJournal | None = None,
        tools: Mapping[str, str] | None = None,
    ):
        tools = tools or ({"protocol": protocol} if protocol else {})
        agent = Agent(
            {"planner": "tgi://p", "grounder": "tgi://g", "qa": "tgi://q"},
            "complex_qa",
            answer_by=answer_by,
            tools=QaActions.prepare(tools),
        )
        task = Task("hotpotqa", "d", "1", QUESTION, {"paragraphs": PAGES})
        scripts = {"planner": list(plans), "grounder": list(groundings), "qa": list(replies)}
        self.prompts: dict[str, list[str]] = {role: [] for role in scripts}
        self.searches: list[str] = []  #: the queries to a search engine
        self.journal = before or MemoryJournal()
        actions = QaActions(agent.tools)
        session = actions.begin(task)

        async def perform(command, context):
            if isinstance(command, Ask):
                self.prompts[command.role].append(command.prompt)
                script = scripts[command.role]
                return Completion(script.pop(0) if script else "No answer", "stop")
            if isinstance(command, Call):
                self.searches.append(command.arguments["query"])
                return Execution("ok", values=({"hits": []},))
            return await session.execute(command.action, context) if isinstance(command, Do) else None

        async def go():
            run = await run_episode(FORMULATIONS.load(formulation), task, agent, self.journal, perform)
            await session.close()
            await actions.close()
            return run

        done = asyncio.run(go())
        self.outcome: Outcome = done.outcome
        self.executions: list[Execution] = [execution for _, execution in done.actions]

    @property
    def results_shown(self) -> str:
        """Return the results in the last prompt for the grounder."""
        return self.prompts["grounder"][-1].rpartition("following results:")[2].partition("\n")[0].strip()


def with_context(question: str, context: str) -> str:
    return WITH_CONTEXT.format(question=question, context=context)


def test_a_no_answer_is_passed_on_by_default():
    run = Run("", WITHOUT_ANN)
    assert run.prompts["qa"][1] == with_context("When did Bob die?", "Question: When did Ann die?; Answer: No answer")
    assert run.results_shown == (
        "The execution result for Subgoal 1 is No answer. The execution result for Subgoal 2 is 1810."
    )
    assert "Question: When did Ann die?; Answer: No answer; Question: When did Bob" in run.prompts["qa"][-1]
    assert Run("own", WITHOUT_ANN).prompts == run.prompts


def test_the_original_leaves_a_no_answer_out():
    run = Run("lumos", WITHOUT_ANN)
    assert run.prompts["qa"] == [
        CLOSED_BOOK.format(question="When did Ann die?"),
        with_context("When did Bob die?", "No answer."),
        with_context("Compare the two dates.", "No answer..  Question: When did Bob die?; Answer: 1810."),
        with_context(
            QUESTION,
            "Question: When did Bob die?; Answer: 1810; Question: Compare the two dates.; Answer: no;",
        ),
    ]
    assert run.results_shown == "The execution result for Subgoal 2 is 1810."
    assert "The executed result for Subgoal 1 is No answer. Should we stop planning?" in run.prompts["planner"][-1]
    assert (run.outcome.answer, run.executions[0].result) == ("no", "No answer.")
    assert is_no_answer(run.executions[0].result)


def test_answers_are_used_alike_under_both_rules():
    replies = ("Answer: 1800", "Answer: 1810")
    plans, groundings = (*PLANS[:2], STOP), GROUNDINGS[:2]
    own, original = (
        Run(name, (*replies, "Answer: no"), plans=plans, groundings=groundings) for name in ("own", "lumos")
    )
    assert own.prompts == original.prompts and own.outcome == original.outcome
    assert own.executions == original.executions or own.executions[0].values == original.executions[0].values


def test_pages_and_evidence_are_not_among_the_results_of_the_original():
    groundings = ("R1 = KnowledgeQuery(Ann); R2 = ParagraphRetrieve(R1, Query: Ann)", *GROUNDINGS[1:])
    shown = [Run(name, (), plans=PLANS[:2], groundings=groundings).results_shown for name in ("own", "lumos")]
    assert "two towns" in shown[0] and shown[1] == ""


def test_the_concluding_question_of_the_original_is_asked_with_an_empty_context():
    plans, groundings = (PLANS[0], STOP), GROUNDINGS[:1]
    own, original = (Run(name, (), plans=plans, groundings=groundings) for name in ("own", "lumos"))
    assert own.prompts["qa"][1:] == [
        with_context(QUESTION, "Question: When did Ann die?; Answer: No answer;"),
        CLOSED_BOOK.format(question=QUESTION),
    ]
    assert original.prompts["qa"][1:] == [with_context(QUESTION, ""), CLOSED_BOOK.format(question=QUESTION)]


@pytest.mark.parametrize(("protocol", "searches"), [("own", 2), ("lumos", 1)])
def test_the_original_searches_for_no_concluding_question(protocol, searches):
    """A QA without an answer is searched for under both rules."""
    options = {"tools": {"protocol": protocol, "knowledge": "live"}}
    run = Run("", (), plans=(PLANS[0], STOP), groundings=GROUNDINGS[:1], **options)
    assert run.searches == [f"{question} Wikipedia" for question in ("When did Ann die?", QUESTION)][:searches]


@pytest.mark.parametrize(("formula", "context"), [("R1 > R2", "{R1}.  {R2}."), ("R1 / 2 - 3", "{R1}.  2  3")])
def test_a_calculator_asks_the_sentence_of_its_subgoal(formula, context):
    groundings = (*GROUNDINGS[:2], f"R3 = Calculator({formula})")
    run = Run("lumos", ("Answer: 1800", "Answer: 1810", "Answer: no"), groundings=groundings)
    values = {
        "R1": "Question: When did Ann die?; Answer: 1800",
        "R2": "Question: When did Bob die?; Answer: 1810",
    }
    assert run.prompts["qa"][2] == with_context("Compare the two dates.", context.format(**values))
    own = Run("own", ("Answer: 1800", "Answer: 1810", "Answer: no"), groundings=groundings)
    assert len(own.prompts["qa"]) == 3, "it calculates"


def test_a_calculator_without_numbers_asks_whether_it_is_true_by_default():
    groundings = (*GROUNDINGS[:2], "R3 = Calculator(R1 > R2)")
    run = Run("own", ("Answer: in spring", "Answer: late", "Answer: no"), groundings=groundings)
    assert f"Question: Is it true that in spring > late? {YES_NO}\n" in run.prompts["qa"][2]
    run = Run("lumos", ("Answer: in spring", "Answer: late", "Answer: no"), groundings=groundings)
    assert "\nQuestion: Compare the two dates.\nContext: Question: When did Ann" in run.prompts["qa"][2]
    assert "Is it true" not in "".join(run.prompts["qa"])


def test_a_calculator_that_nobody_can_answer_has_no_answer():
    run = Run("lumos", ("Answer: in spring", "Answer: late", "No answer", "No answer"))
    assert (run.executions[2].ok, run.executions[2].result) == (True, "No answer.")
    assert run.prompts["qa"][3] == CLOSED_BOOK.format(question="Compare the two dates.")
    assert "Compare" not in run.prompts["qa"][4], "the concluding context has no question without an answer"


def test_a_calculator_with_an_unset_variable_fails():
    run = Run("lumos", (), plans=(PLANS[0], STOP), groundings=("R1 = Calculator(R7 > 2)",))
    assert (run.executions[0].status, run.prompts["qa"]) == ("undefined_variable", [])


ONE_PASS = "; ".join(line.removeprefix("No, I will keep planning. ") for line in PLANS[:3])


@pytest.mark.parametrize("answer_by", ["qa", "yes/no"])
def test_the_last_calculator_of_one_pass(answer_by):
    run = Run(
        "lumos",
        ("Answer: 1800", "Answer: 1810"),
        plans=[ONE_PASS],
        groundings=["; ".join(GROUNDINGS)],
        formulation="one-pass",
        answer_by=answer_by,
    )
    facts = "Question: When did Ann die?; Answer: 1800.  Question: When did Bob die?; Answer: 1810."
    sentence = "Compare the two dates."
    if answer_by == "qa":
        expected = [
            with_context(sentence, facts),
            CLOSED_BOOK.format(question=sentence),
            with_context(QUESTION, facts),
            CLOSED_BOOK.format(question=QUESTION),
        ]
    else:
        own = f"{sentence} {YES_NO}"
        expected = [with_context(own, facts), FORCED_YES_NO.format(question=own)]
    assert run.prompts["qa"][2:] == expected
    assert run.outcome.answer == "No answer."


def test_an_interrupted_episode_continues_from_every_step():
    """A Calculator knows its subgoal also if the planner's reply was recorded by an earlier process."""
    whole = Run("lumos", WITHOUT_ANN)
    scripts = {"planner": PLANS, "grounder": GROUNDINGS, "qa": WITHOUT_ANN}
    for count in range(len(whole.journal.steps) + 1):
        known = whole.journal.steps[:count]
        asked = [step.command.role for step in known if isinstance(step.command, Ask)]
        plans, groundings, replies = (scripts[role][asked.count(role) :] for role in ("planner", "grounder", "qa"))
        run = Run("lumos", replies, plans=plans, groundings=groundings, before=MemoryJournal(known))
        assert run.outcome == whole.outcome
        assert {role: len(prompts) for role, prompts in run.prompts.items()} == {
            role: len(prompts) - asked.count(role) for role, prompts in whole.prompts.items()
        }


def test_operators_are_deleted_everywhere_and_variables_are_whole():
    variables = {"R1": {"text": "a-b"}, "R10": {"text": "x"}}
    assert list_operands("R10 + R1 <= 2^3", variables) == "x.  ab.  23"
    with pytest.raises(ActionError, match="R2 has not been set"):
        list_operands("R2 * 3", variables)


def test_a_formulation_without_subgoals_keeps_the_own_calculator():
    def one_action(task: Task, agent: Agent) -> Commands[Outcome]:
        from lumos_queue.notation import read_actions

        execution = yield from Do(read_actions("R1 = Calculator(2 + 3)")[0])
        return Outcome(execution.result, "answered")  # type: ignore[arg-type]

    actions, task = QaActions({"protocol": "lumos"}), Task("b", "", "1", QUESTION)
    session = actions.begin(task)

    async def perform(command, context):
        return await session.execute(command.action, context)

    async def go():
        run = await run_episode(one_action, task, Agent({}, "complex_qa"), MemoryJournal(), perform)
        await actions.close()
        return run.outcome.answer

    assert asyncio.run(go()) == "5"


def test_the_option_has_two_values_and_a_default_that_reports_name():
    assert QaActions.prepare({"protocol": "lumos"}) == {"protocol": "lumos"} and QaActions.prepare({}) == {}
    with pytest.raises(SpecError, match=r"No protocol of complex_qa called 'original'\. Choose one of: lumos, own"):
        QaActions.prepare({"protocol": "original"})
    assert DOMAINS.load("complex_qa").default_tools["protocol"] == "own"
