"""Turns to the letter: what replies may say, what a turn tells when there is little to tell, and what is refused."""

from __future__ import annotations

import pytest

from lumos_queue.notation import TOO_MANY, read_action_line, without_roles
from lumos_queue.prompts.dialogue import MAX_ACTIONS, PLAN_HEAD, Dialogue, Turn, render
from lumos_queue.records import Action, Execution, Subgoal, Task

FIRST, SECOND = Subgoal(1, "Subgoal 1: Add."), Subgoal(2, "Subgoal 2: Halve.")


def talk_about(domain: str, question: str = "How many?") -> Dialogue:
    return Dialogue(Task("b", "d", "1", question), domain)


# --- what replies and tools may say -----------------------------------------------------------------------------------


def test_only_the_marks_of_roles_are_broken():
    said = "a <|user|> b <|assistant|><|system|> <|end|> c | d"
    assert without_roles(said) == "a < |user|> b < |assistant|>< |system|> <|end|> c | d"


def test_a_reply_stays_as_the_model_wrote_it():
    dialogue = talk_about("maths")
    dialogue.add_plan("Subgoal 1: <|user|>", FIRST)
    dialogue.add_grounding("R1 = Define(<|user|>)")
    assert (dialogue.planner_turns[-1], dialogue.grounder_turns[-1]) == (
        Turn("assistant", "Subgoal 1: <|user|>"),
        Turn("assistant", "R1 = Define(<|user|>)"),
    )


def test_a_reply_has_at_most_so_many_actions_in_every_grammar():
    line = "; ".join(["R1 = Define(1)"] * (MAX_ACTIONS + 6))
    *first, rest = talk_about("maths").read(line)
    assert first == [Action(("R1",), "Define", "1", "R1 = Define(1)")] * MAX_ACTIONS
    assert rest == Action((), TOO_MANY, "1,006 actions", "R1 = Define(1); " * 5 + "…")
    *first, rest = talk_about("intercode_sql").read(line)
    assert first == [Action(("R1",), "", "Define(1)", "R1 = Define(1)")] * MAX_ACTIONS
    assert rest.name == TOO_MANY


@pytest.mark.parametrize(
    ("line", "arguments", "result"),
    [
        ("Action 1-1: R1 = two apples", "two apples", ""),
        ("Action 1-1: R4 = R3(n=5) = 9", "R3(n=5)", "9"),
    ],
)
def test_an_expression_is_an_alias_of_its_whole_text(line, arguments, result):
    action, its_result = read_action_line(line)
    assert (action.name, action.arguments, its_result) == ("", arguments, result)


# --- what a turn tells ------------------------------------------------------------------------------------------------


def test_a_domain_without_an_action_list_gives_the_solver_the_planner_s_instruction_alone():
    assert talk_about("intercode_sql").to_solver() == (
        f"<|user|>\n{PLAN_HEAD}Task: How many?; Initial Environment Description: None.\n<|assistant|>\n"
    )


def test_the_result_of_a_subgoal_that_was_not_grounded_is_empty():
    told = "The executed result for Subgoal 1 is . Should we stop planning?\n<|assistant|>\n"
    planned, solved = talk_about("maths"), talk_about("maths")
    planned.add_plan(FIRST.text, FIRST)
    solved.add_solution(FIRST.text, FIRST)
    assert planned.to_planner().endswith(told) and solved.to_solver().endswith(told)


def test_only_the_full_stop_at_the_end_of_what_was_done_goes():
    dialogue = talk_about("web_agent")
    dialogue.add_plan("Subgoal 1: Press X.", Subgoal(1, "Subgoal 1: Press X."))
    assert "We have already press X. Should we stop planning?" in dialogue.to_planner()


def test_a_planner_is_told_that_another_subgoal_was_done_than_its_own():
    dialogue = talk_about("web_agent")
    dialogue.add_plan("Subgoal 1: Press it.", Subgoal(1, "Subgoal 1: Press it."))
    dialogue.override_subgoal(Subgoal(1, "Subgoal 1: Type 3."))
    assert "We have already type 3. Should we stop planning?" in dialogue.to_planner()


def test_the_earlier_result_of_a_subgoal_that_failed_in_the_end_is_not_told_to_the_grounder():
    dialogue = talk_about("complex_qa")
    dialogue.add_plan(FIRST.text, FIRST)
    found, lost = dialogue.add_grounding("R1 = KnowledgeQuery(Ann); R2 = QA([R1], Question: Who?)")
    dialogue.observe(found, Execution("ok", "Ann is a cook."))
    dialogue.observe(lost, Execution("no_answer", message="nothing"))
    dialogue.add_plan(SECOND.text, SECOND)
    assert dialogue.to_grounder().endswith("The grounding could be based on the following results:\n<|assistant|>\n")


# --- what is refused --------------------------------------------------------------------------------------------------


def test_steps_out_of_order_are_refused_in_these_words():
    with pytest.raises(ValueError, match=r"^turns must alternate between user and assistant, the user first$"):
        render([Turn("assistant", "a")], "train")
    with pytest.raises(ValueError, match=r"^there is no subgoal to ground: call add_plan first$"):
        talk_about("maths").to_grounder()
    stopped = talk_about("maths")
    stopped.add_plan("Yes, I will stop planning.")
    with pytest.raises(ValueError, match=r"^the model stopped or planned everything at once: it has no further turn$"):
        stopped.to_planner()
