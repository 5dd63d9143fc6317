"""The worked examples that teachers are shown: they must pass what a teacher's reply must pass."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.conversion.demos import PROMPTS, SUBGOALS, demos_for
from lumos_queue.conversion.teacher import OFFERED
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.notation import read_annotation, variables_in, write_annotation
from lumos_queue.rationales.maths.stated_results import results_stated
from tests.strictly_stated import states_strictly

DOMAIN_OF = {
    "maths": "maths",
    "maths_code": "maths",
    "qa": "complex_qa",
    "web": "web_agent",
    "multimodal": "multimodal",
    "sql": "intercode_sql",
}
WITH_RESULTS = ("maths", "maths_code", "qa", "multimodal")
ALL = [
    pytest.param(prompt, kind, place, demo, id=f"{prompt}-{kind}-{place}")
    for prompt in PROMPTS
    for kind in SUBGOALS
    for place, demo in enumerate(demos_for(prompt, kind), start=1)
]


def steps_of(demo, prompt):
    steps, issues = read_annotation(demo.annotation_text, results=prompt in WITH_RESULTS)
    assert issues == ()
    return steps


@pytest.mark.parametrize("prompt", PROMPTS)
def test_each_prompt_has_four_or_five_tasks_the_same_for_both_kinds(prompt):
    high, low = (demos_for(prompt, kind) for kind in SUBGOALS)
    assert 4 <= len(high) <= 5
    assert [(demo.task, demo.plan) for demo in high] == [(demo.task, demo.plan) for demo in low]
    assert len({demo.task for demo in high}) == len(high)
    assert any(len(step.actions) > 1 for demo in high for step in steps_of(demo, prompt))


@pytest.mark.parametrize(("prompt", "kind", "place", "demo"), ALL)
def test_demos_are_annotations_without_any_issue(prompt, kind, place, demo):
    steps = steps_of(demo, prompt)
    assert write_annotation(steps) == demo.annotation_text.strip()  # one layout
    assert steps[0].subgoal.text.startswith("Subgoal 1: ")
    known = []
    for step in steps:
        assert kind == "high" or len(step.actions) == 1
        assert step.subgoal.text.endswith(".")
        assert results_stated(step, demo.task) == [] and not states_strictly(step)
        for action, result in zip(step.actions, step.results, strict=True):
            assert action.name in (DOMAINS.load(DOMAIN_OF[prompt]).action_names or ("",))
            assert set(variables_in(action.arguments)) <= set(known)
            assert bool(result) == (prompt in WITH_RESULTS)
            known += action.variables
    assert known == [f"R{number}" for number in range(1, len(known) + 1)]


@pytest.mark.parametrize("prompt", ["maths", "maths_code"])
@pytest.mark.parametrize("kind", SUBGOALS)
def test_maths_demos_give_what_they_state(prompt, kind):
    async def act_out(demo, actions):
        variables = {}
        for step in steps_of(demo, prompt):
            for action, result in zip(step.actions, step.results, strict=True):
                done = await actions.execute(action, variables)
                assert (done.status, done.result) == ("ok", result), action.raw
                variables.update(zip(action.variables, done.values, strict=True))

    async def all_of_them():
        actions = DOMAINS.load("maths").open_actions()
        try:
            for demo in demos_for(prompt, kind):
                await act_out(demo, actions)
        finally:
            await actions.close()

    asyncio.run(all_of_them())


def test_the_demos_show_the_action_that_their_prompt_alone_offers():
    for kind in SUBGOALS:
        used = {
            prompt: {
                action.name
                for demo in demos_for(prompt, kind)
                for step in steps_of(demo, prompt)
                for action in step.actions
            }
            for prompt in ("maths", "maths_code")
        }
        assert "Code" in used["maths_code"] - used["maths"]
        for prompt, names in used.items():
            assert all(f"'{name}'" in OFFERED[prompt] for name in names)


def test_unknown_prompts_are_named():
    with pytest.raises(SpecError, match=r"'chess'.*multimodal"):
        demos_for("chess", "high")
    with pytest.raises(SpecError, match=r"'middle'.*high, low"):
        demos_for("maths", "middle")
