"""Experts in real processes: what goes wrong in one sample or one expert stays there, and memory stays below a cap."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import psutil
import pytest

from lumos_queue.errors import ActionError, InfrastructureError, SpecError
from lumos_queue.experts.backends.base import MIB
from lumos_queue.experts.base import Kind
from lumos_queue.experts.host import ExpertHost, experts_of_this_process
from lumos_queue.experts.problems import Problem
from lumos_queue.experts.worker import ExpertProcess
from tests.expert_models import facts

HERE = Path(__file__).resolve().parents[2]


#: Ends with 0 where the kernel lets this user leave the network, in a new space of users or as it is.
_UNSHARE = "import ctypes; c = ctypes.CDLL(None); exit(bool(c.unshare(1 << 30) and c.unshare(1 << 30 | 1 << 28)))"


def ask(host: ExpertHost, texts: list[str], model: str = "Echo", **values: object) -> list[bytes | Problem]:
    return asyncio.run(host.run(facts(model, **values), [[text.encode() for text in texts]]))  # type: ignore[arg-type]


@pytest.fixture
def host() -> Iterator[ExpertHost]:
    host = ExpertHost()
    yield host
    asyncio.run(host.close())


def test_one_result_for_each_sample_and_slots_stay_together(host):
    made = asyncio.run(host.run(facts("Echo"), [[b"a", b"b"], [b"one", b"two"]]))
    assert made == [b"A | ONE", b"B | TWO"]


@pytest.mark.parametrize(
    ("deed", "kind", "says"),
    [
        ("die", "died", "status -11"),
        ("exit", "died", "status 3"),
        ("eat", "memory", ""),
        ("number", "bad_output", "float"),
        ("binary", "bad_output", "UTF-8"),
        ("raise", "failed", "no such word"),
        ("garbage", "bad_output", "protocol"),
        ("unknown", "bad_output", "protocol"),
        ("letters", "bad_output", "protocol"),
        ("half", "bad_output", "protocol"),
        ("allocate", "memory", "can't allocate"),
        ("refuse", "bad_input", "no such sample"),
    ],
)
def test_a_bad_sample_costs_itself_alone(host, deed, kind, says):
    before, bad, after = ask(host, ["before", deed, "after"])
    assert (before, after) == (b"BEFORE", b"AFTER")
    assert isinstance(bad, Problem) and bad.kind == kind and says in bad.message and "\n" not in bad.message


def test_a_sample_that_hangs_is_given_up_in_time_and_not_tried_again(host):
    ask(host, ["warm"], seconds=1.5)
    begin = time.monotonic()
    before, bad, after = ask(host, ["before", "hang", "after"], seconds=1.5)
    assert (before, after) == (b"BEFORE", b"AFTER")
    assert isinstance(bad, Problem) and bad.kind == "timeout"
    assert time.monotonic() - begin < 1.5 * 2 + 5, "one time limit and one start"


def test_what_an_earlier_sample_left_behind_is_no_fault_of_this_one(host):
    assert ask(host, ["leak", "leak", "leak"]) == [b"leaked"] * 3


@pytest.mark.parametrize(
    ("texts", "asked"),
    [(["exit"], 1), (["warm", "exit"], 3), (["warm", "raise"], 2), (["warm", "hang"], 2), (["warm", "eat"], 3)],
)
def test_a_sample_is_tried_again_in_a_fresh_process_only_where_earlier_ones_may_be_at_fault(
    host, monkeypatch, texts, asked
):
    seen: list[list[bytes]] = []

    def ask_and_count(process: ExpertProcess, sample: list[bytes]) -> bytes | Problem:
        seen.append(sample)
        return ask_process(process, sample)

    ask_process = ExpertProcess.ask
    monkeypatch.setattr(ExpertProcess, "ask", ask_and_count)
    assert isinstance(ask(host, texts, seconds=3.0)[-1], Problem)
    assert len(seen) == asked
    if texts[-1] == "eat":
        assert not expert_processes(), "what is short of memory is ended"


@pytest.mark.parametrize(("what", "says"), [("nan", "NaN"), ("shape", "shape"), ("text", "PNG")])
def test_an_image_that_is_none_is_a_problem(host, what, says):
    bad, good = ask(host, [what, "fine"], "Paint", output=Kind.IMAGE)
    assert isinstance(bad, Problem) and bad.kind == "bad_output" and says in bad.message
    assert isinstance(good, bytes) and good.startswith(b"\x89PNG")


def test_a_problem_is_told_in_a_short_kind_and_one_short_line(host):
    (bad,) = ask(host, ["liar"])
    assert bad == Problem("k" * 20, "m" * 200)


def test_what_a_library_prints_is_no_answer_and_nothing_is_written_to_disk(host):
    printed, refused = ask(host, ["print", "write"])
    assert printed == b"printed"
    assert isinstance(refused, Problem) and "No usable temporary directory" in refused.message


@pytest.mark.parametrize(
    ("model", "says", "loading"),
    [
        ("CannotLoad", "no weights here", {}),
        ("DiesLoading", "status 7", {}),
        ("HangsLoading", "loaded: late", {"start_seconds": 1.5}),
        ("SpeaksLoading", "it answered before it was asked", {}),
        ("SpeaksLoading", "did not keep to the protocol", {"options": {"frame": "?"}}),
        ("SpeaksLoading", "did not keep to the protocol", {"options": {"frame": "pxx"}}),
        ("SpeaksLoading", "did not keep to the protocol", {"options": {"frame": "p"}}),
    ],
)
def test_an_expert_that_cannot_be_loaded_fails_the_call_with_one_line(host, model, says, loading):
    for _ in range(2):  # no process is left that would answer
        with pytest.raises(ActionError, match=says) as raised:
            ask(host, ["a"], model, **loading)
        assert raised.value.kind == "expert"
    assert not expert_processes()
    assert ask(host, ["b"]) == [b"B"], "others go on"


def test_a_process_that_cannot_be_started_is_no_fault_of_the_sample(host, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("lumos_queue.experts.worker.ChildProcess", refuse)
    with pytest.raises(InfrastructureError, match="cannot start an expert's process"):
        ask(host, ["a"])


def test_two_versions_of_an_expert_are_two_processes(host):
    other = replace(facts("Echo"), digest="other")
    (first,), (second,) = (asyncio.run(host.run(one, [[b"pid"]])) for one in (facts("Echo"), other))
    assert first != second and ask(host, ["pid"]) == [first]


def test_a_fork_of_the_process_has_experts_of_its_own_and_leaves_those_of_its_parent():
    program = (
        "import asyncio, os\n"
        "from lumos_queue.experts.host import ExpertHost\n"
        "from tests.expert_models import facts\n"
        "host = ExpertHost()\n"
        "def pid():\n"
        "    return asyncio.run(asyncio.wait_for(host.run(facts('Echo'), [[b'pid']]), 10))[0]\n"
        "first = pid()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    asyncio.run(asyncio.wait_for(host.close(), 5))\n"
        "    other = pid()\n"
        "    asyncio.run(asyncio.wait_for(host.close(), 5))\n"
        "    os._exit(0 if other != first else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert pid() == first\n"
        "asyncio.run(host.close())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=40)
    assert done.returncode == 0, done.stderr


def test_a_process_has_no_variables_of_ours_and_no_network(host, monkeypatch):
    monkeypatch.setenv("LUMOS_DATABASE_URL", "postgresql://secret")
    variables, network = ask(host, ["environment", "connect"])
    assert isinstance(variables, bytes) and b"LUMOS" not in variables and b"PYTHONHASHSEED" in variables
    if subprocess.run([sys.executable, "-c", _UNSHARE]).returncode:
        pytest.skip("this kernel lets no process leave the network")
    assert network == b"Network is unreachable"


def test_a_cap_that_cannot_hold_an_expert_says_what_to_raise():
    with pytest.raises(ActionError, match=r"needs 256 MiB and LUMOS_EXPERT_MEMORY allows 100 MiB"):
        ask(ExpertHost(100 * MIB), ["a"])


def test_a_cap_that_holds_one_expert_to_the_byte_will_do():
    host = ExpertHost(256 * MIB)
    assert ask(host, ["a"]) == [b"A"]
    asyncio.run(host.close())


@pytest.mark.parametrize("said", ["4G", "", "-1", str(64 * MIB - 1)])
def test_a_cap_that_is_no_number_or_too_small_is_named(monkeypatch, said):
    monkeypatch.setenv("LUMOS_EXPERT_MEMORY", said)
    experts_of_this_process.cache_clear()
    with pytest.raises(SpecError, match=f"LUMOS_EXPERT_MEMORY='{said}'"):
        experts_of_this_process()


def expert_processes() -> list[int]:
    """The resident memory of each process of an expert that a test of this file started."""
    return [size for pid, size in sizes_of_experts().items() if pid not in OTHERS]


def sizes_of_experts() -> dict[int, int]:
    """The resident memory of each process of an expert, by its id; other children, such as servers of tests, not."""
    sizes = {}
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # until it runs its own program, it shares this one's memory and command line
            if "lumos_queue.experts.child" in child.cmdline():
                sizes[child.pid] = child.memory_info().rss
    return sizes


OTHERS: set[int] = set()  #: processes of experts that tests of other files left to the host of this process


@pytest.fixture(scope="module", autouse=True)
def others() -> None:
    OTHERS.update(sizes_of_experts())


class Watch:
    """The largest sum of resident memory of the processes of experts, and how many ran at once."""

    def __init__(self) -> None:
        self.bytes, self.children = 0, 0
        self._stop = Event()
        self._thread = Thread(target=self._look)

    def _look(self) -> None:
        while not self._stop.wait(0.02):
            sizes = expert_processes()
            self.bytes, self.children = max(self.bytes, sum(sizes)), max(self.children, len(sizes))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def test_twenty_callers_of_six_experts_keep_to_the_cap():
    cap, ballast = 400 * MIB, 80

    async def main() -> list[list[bytes | Problem]]:
        host = ExpertHost(cap)
        experts = [
            facts("Echo", expert=f"Expert {number}", memory=130 * MIB, options={"ballast": str(ballast)})
            for number in range(6)
        ]
        calls = (host.run(experts[number % 6], [[b"%d" % number, b"x"]]) for number in range(20))
        try:
            return await asyncio.gather(*calls)
        finally:
            await host.close()

    with Watch() as watch:
        made = asyncio.run(main())
    assert made == [[b"%d" % number, b"X"] for number in range(20)]
    assert watch.children == 3, "as many as fit, no more"
    assert ballast * MIB * 2 < watch.bytes < cap
    assert not expert_processes()


def test_the_least_recently_used_expert_makes_room(host):
    host = ExpertHost(2 * 256 * MIB)
    first, second, third = (facts("Echo", expert=name) for name in ("first", "second", "third"))

    async def main() -> list[bytes]:
        pids = [(await host.run(one, [[b"pid"]]))[0] for one in (first, second, first, third, first, second)]
        await host.close()
        return pids  # type: ignore[return-value]

    pids = asyncio.run(main())
    assert pids[0] == pids[2] == pids[4], "the first stays loaded"
    assert pids[1] != pids[5], "the second was used before it, and made room for the third"


def test_a_caller_that_is_cancelled_goes_at_once_and_leaves_the_rest_undone(host):
    async def main() -> None:
        call = asyncio.ensure_future(host.run(facts("Echo", seconds=3.0), [[b"a"] + [b"hang"] * 50]))
        await asyncio.sleep(1.0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await asyncio.wait_for(host.run(facts("Echo", seconds=3.0), [[b"next"]]), 15) == [b"NEXT"]

    asyncio.run(main())


def test_processes_go_with_a_parent_that_is_killed(tmp_path):
    program = (
        "import asyncio, os, sys\n"
        "from lumos_queue.experts.host import ExpertHost\n"
        "from tests.expert_models import facts\n"
        "async def main():\n"
        "    host = ExpertHost()\n"
        "    pids = await asyncio.gather(*(host.run(facts('Echo', expert=n), [[b'pid']]) for n in 'ab'))\n"
        "    print(*(pid[0].decode() for pid in pids), flush=True)\n"
        "    await host.run(facts('Echo', expert='a', seconds=60.0), [[b'hang']])\n"
        "asyncio.run(main())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2 and all(psutil.pid_exists(pid) for pid in pids)
    time.sleep(1.0)  # one is busy by now, and does not see that its pipe is closed
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 60
    while any(_runs(pid) for pid in pids):
        assert time.monotonic() < deadline, "a process outlived its parent"
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
