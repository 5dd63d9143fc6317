"""The planner's and the grounder's text, byte for byte: spec/lumos.md sections 1 and 3, vectors A4 and A5."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.notation import read_actions, read_annotation, read_plan, read_subgoal, write_plan, write_subgoal
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import FRAMINGS, PLAN_HEAD, Dialogue, Turn, question_prompt, render
from lumos_queue.records import Action, Execution, Subgoal, Task

TALKING = ("maths", "complex_qa", "web_agent")
STOP = "Yes, I will stop planning."
MATHS_HEAD = (
    "Please ground the given subgoal to corresponding executable actions for solving the given task. "
    "The grounded actions must be the one in available action list.\n\n"
    "The available action list is 'Calculator', 'SetEquation', 'SolveEquation', 'Count', 'SolveInequality', 'Code', "
    "and 'Define'.\n"
    "Calculator(formula): Calculate the input formula; SetEquation(equation): Set up an equation to be solved; "
    "SolveEquation(equation): Solve the previous set equation; "
    "Count(list): Count the number of elements in the given list; "
    "SolveInequality(inequality): Solve the previous set inequality; "
    "Code(pseudo_code): Generate a Python function that corresponds to the pseudo code; "
    "Define(variable/number): Define a variable or a number for latter usage.\n\n"
)


def task(question: str) -> Task:
    return Task("gsm8k", "d", "1", question)


def step(dialogue: Dialogue, reply: str, number: int, grounding: str, results: list[str | Execution]) -> None:
    """One round as the iterative formulation takes it."""
    dialogue.to_planner()
    dialogue.add_plan(reply, read_subgoal(reply, number))
    dialogue.to_grounder()
    dialogue.add_grounding(grounding)
    for action, result in zip(read_actions(grounding), results, strict=True):
        dialogue.observe(action, Execution("ok", result) if isinstance(result, str) else result)


def last(turns: tuple[Turn, ...]) -> str:
    return turns[-1].content


# --- first prompts: 1.3 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("framing", FRAMINGS)
def test_the_first_prompts_are_exact_in_both_framings(framing):
    dialogue = Dialogue(task(" How many?\n"), "maths", framing)
    assert dialogue.to_planner() == (
        "<|user|>\nPlease provide a reasonable subgoal-based plan to solve the given task.\n"
        "Task: How many?; Initial Environment Description: None.\n<|assistant|>\n"
    )
    dialogue.add_plan("Subgoal 1: Add.", Subgoal(1, "Subgoal 1: Add."))
    assert dialogue.to_grounder() == (
        f"<|user|>\n{MATHS_HEAD}Task: How many? \nSubgoal to be grounded: Subgoal 1: Add.\n<|assistant|>\n"
    )


@pytest.mark.parametrize("framing", FRAMINGS)
def test_the_one_pass_grounder_is_given_the_whole_plan_unmodified(framing):
    dialogue = Dialogue(task("How many?"), "maths", framing)
    assert dialogue.to_grounder_all(" Subgoal 1: Add; Subgoal 2:  Halve. ") == (
        f"<|user|>\n{MATHS_HEAD}Task: How many? \n"
        "Subgoals to be grounded: Subgoal 1: Add; Subgoal 2:  Halve.\n<|assistant|>\n"
    )


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_bare_question_is_the_whole_prompt_of_cot_and_direct(framing):
    assert question_prompt(task(" How many? "), framing) == "<|user|>\nHow many?\n<|assistant|>\n"


@pytest.mark.parametrize(
    ("domain", "actions"),
    [
        ("complex_qa", "'KnowledgeQuery', 'ParagraphRetrieve', 'QA', 'Calculator', and 'Code'.\nCalculator(formula)"),
        ("web_agent", "'CLICK', 'TYPE', 'SELECT'.\nCLICK(Env, Query): Click the relevant html region in Env"),
        ("webshop", "'Search', 'FeatureRetrieve', 'Pick' and 'Click'.\nSearch(Query): Search related items"),
    ],
)
def test_each_ground_head_lists_its_actions_and_ends_with_a_blank_line(domain, actions):
    head = DOMAINS.load(domain).ground_head
    assert f"available action list.\n\nThe available action list is {actions}" in head
    assert head.endswith(".\n\n")


def test_the_calculator_is_described_twice_to_the_complex_qa_grounder_as_in_the_original():
    assert DOMAINS.load("complex_qa").ground_head.count("Calculator(formula): Calculate the input formula; ") == 2


def test_the_intercode_grounder_is_given_no_action_list():
    assert DOMAINS.load("intercode_sql").ground_head == MATHS_HEAD[: MATHS_HEAD.index("The available")]


def test_the_integrated_prompt_has_the_planner_s_instruction_and_the_grounder_s_actions():
    assert Dialogue(task("How many?"), "maths").to_solver() == (
        f"<|user|>\n{PLAN_HEAD}{MATHS_HEAD[MATHS_HEAD.index('The available') :]}"
        "Task: How many?; Initial Environment Description: None.\n<|assistant|>\n"
    )


def test_the_solver_is_told_results_as_the_planner_is():
    dialogue = Dialogue(task("Buy"), "web_agent")
    plan = Subgoal(1, "Subgoal 1: Click.")
    dialogue.add_solution("Subgoal 1: Click. Actions: R1 = CLICK(Env, QUERY: x)", plan, "R1 = CLICK()")
    dialogue.to_solver()
    assert dialogue.solver_turns[-1].content == "We have already click. Should we stop planning?"
    dialogue = Dialogue(task("q"), "maths")
    dialogue.add_solution("Subgoal 1: x", Subgoal(1, "Subgoal 1: x"), " R1 = (R9) ")
    dialogue.to_solver()
    told = dialogue.solver_turns[-1].content
    assert told == "The executed result for Subgoal 1 is R1 = (R9). Should we stop planning?"
    assert [turn.role for turn in dialogue.solver_turns] == ["user", "assistant", "user"]


# --- A4: one example, every message -----------------------------------------------------------------------------------

SOURCE = """\
Subgoal 1: Multiply.
Action 1-1: R1 = Calculator(12 * 3) = 36

