"""Training text is inference text."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lumos_queue.benchmarks.gsm8k.benchmark import benchmark as gsm8k
from lumos_queue.commands import Ask, Do
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.formulations.registry import FORMULATIONS, trainable_names
from lumos_queue.notation import read_annotation
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import (
    Conversation,
    gold_conversations,
    read_conversation,
    read_conversations,
    write_conversations,
)
from lumos_queue.records import (
    Action,
    AnnotatedSubgoal,
    Annotation,
    Completion,
    Execution,
    Subgoal,
    Task,
)

AGENT = Agent(roles={}, domain="maths")
TASK = Task("made-up", "", "1", "A box holds 12 eggs. Ada has 3 boxes and drops 5 eggs. How many are whole?", gold="31")


def solved() -> Annotation:
    """`R1 = 12 * 3`, `R2 = R1 - 5`."""
    first = Action(("R1",), "Calculator", "12 * 3", "R1 = Calculator(12 * 3)")
    second = Action(("R2",), "Calculator", "R1 - 5", "R2 = Calculator(R1 - 5)")
    return Annotation(
        (
            AnnotatedSubgoal(Subgoal(1, "Subgoal 1: Multiply 12 by 3."), (first,), ("36",)),
            AnnotatedSubgoal(Subgoal(2, "Subgoal 2: Subtract 5 from the result of subgoal 1."), (second,), ("31",)),
        ),
        "31",
    )


def prompts_at_inference(name: str, replies: dict[str, list[str]]) -> dict[str, list[str]]:
    """Every prompt each role is sent when the models reply so and the actions give 36 and 31."""
    sent: dict[str, list[str]] = {}
    results = iter(["36", "31"])
    generator, reply = FORMULATIONS.load(name)(TASK, AGENT), None
    try:
        while True:
            command = generator.send(reply)
            reply = None
            if isinstance(command, Ask):
                sent.setdefault(command.role, []).append(command.prompt)
                reply = Completion(replies[command.role][len(sent[command.role]) - 1], "stop")
            elif isinstance(command, Do):
                result = next(results)
                reply = Execution("ok", result, ({"text": result},))
    except StopIteration:
        return sent


@pytest.mark.parametrize("name", sorted({*trainable_names()} - {"model-synthesis"}))  # whose actions are experts
def test_every_prompt_of_an_episode_is_a_beginning_of_the_training_text(name):
    made = {
        one.dataset.rpartition("/")[2]: one
        for one in gold_conversations(TASK, solved(), FORMULATIONS.load(name), AGENT)
    }
    replies = {role: [turn.content for turn in one.turns if turn.role == "assistant"] for role, one in made.items()}
    for role, prompts in prompts_at_inference(name, replies).items():
        text = made[role].text()
        for prompt, reply in zip(prompts, replies[role], strict=True):
            assert text.startswith(prompt + reply + "</s>")
        assert text == prompts[-1] + replies[role][-1] + "</s>"


def test_iterative_and_one_pass_conversations_read_as_in_the_released_data():
    planner, grounder = gold_conversations(TASK, solved(), FORMULATIONS.load("iterative"), AGENT)
    assert (planner.dataset, grounder.dataset) == ("made-up/iterative/planner", "made-up/iterative/grounder")
    assert [turn.content for turn in planner.turns[1:]] == [
        "Subgoal 1: Multiply 12 by 3.",
        "The executed result for Subgoal 1 is 36. Should we stop planning?",
        "No, I will keep planning. Subgoal 2: Subtract 5 from the result of subgoal 1.",
        "The executed result for Subgoal 2 is 31. Should we stop planning?",
        "Yes, I will stop planning.",
    ]
    assert [turn.content for turn in grounder.turns[1::2]] == ["R1 = Calculator(12 * 3)", "R2 = Calculator(R1 - 5)"]
    planner, grounder = gold_conversations(TASK, solved(), FORMULATIONS.load("one-pass"), AGENT)
    plan = "Subgoal 1: Multiply 12 by 3.; Subgoal 2: Subtract 5 from the result of subgoal 1."
    assert planner.turns[1].content == plan
    assert f"Subgoals to be grounded: {plan}\n<|assistant|>" in grounder.text()
    assert grounder.turns[1].content == "R1 = Calculator(12 * 3); R2 = Calculator(R1 - 5)"


def replies_of(name: str, annotation: Annotation, task=TASK, domain="maths", rationale="") -> list[str]:
    agent = Agent(roles={}, domain=domain)
    [one] = gold_conversations(task, annotation, FORMULATIONS.load(name), agent, rationale)
    assert (one.dataset, one.id) == (f"made-up/{name}/solver", "1")
    return [turn.content for turn in one.turns if turn.role == "assistant"]


def test_a_model_that_works_alone_is_trained_on_the_texts_of_the_paper():
    rationale = "She has 12 * 3 = 36.\nShe keeps 36 - 5 = 31.\n"
    assert replies_of("cot", solved(), rationale=rationale) == [
        "She has 12 * 3 = 36. She keeps 36 - 5 = 31. Answer is 31."
    ]
    assert replies_of("direct", solved()) == ["31"]
    assert replies_of(
        "cot", replace(solved(), answer="True"), domain="complex_qa", rationale="We find facts: A is B."
    ) == ["We find facts: A is B. Based on these evidences and decomposed questions, the answer is True."]
    assert replies_of("integrated", solved()) == [
        "Subgoal 1: Multiply 12 by 3. Actions: R1 = Calculator(12 * 3)",
        "No, I will keep planning. Subgoal 2: Subtract 5 from the result of subgoal 1. "
        "Actions: R2 = Calculator(R1 - 5)",
        "Yes, I will stop planning.",
    ]


QA = """\
Subgoal 1: How tall is A?
Action 1-1: R1 = KnowledgeQuery(A) = WikipediaPage(A)
Action 1-2: R2 = QA([R1], Question: How tall?; in metres?) = 330 metres.

