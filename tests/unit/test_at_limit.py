"""An episode that reaches its limit of subgoals: maths is judged by the value that stands, question answering is wrong.

Gold agents run every shared record whose gold program is known; what lies between them and the score is real.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from db.journal.step_records import RecordedStep
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.builds.annotations import annotation_of, one_pass_annotation_of
from lumos_queue.builds.candidates import Rules, failure_reason
from lumos_queue.builds.contamination import TestSplits
from lumos_queue.builds.known_benchmarks import KnownBenchmarks
from lumos_queue.builds.options import BuildOptions
from lumos_queue.builds.preferences import examine_try
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Annotation, Execution, Outcome, Score, Task
from lumos_queue.rollouts.derivation import is_right
from lumos_queue.scoring.limit import at_limit_of, select_judged_answer
from lumos_queue.submission.agents import check_at_limit
from tests.gold_qa import OracleQa, ScriptedRole, plans_of, try_out
from tests.unit.test_benchmarks_qa_gold import step
from tests.unit.test_benchmarks_qa_gold import task as question
from tests.unit.test_builds_choosing import episode
from tests.unit.test_formulations import drive, gives, says, shape

DEFAULT = DOMAINS.load("maths").max_subgoals
#: file, limit, and how gold does there: rows with a gold program, right, to the letter and stopped, ended by the limit
GOLD = [
    pytest.param("gsm8k/test.jsonl", DEFAULT, (963, 963, 957, 6), marks=pytest.mark.long),
    ("svamp/SVAMP.json", DEFAULT, (699, 699, 699, 0)),
    ("svamp/SVAMP.json", 2, (699, 699, 584, 115)),
    ("asdiv/ASDiv.xml", DEFAULT, (1212, 1210, 1198, 3)),  # two of them have 9 subgoals
]


@pytest.mark.parametrize(("file", "most", "expected"), GOLD)
def test_gold_agents_in_maths_are_right_at_the_limit_too(shared_data, file, most, expected):
    benchmark = open_benchmark(file.split("/")[0])
    tasks = [task for task in benchmark.read(shared_data / file, "test") if isinstance(task, Task)]
    plans, _ = plans_of(benchmark, tasks)
    results = try_out(benchmark, plans, OracleQa(plans), answer_by="last", max_subgoals=most)
    accuracy, strict = (sum(result.scores[place].value for result in results) for place in (0, 1))
    endings = Counter(result.outcome.ending for result in results if result.outcome)
    assert (len(results), accuracy, strict, endings["limit"]) == expected
    assert endings["answered"] + endings["limit"] == len(results)
    stopped = try_out(benchmark, plans, OracleQa(plans), answer_by="last", max_subgoals=most, at_limit="wrong")
    wrong = [result for result in stopped if result.outcome and result.outcome.ending == "limit"]
    assert len(wrong) == endings["limit"] and not any(score.value for result in wrong for score in result.scores)


@pytest.mark.parametrize("name", ["gsm8k", "svamp", "mawps", "asdiv", "wordmath"])
def test_accuracy_has_a_new_version_and_strict_counts_every_limit_as_wrong(name):
    benchmark = open_benchmark(name)
    task = replace(question("1"), benchmark=name, gold={"answer": "12"})
    assert list(benchmark.score(task, EpisodeResult("12"))) == [Score("accuracy", 1.0, "3"), Score("strict", 1.0, "1")]
    assert list(benchmark.score(task, EpisodeResult("12", "limit"))) == [
        Score("accuracy", 1.0, "3"),
        Score("strict", 0.0, "1"),
    ]
    assert [one.value for one in benchmark.score(task, EpisodeResult(None, "limit"))] == [0, 0]


def test_an_answer_of_asdiv_that_is_a_text_is_judged_by_the_same_rule():
    task = replace(question("1"), benchmark="asdiv", gold={"answer": "the red one"})
    found = open_benchmark("asdiv").score(task, EpisodeResult("The red one.", "limit"))
    assert [(one.value, one.version) for one in found] == [(1, "3"), (0, "1")]
    assert open_benchmark("asdiv").score(task, EpisodeResult("the red one", "limit"))[1].value == 0


def test_the_rule_in_one_place():
    for ending in ("no_answer", "action_error", "unreadable", "cancelled", "infra_error"):
        assert select_judged_answer(ending, "5", "conclude") is None
    assert select_judged_answer("limit", "5", "wrong") is None
    assert select_judged_answer("limit", "5", "conclude") == select_judged_answer("answered", "5", "wrong") == "5"


def test_an_agent_says_what_its_domain_says_and_one_stored_before_counts_the_limit_as_wrong():
    maths, qa = Agent({}, "maths"), Agent({}, "complex_qa")
    assert (maths.at_limit, qa.at_limit, Agent({}, "multimodal").at_limit) == ("conclude", "wrong", "wrong")
    assert Agent.from_json(maths.as_json()) == maths and maths.as_json()["at_limit"] == "conclude"
    before = {name: value for name, value in maths.as_json().items() if name != "at_limit"}
    assert Agent.from_json(before).at_limit == "wrong"
    assert len({agent.digest for agent in (maths, Agent.from_json(before))}) == 2
    assert at_limit_of({"infer": {"agent": maths.as_json()}}) == at_limit_of({"agent": maths.as_json()}) == "conclude"
    assert at_limit_of({"infer": {"agent": before}}) == at_limit_of({"source": "gsm8k"}) == "wrong"


# --- question answering -----------------------------------------------------------------------------------------------

LONG = Annotation(
    (
        step(1, ("R1", "QA", "[], Question: Who founded Acme?", "Ann Berg")),
        step(2, ("R2", "QA", "[R1], Question: Where was R1 born?", "Oslo")),
    ),
    "Oslo",
)


class Judge(ScriptedRole):
    def reply(self, row, prompt):
        return "CORRECT"


@pytest.mark.parametrize(
    ("at_limit", "value", "calls"), [("", 0.0, 2), ("wrong", 0.0, 2), ("conclude", 1.0, 3)]
)  # the third is the QA tool's conclusion
def test_a_question_is_wrong_at_the_limit_unless_the_agent_is_made_to_conclude(at_limit, value, calls):
    plans, benchmark, judge = [(question("1"), LONG)], open_benchmark("hotpotqa"), Judge()
    qa = OracleQa(plans)
    (result,) = try_out(benchmark, plans, qa, max_subgoals=2, at_limit=at_limit, judge=judge)
    assert result.outcome and (result.outcome.ending, result.outcome.answer) == ("limit", "Oslo")
    assert [one.value for one in result.scores] == [value] * 3 and len(qa.asked) == calls
    assert len(judge.asked) == value, "a judge is asked about what is judged, and about nothing else"
    (shorter,) = try_out(benchmark, plans, qa, max_subgoals=1, at_limit=at_limit)
    assert shorter.outcome and shorter.outcome.ending == "limit"


@pytest.mark.parametrize(
    ("name", "replies"),
    [
        ("iterative", [says("Subgoal 1: Ask."), says("R1 = QA([], Question: Who?)"), gives("Ann")]),
        ("integrated", [says("Subgoal 1: Ask. Actions: R1 = QA([], Question: Who?)"), gives("Ann")]),
    ],
)
def test_every_formulation_with_a_limit_concludes_there(name, replies):
    assert FORMULATIONS.load(name).limited
    agent = Agent({}, "complex_qa", max_subgoals=1, answer_by="qa", at_limit="conclude")
    commands, outcome = drive(FORMULATIONS.load(name)(question("1"), agent), [*replies, gives("Berg")])
    assert shape(commands)[-1] == "Output = Conclude([R1])" and outcome == Outcome("Berg", "limit")
    commands, outcome = drive(FORMULATIONS.load(name)(question("1"), replace(agent, at_limit="wrong")), replies)
    assert shape(commands)[-1].startswith("R1 = ") and outcome == Outcome("Ann", "limit")


def test_an_action_that_failed_leaves_no_value_at_the_limit():
    failing = Annotation((LONG.steps[0], step(2, ("R2", "Guess", "R1", ""))), "Oslo")
    plans = [(question("1"), failing)]
    for at_limit in ("wrong", "conclude"):
        (result,) = try_out(
            open_benchmark("hotpotqa"), plans, OracleQa(plans), answer_by="last", max_subgoals=2, at_limit=at_limit
        )
        assert result.outcome and result.outcome.ending == "action_error" and result.scores[0].value == 0


# --- builds, preferences, blame ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "at_limit", "score", "why"),
    [
        ("limit", "conclude", 1.0, ""),
        ("limit", "conclude", 0.0, "wrong answer"),
        ("limit", "wrong", 0.0, "ended limit"),
        ("limit", "wrong", 1.0, "ended limit"),
        ("answered", "wrong", 1.0, ""),
        ("answered", "conclude", 0.0, "wrong answer"),
        ("no_answer", "conclude", 1.0, "ended no_answer"),
    ],
)
def test_builds_and_preferences_take_what_the_score_was_given_for(ending, at_limit, score, why):
    run = episode(
        1,
        "2 + 3",
        ending=ending,
        at_limit=at_limit,
        scores={"accuracy": score},
        origin="run",
        formulation="iterative",
        main_metric="accuracy",
    )
    assert failure_reason(run) == why
    found = examine_try(run, Rules(BuildOptions(), KnownBenchmarks(), TestSplits([], KnownBenchmarks())))
    assert isinstance(found, tuple) and found[1] == (not why)


def test_what_the_qa_tool_concludes_is_no_action_to_be_learnt():
    run = episode(1, "2 + 3", origin="run", formulation="iterative", at_limit="conclude", ending="limit")
    conclusion = Action(("Output",), "Conclude", "[R1]", "Output = Conclude([R1])")
    done = Execution("ok", "5", ({"text": "5"},))
    steps = (*run.steps, RecordedStep(9, 0, "", done, conclusion))
    assert annotation_of(steps, "5") == annotation_of(run.steps, "5")
    assert one_pass_annotation_of(steps, "5") == one_pass_annotation_of(run.steps, "5")


@pytest.mark.parametrize(("at_limit", "mended"), [("conclude", True), ("wrong", False)])
def test_blame_judges_an_episode_as_its_score_does(at_limit, mended):
    benchmark = open_benchmark("wordmath")
    assert is_right(benchmark, episode(1, "2 + 3", ending="limit", at_limit=at_limit)) == mended
    assert not is_right(benchmark, episode(1, "2 + 3", ending="limit", answer="6", at_limit=at_limit))


# --- what may be asked for --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "formulation", "benchmark", "told"),
    [
        ("maybe", "iterative", "hotpotqa", "--at-limit must be one of wrong, conclude, not 'maybe'"),
        ("conclude", "one-pass", "hotpotqa", "has no limit of subgoals: leave out --at-limit"),
        ("conclude", "iterative", "webshop", "is judged by the actions done: leave out --at-limit"),
    ],
)
def test_a_wish_that_is_unknown_or_would_do_nothing_is_refused(asked, formulation, benchmark, told):
    with pytest.raises(SpecError, match=told):
        check_at_limit(asked, formulation, open_benchmark(benchmark))
    check_at_limit("", formulation, open_benchmark(benchmark))
