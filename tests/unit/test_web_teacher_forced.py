"""Teacher forcing: what planner and grounder are told, and what becomes of each recorded step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lumos_queue.commands import Ask, Do, Note
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import EpisodeError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import PLAN_HEAD
from lumos_queue.records import Completion, Execution, Task

PREVIOUS = ["[link]  Hats -> CLICK", "[searchbox]  Colour -> TYPE: red"]
HEAD = DOMAINS.load("web_agent").ground_head


def task(*recorded):
    pages = [{"step": step, "candidates": []} for step in recorded]
    return Task("mind2web", "d", "1", "Buy a hat", {"previous": PREVIOUS[: recorded[-1]], "steps": pages})


def play(one, version=3, url="", **replies):
    """(commands, outcome) of an episode whose models say `replies` and whose actions all fail."""
    agent = Agent(roles=dict.fromkeys(replies, url), domain="web_agent")
    generator = FORMULATIONS.load("teacher-forced").at_version(version)(one, agent)
    left = {role: iter(texts) for role, texts in replies.items()}
    commands, reply = [], None
    try:
        while True:
            command = generator.send(reply)
            commands.append(command)
            reply = None
            if isinstance(command, Ask):
                reply = Completion(next(left[command.role]), "stop")
            elif isinstance(command, Do):
                reply = Execution("no_element", message="nothing there")
    except StopIteration as stop:
        return commands, stop.value


def test_every_recorded_step_is_planned_grounded_and_done_once():
    commands, outcome = play(
        task(0, 1, 2),
        planner=["Subgoal 1: Go.", "No, I will keep planning. Subgoal 2: Write.", "Subgoal 3: End."],
        grounder=["R1 = CLICK(Env, QUERY: a)", "R2 = CLICK(R1, QUERY: b); R3 = CLICK(R2, QUERY: c)", "R3 = CLICK(R2)"],
    )
    assert [type(one) for one in commands] == [Ask, Note, Ask, Do] * 3
    assert [one.action.variables for one in commands if isinstance(one, Do)] == [("R1",), ("R2",), ("R3",)]
    assert (outcome.ending, outcome.answer) == ("answered", "(no_element); (no_element); (no_element)")
    assert FORMULATIONS.load("teacher-forced").roles == ("planner", "grounder")


def test_the_planner_is_told_what_the_person_did():
    commands, _ = play(
        task(0, 1, 2),
        planner=["Subgoal 1: Go.", "No, I will keep planning. Subgoal 2: Write.", "Subgoal 3: End."],
        grounder=["R1 = CLICK(Env, QUERY: a)"] * 3,
    )
    planner = [one.prompt for one in commands if isinstance(one, Ask) and one.role == "planner"]
    first = f"<|user|>\n{PLAN_HEAD}Task: Buy a hat; Initial Environment Description: None.\n<|assistant|>\n"
    second = (
        f"{first}Subgoal 1: Click link Hats.</s>\n<|user|>\n"
        "We have already click link Hats. Should we stop planning?\n<|assistant|>\n"
    )
    third = (
        f"{second}Subgoal 2: Type red in the searchbox Colour.</s>\n<|user|>\n"
        "We have already type red in the searchbox Colour. Should we stop planning?\n<|assistant|>\n"
    )
    assert planner == [first, second, third]


def test_the_grounder_keeps_its_own_words_and_gets_the_planner_s():
    commands, _ = play(
        task(0, 1),
        planner=["Subgoal 1: Go.", "No, I will keep planning. Subgoal 2: Write."],
        grounder=["R1 = CLICK(Env, QUERY: mine)", "R2 = CLICK(R1, QUERY: b)"],
    )
    grounder = [one.prompt for one in commands if isinstance(one, Ask) and one.role == "grounder"]
    first = f"<|user|>\n{HEAD}Task: Buy a hat \nSubgoal to be grounded: Subgoal 1: Go.\n<|assistant|>\n"
    assert grounder == [
        first,
        f"{first}R1 = CLICK(Env, QUERY: mine)</s>\n<|user|>\n"
        "Subgoal to be grounded: Subgoal 2: Write.\n<|assistant|>\n",
    ]
    assert [one.subgoal.number for one in commands if isinstance(one, Note)] == [1, 2]


def test_steps_that_were_not_recorded_are_told_only():
    commands, _ = play(task(2), planner=["Subgoal 3: End."], grounder=["R1 = CLICK(Env, QUERY: a)"])
    ask = commands[0]
    assert isinstance(ask, Ask) and ask.prompt.count("We have already") == 2
    assert [type(one) for one in commands] == [Ask, Note, Ask, Do]
    note = commands[1]
    assert isinstance(note, Note) and note.subgoal.number == 3


@pytest.mark.parametrize("plan", ["Yes, I will stop planning.", "", "  "])
def test_a_step_without_a_plan_is_a_wrong_step_and_the_next_one_follows(plan):
    commands, outcome = play(
        task(0, 1), planner=[plan, "No, I will keep planning. Subgoal 2: Go."], grounder=["R2 = CLICK(R1, QUERY: a)"]
    )
    assert [type(one) for one in commands] == [Ask, Do, Ask, Note, Ask, Do]
    assert commands[1].action.variables == () and outcome.ending == "answered"
    assert "Subgoal 1: Click link Hats." in commands[2].prompt


@pytest.mark.parametrize("line", ["", ";", "I do not know"])
def test_a_grounder_without_an_action_costs_its_step_only(line):
    commands, _ = play(
        task(0, 1), planner=["Subgoal 1: a.", "Subgoal 2: b."], grounder=[line, "R2 = CLICK(R1, QUERY: a)"]
    )
    done = [one.action.variables for one in commands if isinstance(one, Do)]
    assert done == [(), ("R2",)]


def test_gold_is_not_looked_at():
    with_gold = replace(task(0, 1), gold={"steps": ["secret"]})
    said = {"planner": ["Subgoal 1: a.", "Subgoal 2: b."], "grounder": ["R1 = CLICK(Env, QUERY: a)"] * 2}
    assert play(with_gold, **said)[0] == play(with_gold.without_gold(), **said)[0]


def test_a_task_without_pages_says_so():
    with pytest.raises(EpisodeError, match="recorded pages"):
        play(Task("gsm8k", "d", "1", "2 + 2?"))


MARKDOWN = {
    "planner": ["Sure!\n\n1. **Open** the hats.\n2. Write red.", "Yes, we should stop planning."],
    "grounder": ["```\nR1 = CLICK(Env, QUERY: hats)\n```\n\nThis clicks."],
}


def test_instruct_models_may_write_markdown():
    commands, _ = play(task(0, 1), url="chat://127.0.0.1:1", **MARKDOWN)

    assert [one.subgoal.text for one in commands if isinstance(one, Note)] == ["Subgoal 1: Open the hats."]
    first, second = [one.action for one in commands if isinstance(one, Do)]
    assert (first.name, first.arguments, second.variables) == ("CLICK", "Env, QUERY: hats", ())


@pytest.mark.parametrize(
    ("version", "url"), [(1, "chat://127.0.0.1:1"), (2, "chat://127.0.0.1:1"), (3, "openai://a:1")]
)
def test_earlier_versions_and_other_servers_read_the_notation_alone(version, url):
    replies = {**MARKDOWN, "grounder": [*MARKDOWN["grounder"], "R2 = CLICK(R1)"]}
    commands, _ = play(task(0, 1), version, url, **replies)

    assert [one.subgoal.text for one in commands if isinstance(one, Note)] == MARKDOWN["planner"]
    assert [one.action.variables for one in commands if isinstance(one, Do)] == [(), ("R2",)]
