"""The killable child, which runs tests/sandbox_child.py."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lumos_queue.errors import ActionError, InfrastructureError
from lumos_queue.util import sandbox
from lumos_queue.util.sandbox import Sandbox
from tests.processes import is_running
from tests.services import wait_until

ROOT = Path(__file__).resolve().parent.parent.parent
MODULE = "tests.sandbox_child"


@pytest.fixture
def box():
    box = Sandbox(MODULE)
    yield box
    asyncio.run(box.close())


def ask(box: Sandbox, do: str = "nothing", cpu: float = 5.0, **request) -> dict:
    return asyncio.run(box.call({"do": do, **request}, cpu))


def kind_of_failure(box: Sandbox, do: str, cpu: float = 5.0, **request) -> str:
    with pytest.raises(ActionError) as caught:
        ask(box, do, cpu, **request)
    return caught.value.kind


def gone(pid: int) -> bool:
    """Whether no process has this id any more, not even a zombie."""
    return not Path(f"/proc/{pid}").exists()


def test_one_child_serves_many_requests_from_many_event_loops(box):
    assert ask(box)["pid"] == ask(box)["pid"] != os.getpid()


def test_the_child_has_no_environment_and_no_folder_of_ours(box, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    reply = ask(box)
    assert set(reply["environment"]) <= {"PYTHONHASHSEED", "LC_CTYPE"}
    assert reply["folder"] == "/"


def test_the_child_has_the_variables_of_its_sandbox():
    box = Sandbox(MODULE, variables={"SSL_CERT_FILE": "/etc/mine.pem"})
    assert "SSL_CERT_FILE" in ask(box)["environment"]
    asyncio.run(box.close())


def test_the_child_writes_no_files(box, tmp_path):
    assert ask(box, "write", path=str(tmp_path / "file"))["refused"] == "OSError"


def test_a_request_past_its_processor_time_is_killed_and_the_next_one_is_served(box):
    first = ask(box)["pid"]
    assert kind_of_failure(box, "spin", 0.3) == "timeout"
    assert gone(first)
    assert ask(box)["pid"] != first


def test_waiting_is_not_working(box):
    assert ask(box, "sleep", 0.2, seconds=0.6)["pid"]


def test_a_wall_clock_that_runs_out_is_the_machines_fault(box, monkeypatch):
    ask(box)
    monkeypatch.setattr(sandbox, "WALL_START", 0.2)
    with pytest.raises(InfrastructureError, match="did not answer"):
        ask(box, "sleep", 0.001, seconds=30)


def test_too_much_memory_is_refused_and_the_next_request_is_served(box):
    assert kind_of_failure(box, "hold", bytes=4 << 30) == "memory"
    assert ask(box)["pid"]


def test_memory_that_earlier_requests_hold_is_not_charged_to_this_one():
    box = Sandbox(MODULE, memory=400 << 20)
    first = ask(box, "hold", bytes=200 << 20)["pid"]
    assert ask(box, "hold", bytes=200 << 20)["pid"] != first
    asyncio.run(box.close())


def test_a_child_killed_while_idle_is_replaced(box):
    first = ask(box)["pid"]
    os.kill(first, signal.SIGKILL)
    assert ask(box)["pid"] != first


def test_a_request_that_ends_two_children_has_crashed(box):
    assert kind_of_failure(box, "exit") == "crashed"
    assert ask(box)["pid"]


def test_replies_and_requests_have_a_limit(box):
    assert ask(box, "long reply")["error"] == "too_large"
    assert kind_of_failure(box, "nothing", text="x" * sandbox.MAX_REQUEST) == "too_large"


def test_what_the_child_prints_is_no_reply(box):
    assert ask(box, "print")["pid"]


def test_a_child_is_replaced_after_its_share_of_requests(box, monkeypatch):
    monkeypatch.setattr(sandbox, "MAX_SERVED", 2)
    pids = [ask(box)["pid"] for _ in range(5)]
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]


def test_a_module_that_cannot_start_is_the_machines_fault():
    with pytest.raises(InfrastructureError, match="while it started"):
        ask(Sandbox("lumos_queue.no_such_module"))


def test_closing_leaves_no_process_behind(box):
    pid = ask(box)["pid"]
    asyncio.run(box.close())
    assert gone(pid)
    assert ask(box)["pid"] != pid


def test_a_sandbox_that_is_forgotten_leaves_no_process_behind():
    forgotten = Sandbox(MODULE)
    pid = ask(forgotten)["pid"]
    del forgotten
    wait_until(lambda: gone(pid), "the child ends", 60)


def test_two_threads_with_their_own_event_loops_share_a_sandbox(box):
    pids = []
    threads = [threading.Thread(target=lambda: pids.append(ask(box)["pid"])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pids) == 8 and len(set(pids)) == 1


def test_two_children_work_at_the_same_time():
    box = Sandbox(MODULE, children=2)

    async def both():
        return await asyncio.gather(*(box.call({"do": "sleep", "seconds": 0.3}, 5) for _ in range(2)))

    assert len({reply["pid"] for reply in asyncio.run(both())}) == 2
    asyncio.run(box.close())


def test_a_fork_starts_a_child_of_its_own_and_leaves_the_parents_alone(box):
    ours = ask(box)["pid"]
    fork = os.fork()
    if fork == 0:
        other = False
        try:
            other = ask(box)["pid"] != ours
            asyncio.run(box.close())
        finally:
            os._exit(0 if other else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) == 0
    assert ask(box)["pid"] == ours


def test_the_child_ends_when_its_parent_is_killed():
    program = (
        "import asyncio, time\n"
        "from lumos_queue.util.sandbox import Sandbox\n"
        f"box = Sandbox({MODULE!r})\n"
        "print(asyncio.run(box.call({'do': 'nothing'}, 5))['pid'], flush=True)\n"
        "time.sleep(60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
    wait_until(lambda: not is_running(child), "the child ends", 60)
