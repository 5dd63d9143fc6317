"""The measurement of tool agents under faults: its world, its check of answers, and what must hold of a small run."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from experiments.tool_agents.contest import NAMES, Contest, journal_of, play
from experiments.tool_agents.contests import EQUAL, SETTINGS, measure
from experiments.tool_agents.faults import KINDS, MISLEADING, RATE_LIMITED, Setting, Tools
from experiments.tool_agents.models import Models
from experiments.tool_agents.questions import Path, make_questions
from experiments.tool_agents.scripts import SCRIPTS
from experiments.tool_agents.world import RELATIONS, World
from lumos_queue.commands import Ask
from lumos_queue.limits import Limits

WORLD = World(0)
QUESTIONS = make_questions(WORLD, 0, 12)


def said(question, ends) -> str:
    return "; ".join(f"{path.write()} is {end}" for path, end in zip(question.paths, ends, strict=True)) + "."


def ends(question) -> list[str]:
    return [answer for _, answer in question.answers]


def test_the_same_seed_makes_the_same_world_and_questions():
    assert World(0).facts == WORLD.facts != World(1).facts
    assert make_questions(World(0), 0, 12) == QUESTIONS
    assert [len(one.calls) for one in QUESTIONS] == [2, 3, 4] * 4


@pytest.mark.parametrize("question", QUESTIONS[:6], ids=lambda one: str(one.number))
def test_only_the_right_answer_passes(question):
    right = ends(question)
    assert question.is_right(said(question, right), WORLD)
    name, answer = question.answers[0]
    rival = next(fact for (other, _), fact in WORLD.facts.items() if other == name and fact != answer)
    for wrong in (
        None,
        "",
        "I could not find everything. ",
        said(question, [rival, *right[1:]]),
        said(question, [f"{answer} or {rival}", *right[1:]]),
        said(question, right) + " " * 600,
        f"{answer}.",
    ):
        assert not question.is_right(wrong, WORLD), wrong


def test_answers_of_paths_that_are_exchanged_do_not_pass():
    both = next(one for one in make_questions(WORLD, 3, 90) if len(one.paths) == 2 and len(set(ends(one))) == 2)
    assert not both.is_right(said(both, ends(both)[::-1]), WORLD)


def test_names_are_found_in_texts_unless_they_must_be_exact():
    person, book = WORLD.things["person"][0], WORLD.things["book"][0]
    body = f'{{"error": "", "response": {{"book": "{book}", "author": "{person}"}}}}'
    for text in (person, person.lower(), body):
        assert WORLD.tell("home", text) == {"person": person, "home": WORLD.facts["home", person]}
    assert WORLD.tell("home", f"{person} {WORLD.things['person'][1]}") is None
    assert WORLD.tell("home", person.lower(), strict=True) is None and WORLD.tell("home", person, strict=True)


def test_faults_are_seeded_and_leave_one_provider_of_each_relation_sound():
    seen = set()
    for question in QUESTIONS:
        tools = Tools(WORLD, question, Setting(share=1.0), 0)
        assert tools._faults == Tools(WORLD, question, Setting(share=1.0), 0)._faults
        assert sorted(name for _, name in tools._faults) == sorted({name for _, name in question.apis})
        seen |= set(tools._faults.values())
    assert seen == set(KINDS)


def test_a_rate_limit_recovers_and_a_misleading_body_says_nothing():
    question = QUESTIONS[0]
    tools = Tools(WORLD, question, Setting(), 0)
    provider, name = question.apis[0]
    thing = WORLD.things[RELATIONS[name].of][0]
    asked = {RELATIONS[name].of: thing}
    tools._faults = {(provider, name): RATE_LIMITED}
    assert [tools.answer(provider, name, asked, nth).code for nth in range(4)] == [9, 9, 0, 0]
    tools._faults = {(provider, name): MISLEADING}
    answer = tools.answer(provider, name, asked, 0)
    assert answer.code == 0 and WORLD.facts[name, thing] not in str(answer.response)


def test_models_err_in_the_share_that_was_asked_for_and_the_same_way_each_time():
    prompts = [f"prompt {number}\nCall: home_for_x {{}}\nReturned: home: Ombry" for number in range(2000)]
    sure, unsure = Models(0, 0.0), Models(0, 0.0, 0.1).of("state_manager")
    right = [sure.of("state_manager")(one) == unsure(one) for one in prompts]
    assert 0.07 < right.count(False) / 2000 < 0.13
    assert [unsure(one) for one in prompts[:50]] == [unsure(one) for one in prompts[:50]]


@pytest.mark.parametrize("name", NAMES)
def test_without_faults_and_errors_every_question_is_answered(name):
    contest = Contest(WORLD, Setting(), noise=0.0)
    assert all(play(contest, one, name, Limits(calls=24)).right for one in QUESTIONS)


@pytest.mark.parametrize("name", NAMES)
def test_when_all_tools_fail_nobody_passes_and_all_end_within_their_limits(name):
    most = {"react": 12, "dfsdt": 200, "rewoo": 2, "sum2act": 60}[name]
    for question in QUESTIONS:
        contest = Contest(WORLD, SETTINGS["all tools fail"])
        paper, equal = play(contest, question, name), play(contest, question, name, EQUAL)
        assert not paper.right and not equal.right
        assert paper.calls <= most and equal.calls <= EQUAL.calls


@pytest.mark.long
def test_the_order_of_the_methods():
    rows, parted = measure(30, 1, 0.1)
    passed = {(row.setting, row.limits, row.method): row.passed for row in rows}
    assert all(passed["no faults", "equal", name] > 0.85 for name in ("react", "dfsdt", "sum2act"))
    assert all(passed["all tools fail", limits, name] == 0 for limits in ("paper", "equal") for name in NAMES)
    assert passed["faults", "paper", "rewoo"] < passed["faults", "paper", "sum2act"], "a plan cannot be corrected"
    long = "transcript 1.2 x the context"
    assert passed[long, "equal", "react"] == 0 < 0.8 < passed[long, "equal", "sum2act"]
    honest = next(one for one in parted if one.setting == "faults")
    assert honest.body == 0 and honest.misled and honest.misled_failure == 1, "a status of 200 is not believed"


def test_a_model_knows_only_what_is_in_its_prompt():
    """Without the request in sight, or the functions, nothing is called."""
    decide = Models(0, 0.0).of("policy")
    assert "Action" not in decide("Request: What is the home of Ada Birch?\n")
    assert "Action" not in decide("home_for_who_is_it(person: string): A function.\n")
    assert "home_for_who_is_it" in decide(
        "home_for_who_is_it(person: string): A function.\nRequest: What is the home of Ada Birch?\n"
    )


def test_paths_are_written_as_they_are_asked():
    assert Path("Ada Birch", ("home", "river")).write() == "the river of the home of Ada Birch"
    draw = random.Random(0)
    assert replace(draw.choice(QUESTIONS), paths=(Path("Ombry", ("mayor",)),)).text == "What is the mayor of Ombry?"


class Answering(dict):
    """What every API of a question answers, made when it is looked up."""

    def __init__(self, tools: Tools):
        super().__init__()
        self._tools = tools

    def get(self, key, _default=None):
        tool, api, arguments = key
        done = self._tools.answer(tool, api, json.loads(arguments), 0).execution()
        return done.values[0]["text"], done.status


@pytest.mark.parametrize("name", sorted(SCRIPTS))
@pytest.mark.parametrize(
    ("noise", "setting"), [(0.0, Setting()), (0.3, Setting()), (0.1, Setting(share=0.9)), (0.0, Setting(down=True))]
)
def test_the_bare_loop_sends_the_same_prompts_to_the_end(name, noise, setting):
    """Also where decisions err, branches are gone back from, given up, and calls are repeated."""
    contest = Contest(WORLD, setting, noise=noise)
    branches = repeated = 0
    for question in make_questions(WORLD, 5, 90):
        steps = journal_of(contest, question, name).steps
        asked = [(step.command, step.result) for step in steps if isinstance(step.command, Ask)]
        tools = Tools(WORLD, question, contest.setting, contest.seed)
        if any(fault == RATE_LIMITED for fault in tools._faults.values()):
            continue  # the scripts look each answer up in a table of requests: there is no second one
        task = question.task()
        episode = SCRIPTS[name](task.question, task.inputs["functions"], Answering(tools))
        sent, reply = [], None
        for _, done in asked:
            sent.append(episode.send(reply))
            reply = done.text
        with pytest.raises(StopIteration):
            episode.send(reply)
        assert sent == [(ask.role, ask.prompt) for ask, _ in asked], question.number
        branches += any("not the first try" in ask.prompt for ask, _ in asked)
        repeated += any("was made before" in ask.prompt for ask, _ in asked)
    assert not noise or (branches if name == "dfsdt" else repeated)
