"""Jobs that learn from the rewards of rollouts: they wait for ordinary evaluations, read them, and go on."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest
import redis
from safetensors.torch import load_file
from sqlalchemy import delete, func, select, text, update

from db.jobs import cancel, pause, remove, resume
from db.models import CompletionRow, EpisodeRow, Item, JobRow, ScoreRow
from db.schedule import begin_work, runnable_jobs
from db.training import list_feedback
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.endpoints.model_folder import identity
from lumos_queue.jobs.rollouts import Rollouts
from lumos_queue.settings import read_settings
from lumos_queue.submission.database import database
from lumos_queue.training.engine.checkpoints import checkpoint_of
from lumos_queue.training.rltf.work import run_item
from tests.integration.test_incomplete import lumos, result  # noqa: F401 - the fixture
from tests.rltf_jobs import OPENAGI, begin_fit
from tests.services import wait_until
from tests.stored import state
from tests.tiny_model import make_tiny_model
from tests.tiny_planners import write_planner, write_t5_planner
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher
from workers.run import run_slice

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:`past_key_values` is deprecated")


@pytest.fixture(scope="module")
def planner(tmp_path_factory) -> Path:
    return write_planner(tmp_path_factory.mktemp("planner") / "start")


@pytest.fixture
def fit(planner, tmp_path):
    with begin_fit(tmp_path / "home", planner) as begun:
        yield begun


def gather(fit) -> dict:
    """The window of the step that is due, with its rollouts, as the training process gets it."""
    window = fit.recipe.windows()[1]
    with Rollouts.open(fit.settings) as rollouts:
        return window | {"rollouts": asyncio.run(rollouts.gather(fit.recipe, window, fit.items()[1].id))}


def change(fit, statement) -> None:
    with fit.database.writer.begin() as connection:
        connection.execute(statement)


def count(fit, table) -> int:
    with fit.database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def weights_of(folder: Path) -> dict:
    return load_file(folder / "model.safetensors")


def test_a_fit_does_the_evaluations_that_it_waits_for(lumos, planner, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("LUMOS_POLL_SECONDS", "0.1")
    wanted = ["train", "rltf", "openagi", "--from", str(planner), "--folder", str(tmp_path / "fit"), "--split",
              "feedback", "--limit", "6", "--epochs", "1", "--batch", "3", "--beams", "3", "--rate", "0.01", "--tool",
              "experts=oracle:", "--option", "samples=1", "--setting", "goal=free"]  # fmt: skip
    ran = lumos(*wanted)
    assert ran.code == 0, ran.err
    assert "waits" not in ran.err and "goes on" not in ran.err, "waiting for its own rollouts is no outage"
    assert max(map(len, ran.out.splitlines())) <= 80
    listed = {one["job"]: one for one in result(lumos("jobs", "--json"))["jobs"]}
    (job,) = [name for name, one in listed.items() if one["kind"] == "train"]
    report = result(lumos("report", job, "--json"))
    assert (report["state"], report["complete"], report["finished"]) == ("done", True, 4)

    steps = report["feedback_steps"]
    assert [one["step"] for one in steps] == [1, 2]
    checkpoint = json.loads((tmp_path / "fit" / "steps" / "step-000002" / "state.json").read_text())
    assert steps == checkpoint["history"]
    with database(read_settings()) as opened, opened.engine.connect() as connection:
        viewed = connection.execute(text("SELECT * FROM v_feedback_steps ORDER BY step")).mappings().all()
    assert [{name: row[name] for name in steps[0]} for row in viewed] == steps
    assert [(row["job"], row["item"]) for row in viewed] == [(job, 1), (job, 2)]
    assert {one["rollouts"] for one in steps} == set(listed) - {job}
    served = {1: planner, 2: tmp_path / "fit" / "steps" / "step-000001"}
    for step in steps:
        shown = result(lumos("job", step["rollouts"], "--json"))
        assert (shown["kind"], shown["state"], shown["formulation"]) == ("evaluate", "done", "model-synthesis")
        assert shown["items"] == {"done": 3} and not shown["problems"]
        digest = identity(served[step["step"]])["sha256"]
        (endpoint,) = shown["endpoints"]
        assert shown["spec"]["infer"]["agent"]["weights"] == {"planner": digest}
        assert endpoint["identity"]["sha256"] == digest
        scored = result(lumos("report", step["rollouts"], "--json"))["metrics"]["feasible"]
        assert step["feasible"] == pytest.approx(scored["value"])
    assert not result(lumos("job", job, "--json"))["problems"]

    (model,) = report["models"]
    assert model["path"] == str(tmp_path / "fit" / "export")
    assert model["digest"] == identity(tmp_path / "fit" / "export")["sha256"] != identity(planner)["sha256"]
    assert (tmp_path / "fit" / "rltf.svg").read_text().count("<svg") == 1

    again = lumos(*wanted)
    assert again.code == 0 and f"job {job} is the same request and is done" in again.err
    assert {one["job"] for one in result(lumos("jobs", "--json"))["jobs"]} == set(listed)


def test_a_fit_that_waits_holds_nothing_and_is_charged_nothing(fit):
    fit.work()
    (rollouts,) = fit.rollouts()
    row = fit.row()
    assert (row.state, row.awaits, row.waiting) == ("running", rollouts, f"the rollouts of step 1: job {rollouts}")
    assert [(one.state, one.problem, one.deaths) for one in fit.items()] == [("done", "", 0)] + [("owed", "", 0)] * 3
    assert fit.process.session.states == {} and fit.items()[1].session is None
    assert runnable_jobs(fit.database, ["cpu", "llm"]) == [rollouts]
    fit.work(rollouts)
    assert runnable_jobs(fit.database, ["cpu", "llm"]) == [fit.job]


def test_processes_that_do_one_kind_of_work_each_share_a_fit(fit):
    """As workers of a deployment: neither is told which job to serve."""
    stop = threading.Event()
    others = [WorkerContext(fit.settings) for _ in range(2)]
    dispatchers = [Dispatcher(one, [pool]) for one, pool in zip(others, ("cpu", "llm"), strict=True)]
    threads = [threading.Thread(target=one.run, args=(stop.is_set,)) for one in dispatchers]
    try:
        for thread in threads:
            thread.start()
        wait_until(lambda: fit.items()[1].state == "done", "the first step is done", 60)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        for one in others:
            one.close()
    with fit.database.engine.connect() as connection:
        (learnt,) = list_feedback(connection, fit.job)
    assert learnt["rollouts"] == fit.rollouts()[0] and {one.state for one in fit.items(learnt["rollouts"])} == {"done"}


def test_a_reward_that_infrastructure_kept_away_is_no_bad_reward(fit):
    rollouts = fit.evaluate()
    asked = count(fit, CompletionRow)
    wanted = select(EpisodeRow.id).where(EpisodeRow.job == rollouts).limit(1)
    change(fit, update(EpisodeRow).where(EpisodeRow.id == wanted.scalar_subquery()).values(ending="infra_error"))
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
    assert count(fit, CompletionRow) == asked, "no recorded call is repeated"


def test_a_reward_that_nothing_gave_is_asked_for_again_after_its_rollouts_are_removed(planner, tmp_path):
    with begin_fit(tmp_path / "home", planner, **OPENAGI | {"settings": ()}, reward="proxies") as fit:
        rollouts = fit.evaluate()
        change(fit, delete(ScoreRow).where(ScoreRow.metric.in_(("chrf", "ssim"))))
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
        assert len(gather(fit)["rollouts"]["episodes"]) == 3


@pytest.mark.parametrize("how", ["paused", "failed"])
def test_rollouts_that_were_stopped_pause_the_fit(fit, how):
    fit.work()
    (rollouts,) = fit.rollouts()
    pause(fit.database, rollouts)
    change(fit, update(JobRow).where(JobRow.id == rollouts).values(state=how))
    assert runnable_jobs(fit.database, ["cpu", "llm"]) == [fit.job]
    fit.work()
    assert fit.row().state == "paused" and fit.row().waiting == (
        f"item 1: The rollouts of step 1 are {how}: go on with lumos resume {rollouts}, then with lumos resume "
        f"{fit.job}"
    )
    for job in (rollouts, fit.job):
        resume(fit.database, job)
    assert fit.evaluate() == rollouts and len(gather(fit)["rollouts"]["episodes"]) == 3


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


def test_a_resume_goes_on_when_the_rollouts_were_done_meanwhile(fit):
    fit.work()
    (rollouts,) = fit.rollouts()
    pause(fit.database, fit.job)
    fit.work(rollouts)
    assert state(fit.database, rollouts) == "done" and state(fit.database, fit.job) == "paused"
    resume(fit.database, fit.job)
    assert runnable_jobs(fit.database, ["cpu", "llm"]) == [fit.job]
    assert begin_work(fit.database, fit.job, ()) and fit.row().awaits is None


def test_a_fit_that_is_cancelled_leaves_its_rollouts_alone(planner, tmp_path):
    spec = {"batch": 60}
    with begin_fit(tmp_path / "home", planner, spec=spec, **OPENAGI | {"limit": 60}) as fit:
        settings = fit.settings.model_copy(update={"heartbeat_seconds": 0.1, "concurrency": 1, "drain_seconds": 1.0})
        process = WorkerContext(settings)
        thread = threading.Thread(target=Dispatcher(process, ["cpu", "llm"], only=fit.job).run, args=(lambda: False,))
        try:
            thread.start()
            wait_until(
                lambda: any(one.state == "done" for job in fit.rollouts() for one in fit.items(job)), "begun", 60
            )
            cancel(fit.database, fit.job)
            thread.join(30)
            assert not thread.is_alive()
        finally:
            cancel(fit.database, fit.job)
            thread.join()
            process.close()
        (rollouts,) = fit.rollouts()
        assert (state(fit.database, fit.job), state(fit.database, rollouts)) == ("cancelled", "running")
        assert {one.state for one in fit.items(rollouts)} == {"done", "owed"}


def test_a_plan_that_cannot_run_is_worse_than_one_that_is_wrong(planner, tmp_path):
    options = {"reward": "recovery", "beams": 0, "temperature": 1.0, "spec": {"batch": 6, "samples": 4}}
    with begin_fit(tmp_path / "home", planner, **options, **OPENAGI) as fit:
        rollouts = fit.evaluate()
        window = gather(fit)
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


def test_an_encoder_with_a_decoder_learns_from_what_it_wrote(tmp_path):
    start = write_t5_planner(tmp_path / "t5")
    with begin_fit(tmp_path / "home", start, spec={"epsilon": 1.0}, **OPENAGI) as fit:
        fit.evaluate()
        window = gather(fit)
        done = run_item(fit.recipe, window)
        before, after = (checkpoint_of(fit.recipe.checkpoints(), step) for step in (0, 1))
        assert identity(before)["sha256"] == identity(start)["sha256"] != identity(after)["sha256"]
    assert all(ask["logprob"] < 0 for one in window["rollouts"]["episodes"] for ask in one["asks"])
    assert done.feedback[0].episodes == 3 and done.steps[0].grad_norm > 0


def test_any_formulation_and_score_will_do(tmp_path):
    """LUMOS-O: the planner alone learns. The grounder knows the answer of every other task."""
    make_tiny_model(tmp_path / "planner", context=1024)
    tasks = list(zip(range(4), open_benchmark("wordmath").read(None, "dev"), strict=False))
    rules = [
        {"contains": task.question, "reply": f"R1 = Calculator({task.gold['answer']} + {number % 2})"}
        for number, task in tasks
    ]
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    wordmath = {"benchmark": "wordmath", "split": "dev", "formulation": "one-pass", "limit": 4,
                "grounder": f"scripted:{tmp_path / 'rules.json'}"}  # fmt: skip
    start = tmp_path / "planner"
    options = {"reward": "accuracy", "beams": 0, "temperature": 1.0, "spec": {"batch": 4}}
    with begin_fit(tmp_path / "home", start, **options, **wordmath) as fit:
        fit.evaluate()
        window = gather(fit)
        done = run_item(fit.recipe, window)
        before, after = (weights_of(checkpoint_of(fit.recipe.checkpoints(), step)) for step in (0, 1))
    episodes = window["rollouts"]["episodes"]
    assert sorted(one["reward"] for one in episodes) == [0.0, 0.0, 1.0, 1.0]
    for one in episodes:
        (ask,) = one["asks"]
        assert ask["prompt"].startswith("<|user|>\nPlease provide a reasonable subgoal-based plan")
        assert (ask["constraint"], ask["logprob"], one["feasible"]) == (None, None, None)
    assert len({one["asks"][0]["reply"] for one in episodes}) == 4
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert (done.feedback[0].reward, done.feedback[0].feasible, "notes" in done.output) == (0.5, None, False)


def test_workers_are_told_of_a_job_when_what_it_waits_for_is_done(lumos, planner, tmp_path, redis_server):  # noqa: F811
    broker = redis_server.fresh()
    with begin_fit(tmp_path / "home", planner) as fit:
        fit.work()
        (rollouts,) = fit.rollouts()
        process = WorkerContext(fit.settings.model_copy(update={"broker_url": broker}))
        try:
            run_slice(process, rollouts, lambda: 0)
        finally:
            process.close()
        client = redis.Redis.from_url(broker)
        messages = [json.loads(one)["headers"] for one in client.lrange("cpu", 0, -1)]
        assert [(one["task"], one["argsrepr"]) for one in messages] == [("train_shard", f"['{fit.job}']")]


def test_a_cancelled_job_names_what_it_waited_for(lumos, planner, tmp_path):  # noqa: F811
    with begin_fit(tmp_path / "home", planner) as fit:
        fit.work()
        (rollouts,) = fit.rollouts()
        done = lumos("cancel", fit.job)
        assert done.out == f"job {fit.job} is cancelled\n"
        assert done.err == (
            f"job {rollouts}, which it waited for, is still queued. To stop it: lumos cancel {rollouts}\n"
        )
        lumos("cancel", rollouts)
        assert lumos("cancel", fit.job).err == ""
