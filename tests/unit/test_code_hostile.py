"""Programs that mean harm: each gives an execution with a clear error, and the next program is served."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lumos_queue.actions.algebra.kinds import KINDS
from lumos_queue.actions.maths.interface import MathsActions
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.episode import run_episode
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.iterative import iterative
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Execution, Task
from tests.processes import child_pids, wait_until_ended
from tests.services import wait_until

ROOT = Path(__file__).resolve().parent.parent.parent
VARIABLES = {"R1": {"kind": "number", "text": "4"}}

HARM = {  # a slow machine reaches the time limit before it has filled the memory
    "fork": ("import os\nos.fork()", {"refused"}),
    "fork bomb": ("import os\nwhile True:\n    os.fork()", {"refused"}),
    "shell": ("import os\nos.system('touch {marker}')", {"refused"}),
    "subprocess": ("import subprocess\nsubprocess.run(['touch', '{marker}'])", {"refused"}),
    "reads a file": ("open('{secret}').read()", {"refused"}),
    "reads a file by pathlib": ("from pathlib import Path\nPath('{secret}').read_text()", {"refused"}),
    "reads the users": ("open('/etc/passwd').read()", {"refused"}),
    "writes a file": ("open('{marker}', 'w').write('x')", {"refused"}),
    "lists a folder": ("import os\nos.listdir('/')", {"refused"}),
    "environment": ("import os\nos.environ['CODE_TEST_SECRET']", {"refused"}),
    "environment, asked": ("import os\nos.getenv('CODE_TEST_SECRET')", {"refused"}),
    "socket": ("import socket\nsocket.create_connection(('127.0.0.1', {port}))", {"refused"}),
    "http": ("import urllib.request\nurllib.request.urlopen('http://127.0.0.1:{port}/')", {"refused"}),
    "asyncio": ("import asyncio\nasyncio.open_connection('127.0.0.1', {port})", {"refused"}),
    "import of a dependency": ("import sqlalchemy", {"refused"}),
    "import of ours": ("import lumos_queue", {"refused"}),
    "ctypes": ("import ctypes\nctypes.string_at(0)", {"refused"}),
    "dunder import": ("__import__('os').system('touch {marker}')", {"undefined_variable"}),
    "class escape": ("().__class__.__mro__[1].__subclasses__()", {"refused"}),
    "frame escape": ("(lambda: 0).__globals__", {"refused"}),
    "generator frame": ("(x for x in [1]).gi_frame.f_back", {"refused", "failed"}),
    "format escape": ("'{{0.__class__}}'.format(1)", {"refused", "failed"}),
    "eval": ("eval('__import__(\"os\")')", {"undefined_variable", "failed"}),
    "full-width letters": ("__ｉｍｐｏｒｔ__('ｏｓ')", {"undefined_variable"}),
    "right to left": ("\u202etropmi so", {"syntax"}),
    "exit": ("raise SystemExit", {"failed"}),
    "interrupt": ("raise KeyboardInterrupt", {"failed"}),
    "8 GB list": ("[0] * (1 << 30)", {"memory"}),
    "8 GB text": ("'a' * (8 << 30)", {"memory"}),
    "8 GB bytes": ("bytes(8 << 30)", {"memory"}),
    "8 GB padding": ("'x'.ljust(8 << 30)", {"memory"}),
    "8 GB format": ("'%8589934592d' % 1", {"memory", "failed", "too_large"}),
    "8 GB joined": ("'a'.join(['b' * 10 ** 6] * 8000)", {"memory", "timeout"}),
    "power tower": ("10 ** 10 ** 10", {"memory"}),
    "shift": ("1 << 10 ** 11", {"memory"}),
    "growing list": (
        "x = []\nwhile True:\n    x.append('a' * 1000)",
        {"memory", "timeout"},
    ),
    "growing text": ("x = 'a'\nwhile True:\n    x += x", {"memory", "timeout"}),
    "loop": ("while True: pass", {"timeout"}),
    "loop in C": ("sum(range(10 ** 15))", {"timeout"}),
    "factorial": ("import math\nmath.factorial(10 ** 7)", {"timeout", "memory"}),
    "loop that catches": ("while True:\n    try:\n        1 / 0\n    except BaseException:\n        pass", {"timeout"}),
    "catches lack of memory": ("try:\n    'a' * (8 << 30)\nexcept BaseException:\n    pass", {"failed", "memory"}),
    "recursion": ("def f(n):\n    return f(n + 1)\nf(0)", {"too_large"}),
    "recursion of two": ("def f(n):\n    return g(n)\ndef g(n):\n    return f(n)\nf(0)", {"too_large"}),
    "nested brackets": ("(" * 1500 + ")" * 1500, {"syntax", "too_large"}),
    "nested signs": ("-" * 3900 + "1", {"too_large"}),
    "nested sums": ("1+" * 1900 + "1", {"too_large"}),
    "nested ifs": ("If 1, " * 600 + "1" + ", 2" * 600, {"too_large"}),
    "long output": ("'a' * 10 ** 6", {"too_large"}),
    "long print": ("print('a' * 10 ** 6)", {"memory", "too_large"}),
    "many items": ("list(range(10 ** 6))", {"too_large"}),
    "long number": ("10 ** 3000", {"too_large"}),
    "long numeral": ("9" * 3900, {"too_large", "failed", "syntax"}),
    "infinite number": ("1e999", {"not_a_number"}),
    "complex number": ("1j", {"failed"}),
    "regex bomb": (r"import re" "\n" r"re.match(r'(a|aa)*\1b$', 'a' * 60 + 'c').group()", {"failed", "timeout"}),
    "NUL": ("1 +\0 1", {"syntax"}),
    "lone surrogate": ("\ud800", {"syntax"}),
    "1 MB of code": ("1 + " * 250_000 + "1", {"too_large"}),
    "1 MB of spaces": ("1" + " " * 1_000_000 + "+", {"too_large"}),
}


@pytest.fixture(scope="module")
def maths():
    interface = MathsActions(program_seconds=0.6)
    yield interface
    asyncio.run(interface.close())


def run(maths, code, variables=VARIABLES):
    return asyncio.run(maths.execute(Action(("R2",), "Code", code), variables))


@pytest.mark.parametrize("name", HARM)
def test_harm_is_an_execution_with_a_clear_error_and_the_next_program_is_served(maths, name, tmp_path, monkeypatch):
    code, kinds = HARM[name]
    marker, secret = tmp_path / "marker", tmp_path / "secret"
    secret.write_text("hush-7391")
    monkeypatch.setenv("CODE_TEST_SECRET", "hush-7391")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        code = code.replace("{marker}", str(marker)).replace("{secret}", str(secret))
        code = code.replace("{port}", str(server.getsockname()[1])).replace("{{", "{").replace("}}", "}")
        execution = run(maths, code)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert execution.status in kinds & set(KINDS), execution
    assert execution.message and not execution.values and "hush" not in execution.message
    assert not marker.exists()
    assert run(maths, "If R1 > 3, R1, 0").result == "4"


def test_a_program_starts_with_nothing_of_the_one_before(maths):
    assert run(maths, "kept = 5\nkept").result == "5"
    assert run(maths, "kept").status == "undefined_variable"


def test_waiting_is_no_way_to_hold_a_worker(maths):
    assert run(maths, "import time\ntime.sleep(10 ** 9)\nR1").result == "4"


def test_closing_leaves_no_process_behind(own_helper_processes):
    interface = MathsActions()
    before = child_pids(recursive=True)
    assert run(interface, "R1 + 1").result == "5"
    ours = child_pids(recursive=True) - before
    assert ours
    asyncio.run(interface.close())
    wait_until_ended(ours)


def test_a_looping_program_ends_though_its_worker_was_killed():
    """The interpreter's processor time runs out, whoever is left to read its answer."""
    worker = (
        "import asyncio\n"
        "from lumos_queue.actions.code.interface import CodeRunner\n"
        "asyncio.run(CodeRunner(1.0).run('while True: pass', {}))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", worker], env=environment, stderr=subprocess.DEVNULL) as parent:
        try:

            def both() -> set[int]:
                children = child_pids(parent.pid, recursive=True)
                return children if len(children) == 2 else set()

            looping = wait_until(both, "the child and the interpreter run", 60, 0.02)
        finally:
            parent.kill()
    wait_until_ended(looping)


