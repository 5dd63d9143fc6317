"""Demonstrations in front of a conversation (spec/lumos.md 1.9 and 1.10), and the grammar of the two domains."""

from __future__ import annotations

import pytest

from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.notation import read_actions, write_actions
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import PLAN_HEAD, Dialogue
from lumos_queue.records import Action, Execution, Subgoal, Task

FEW_SHOT = ("webshop", "intercode_sql")


def dialogue_of(domain: str, framing: str = "eval", shots: int | None = None, whole_plans: bool = False) -> Dialogue:
    most = len(DOMAINS.load(domain).demonstrations)
    agent = Agent({}, domain, framing, shots=most if shots is None else shots)
    return agent.dialogue(Task("b", "", "1", "the task"), whole_plans)


@pytest.mark.parametrize("domain", FEW_SHOT)
def test_the_planner_sees_whole_conversations_that_end_in_an_empty_reply(domain):
    shown = DOMAINS.load(domain).demonstrations
    prompt = dialogue_of(domain).to_planner()
    *before, own = prompt.split(f"<|user|>\n{PLAN_HEAD}")
    assert before.pop(0) == "" and len(before) == len(shown) == len(DOMAINS.load(domain).demonstrations)
    assert own == "Task: the task; Initial Environment Description: None.\n<|assistant|>\n"
    for text, one in zip(before, shown, strict=True):
        expected = f"Task: {one.task}; Initial Environment Description: None.\n<|assistant|>\n"
        for number, (subgoal, _, result) in enumerate(one.steps, start=1):
            expected += f"{subgoal}\n\n<|user|>\nThe execution result for Subgoal {number} is "
            expected += f"{result.removesuffix('.')}.\n<|assistant|>\n"
        assert text == expected + "\n\n"


@pytest.mark.parametrize("domain", FEW_SHOT)
def test_the_grounder_sees_each_subgoal_with_its_actions(domain):
    head, shown = DOMAINS.load(domain).ground_head, DOMAINS.load(domain).demonstrations
    dialogue = dialogue_of(domain)
    dialogue.add_plan("Subgoal 1: Look.", Subgoal(1, "Subgoal 1: Look."))
    prompt, expected = dialogue.to_grounder(), ""
    for one in shown:
        for place, (subgoal, actions, _) in enumerate(one.steps):
            task = "" if place else f"{head}Task: {one.task} \n"
            expected += f"<|user|>\n{task}Subgoal to be grounded: {subgoal}\n<|assistant|>\n{actions}\n\n"
    own = f"<|user|>\n{head}Task: the task \nSubgoal to be grounded: Subgoal 1: Look.\n<|assistant|>\n"
    assert prompt == expected + own + ("R1 = " if domain == "webshop" else "")


def test_the_first_reply_of_the_shop_grounder_is_begun_for_it_and_the_later_ones_are_not():
    dialogue = dialogue_of("webshop")
    dialogue.add_plan("Subgoal 1: Search.", Subgoal(1, "Subgoal 1: Search."))
    assert dialogue.to_grounder().endswith("<|assistant|>\nR1 = ")
    (action,) = dialogue.add_grounding("Search(red hat)")
    assert (action.variables, action.name, action.arguments) == (("R1",), "Search", "red hat")
    dialogue.observe(action, Execution("ok", "A - hat ** B - cap"))
    assert dialogue.to_planner().endswith(
        "Subgoal 1: Search.\n\n<|user|>\nThe executed result for Subgoal 1 is A - hat ** B - cap\n<|assistant|>\n"
    )
    dialogue.add_plan("Subgoal 2: Click.", Subgoal(2, "Subgoal 2: Click."))
    prompt = dialogue.to_grounder()
    assert prompt.endswith(
        "R1 = Search(red hat)\n\n<|user|>\nSubgoal to be grounded: Subgoal 2: Click.\n<|assistant|>\n"
    )


@pytest.mark.parametrize("reply", ["R1 = Search(red hat)", "Search(red hat)"])
def test_a_grounder_that_begins_anew_is_understood_too(reply):
    dialogue = dialogue_of("webshop")
    dialogue.add_plan("Subgoal 1: Search.", Subgoal(1, "Subgoal 1: Search."))
    assert [one.raw for one in dialogue.add_grounding(reply)] == ["R1 = Search(red hat)"]


def test_without_demonstrations_nothing_is_begun_for_a_model():
    dialogue = dialogue_of("webshop", "train", shots=0)
    assert dialogue.to_planner().startswith(f"<|user|>\n{PLAN_HEAD}Task: the task;")
    dialogue.add_plan("Subgoal 1: Search.", Subgoal(1, "Subgoal 1: Search."))
    assert dialogue.to_grounder().endswith("Subgoal 1: Search.\n<|assistant|>\n")
    assert [one.raw for one in dialogue.add_grounding("R1 = Search(red hat)")] == ["R1 = Search(red hat)"]


def test_the_heads_are_what_every_prompt_begins_with():
    for domain in FEW_SHOT:
        dialogue = dialogue_of(domain)
        dialogue.add_plan("Subgoal 1: x.", Subgoal(1, "Subgoal 1: x."))
        assert dialogue.to_planner().startswith(dialogue.prompt_prefixes["planner"])
        assert dialogue.to_grounder().startswith(dialogue.prompt_prefixes["grounder"])


def test_a_whole_plan_whose_steps_need_earlier_results_cannot_be_demonstrated():
    with pytest.raises(SpecError, match="demonstrates one subgoal at a time: use --shots 0"):
        dialogue_of("webshop", whole_plans=True)


@pytest.mark.parametrize(
    ("reply", "arguments"),
    [
        ("R1 = SHOW TABLES", ["SHOW TABLES"]),
        ("R2 = count(*) FROM singer", ["count(*) FROM singer"]),
        ("R4 = SELECT (a + b) FROM t;", ["SELECT (a + b) FROM t"]),
        ("R1 = name FROM t; R2 = WHERE x = 'R9 = 1; y'", ["name FROM t", "WHERE x = 'R9 = 1; y'"]),
    ],
)
def test_in_sql_anything_may_follow_the_variable(reply, arguments):
    actions = read_actions(reply, calls=False)
    assert [one.arguments for one in actions] == arguments and {one.name for one in actions} == {""}
    assert read_actions(write_actions(actions, calls=False), calls=False) == tuple(
        Action(one.variables, "", one.arguments, f"{one.variables[0]} = {one.arguments}") for one in actions
    )


@pytest.mark.parametrize("domain", FEW_SHOT)
def test_demonstrations_are_written_in_the_domains_grammar(domain):
    calls = DOMAINS.load(domain).calls
    for one in DOMAINS.load(domain).demonstrations:
        numbers = []
        for place, (subgoal, line, result) in enumerate(one.steps, start=1):
            assert subgoal.startswith(f"Subgoal {place}: ") and result.strip()
            actions = read_actions(line, calls)
            assert actions and all(action.variables for action in actions)
            numbers += [int(name[1:]) for action in actions for name in action.variables]
        assert numbers == list(range(1, len(numbers) + 1))
