"""A formulation is a list of commands and results: no model, no database, no clock."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.commands import Ask, Do, Note
from lumos_queue.errors import SpecError
from lumos_queue.formulations.answer import last_value
from lumos_queue.formulations.iterative import iterative
from lumos_queue.formulations.one_pass import one_pass
from lumos_queue.formulations.registry import FORMULATIONS, trainable_names
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.single_model import read_cot_answer, read_integrated
from lumos_queue.records import Action, Completion, Execution, Outcome, Subgoal, Task

TASK = Task("wordmath", "digest", "1", "Ann has 12 boxes of 3 pens and loses 5 pens. How many are left?")
AGENT = Agent(roles={}, domain="maths", max_subgoals=3)
FIRST = "Subgoal 1: Calculate the number of pens in 12 boxes of 3."
SECOND = "Subgoal 2: Calculate the number of pens left after losing 5."
STOP = "Yes, I will stop planning."


def says(text: str) -> Completion:
    return Completion(text, "stop")


def gives(text: str) -> Execution:
    return Execution("ok", text, ({"kind": "number", "text": text},))


def fails(kind: str, variables: int = 1) -> Execution:
    return Execution(kind, "", (), f"it failed: {kind}")


def drive(generator, results):
    """Feed results in; returns the commands that came out and the outcome. Every result must be used."""
    commands, results = [], iter(results)
    reply = None
    try:
        while True:
            command = generator.send(reply)
            commands.append(command)
            reply = None if isinstance(command, Note) else next(results)
    except StopIteration as stop:
        assert next(results, None) is None, "results were left over"
        return commands, stop.value


def shape(commands) -> list[str]:
    """The commands in short: who was asked, what was noted, what was done."""
    short = []
    for command in commands:
        match command:
            case Ask():
                short.append(command.role)
            case Note():
                short.append(command.subgoal.text)
            case Do():
                short.append(command.action.raw)
    return short


def test_iterative_plans_grounds_and_executes_in_turn_until_the_planner_stops():
    commands, outcome = drive(
        iterative(TASK, AGENT),
        [
            says(FIRST),
            says("R1 = Calculator(12 * 3)"),
            gives("36"),
            says(f"No, I will keep planning. {SECOND}"),
            says("R2 = Calculator(R1 - 5)"),
            gives("31"),
            says(STOP),
        ],
    )
    assert shape(commands) == [
        "planner",
        FIRST,
        "grounder",
        "R1 = Calculator(12 * 3)",
        "planner",
        SECOND,
        "grounder",
        "R2 = Calculator(R1 - 5)",
        "planner",
    ]
    assert outcome == Outcome("31", "answered")


def test_iterative_shows_the_planner_each_result_and_the_grounder_a_clean_subgoal():
    commands, _ = drive(
        iterative(TASK, AGENT),
        [
            says(FIRST),
            says("R1 = Calculator(12 * 3)"),
            gives("36"),
            says(f"No, I will keep planning. {SECOND}"),
            says("R2 = Calculator(R1 - 5)"),
            gives("31"),
            says(STOP),
        ],
    )
    planner = [command.prompt for command in commands if isinstance(command, Ask) and command.role == "planner"]
    grounder = [command.prompt for command in commands if isinstance(command, Ask) and command.role == "grounder"]
    assert "The executed result for Subgoal 1 is 36. Should we stop planning?" in planner[1]
    assert "The executed result for Subgoal 2 is 31. Should we stop planning?" in planner[2]
    assert grounder[1].endswith(f"Subgoal to be grounded: {SECOND}\n<|assistant|>\n")
    assert "keep planning" not in grounder[1]


@pytest.mark.parametrize("subgoals", [0, 1, 2, 3])
def test_iterative_asks_2k_plus_1_times_when_the_planner_stops_and_2k_at_the_limit(subgoals):
    results = []
    for number in range(1, subgoals + 1):
        results += [says(f"Subgoal {number}: go on."), says(f"R{number} = Calculator({number})"), gives(str(number))]
    stops = subgoals < AGENT.max_subgoals
    commands, outcome = drive(iterative(TASK, AGENT), results + [says(STOP)] * stops)
    asked = sum(isinstance(command, Ask) for command in commands)
    assert asked == (2 * subgoals + 1 if stops else 2 * subgoals)
    assert outcome.ending == ("no_answer" if subgoals == 0 else "answered" if stops else "limit")


def test_iterative_at_the_limit_keeps_the_last_value_but_says_limit():
    results = [says("Subgoal: more."), says("R1 = Calculator(1)"), gives("1")] * 3
    _, outcome = drive(iterative(TASK, AGENT), results)
    assert outcome == Outcome("1", "limit")


def test_iterative_goes_on_after_a_failed_action_and_shows_it_to_the_planner():
    commands, outcome = drive(
        iterative(TASK, AGENT),
        [
            says(FIRST),
            says("R1 = Calculator(2 * )"),
            fails("syntax"),
            says(f"No, I will keep planning. {SECOND}"),
            says("R2 = Calculator(36 - 5)"),
            gives("31"),
            says(STOP),
        ],
    )
    prompts = [command.prompt for command in commands if isinstance(command, Ask)]
    assert "The executed result for Subgoal 1 is Calculator(2 * ). Should we stop planning?" in prompts[2]
    assert outcome == Outcome("31", "answered")


def test_an_answer_whose_action_failed_is_an_action_error():
    _, outcome = drive(
        iterative(TASK, AGENT), [says(FIRST), says("R1 = Calculator(1/0)"), fails("division"), says(STOP)]
    )
    assert outcome == Outcome(None, "action_error", "R1: it failed: division")


def test_an_empty_planner_reply_is_unreadable():
    _, outcome = drive(iterative(TASK, AGENT), [says("  ")])
    assert outcome.ending == "unreadable"


def test_a_grounder_that_writes_no_action_leaves_the_episode_unreadable():
    commands, outcome = drive(
        iterative(TASK, AGENT), [says(FIRST), says("I think it is 36"), fails("unreadable"), says(STOP)]
    )
    assert outcome.ending == "unreadable"
    assert shape(commands)[3] == "I think it is 36"


def test_one_pass_asks_twice_and_runs_every_action_in_order():
    commands, outcome = drive(
        one_pass(TASK, AGENT),
        [
            says(f"{FIRST}; {SECOND}"),
            says("R1 = Calculator(12 * 3); R2 = Calculator(R1 - 5)"),
            gives("36"),
            gives("31"),
        ],
    )
    assert shape(commands) == [
        "planner",
        FIRST,
        SECOND,
        "grounder",
        "R1 = Calculator(12 * 3)",
        "R2 = Calculator(R1 - 5)",
    ]
    assert outcome == Outcome("31", "answered")
    grounder = commands[3].prompt
    assert f"Subgoals to be grounded: {FIRST}; {SECOND}\n<|assistant|>\n" in grounder


def test_one_pass_stops_at_the_first_action_that_fails():
    commands, outcome = drive(
        one_pass(TASK, AGENT),
        [says(FIRST), says("R1 = Calculator(12 * ); R2 = Calculator(R1 - 5)"), fails("syntax")],
    )
    assert sum(isinstance(command, Do) for command in commands) == 1
    assert outcome.ending == "action_error"


def test_one_pass_ends_as_unreadable_where_no_action_can_be_read():
    _, outcome = drive(one_pass(TASK, AGENT), [says(FIRST), says("I think it is 36"), fails("unreadable", 0)])
    assert outcome.ending == "unreadable"


def test_one_pass_asks_the_grounder_even_when_the_plan_is_empty():
    commands, outcome = drive(one_pass(TASK, AGENT), [says(""), says("")])
    assert [command.role for command in commands] == ["planner", "grounder"]
    assert outcome.ending == "unreadable"


def test_output_wins_over_the_highest_variable():
    seen = [
        (Action(("R2",), "Calculator", "1"), gives("1")),
        (Action(("Output",), "", "R1"), gives("7")),
        (Action(("R10",), "Calculator", "2"), gives("2")),
    ]
    assert last_value(seen).answer == "7"
    assert last_value(seen[:1] + seen[2:]).answer == "2"


def test_a_formulation_never_sees_the_gold_answer():
    seen = {}

    def spy(task, agent):
        seen["gold"] = task.gold
        return Outcome("x", "answered")
        yield

    import asyncio

    from lumos_queue.episode import run_episode
    from lumos_queue.execution.memory_journal import MemoryJournal

    task = Task("b", "d", "1", "q", gold="31")
    asyncio.run(run_episode(spy, task, AGENT, MemoryJournal(), None))
    assert seen == {"gold": None}


# --- one model alone --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("She has 12 * 3 = 36 pens. Answer is 31.", "31"),
        ("The answer is not 36. Based on these evidences, the answer is True.", "True"),
        ("answer is: 3.5", "3.5"),
        ("Answer is 31. ", "31"),
        ("The answer is .", None),
        ("I do not know", None),
        ("", None),
    ],
)
def test_cot_answers_with_what_follows_the_last_answer_is(reply, answer):
    commands, outcome = drive(FORMULATIONS.load("cot")(TASK, AGENT), [says(reply)])
    assert [(command.role, command.prompt) for command in commands] == [
        ("solver", f"<|user|>\n{TASK.question}\n<|assistant|>\n")
    ]
    assert (outcome.answer, outcome.ending) == (answer, "answered" if answer else "no_answer")


@pytest.mark.parametrize(("reply", "answer"), [(" 31\n", "31"), ("31 pens.", "31 pens."), (" ", None)])
def test_direct_answers_with_the_reply(reply, answer):
    commands, outcome = drive(FORMULATIONS.load("direct")(TASK, AGENT), [says(reply)])
    assert [command.prompt for command in commands] == [f"<|user|>\n{TASK.question}\n<|assistant|>\n"]
    assert (outcome.answer, outcome.ending) == (answer, "answered" if answer else "no_answer")


def test_integrated_takes_subgoal_and_actions_from_one_model_and_tells_it_the_result():
    commands, outcome = drive(
        FORMULATIONS.load("integrated")(TASK, AGENT),
        [
            says(f"{FIRST} Actions: R1 = Calculator(12 * 3)"),
            gives("36"),
            says(f"No, I will keep planning. {SECOND} Actions: R2 = Calculator(R1 - 5); R3 = (R2)"),
            gives("31"),
            gives("31"),
            says(STOP),
        ],
    )
    assert shape(commands) == [
        "solver",
        FIRST,
        "R1 = Calculator(12 * 3)",
        "solver",
        SECOND,
        "R2 = Calculator(R1 - 5)",
        "R3 = (R2)",
        "solver",
    ]
    assert outcome == Outcome("31", "answered")
    prompts = [command.prompt for command in commands if isinstance(command, Ask)]
    assert prompts[1] == (
        f"{prompts[0]}{FIRST} Actions: R1 = Calculator(12 * 3)</s>\n<|user|>\n"
        "The executed result for Subgoal 1 is 36. Should we stop planning?\n<|assistant|>\n"
    )


@pytest.mark.parametrize(
    ("reply", "ending"),
    [
        ("", "unreadable"),
        ("Actions: R1 = Calculator(1)", "unreadable"),
        (FIRST, "no_answer"),
        (f"{FIRST} Actions: none", "unreadable"),
    ],
)
def test_integrated_replies_that_lack_something_end_by_name(reply, ending):
    results = [says(reply)] + [fails("unreadable")] * ("none" in reply) + [says(STOP)] * (FIRST in reply)
    assert drive(FORMULATIONS.load("integrated")(TASK, AGENT), results)[1].ending == ending


def test_integrated_ends_at_the_limit_of_subgoals():
    rounds = [
        part for n in (1, 2, 3) for part in (says(f"Subgoal {n}: x. Actions: R{n} = Calculator({n})"), gives(str(n)))
    ]
    assert drive(FORMULATIONS.load("integrated")(TASK, AGENT), rounds)[1] == Outcome("3", "limit")


@given(st.text(max_size=60), st.text(max_size=30))
def test_no_reply_of_a_solver_is_too_odd_to_be_read(before, after):
    for reply in (before, f"{before}Actions:{after}", f"{before} Actions: R1 ={after}", f"{before}answer is{after}"):
        subgoal, actions = read_integrated(reply, 1)
        assert subgoal is None or subgoal.text.strip()
        assert actions == actions.strip()
        assert read_cot_answer(reply) is not None


def test_every_formulation_says_what_follows_from_it():
    both, facts = ("planner", "grounder"), {}
    for name in FORMULATIONS:
        one = FORMULATIONS.load(name)
        assert one.name == name
        facts[name] = (one.roles, one.executes, one.trainable, one.limited, one.demonstrated, one.versioned)
    assert facts == {
        "iterative": (both, True, True, True, True, True),
        "one-pass": (both, True, True, False, True, True),
        "cot": (("solver",), False, True, False, True, True),
        "direct": (("solver",), False, True, False, True, True),
        "integrated": (("solver",), True, True, True, True, True),
        "caption": (("captioner",), False, False, False, False, False),
        "teacher-forced": (both, True, False, False, False, True),
        "react": (("policy",), True, False, False, False, True),
        "dfsdt": (("policy",), True, False, False, False, True),
        "rewoo": (("planner", "solver"), True, False, False, False, True),
        "sum2act": (("router", "state_manager"), True, False, False, False, True),
        "model-synthesis": (("planner",), True, True, False, False, False),
        "open-ended": (("planner", "policy"), True, False, False, False, True),
        "tooleval": (("judge",), False, False, False, False, True),
        "stored-answer": ((), False, False, False, False, False),
    }
    functions = {name for name in FORMULATIONS if FORMULATIONS.load(name).functions}
    assert functions == {"react", "dfsdt", "rewoo", "sum2act", "open-ended"}
    assert {name for name in FORMULATIONS if FORMULATIONS.load(name).approved} == {"open-ended"}
    counted = {name for name in FORMULATIONS if FORMULATIONS.load(name).expected_calls}
    assert counted == {"iterative", "one-pass", "model-synthesis"}
    assert trainable_names() == ("iterative", "one-pass", "cot", "direct", "integrated", "model-synthesis")
    assert [name for name in FORMULATIONS if FORMULATIONS.load(name).taught_with] == ["model-synthesis"]


def test_the_names_of_formulations_are_known_before_one_is_imported():
    code = (
        "import sys; from lumos_queue.formulations.registry import FORMULATIONS; print(len(FORMULATIONS.names), "
        "[name for name in sys.modules if name.endswith(('iterative', 'teacher_forced', 'web.recorded_action'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "15 []"


def test_unknown_formulation_lists_the_choices():
    message = (
        "No formulation called 'lumos_iterative'. Did you mean 'iterative'? Choose one of: caption, cot, dfsdt, "
        "direct, integrated, iterative, model-synthesis, one-pass, open-ended, package.module:object, react, rewoo, "
        "stored-answer, sum2act, teacher-forced, tooleval."
    )
    with pytest.raises(SpecError, match=re.escape(message)):
        FORMULATIONS.load("lumos_iterative")


def test_a_note_holds_the_subgoal_as_the_loop_counts_it():
    commands, _ = drive(
        iterative(TASK, AGENT), [says("Subgoal 7: odd label."), says("R1 = Calculator(1)"), gives("1"), says(STOP)]
    )
    assert commands[1] == Note(Subgoal(1, "Subgoal 7: odd label."))