def test_an_episode_goes_on_after_harmful_programs():
    """The planner and the grounder are scripted; the tools are real."""
    task = Task("hello", "by hand", "1", "A box holds 12 pens. Mia buys 3 boxes and gives 5 away. How many are left?")
    planner = [
        "Subgoal 1: Look at the computer.",
        "No, I will keep planning. Subgoal 2: Use all its memory.",
        "No, I will keep planning. Subgoal 3: Calculate the number of pens in 3 boxes of 12.",
        "No, I will keep planning. Subgoal 4: Take away 5 if there are more than 5.",
        "Yes, I will stop planning.",
    ]
    grounder = [
        "R1 = Code(open('/etc/passwd').read())",
        "R1 = Code('a' * (8 << 30))",
        "R1 = Calculator(12 * 3)",
        "R2 = Code(If R1 > 5, R1 - 5, R1)",
    ]

    async def go(journal):
        interface = MathsActions()
        executor = Executor({"planner": Scripted(planner), "grounder": Scripted(grounder)}, interface, Sampling(), 0)
        try:
            async with executor.for_episode(task, 0) as perform:
                agent = Agent(roles={}, domain="maths")
                return (await run_episode(iterative, task, agent, journal, perform)).outcome
        finally:
            await interface.close()

    journal = MemoryJournal()
    outcome = asyncio.run(go(journal))
    assert [step.result.status for step in journal.steps if isinstance(step.result, Execution)] == [
        "refused",
        "memory",
        "ok",
        "ok",
    ]
    assert (outcome.ending, outcome.answer) == ("answered", "31")
