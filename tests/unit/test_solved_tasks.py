"""The demonstrations for models without LUMOS training: right, in its notation, and off unless asked for."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lumos_queue.actions.maths.interface import MathsActions
from lumos_queue.actions.qa.interface import QaActions
from lumos_queue.commands import Ask, Do
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.episode import run_episode
from lumos_queue.errors import SpecError
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.notation import read_actions
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import gold_conversations
from lumos_queue.prompts.demonstrations import show_answers, show_plans, show_steps
from lumos_queue.records import AnnotatedSubgoal, Annotation, Completion, FinishReason, Subgoal, Task
from lumos_queue.settings import Settings
from lumos_queue.submission.job_request import make_inference_job
from lumos_queue.submission.requests.inference import InferenceRequest

SHOTS = 4
MATHS, QUESTIONS = (DOMAINS.load(name).demonstrations for name in ("maths", "complex_qa"))
#: Formulation to role to what is shown of a domain.
SHOWN = {
    "iterative": lambda domain, framing: {role: show_steps(domain, framing, SHOTS)[role] for role in BOTH},
    "one-pass": lambda domain, framing: show_plans(domain, framing, SHOTS),
    "integrated": lambda domain, framing: {"solver": show_steps(domain, framing, SHOTS)["solver"]},
    "cot": lambda domain, framing: {"solver": show_answers(domain, framing, SHOTS, reasoned=True)},
    "direct": lambda domain, framing: {"solver": show_answers(domain, framing, SHOTS, reasoned=False)},
}
BOTH = ("planner", "grounder")
#: The pages that answer the questions; none of this exists.
PAGES = {
    "Velmar Opera House": "The Velmar Opera House was designed by Ilse Garvane and opened in spring.",
    "Ilse Garvane": "Ilse Garvane was born in the town of Brennick.",
    "Karsk Tower": "The Karsk Tower is 212 metres high.",
    "Holm Viaduct": "The Holm Viaduct is 340 metres long.",
    "Orla Finck": "Orla Finck, a painter, was born on 3 May 1884.",
    "Bastian Reuel": "Bastian Reuel, a painter, was born on 21 June 1879.",
    "Schooner Marwen": "The captain of the schooner Marwen was Edda Kolvin.",
    "Edda Kolvin": "Edda Kolvin died in 1931.",
    "Port Ostle": "The lighthouse of Port Ostle was first lit in 1904.",
}


def execute(shown, actions, model=None):
    """The executions of a demonstration's actions, a list for each step."""

    def act(task, agent):
        seen = []
        for _, line, _ in shown.steps:
            seen.append([])
            for action in read_actions(line):
                seen[-1].append((yield Do(action)))
        return seen

    paragraphs = [{"title": title, "text": text} for title, text in PAGES.items()]
    task = Task("b", "", "1", shown.task, {"paragraphs": paragraphs})

    async def go():
        try:
            async with Executor({"qa": model}, actions, Sampling(), 0).for_episode(task, 0) as perform:
                return (await run_episode(act, task, None, MemoryJournal(), perform)).outcome
        finally:
            await actions.close()

    return asyncio.run(go())


@pytest.mark.parametrize("shown", MATHS, ids=lambda one: one.answer)
def test_the_actions_of_each_maths_problem_give_the_stated_results(shown):
    seen = execute(shown, MathsActions())
    assert all(one.ok for step in seen for one in step)
    assert [step[-1].result for step in seen] == [result for _, _, result in shown.steps]
    assert seen[-1][-1].result == shown.answer and f" {shown.answer} " in shown.rationale.replace(".", " ")


@pytest.mark.parametrize("shown", QUESTIONS, ids=lambda one: one.answer)
def test_the_actions_of_each_question_find_their_pages_and_give_the_stated_results(shown):
    said = [result for _, line, result in shown.steps if read_actions(line)[-1].name == "QA"]
    model = Scripted([f"Answer: {one}" for one in said])
    seen = execute(shown, QaActions({}), model)
    assert all(one.ok for step in seen for one in step), [one for step in seen for one in step]
    assert [step[-1].result for step in seen] == [result for _, _, result in shown.steps]
    assert seen[-1][-1].result == shown.answer and len(model.prompts) == len(said)
    hops = [one for one in shown.steps if "KnowledgeQuery" in one[1]]
    for (_, line, result), prompt in zip(hops, model.prompts, strict=False):  # what is asked of answers comes last
        assert result in prompt, f"{line} does not find the page that says {result}"


def test_every_action_of_the_list_is_shown_and_a_question_of_yes_or_no_and_of_several_hops():
    def named(demonstrations):
        return {action.name for one in demonstrations for _, line, _ in one.steps for action in read_actions(line)}

    assert named(MATHS) == set(DOMAINS.load("maths").action_names)
    assert named(QUESTIONS) == {"KnowledgeQuery", "ParagraphRetrieve", "QA", "Calculator"}
    assert {"yes", "no"} < {one.answer for one in QUESTIONS}
    assert any("KnowledgeQuery(R3)" in line for one in QUESTIONS for _, line, _ in one.steps)


