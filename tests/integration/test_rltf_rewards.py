"""What fits learn from: the rewards of their rollouts, those that are missing, and those of other formulations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import delete, func, select, update

from db.models import CompletionRow, EpisodeRow, Item, JobRow, ScoreRow
from db.queue.job_changes import cancel, pause, remove, resume
from db.queue.schedule import runnable_jobs
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.endpoints.model_folder import identity
from lumos_queue.training.engine.checkpoints import checkpoint_of
from tests.integration.test_incomplete import lumos, result  # noqa: F401 - the fixture
from tests.rltf_jobs import OPENAGI, begin_fit
from tests.stored_rows import state
from tests.tiny_model import make_tiny_model
from tests.tiny_planners import write_planner, write_t5_planner


@pytest.fixture(scope="module")
def planner(tmp_path_factory) -> Path:
    return write_planner(tmp_path_factory.mktemp("planner") / "start")


@pytest.fixture
def fit(planner, tmp_path):
    with begin_fit(tmp_path / "home", planner) as begun:
        yield begun


def count_calls(fit) -> int:
    with fit.database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(CompletionRow)).scalar_one()


def test_a_reward_that_infrastructure_kept_away_is_no_bad_reward(fit):
    rollouts = fit.evaluate()
    asked = count_calls(fit)
    wanted = select(EpisodeRow.id).where(EpisodeRow.job == rollouts).limit(1)
    fit.change(update(EpisodeRow).where(EpisodeRow.id == wanted.scalar_subquery()).values(ending="infra_error"))
    fit.work()
    assert (fit.row().state, fit.items()[1].state) == ("paused", "owed")
    assert fit.row().waiting == (
        f"item 1: 1 of 3 rewards 'feasible' of job {rollouts} are missing ({rollouts}-0 ended with infra_error): "
        f"make them with lumos resume {rollouts}, then go on with lumos resume {fit.job}"
    )
    resume(fit.database, rollouts)
    fit.work(rollouts)
    resume(fit.database, fit.job)
    fit.work()
    assert fit.items()[1].state == "done"
    assert count_calls(fit) == asked, "no recorded call is repeated"


def test_a_reward_that_nothing_gave_is_asked_for_again_after_its_rollouts_are_removed(planner, tmp_path):
    with begin_fit(tmp_path / "home", planner, **OPENAGI | {"settings": ()}, reward="proxies") as fit:
        rollouts = fit.evaluate()
        fit.change(delete(ScoreRow).where(ScoreRow.metric.in_(("chrf", "ssim"))))
        fit.work()
        assert fit.row().state == "paused"
        assert f"3 of 3 rewards 'proxies' of job {rollouts} are missing (nothing judged {rollouts}-0" in (
            waiting := fit.row().waiting
        )
        assert f"lumos rm {rollouts}, then go on with lumos resume {fit.job}" in waiting
        remove(fit.database, rollouts)
        resume(fit.database, fit.job)
        again = fit.evaluate()
        assert again != rollouts and fit.rollouts() == [again]
        assert len(fit.gather()["rollouts"]["episodes"]) == 3


@pytest.mark.parametrize("how", ["paused", "failed"])
def test_rollouts_that_were_stopped_pause_the_fit(fit, how):
    fit.work()
    (rollouts,) = fit.rollouts()
    pause(fit.database, rollouts)
    fit.change(update(JobRow).where(JobRow.id == rollouts).values(state=how))
    assert runnable_jobs(fit.database, ["cpu", "llm"]) == [fit.job]
    fit.work()
    assert fit.row().state == "paused" and fit.row().waiting == (
        f"item 1: The rollouts of step 1 are {how}: go on with lumos resume {rollouts}, then with lumos resume "
        f"{fit.job}"
    )
    for job in (rollouts, fit.job):
        resume(fit.database, job)
    assert fit.evaluate() == rollouts and len(fit.gather()["rollouts"]["episodes"]) == 3


def test_rollouts_that_are_gone_are_asked_for_again(fit):
    fit.work()
    (first,) = fit.rollouts()
    cancel(fit.database, first)
    fit.work()
    second = fit.row().awaits
    assert second != first and state(fit.database, first) == "cancelled"
    cancel(fit.database, second)
    for job in (first, second):
        remove(fit.database, job)
    third = fit.evaluate()
    assert third not in (first, second) and fit.rollouts() == [third]


def test_a_plan_that_cannot_run_is_worse_than_one_that_is_wrong(planner, tmp_path):
    from lumos_queue.training.rltf.work import run_item

    options = {"reward": "recovery", "beams": 0, "temperature": 1.0, "spec": {"batch": 6, "samples": 4}}
    with begin_fit(tmp_path / "home", planner, **options, **OPENAGI) as fit:
        rollouts = fit.evaluate()
        window = fit.gather()
        learnt = run_item(fit.recipe, window).feedback[0]
        wanted = select(ScoreRow.metric, ScoreRow.value, Item.ordinal).join(Item, Item.id == ScoreRow.episode)
        with fit.database.engine.connect() as connection:
            rows = connection.execute(wanted.where(Item.job == rollouts).order_by(Item.ordinal)).all()
    scores = {name: [row.value for row in rows if row.metric == name] for name in ("feasible", "recovery")}
    assert len(scores["feasible"]) == len(scores["recovery"]) == 24
    assert set(scores["feasible"]) == {0.0, 1.0}
    found = [(one["feasible"], one["reward"]) for one in window["rollouts"]["episodes"]]
    assert found == [
        (feasible > 0, recovered if feasible else -1.0) for feasible, recovered in zip(*scores.values(), strict=True)
    ]
    assert min(scores["recovery"]) == 0.0, "the score of such a plan stays what it is"
    assert learnt.feasible == pytest.approx(sum(scores["feasible"]) / 24)
    assert learnt.reward == pytest.approx(sum(reward for _, reward in found) / 24)
    assert learnt.epsilon == 0, "no beams, nothing drawn among them"


def test_an_encoder_with_a_decoder_learns_from_what_it_wrote(tmp_path):
    from lumos_queue.training.rltf.work import run_item

    start = write_t5_planner(tmp_path / "t5")
    with begin_fit(tmp_path / "home", start, epsilon=1.0, **OPENAGI) as fit:
        fit.evaluate()
        window = fit.gather()
        done = run_item(fit.recipe, window)
        before, after = (checkpoint_of(fit.recipe.checkpoints(), step) for step in (0, 1))
        assert identity(before)["sha256"] == identity(start)["sha256"] != identity(after)["sha256"]
    assert all(ask["logprob"] < 0 for one in window["rollouts"]["episodes"] for ask in one["asks"])
    assert done.feedback[0].episodes == 3 and done.steps[0].grad_norm > 0


def test_any_formulation_and_score_will_do(tmp_path):
    """LUMOS-O: the planner alone learns. The grounder knows the answer of every other task."""
    import torch
    from safetensors.torch import load_file

    from lumos_queue.training.rltf.work import run_item

    make_tiny_model(tmp_path / "planner", context=1024)
    tasks = list(zip(range(4), open_benchmark("wordmath").read(None, "dev"), strict=False))
    rules = [
        {"contains": task.question, "reply": f"R1 = Calculator({task.gold['answer']} + {number % 2})"}
        for number, task in tasks
    ]
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    wordmath = {
        "benchmark": "wordmath",
        "split": "dev",
        "formulation": "one-pass",
        "limit": 4,
        "grounder": f"scripted:{tmp_path / 'rules.json'}",
    }
    start = tmp_path / "planner"
    options = {"reward": "accuracy", "beams": 0, "temperature": 1.0, "spec": {"batch": 4}}
    with begin_fit(tmp_path / "home", start, **options, **wordmath) as fit:
        fit.evaluate()
        window = fit.gather()
        done = run_item(fit.recipe, window)
        before, after = (
            load_file(checkpoint_of(fit.recipe.checkpoints(), step) / "model.safetensors") for step in (0, 1)
        )
    episodes = window["rollouts"]["episodes"]
    assert sorted(one["reward"] for one in episodes) == [0.0, 0.0, 1.0, 1.0]
    for one in episodes:
        (ask,) = one["asks"]
        assert ask["prompt"].startswith("<|user|>\nPlease provide a reasonable subgoal-based plan")
        assert (ask["constraint"], ask["logprob"], one["feasible"]) == (None, None, None)
    assert len({one["asks"][0]["reply"] for one in episodes}) == 4
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert (done.feedback[0].reward, done.feedback[0].feasible, "notes" in done.output) == (0.5, None, False)


def test_plans_that_were_cut_off_teach_nothing_and_stop_nothing(planner, tmp_path):
    """No plan is so short: the planner is asked, and nothing that it was allowed to write fits."""
    from lumos_queue.training.rltf.work import run_item

    with begin_fit(tmp_path / "home", planner, **OPENAGI | {"max_tokens": 1}) as fit:
        fit.evaluate()
        window = fit.gather()
        done = run_item(fit.recipe, window)
    assert [(one["asks"], one["reward"]) for one in window["rollouts"]["episodes"]] == [([], -1.0)] * 3
    assert (done.steps[0].loss, done.steps[0].grad_norm, done.feedback[0].reward) == (0.0, 0.0, -1.0)


def test_a_free_reply_is_learnt_as_far_as_it_went(planner, tmp_path):
    from lumos_queue.training.rltf.work import run_item

    free = {"settings": ("decoding=free",), "max_tokens": 8}
    with begin_fit(tmp_path / "home", planner, beams=0, temperature=1.0, **OPENAGI | free) as fit:
        fit.evaluate()
        window = fit.gather()
        done = run_item(fit.recipe, window)
    asks = [ask for one in window["rollouts"]["episodes"] for ask in one["asks"]]
    assert len(asks) == 3 and all(ask["constraint"] is None for ask in asks)
    assert not all(ask["ended"] for ask in asks), "of such a reply no end is learnt"
    assert done.feedback[0].feasible == 0.0 and done.steps[0].grad_norm > 0


@pytest.mark.parametrize("descriptions", ["yes", "no"])
def test_the_policy_of_a_tool_agent_says_whether_its_prompts_had_descriptions(descriptions, tmp_path):
    from lumos_queue.training.rltf.work import run_item

    make_tiny_model(tmp_path / "planner", context=2048)
    options = {"reward": "pass", "beams": 0, "temperature": 1.0, "spec": {"batch": 1}}
    rewoo = {"benchmark": "toolworld", "split": "train", "formulation": "rewoo", "limit": 1, "max_tokens": 8}
    setting = (f"descriptions={descriptions}",)
    solver = f"scripted:{tmp_path / 'rules.json'}"
    (tmp_path / "rules.json").write_text("[]")
    with begin_fit(tmp_path / "home", tmp_path / "planner", **options, **rewoo, settings=setting, solver=solver) as fit:
        fit.evaluate()
        run_item(fit.recipe, fit.gather())
        done = run_item(fit.recipe, fit.recipe.windows()[-1])
    assert json.loads((Path(done.models[0].path) / "made-from.json").read_text())["descriptions"] == descriptions
