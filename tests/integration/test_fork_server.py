"""Items in processes that are forked from one which has loaded the libraries: results, errors, and every way to end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from lumos_queue.jobs.fork_server import ForkServer
from lumos_queue.jobs.train import Train
from lumos_queue.jobs.train_channel import TrainChannel
from lumos_queue.training.recipes.rltf import REQUEST
from tests.services import wait_until
from tests.tiny_planners import gold_rollouts, tiny_recipe, write_planner

BLOCKED = """
import json, sys
from pathlib import Path
from lumos_queue.jobs.fork_server import ForkServer
from tests.integration.test_fork_server import run
run(ForkServer(), json.loads(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def planner(tmp_path_factory):
    return write_planner(tmp_path_factory.mktemp("forked") / "planner")


@pytest.fixture(scope="module")
def server():
    """One for all tests here: it takes seconds to load the libraries."""
    forking = ForkServer()
    yield forking
    forking.end()


async def run_item(server: ForkServer, request: dict, folder: Path) -> tuple[int, bytes, bytes]:
    """The outcome of an item that gets 0.2 s to stop when it is cancelled."""
    with TrainChannel(lambda report: None, 0.2) as channel:
        return await server.run(request, folder, channel)


def run(server: ForkServer, request: dict, folder: Path) -> tuple[int, bytes, bytes]:
    return asyncio.run(run_item(server, request, folder))


def request_of(recipe, **window):
    return {"train": Train(recipe).as_json(), "window": window}


def blocked_request(recipe):
    """An item that waits forever for somebody to read the request that it writes."""
    folder = Path(recipe.folder)
    folder.mkdir()
    (folder / REQUEST).write_text(json.dumps({"digest": recipe.digest}))
    os.mkfifo(folder / f".{REQUEST}")
    return request_of(recipe, do="prepare")


def processes_below(process: int) -> list[psutil.Process]:
    return psutil.Process(process).children(recursive=True)


def wait_for_end(processes: list[psutil.Process]) -> None:
    def have_ended() -> bool:
        return not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)

    wait_until(have_ended, "the end of the processes")


def test_items_share_a_server_and_nothing_else(planner, tmp_path, server):
    recipe = tiny_recipe(planner, tmp_path / "fit")
    code, output, problems = run(server, request_of(recipe, do="prepare"), tmp_path)
    assert code == 0, problems.decode()
    assert b'"steps": 6' in output.splitlines()[-1]
    before = server._process.pid
    rollouts = gold_rollouts({20: 1.0, 110: 0.0}).as_json()
    # Another event loop, as of another slice.
    code, output, problems = run(server, request_of(recipe, do="update", step=1, rollouts=rollouts), tmp_path)
    assert code == 0 and b'"reward": 0.5' in output, problems.decode()
    assert server._process.pid == before
    assert not processes_below(before), "the items' processes have ended"


def test_what_a_person_has_to_fix_comes_back_with_its_exit_code(planner, tmp_path, server):
    recipe = tiny_recipe(planner, tmp_path / "fit")
    wrong = gold_rollouts({20: float("nan")}).as_json()
    code, _, problems = run(server, request_of(recipe, do="update", step=1, rollouts=wrong), tmp_path)
    assert code == 2
    assert problems.decode().splitlines()[-1] == "The reward of episode 1 of job aaaaaaaa is nan."
    code, _, problems = run(server, {"train": {"recipe": "rltf"}, "window": {}}, tmp_path)
    assert code == 1 and b"KeyError" in problems


@pytest.mark.long
def test_an_item_that_is_given_up_is_killed_and_the_next_one_has_a_new_server(planner, tmp_path, server):
    recipe = tiny_recipe(planner, tmp_path / "fit")

    async def give_up():
        work = asyncio.create_task(run_item(server, blocked_request(recipe), tmp_path))
        while not (server._process and processes_below(server._process.pid)):
            await asyncio.sleep(0.05)
        found = processes_below(server._process.pid)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        return found

    killed = asyncio.run(give_up())
    wait_for_end(killed)
    fresh = tiny_recipe(planner, tmp_path / "other")
    assert run(server, request_of(fresh, do="prepare"), tmp_path)[0] == 0


def test_a_killed_item_is_told_from_one_that_failed(planner, tmp_path, server):
    recipe = tiny_recipe(planner, tmp_path / "fit")

    async def kill():
        work = asyncio.create_task(run_item(server, blocked_request(recipe), tmp_path))
        while not (server._process and processes_below(server._process.pid)):
            await asyncio.sleep(0.05)
        processes_below(server._process.pid)[0].kill()
        return await work

    assert asyncio.run(kill())[0] == -signal.SIGKILL


@pytest.mark.long
def test_server_and_item_end_with_whoever_started_them(planner, tmp_path):
    recipe = tiny_recipe(planner, tmp_path / "fit")
    asked = json.dumps(blocked_request(recipe))
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen([sys.executable, "-c", BLOCKED, asked, str(tmp_path)], cwd=root) as owner:
        try:
            wait_until(lambda: any(process.ppid() != owner.pid for process in processes_below(owner.pid)), "the item")
            processes = processes_below(owner.pid)
        finally:
            owner.kill()
    assert len(processes) == 2, "the server and the item"
    wait_for_end(processes)