def test_plans_can_be_made_at_once_as_no_step_says_the_result_of_another():
    for one in (*MATHS, *QUESTIONS):
        said = "\n".join(f"{subgoal}\n{line}" for subgoal, line, _ in one.steps)
        for _, _, result in one.steps[:-1]:
            assert result == "m" or not re.search(rf"\b{re.escape(result)}\b", said)


def annotation(shown) -> Annotation:
    steps = []
    for number, (subgoal, line, result) in enumerate(shown.steps, start=1):
        actions = read_actions(line)
        results = ("pages", "paragraphs", "value")[: len(actions) - 1]
        steps.append(AnnotatedSubgoal(Subgoal(number, subgoal), actions, (*results, result)))
    return Annotation(tuple(steps), shown.answer)


@pytest.mark.parametrize("domain", ["maths", "complex_qa"])
@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown_is_what_a_model_would_be_trained_on(name, domain):
    expected: dict[str, str] = {}
    for one in DOMAINS.load(domain).demonstrations:
        task, agent = Task("b", "", "1", one.task), Agent({}, domain)
        for said in gold_conversations(task, annotation(one), FORMULATIONS.load(name), agent, one.rationale):
            role = said.dataset.rpartition("/")[2]
            expected[role] = expected.get(role, "") + said.text() + "\n"
    assert SHOWN[name](domain, "train") == expected


@pytest.mark.parametrize("domain", ["maths", "complex_qa"])
@pytest.mark.parametrize("framing", ["train", "eval"])
@pytest.mark.parametrize("name", SHOWN)
def test_shots_put_them_before_prompts_that_are_otherwise_as_without(name, framing, domain):
    def prompts(shots):
        agent = Agent({}, domain, framing, shots=shots)
        episode, found = FORMULATIONS.load(name)(Task("b", "", "1", "How many?"), agent), {}
        command = next(episode)
        while len(found) < len(FORMULATIONS.load(name).roles):
            if isinstance(command, Ask):
                found.setdefault(command.role, command.prompt)
                reply = Completion("Subgoal 1: Count.", FinishReason.STOP)
            if len(found) < len(FORMULATIONS.load(name).roles):
                command = episode.send(reply if isinstance(command, Ask) else None)
        return found

    shown, bare = SHOWN[name](domain, framing), prompts(0)
    assert prompts(SHOTS) == {role: shown[role] + prompt for role, prompt in bare.items()}
    heads = FORMULATIONS.load(name).prompt_prefixes(Agent({}, domain, framing, shots=SHOTS))
    assert all(prompt.startswith(heads[role]) and shown[role] in heads[role] for role, prompt in prompts(SHOTS).items())


@pytest.mark.parametrize("name", SHOWN)
def test_a_chat_server_is_sent_them_as_turns(name):
    from lumos_queue.endpoints.chat_messages import chat_messages

    for text in SHOWN[name]("maths", "train").values():
        messages = chat_messages(f"{text}<|user|>\nHow many?\n<|assistant|>\n")
        assert len(messages) > 2 * SHOTS
        assert [one["role"] for one in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"]
        assert all(one["content"] and "</s>" not in one["content"] for one in messages)


# --- asking for them --------------------------------------------------------------------------------------------------

OPTIONS = InferenceRequest(
    benchmark="wordmath",
    split="dev",
    formulation="iterative",
    planner="tgi://a:1",
    grounder="tgi://a:1",
    limit=2,
    max_tokens=64,
)
ALONE = {"planner": "", "grounder": "", "solver": "tgi://a:1"}


def agent_of(home: Path, **changes) -> Agent:
    settings = Settings(home=home, broker_url="redis://127.0.0.1:9/0")  # nobody is asked who they are
    job, _ = make_inference_job("infer", replace(OPTIONS, **changes), Deployment(settings), lambda line: None)
    return job.agent


@pytest.mark.parametrize("name", SHOWN)
def test_maths_is_demonstrated_only_when_asked_for(name, tmp_path):
    alone = ALONE if FORMULATIONS.load(name).roles == ("solver",) else {}
    assert agent_of(tmp_path, formulation=name, **alone).shots == 0
    assert agent_of(tmp_path, formulation=name, **alone, shots=3).shots == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shots": 9}, "Domain 'maths' has 4 demonstrations, not 9: see --shots."),
        (
            {"benchmark": "webshop", "formulation": "one-pass", "shots": 1},
            "Domain 'webshop' demonstrates one subgoal at a time: use --shots 0.",
        ),
        (
            {"benchmark": "webshop", "formulation": "cot", "shots": 1, **ALONE},
            "The demonstrations of domain 'webshop' have no answers to show: use --shots 0.",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(changes, message, tmp_path):
    with pytest.raises(SpecError) as caught:
        agent_of(tmp_path, **changes)
    assert str(caught.value) == message


def test_the_shop_is_demonstrated_to_lumos_i_unless_it_is_told_otherwise(tmp_path):
    shop = {"benchmark": "webshop"}
    assert agent_of(tmp_path, **shop).shots == 2
    assert agent_of(tmp_path, **shop, shots=0).shots == 0
    assert agent_of(tmp_path, **shop, formulation="integrated", **ALONE).shots == 0
