"""Measure the explorer under hostile connections and many readers while a job runs.

    python -m performance.explorer_load [--readers 50] [--hostile 1000] [--seconds 60] [--rounds 2]

The store has one finished job of 100,000 episodes and one job that a worker runs with a scripted model of a fixed
delay. Windows alternate: only the job; readers; readers and hostile connections from one address; readers and hostile
connections from 50 addresses. Each reader opens a page every 5 seconds, and one page in nine is the report of the large
job. The output has the p95 of `/workers`, all statuses, the largest memory of the explorer in MB, and the throughput of
the job as a ratio to the mean of the windows with only the job. Only loopback addresses are used.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median

import httpx2
from sqlalchemy import text

from db.engine.connection import Database, open_database
from performance.stored_jobs import Shape, make_stored_jobs

LUMOS = (sys.executable, "-m", "lumos_queue.cli.main")
PAUSE_SECONDS = 5.0  #: of a reader between two pages
RECONNECT_SECONDS = 2.0  #: of a hostile client after its connection was closed
DELAY_SECONDS = 0.3  #: of each reply of the scripted model
PEOPLE = {"rita": "reader", "rob": "reader", "anna": "annotator", "otto": "operator"}


@dataclass(slots=True)
class Window:
    """The measurements of one window."""

    label: str
    items_per_second: float = 0.0
    seconds_by_page: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    memory: float = 0.0  #: MB, the largest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--hostile", type=int, default=1000, help="connections at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each window")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--attack", nargs=3, metavar=("URL", "ADDRESSES", "COUNT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.attack:
        asyncio.run(attack(arguments.attack[0], int(arguments.attack[1]), int(arguments.attack[2])))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        report(measure(Path(folder), arguments))
    return 0


def measure(folder: Path, arguments: argparse.Namespace) -> list[Window]:
    home = folder / "home"
    home.mkdir(mode=0o700)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LUMOS_")}
    environment |= {"LUMOS_HOME": str(home), "LUMOS_CONCURRENCY": "32"}
    database = open_database(f"sqlite:///{home}/lumos.db")
    (large_job,) = make_stored_jobs(database, Shape(jobs=1, episodes=arguments.episodes))
    job = submit(folder, environment)
    windows: list[Window] = []
    with start_worker(environment), start_explorer(folder, environment) as explorer:
        wait_until(lambda: count_done(database, job) >= 100)
        kinds = [("only the job", 0, 0), ("readers", arguments.readers, 0)]
        kinds += [(f"readers, {arguments.hostile} connections of {n} addresses", arguments.readers, n) for n in (1, 50)]
        for _ in range(arguments.rounds):
            for label, readers, addresses in kinds:
                pages = paths_of(job, large_job)
                windows.append(run_window(label, readers, addresses, explorer, pages, arguments, database, job))
                print(f"{label}: {windows[-1].items_per_second:.1f} items/s, {dict(windows[-1].statuses)}", flush=True)
                time.sleep(3)
    return windows


def submit(folder: Path, environment: dict[str, str]) -> str:
    """Submit the job whose throughput is measured. Returns its id."""
    model = folder / "model.json"
    model.write_text(json.dumps([{"contains": "", "reply": "The answer is 7.", "delay": DELAY_SECONDS}]))
    command = [*LUMOS, "evaluate", "wordmath", "--split", "familiar", "--limit", "1000", "--samples", "50"]
    command += ["--formulation", "direct", "--solver", f"scripted:{model}", "--detach"]
    broker = {"LUMOS_BROKER_URL": "redis://127.0.0.1:1/0"}  # none: the worker searches the database
    output = subprocess.run(command, env=environment | broker, capture_output=True, text=True, check=True)
    return output.stdout.split()[0]


@contextmanager
def start_worker(environment: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen([*LUMOS, "worker"], env=environment, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


@dataclass(frozen=True, slots=True)
class RunningExplorer:
    """The explorer's process, its address and the cookies of its readers."""

    pid: int
    url: str
    cookies: tuple[dict[str, str], ...]

    def memory(self) -> float:
        """Return the resident memory in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


@contextmanager
def start_explorer(folder: Path, environment: dict[str, str]) -> Iterator[RunningExplorer]:
    passwords = folder / "people.txt"
    for name, role in PEOPLE.items():
        command = [*LUMOS, "web", "add-person", str(passwords), name, "--role", role]
        subprocess.run(command, env=environment, input=f"password-{name}\n", text=True, check=True, capture_output=True)
    command = [*LUMOS, "web", "--port", "0", "--passwords", str(passwords)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        url = next(re.findall(r"https?://[^/\s]+", line)[0] for line in process.stderr if "http" in line)
        threading.Thread(target=process.stderr.read, daemon=True).start()
        cookies = []
        for name in PEOPLE:
            with httpx2.Client(base_url=url, headers={"origin": url}, trust_env=False) as client:
                client.post("/login", data={"name": name, "secret": f"password-{name}"})
                cookies.append(dict(client.cookies))
        yield RunningExplorer(process.pid, url, tuple(cookies))
    finally:
        process.terminate()
        process.wait(60)


def paths_of(job: str, large_job: str) -> list[str]:
    return [
        "/jobs",
        f"/jobs/{job}",
        f"/jobs/{job}/episodes",
        f"/episodes/{large_job}-1",
        f"/jobs/{large_job}/report",
        "/workers",
        "/endpoints",
        f"/jobs/{large_job}/episodes?where=score%3C1",
        f"/episodes/facets?where=job={large_job}%20score%3C1",
    ]


def run_window(
    label: str,
    readers: int,
    addresses: int,
    explorer: RunningExplorer,
    paths: list[str],
    arguments: argparse.Namespace,
    database: Database,
    job: str,
) -> Window:
    window, stop, lock = Window(label), threading.Event(), threading.Lock()

    def read(number: int) -> None:
        source = random.Random(number)
        cookies = explorer.cookies[number % len(explorer.cookies)]
        stop.wait(source.random() * PAUSE_SECONDS)
        with httpx2.Client(base_url=explorer.url, cookies=cookies, timeout=60, trust_env=False) as client:
            while not stop.is_set():
                path, began = source.choice(paths), time.monotonic()
                try:
                    status = str(client.get(path).status_code)
                except httpx2.HTTPError as error:
                    status = type(error).__name__
                with lock:
                    window.seconds_by_page.setdefault(path, []).append(time.monotonic() - began)
                    window.statuses[status] += 1
                stop.wait(PAUSE_SECONDS)

    def watch() -> None:
        while not stop.wait(0.2):
            window.memory = max(window.memory, explorer.memory())

    threads = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(readers)]
    threads.append(threading.Thread(target=watch, daemon=True))
    attacker = None
    if addresses:
        command = [sys.executable, "-m", "performance.explorer_load", "--attack", explorer.url]
        attacker = subprocess.Popen([*command, str(addresses), str(arguments.hostile)])
        time.sleep(5)  # until all are connected
    for thread in threads:
        thread.start()
    count, began = count_done(database, job), time.monotonic()
    time.sleep(arguments.seconds)
    window.items_per_second = (count_done(database, job) - count) / (time.monotonic() - began)
    stop.set()
    for thread in threads:
        thread.join(70)
    if attacker:
        attacker.terminate()
        attacker.wait(20)
    return window


async def attack(url: str, addresses: int, count: int) -> None:
    """Hold `count` connections without a login from 127.0.0.2 and the addresses after it, until SIGTERM."""
    host, port = url.partition("://")[2].split(":")
    start = f"Host: {host}:{port}\r\nOrigin: {url}\r\n"
    post = f"POST /login HTTP/1.1\r\n{start}Content-Type: application/x-www-form-urlencoded\r\n"
    kinds = (
        (b"", b"", 1.0),  # says nothing
        (f"GET /login HTTP/1.1\r\n{start}X: ".encode(), b"y", 1.0),  # a head that arrives byte by byte
        (f"GET /login HTTP/1.1\r\n{start}X: ".encode(), b"y" * 65_536, 0.05),  # a head that does not end
        (f"{post}Content-Length: 1000\r\n\r\nname=".encode(), b"a", 1.0),  # a body that arrives byte by byte
        (f"{post}Content-Length: 19000000\r\n\r\nname=".encode(), b"a" * 65_536, 0.05),  # a large body
    )

    async def hold(number: int) -> None:
        opening, part, pause = kinds[number % len(kinds)]
        source = (f"127.0.0.{2 + number % addresses}", 0)
        while True:
            try:
                reader, writer = await asyncio.open_connection(host, int(port), local_addr=source)
                writer.write(opening)
                while not reader.at_eof() and not writer.is_closing():
                    writer.write(part)
                    await writer.drain()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(reader.read(65_536), pause)
                writer.close()
            except (OSError, RuntimeError):
                pass
            await asyncio.sleep(RECONNECT_SECONDS)

    await asyncio.gather(*(hold(number) for number in range(count)))


def count_done(database: Database, job: str) -> int:
    with database.engine.connect() as connection:
        query = text("SELECT count(*) FROM item WHERE job = :job AND state = 'done'")
        return int(connection.execute(query, {"job": job}).scalar_one())


def wait_until(is_true: Callable[[], bool]) -> None:
    while not is_true():
        time.sleep(0.5)


def report(windows: list[Window]) -> None:
    """Print one line for each kind of window, over all rounds."""
    alone = mean(window.items_per_second for window in windows if window.label == windows[0].label)
    for label in dict.fromkeys(window.label for window in windows):
        rounds = [window for window in windows if window.label == label]
        statuses = sum((window.statuses for window in rounds), Counter())
        ratio = mean(window.items_per_second for window in rounds) / alone
        memory = max(window.memory for window in rounds)
        print(f"{label}: job {ratio:.2f} of alone; statuses {dict(statuses)}; memory {memory:.0f} MB")
        for path in sorted({path for window in rounds for path in window.seconds_by_page}):
            seconds = sorted(second for window in rounds for second in window.seconds_by_page.get(path, ()))
            p95 = seconds[max(0, round(0.95 * len(seconds)) - 1)]
            print(f"    {path:60} {len(seconds):5} pages, median {median(seconds):6.2f} s, p95 {p95:6.2f} s")


if __name__ == "__main__":
    sys.exit(main())
