"""Gold plans with a QA tool that knows the answers, and one that answers wrongly: every shared record, the real path.

Planner, grounder and QA tool are scripted (tests/gold_qa.py); dialogue, actions and scoring are those of a job.
"""

from __future__ import annotations

from contextlib import suppress

import pytest

from lumos_queue.actions.qa.answer import YES_NO
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.notation import write_action
from lumos_queue.rationales.questions.hops import Hop, annotation
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Action, AnnotatedSubgoal, Annotation, Subgoal, Task
from tests.gold_qa import OracleQa, ScriptedRole, WrongQa, plans_of, trial, try_out

#: file to rows with a gold plan, and why the others have none
FILES = {
    "hotpotqa/hotpot_dev_distractor_sample.json": (118, {}),
    "hotpotqa/hotpot_dev_distractor_hf_columns.json": (60, {}),
    "hotpotqa/hotpot_dev_v1_simplified.json": (0, {"no_support": 800}),
    "musique/musique_ans_dev_sample.jsonl": (113, {"unnamed_step": 7}),
    "musique/musique_full_sample.jsonl": (5, {"unanswerable": 7}),
    "strategyqa/bigbench_task.json": (300, {}),
    "strategyqa/train.json": (1860, {"unwritable": 1}),  # a car in its question is called R8
}
WITH_PLANS = [file for file, (n, _) in FILES.items() if n]
#: The first takes a minute for each test; the other has rows of the sample beside it, in another form.
LONG = ("strategyqa/train.json", "hotpotqa/hotpot_dev_distractor_hf_columns.json")


def _slow(file: str, *more: str):
    return pytest.param(file, *more, marks=[pytest.mark.long] if file in LONG else [])


@pytest.fixture(scope="module")
def records(shared_data):
    """File name to its benchmark and tasks; each is read once."""
    known = {}

    def read(file):
        if file not in known:
            benchmark = open_benchmark(file.split("/")[0])
            known[file] = benchmark, list(benchmark.read(shared_data / file, "test"))
        return known[file]

    return read


@pytest.mark.parametrize(
    "file", [pytest.param(file, marks=[pytest.mark.long] if file == LONG[0] else []) for file in FILES]
)
def test_the_rows_without_a_gold_plan_are_named(records, file):
    plans, exceptions = plans_of(*records(file))
    assert (len(plans), dict(exceptions)) == FILES[file]


#: Of StrategyQA's many rows, one-pass tries the 300 of the task file.
TRIED = [(file, "iterative") for file in WITH_PLANS] + [(file, "one-pass") for file in WITH_PLANS[:-1]]


@pytest.mark.parametrize(("file", "formulation"), [_slow(*one) for one in TRIED])
def test_gold_plans_with_an_oracle_score_1(records, file, formulation):
    """No question but those of the plan is asked, so what earlier steps found is put into it to the letter."""
    found = trial(*records(file), formulation=formulation)
    assert found.wrong == [] and found.n == FILES[file][0] and found.endings == {"answered": found.n}
    assert found.means == dict.fromkeys(found.means, 1) | {name: 0 for name in found.means if name == "unparsed"}
    assert found.unknown == []


@pytest.mark.parametrize("file", [file for file in WITH_PLANS if file.startswith("hotpotqa/")])
@pytest.mark.parametrize("formulation", ["iterative", "one-pass"])
def test_the_plans_that_rules_make_score_1_too(records, file, formulation):
    """Those of HotpotQA's questions that rules part: what they look up by a description is found, too."""
    benchmark, tasks = records(file)
    plans = []
    for task in tasks:
        with suppress(NotConvertible):
            plans.append((task, benchmark.gold(task)))
    qa = OracleQa(plans)
    results = try_out(benchmark, plans, qa, formulation)
    assert len(results) == {"hotpotqa/hotpot_dev_distractor_sample.json": 25}.get(file, 15)
    assert [result.outcome.ending for result in results] == ["answered"] * len(results)
    assert all(result.scores[0].value == 1 for result in results) and qa.unknown == []


@pytest.mark.parametrize("file", [_slow(file) for file in WITH_PLANS])
def test_the_same_plans_with_wrong_answers_score_0(records, file):
    found = trial(*records(file), wrong=True)
    assert found.endings == {"answered": found.n} and found.n == FILES[file][0]
    assert found.means == dict.fromkeys(found.means, 0)


@pytest.mark.parametrize("file", ["hotpotqa/hotpot_dev_distractor_sample.json", "musique/musique_ans_dev_sample.jsonl"])
def test_the_value_of_the_last_variable_is_the_answer_too(records, file):
    assert trial(*records(file), answer_by="last").means == {"exact_match": 1, "f1": 1}