Subgoal 2: Subtract.
Action 2-1: R2 = Calculator(R1 - 5) = 31
Action 2-2: Output = R2 = 31"""


@pytest.fixture
def conversation() -> Dialogue:
    dialogue = Dialogue(task("How many?"), "maths")
    step(dialogue, "Subgoal 1: Multiply.", 1, "R1 = Calculator(12 * 3)", ["36"])
    reply = "No, I will keep planning. Subgoal 2: Subtract."
    step(dialogue, reply, 2, "R2 = Calculator(R1 - 5); R2 = (R2)", ["31", "31"])
    dialogue.to_planner()
    dialogue.add_plan(STOP)
    return dialogue


def test_the_planner_conversation_is_that_of_the_released_data(conversation):
    assert [(turn.role, turn.content) for turn in conversation.planner_turns] == [
        (
            "user",
            "Please provide a reasonable subgoal-based plan to solve the given task.\n"
            "Task: How many?; Initial Environment Description: None.",
        ),
        ("assistant", "Subgoal 1: Multiply."),
        ("user", "The executed result for Subgoal 1 is 36. Should we stop planning?"),
        ("assistant", "No, I will keep planning. Subgoal 2: Subtract."),
        ("user", "The executed result for Subgoal 2 is 31. Should we stop planning?"),
        ("assistant", "Yes, I will stop planning."),
    ]


def test_the_grounder_conversation_is_that_of_the_released_data(conversation):
    assert [(turn.role, turn.content) for turn in conversation.grounder_turns] == [
        ("user", f"{MATHS_HEAD}Task: How many? \nSubgoal to be grounded: Subgoal 1: Multiply.\n"),
        ("assistant", "R1 = Calculator(12 * 3)"),
        ("user", "Subgoal to be grounded: Subgoal 2: Subtract.\n"),
        ("assistant", "R2 = Calculator(R1 - 5); R2 = (R2)"),
    ]


def test_gold_written_down_reads_back_as_the_same_one_pass_conversations():
    steps, issues = read_annotation(SOURCE)
    assert not issues
    plan = write_plan(step.subgoal for step in steps)
    assert plan == "Subgoal 1: Multiply.; Subgoal 2: Subtract."
    dialogue = Dialogue(task("How many?"), "maths")
    dialogue.to_planner()
    dialogue.add_plan(plan)
    dialogue.to_grounder_all(plan)
    dialogue.add_grounding("R1 = Calculator(12 * 3); R2 = Calculator(R1 - 5); Output = (R2)")
    assert [turn.content for turn in dialogue.planner_turns[1:]] == [plan]
    assert [turn.content for turn in dialogue.grounder_turns] == [
        f"{MATHS_HEAD}Task: How many? \nSubgoals to be grounded: Subgoal 1: Multiply.; Subgoal 2: Subtract.\n",
        "R1 = Calculator(12 * 3); R2 = Calculator(R1 - 5); Output = (R2)",
    ]
    assert [subgoal.text for subgoal in read_plan(plan)] == ["Subgoal 1: Multiply.", "Subgoal 2: Subtract."]


# --- A5 and the wording of the domains --------------------------------------------------------------------------------

COMPARE = (
    "Subgoal to be grounded: Subgoal 3: Compare the heights. The grounding could be based on the following results: "
    "The execution result for Subgoal 1 is 330 metres. The execution result for Subgoal 2 is 96 metres."
)


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("dot", ["", "."])
def test_the_qa_grounder_is_told_the_earlier_results(framing, dot):
    dialogue = Dialogue(task("Which is taller?"), "complex_qa", framing)
    step(
        dialogue, "Subgoal 1: a", 1, "R1 = KnowledgeQuery(a); R2 = QA([R1], Question: a?)", ["A(1)", f"330 metres{dot}"]
    )
    step(dialogue, "Subgoal 2: b", 2, "R3 = QA([R1], Question: b?)", [f"96 metres{dot}"])
    reply = "No, I will keep planning. Subgoal 3: Compare the heights."
    dialogue.add_plan(reply, read_subgoal(reply, 3))
    assert dialogue.to_grounder().endswith(f"<|user|>\n{COMPARE}\n<|assistant|>\n")
    assert last(dialogue.grounder_turns) == f"{COMPARE}\n"
    assert dialogue.planner_turns[2].content == (
        "The executed result for Subgoal 1 is 330 metres. Should we stop planning?"
    )


def test_the_qa_grounder_is_told_earlier_results_in_string_order_and_no_failures():
    dialogue = Dialogue(task("q"), "complex_qa")
    for number in range(1, 12):
        result = Execution("tool_failed") if number == 3 else f"r{number}"
        step(dialogue, f"Subgoal {number}: x", number, f"R{number} = QA([], Question: x)", [result])
    dialogue.add_plan("Subgoal 12: x", Subgoal(12, "Subgoal 12: x"))
    dialogue.to_grounder()
    told = last(dialogue.grounder_turns).partition("following results:")[2]
    assert (
        told
        == "".join(
            f" The execution result for Subgoal {number} is r{number}." for number in (1, 10, 11, 2, 4, 5, 6, 7, 8, 9)
        )
        + "\n"
    )


def test_the_web_planner_is_told_what_was_done_and_no_result():
    dialogue = Dialogue(task("Buy"), "web_agent")
    step(dialogue, "Subgoal 1: Click on .NET.", 1, "R1 = CLICK(Env, QUERY: .NET)", ["<div>"])
    dialogue.to_planner()
    assert last(dialogue.planner_turns) == "We have already click on .NET. Should we stop planning?"
    dialogue.add_plan("x", Subgoal(2, ".com"))
    dialogue.to_planner()
    assert last(dialogue.planner_turns) == "We have already .com. Should we stop planning?"
    dialogue.to_grounder()
    assert last(dialogue.grounder_turns) == "Subgoal to be grounded: .com\n"


def test_results_are_numbered_by_the_loop_and_not_by_the_label_the_model_wrote():
    dialogue = Dialogue(task("q"), "maths")
    step(dialogue, "Subgoal 9: Add.", 1, "R1 = Calculator(1)", ["1"])
    dialogue.to_planner()
    assert last(dialogue.planner_turns) == "The executed result for Subgoal 1 is 1. Should we stop planning?"


@pytest.mark.parametrize(
    ("grounding", "results", "told"),
    [
        ("R1 = Calculator(1); R2 = SetEquation(a = b)", ["1", "a = b"], "a = b"),
        ("R1, R2 = SolveEquation(x)", [Execution("ok", "", ({"text": "-9/8"}, {"text": "-3/5"}))], "-9/8, -3/5"),
        ("R1 = Calculator(1/2)", [".5"], ".5"),
        ("R1 = Calculator(2 * )", [Execution("syntax", message="no operand")], "Calculator(2 * )"),
        ("R1 = Calculator(1); R2 = (R9)", ["1", Execution("unbound")], "(R9)"),
        ("Let me think", [Execution("unreadable")], "Let me think"),
        (" ", [], ""),
    ],
)
def test_the_planner_is_told_the_result_of_the_last_action(grounding, results, told):
    dialogue = Dialogue(task("q"), "maths")
    step(dialogue, "Subgoal 1: x", 1, grounding, results)
    dialogue.to_planner()
    assert last(dialogue.planner_turns) == f"The executed result for Subgoal 1 is {told}. Should we stop planning?"


def test_a_reply_without_actions_stands_for_the_result():
    dialogue = Dialogue(task("q"), "maths")
    dialogue.add_plan("Subgoal 1: x", Subgoal(1, "Subgoal 1: x"))
    dialogue.add_grounding(" cannot ")
    dialogue.to_planner()
    assert last(dialogue.planner_turns) == "The executed result for Subgoal 1 is cannot. Should we stop planning?"


# --- promises ---------------------------------------------------------------------------------------------------------

texts = st.text(max_size=12)
rounds = st.lists(st.tuples(texts, texts, st.none() | texts), max_size=4)


@given(st.sampled_from(TALKING), st.sampled_from(sorted(FRAMINGS)), texts, rounds)
@settings(max_examples=200, deadline=None)
def test_training_text_equals_inference_text_and_prompts_only_grow(domain, framing, question, some):
    dialogue = Dialogue(task(question), domain, framing)
    prompts = {"planner": [], "grounder": []}
    replies = {"planner": [], "grounder": []}
    for number, (plan, ground, result) in enumerate(some, start=1):
        prompts["planner"].append(dialogue.to_planner())
        assert dialogue.to_planner() == prompts["planner"][-1]
        dialogue.add_plan(plan, read_subgoal(plan, number) or Subgoal(number, "x"))
        replies["planner"].append(plan)
        prompts["grounder"].append(dialogue.to_grounder())
        assert dialogue.to_grounder() == prompts["grounder"][-1]
        dialogue.add_grounding(ground)
        replies["grounder"].append(ground)
        for action in read_actions(ground) or (Action(("R1",), "QA", ground),):
            dialogue.observe(action, Execution("failed") if result is None else Execution("ok", result))
    prompts["planner"].append(dialogue.to_planner())
    dialogue.add_plan(STOP)
    replies["planner"].append(STOP)
    for role, turns in (("planner", dialogue.planner_turns), ("grounder", dialogue.grounder_turns)):
        whole = render(turns, framing)
        for k, (prompt, reply) in enumerate(zip(prompts[role], replies[role], strict=True)):
            assert prompt.startswith(dialogue.prompt_prefixes[role])
            assert render(turns[: 2 * k + 1], framing) == prompt
            assert render(turns[: 2 * k + 2], framing).startswith(prompt + reply.strip())
            assert whole.startswith(prompt + reply.strip())
        assert all(later.startswith(earlier) for earlier, later in zip(prompts[role], prompts[role][1:], strict=False))


def test_replies_given_without_asking_for_prompts_make_the_same_conversation(conversation):
    dialogue = Dialogue(task("How many?"), "maths")
    for subgoal, grounding, result in (
        (Subgoal(1, "Subgoal 1: Multiply."), "R1 = Calculator(12 * 3)", "36"),
        (Subgoal(2, "Subgoal 2: Subtract."), "R2 = Calculator(R1 - 5); R2 = (R2)", "31"),
    ):
        dialogue.add_plan(write_subgoal(subgoal), subgoal)
        dialogue.add_grounding(grounding)
        for action in read_actions(grounding):
            dialogue.observe(action, Execution("ok", result))
    dialogue.add_plan(STOP)
    assert dialogue.planner_turns == conversation.planner_turns
    assert dialogue.grounder_turns == conversation.grounder_turns


@pytest.mark.parametrize("domain", TALKING)
@pytest.mark.parametrize("framing", FRAMINGS)
def test_the_heads_are_what_first_prompts_of_all_tasks_share(domain, framing):
    heads = Dialogue(task("a"), domain, framing).prompt_prefixes
    one_pass = [Dialogue(task(question), domain, framing).to_grounder_all("p") for question in ("a", "b")]
    assert all(prompt.startswith(heads["grounder"]) for prompt in one_pass)
    assert [prompt[len(heads["grounder"])] for prompt in one_pass] == ["a", "b"]
    assert heads["planner"] == f"<|user|>\n{PLAN_HEAD}Task: "


# --- what is refused --------------------------------------------------------------------------------------------------


def test_the_multimodal_grounder_has_an_instruction_of_our_own_that_is_not_called_verified():
    domain = DOMAINS.load("multimodal")
    assert domain.verified_ground_head is None
    head = domain.ground_head
    assert head.startswith(DOMAINS.load("intercode_sql").ground_head + "The available action list is ")
    assert "VQA(Image_Context, Query): Given the image context, answer the query" in head and head.endswith(".\n\n")


@pytest.mark.parametrize(("domain", "most"), [("webshop", 2), ("intercode_sql", 3), ("maths", 4), ("web_agent", 0)])
def test_more_demonstrations_than_there_are_are_refused(domain, most):
    with pytest.raises(SpecError, match=f"'{domain}' has {most} demonstrations, not {most + 1}"):
        Agent({}, domain, shots=most + 1).dialogue(task("q"))
    Agent({}, domain, shots=most).dialogue(task("q"))


def test_unknown_names_list_the_choices():
    with pytest.raises(
        SpecError, match=r"No domain called 'math'\. Did you mean 'maths'\? Choose one of: complex_qa, .*maths"
    ):
        Dialogue(task("q"), "math")
    with pytest.raises(SpecError, match=r"No framing called 'test'\. Choose one of: eval, train"):
        Dialogue(task("q"), "maths", "test")
    domains = {
        "maths",
        "complex_qa",
        "web_agent",
        "multimodal",
        "webshop",
        "intercode_sql",
        "tools",
        "experts",
        "local_tools",
    }
    assert set(DOMAINS) == domains


def test_steps_out_of_order_are_refused():
    with pytest.raises(ValueError, match="no subgoal to ground"):
        Dialogue(task("q"), "maths").to_grounder()
    dialogue = Dialogue(task("q"), "maths")
    dialogue.add_plan(STOP)
    with pytest.raises(ValueError, match="no further turn"):
        dialogue.to_planner()
