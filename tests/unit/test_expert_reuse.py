"""Which results of experts are used again: of this process and of the database, and what is never used."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import text

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from lumos_queue.actions.experts import reuse
from lumos_queue.actions.experts.interface import ExpertActions
from lumos_queue.actions.experts.options import prepare_experts
from lumos_queue.actions.experts.recorded_runs import RecordedRuns
from lumos_queue.actions.experts.reuse import Results, ReusedRuns
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import ActionError, InfrastructureError
from lumos_queue.experts.problems import DIED, Problem
from lumos_queue.records import Execution, Task
from lumos_queue.settings import Settings
from tests.expert_tasks import ALL, calls_of, make_task, run_task
from tests.fake_expert_host import FakeExpertHost, fake_facts, use_fakes

SPEC = next(one for one in ALL if one.plan.names == ("Sentiment Analysis",))
PICTURES = next(one for one in ALL if one.plan.names == ("Image Denoising",))
GOOD = {"kind": "values", "type": "text", "items": ["stored"], "problems": {}, "text": "stored"}
STORED = Execution("ok", "stored", (GOOD,))


class Recorded:
    """A database that has one run of everything."""

    def __init__(self, found: Execution):
        self.found = found

    async def find(self, command: str) -> Execution:
        return self.found


def run_once(monkeypatch, found: Execution, spec=SPEC, expert: str = "Sentiment Analysis") -> tuple[Execution, list]:
    """What the database's run becomes in an episode of one sample, and when the expert ran."""
    host = FakeExpertHost({expert: lambda given: given})
    actions = ExpertActions(use_fakes(monkeypatch), host=host)
    actions._recorded_runs = Recorded(found)
    task, artifacts = make_task(spec, [0])
    _, journal = asyncio.run(run_task(task, artifacts, expert, actions))
    return calls_of(journal)[0].result, host.spans


def test_a_recorded_run_is_used_instead_of_the_expert(monkeypatch):
    done, ran = run_once(monkeypatch, STORED)
    assert (done.provenance, done.values[0]["items"], ran) == ("recorded", ["stored"], [])


@pytest.mark.parametrize(
    "values",
    [
        (GOOD | {"problems": {"0": "died: killed"}},),
        (GOOD, GOOD),
        (),
        (GOOD | {"items": ["stored", "stored"]},),
        (GOOD | {"items": "s"},),
        (GOOD | {"items": [None]},),
        ({"kind": "values"},),
    ],
)
def test_a_recorded_run_that_is_not_whole_is_made_again(monkeypatch, values):
    done, ran = run_once(monkeypatch, Execution("ok", "", values))
    assert done.provenance == "live" and done.values[0]["items"] != ["stored"] and len(ran) == 1


def test_a_recorded_picture_that_was_removed_is_made_again(monkeypatch):
    gone = GOOD | {"type": "image", "items": ["ab" * 32]}
    done, ran = run_once(monkeypatch, Execution("ok", "", (gone,)), PICTURES, "Image Denoising")
    assert done.ok and done.provenance == "live" and len(ran) == 1


def test_a_database_that_cannot_be_read_is_no_wrong_answer(tmp_path):
    settings = Settings(home=tmp_path)
    upgrade(database := open_database(settings.database))
    with database.writer.begin() as connection:
        connection.execute(text("ALTER TABLE tool_call RENAME TO elsewhere"))
    database.close()
    deployment = Deployment(settings)
    recorded = RecordedRuns(deployment)
    with pytest.raises(InfrastructureError, match="the recorded runs of experts cannot be read"):
        asyncio.run(recorded.find("0" * 64))
    deployment.close()


def test_a_run_is_named_by_the_version_of_its_expert_too(monkeypatch):
    actions = ExpertActions(use_fakes(monkeypatch), host=FakeExpertHost({"Sentiment Analysis": lambda given: given}))
    _, journal = asyncio.run(run_task(*make_task(SPEC, [0]), "Sentiment Analysis", actions))
    assert calls_of(journal)[0].command.arguments["digest"] == fake_facts("Sentiment Analysis").digest


def test_a_run_that_fails_has_a_row_of_its_own_that_every_database_stores(monkeypatch):
    class Host:
        async def run(self, *_: object) -> Results:
            raise ActionError("expert", "no\0weights")

    actions = ExpertActions(use_fakes(monkeypatch), host=Host())
    _, journal = asyncio.run(run_task(*make_task(SPEC, [0]), "Sentiment Analysis", actions))
    (call,) = calls_of(journal)
    assert (call.result.status, call.result.message) == ("expert", "no\N{REPLACEMENT CHARACTER}weights")