Subgoal 2: How tall is B?
Action 2-1: R3 = QA([R1], Question: B?) = 96 metres.

Subgoal 3: Which is taller?
Action 3-1: R4 = QA([R2, R3], Question: taller?) = A."""
WEB = """\
Subgoal 1: Click on the box
Action 1-1: R1 = CLICK(Env, QUERY: City)

Subgoal 2: Type Rome.
Action 2-1: R2 = TYPE(R1, QUERY: City, TEXT: Rome)"""


def test_qa_conversations_show_the_grounder_the_earlier_results():
    steps, issues = read_annotation(QA)
    assert not issues
    agent = Agent(roles={}, domain="complex_qa")
    planner, grounder = gold_conversations(TASK, Annotation(steps, "A"), FORMULATIONS.load("iterative"), agent)
    assert planner.turns[2].content == "The executed result for Subgoal 1 is 330 metres. Should we stop planning?"
    assert grounder.turns[4].content == (
        "Subgoal to be grounded: Subgoal 3: Which is taller? The grounding could be based on the following results: "
        "The execution result for Subgoal 1 is 330 metres. The execution result for Subgoal 2 is 96 metres."
    )
    assert grounder.turns[1].content == "R1 = KnowledgeQuery(A); R2 = QA([R1], Question: How tall?; in metres?)"


def test_web_conversations_tell_what_was_done():
    steps, issues = read_annotation(WEB, results=False)
    assert not issues
    agent = Agent(roles={}, domain="web_agent")
    planner, grounder = gold_conversations(TASK, Annotation(steps, ""), FORMULATIONS.load("iterative"), agent)
    assert [turn.content for turn in planner.turns[2::2]] == [
        "We have already click on the box. Should we stop planning?",
        "We have already type Rome. Should we stop planning?",
    ]
    assert grounder.turns[3].content == "R2 = TYPE(R1, QUERY: City, TEXT: Rome)"


def test_the_multimodal_grounder_is_told_its_actions_in_words_of_our_own():
    agent = Agent(roles={}, domain="multimodal")
    _, grounder = gold_conversations(TASK, solved(), FORMULATIONS.load("iterative"), agent)
    assert "VQA(Image_Context, Query)" in grounder.turns[0].content


def test_more_subgoals_than_an_agent_would_take_still_end_in_the_stop_phrase():
    planner, _ = gold_conversations(TASK, solved(), FORMULATIONS.load("iterative"), replace(AGENT, max_subgoals=1))
    assert planner.turns[-1].content == "Yes, I will stop planning."


def test_the_pieces_are_the_text_and_the_learnt_ones_are_the_replies():
    planner, _ = gold_conversations(TASK, solved(), FORMULATIONS.load("iterative"), AGENT)
    pieces = list(planner.pieces())
    assert "".join(piece for piece, _ in pieces) == planner.text()
    assert [piece for piece, learnt in pieces if learnt] == [
        "Subgoal 1: Multiply 12 by 3.</s>\n",
        "No, I will keep planning. Subgoal 2: Subtract 5 from the result of subgoal 1.</s>\n",
        "Yes, I will stop planning.</s>",
    ]


def test_an_action_that_changes_on_being_written_and_read_is_refused():
    step = solved().steps[0]
    broken = Action(("R1",), "Calculator", "12 * (3", "")
    with pytest.raises(SpecError):
        gold_conversations(
            TASK,
            Annotation((AnnotatedSubgoal(step.subgoal, (broken, broken), ("36", "36")),), "36"),
            FORMULATIONS.load("iterative"),
            AGENT,
            "iterative",
        )


def test_a_file_of_conversations_comes_back_as_it_was(tmp_path):
    made = gold_conversations(TASK, solved(), FORMULATIONS.load("iterative"), AGENT)
    assert write_conversations(made, tmp_path / "rows.jsonl") == 2
    assert list(read_conversations(tmp_path / "rows.jsonl")) == made
    assert set(json.loads((tmp_path / "rows.jsonl").read_text().splitlines()[0])) == {"dataset", "id", "messages"}


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("[", ""),
        ("[" * 100_000, ""),
        ("[]", "messages"),
        ('{"messages": []}', "messages"),
        ('{"messages": [{"role": "user", "content": "a"}]}', "messages"),
        ('{"messages": [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]}', "messages"),
        ('{"messages": [{"role": "user", "content": 3}, {"role": "assistant", "content": "b"}]}', "messages"),
    ],
)
def test_a_bad_row_says_which_row_and_field(line, field):
    with pytest.raises(BadRow) as caught:
        read_conversation(line, 7)
    assert (caught.value.row, caught.value.field) == (7, field)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SpecError, match=r"none\.jsonl"):
        list(read_conversations(tmp_path / "none.jsonl"))


@pytest.mark.parametrize("name", ["iterative", "one-pass"])
def test_real_gold_solutions_make_conversations_in_both_formulations(shared_data, name):
    made: list[Conversation] = []
    for task in gsm8k.read(shared_data / "gsm8k" / "train.jsonl", "train"):
        assert isinstance(task, Task)
        if int(task.row) > 60:
            break
        try:
            annotation = gsm8k.gold(task)
        except SpecError:
            continue
        made += gold_conversations(task, annotation, FORMULATIONS.load(name), AGENT)
    assert len(made) >= 100
    for one in made:
        assert one.text().endswith("</s>")