# --- invented tasks ---------------------------------------------------------------------------------------------------


def step(number, *actions):
    """A subgoal with its (variable, name, arguments, result) actions."""
    done = [Action((variable,), name, arguments) for variable, name, arguments, _ in actions]
    named = tuple(Action(one.variables, one.name, one.arguments, write_action(one)) for one in done)
    return AnnotatedSubgoal(Subgoal(number, f"Subgoal {number}: Do it."), named, tuple(one[-1] for one in actions))


def task(row, question="Where was the founder of Acme born?", answer="Oslo"):
    paragraphs = [{"title": f"Page {row}", "text": f"On page {row} stands something else."}]
    return Task("hotpotqa", "rows", row, question, {"paragraphs": paragraphs}, {"answer": answer, "pages": []})


def test_fault_10_a_tool_without_result_shows_no_other_result():
    """In the original what the last working tool gave stood for it, even that of another question."""
    secret = "Zanzibar 7"
    works = Annotation(
        (
            step(1, ("R1", "QA", "[], Question: What is known?", secret)),
            step(2, ("R2", "Guess", "R1", "")),
            step(3, ("R3", "ParagraphRetrieve", "R9, Query: What?", "")),
        ),
        "Oslo",
    )
    fails = Annotation((step(1, ("R1", "Guess", "it", "")), step(2, ("R2", "QA", "[R1], Question: What?", ""))), "Oslo")
    plans = [(task("first"), works), (task("second", "Who founded Acme?"), fails)]
    qa, agents = OracleQa(plans), {}
    first, second = try_out(open_benchmark("hotpotqa"), plans, qa, agents=agents)
    told = [prompt for row, prompt in agents["planner"].asked if row == "first"]
    assert f"The executed result for Subgoal 1 is {secret}." in told[1]
    assert told[-1].count(secret) == 1 and "The executed result for Subgoal 2 is Guess(R1)." in told[2]
    assert first.outcome and (first.outcome.ending, first.outcome.answer) == ("answered", "Oslo")  # it goes on
    everything = [
        prompt for role in ("planner", "grounder", "qa") for row, prompt in agents[role].asked if row == "second"
    ]
    assert everything and not any(secret in prompt for prompt in everything)
    assert second.outcome and second.outcome.ending == "action_error" and second.scores[0].value == 0


@pytest.mark.parametrize("formulation", ["iterative", "one-pass"])
def test_fault_13_a_plan_of_a_single_action_is_asked_for_yes_or_no(formulation):
    """The original tested the truth of the action's index, so never asked at index 0."""
    benchmark = open_benchmark("strategyqa")
    question = "Is the sea wet?"
    one = Task(
        "strategyqa",
        "rows",
        "1",
        question,
        {"paragraphs": [{"title": "Sea", "text": "Water is wet."}]},
        {"answer": "Yes", "facts": [], "questions": [], "evidence": []},
    )
    plans = [(one, annotation([Hop(question, "Yes")], "Yes"))]
    qa = OracleQa(plans)
    (result,) = try_out(benchmark, plans, qa, formulation)
    assert f"Question: {question} {YES_NO}\n" in qa.asked[-1][1]
    assert result.scores[0].value == 1
    (result,) = try_out(benchmark, plans, WrongQa(plans, negate=True), formulation)
    assert result.scores[0].value == 0


class Judge(ScriptedRole):
    def reply(self, row, prompt):
        return "CORRECT." if "Model prediction: Oslo\n" in prompt else "INCORRECT"


def test_a_judge_votes_on_what_was_answered_and_its_vote_is_a_score():
    plans = [(task(row), Annotation((step(1, ("R1", "QA", "[], Question: What?", "x")),), "Oslo")) for row in "ab"]
    judge, benchmark = Judge(), open_benchmark("hotpotqa")
    for qa, value in [(OracleQa(plans), 1), (WrongQa(plans, negate=False), 0)]:
        for result in try_out(benchmark, plans, qa, judge=judge):
            assert [(one.metric, one.value) for one in result.scores][2:] == [("llm_accuracy", value)]
            assert result.scores[2].detail == ("CORRECT." if value else "INCORRECT")
    assert len(judge.asked) == 4 and all("Ground-truth answer: Oslo\n" in prompt for _, prompt in judge.asked)
    stuck = [(task("c"), Annotation((step(1, ("R1", "Guess", "it", "")),), "Oslo"))]
    (result,) = try_out(benchmark, stuck, OracleQa(stuck), judge=judge)
    assert [one.value for one in result.scores] == [0, 0, 0] and len(judge.asked) == 4  # wrong without being asked
    assert [one.metric for one in try_out(benchmark, plans, OracleQa(plans))[0].scores] == ["exact_match", "f1"]