def test_a_problem_is_told_in_text_that_every_database_stores(monkeypatch):
    host = FakeExpertHost({"Sentiment Analysis": lambda given: Problem(DIED, "a\0b")})
    actions = ExpertActions(use_fakes(monkeypatch), host=host)
    _, journal = asyncio.run(run_task(*make_task(SPEC, [0]), "Sentiment Analysis", actions))
    assert calls_of(journal)[0].result.values[0]["problems"] == {"0": "died: a\N{REPLACEMENT CHARACTER}b"}


@pytest.mark.parametrize(
    ("benchmark", "keeps", "status"),
    [
        ("openagi", ("channels", "sources"), "ok"),
        ("openagi", ("channels",), "not_run"),
        ("x", ("channels", "sources"), "not_run"),
    ],
)
def test_an_oracle_needs_the_originals_of_generated_inputs(benchmark, keeps, status):
    actions = ExpertActions(prepare_experts({"experts": "oracle"}))
    task, artifacts = make_task(SPEC, [0])
    task = Task(benchmark, "d", "1", "", {"output": "text", **{name: task.inputs[name] for name in keeps}})
    _, journal = asyncio.run(run_task(task, artifacts, "Sentiment Analysis", actions))
    (call,) = calls_of(journal)
    assert call.result.status == status
    assert call.result.provenance == ("oracle" if status == "ok" else "")


def test_closing_stops_what_runs_and_ends_what_is_open(monkeypatch):
    actions = ExpertActions(use_fakes(monkeypatch), host=FakeExpertHost({}, delay=60))
    actions._recorded_runs = Recorded(Execution("ok"))
    closed = []

    class Servers:
        async def close(self) -> None:
            closed.append(self)

    async def main() -> set:
        actions._remote = Servers()  # type: ignore[assignment]
        episode = asyncio.ensure_future(run_task(*make_task(SPEC, [0]), "Sentiment Analysis", actions))
        await asyncio.sleep(0.1)
        assert actions._runs._active_runs
        episode.cancel()
        await asyncio.wait([episode])
        await actions.close()
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert not asyncio.run(main()) and not actions._runs._active_runs
    assert closed


# --- ReusedRuns alone


def use(main: Any) -> list[dict]:
    """Run it with a ReusedRuns; returns what the event loop had to say about its callbacks."""
    said: list[dict] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
        await main(ReusedRuns())

    asyncio.run(run())
    return said


def give(*results: bytes | Problem):
    async def run() -> tuple[Results, str]:
        await asyncio.sleep(0)
        return results, "live"

    return run


def test_no_result_of_a_run_with_one_problem_is_used_again():
    async def main(runs: ReusedRuns) -> None:
        await runs.find_or_run("a", give(b"good", Problem(DIED, "")))
        assert await runs.find_or_run("a", give(b"good", b"better")) == ((b"good", b"better"), "live")
        assert await runs.find_or_run("a", give()) == ((b"good", b"better"), "recorded")

    assert not use(main)


def test_results_are_kept_up_to_a_size_and_the_least_recently_used_goes_first(monkeypatch):
    monkeypatch.setattr(reuse, "MAX_BYTES", 10)

    async def main(runs: ReusedRuns) -> None:
        for key in ("a", "b"):
            await runs.find_or_run(key, give(b"12345"))
        await runs.find_or_run("a", give())  # used again, so that "b" is older
        await runs.find_or_run("c", give(b"12345"))
        kept = [(await runs.find_or_run(key, give(b"new")))[1] for key in ("a", "c", "b")]
        assert kept == ["recorded", "recorded", "live"]
        await runs.find_or_run("large", give(b"x" * 11))
        assert (await runs.find_or_run("large", give(b"")))[1] == "live", "larger than all that is kept"
        await runs.close()
        assert (await runs.find_or_run("a", give(b"12345")))[1] == "live", "closed"
        await runs.find_or_run("b", give(b"12345"))
        assert (await runs.find_or_run("a", give()))[1] == "recorded", "and counted anew"

    assert not use(main)


def test_who_waits_for_a_run_and_is_cancelled_leaves_it_to_the_one_who_began():
    async def main(runs: ReusedRuns) -> None:
        first, second = (asyncio.ensure_future(runs.find_or_run("a", give(b"x"))) for _ in range(2))
        await asyncio.sleep(0)
        second.cancel()
        assert await first == ((b"x",), "live")

    assert not use(main)


def test_a_run_that_raises_or_is_stopped_is_nothing_to_the_event_loop():
    async def fail() -> tuple[Results, str]:
        raise ActionError("expert", "no")

    async def main(runs: ReusedRuns) -> None:
        with pytest.raises(ActionError):
            await runs.find_or_run("a", fail)
        waiting = asyncio.ensure_future(runs.find_or_run("b", lambda: asyncio.sleep(60)))
        await asyncio.sleep(0)
        await runs.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not runs._active_runs

    assert not use(main)
