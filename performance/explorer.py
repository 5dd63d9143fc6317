"""How long the first answer of each page of the explorer takes, among a million stored episodes.

python -m performance.explorer URL [--times 40]        URL: of a database that performance.stored_jobs has filled

A process of its own serves; this one asks, one page after the other, another job or episode each time. p95 is given
with the median; what a page loads afterwards (report, facets) is on lines of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import httpx2

from performance.stored_jobs import Shape, job_id

LIMITS = {"sqlite": 0.300, "postgresql": 0.150}  #: seconds, of p95
JOBS, EPISODES = Shape().jobs, Shape().episodes
#: {job} and {episode} are other ones each time; + after a path: a part that a page loads, without a limit.
PAGES = (
    "/jobs",
    "/jobs?where=formulation=one-pass",
    "/jobs/{job}",
    "/jobs/{job}/episodes",
    "/jobs/{job}/episodes?where=score%3C1",
    "/jobs/{job}/episodes?where=ending=infra_error",
    "/jobs/{job}/episodes?after={episode}",
    "/episodes?where=score%3C1",
    "/episodes/{episode}",
    "/annotate",
    "/builds",
    "/builds/new",
    "/workers",
    "/endpoints",
    "/actions",
    "/compare?jobs={job}&jobs={other}",
    "/jobs/{job}/report+",
    "/episodes/facets?where=job={job}%20score%3C1+",
)


@contextmanager
def start_explorer(url: str) -> Iterator[httpx2.Client]:
    """A client that has logged in at an explorer of that database."""
    address = url.replace("+psycopg", "")
    environment = os.environ | {"LUMOS_DATABASE_URL": address, "LUMOS_USER": "measurement"}
    command = [sys.executable, "-m", "lumos_queue.cli.main", "web", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stderr is not None
        login_url = next(word for word in process.stderr.readline().split() if word.startswith("http"))
        with httpx2.Client(base_url=login_url.partition("/login")[0], timeout=120, trust_env=False) as client:
            client.get(login_url)
            yield client
    finally:
        process.terminate()
        process.wait()


def measure(client: httpx2.Client, path: str, times: int) -> tuple[list[float], set[int], int]:
    """Seconds of each answer, their status codes, and the bytes of the largest."""
    seconds, codes, largest = [], set(), 0
    for number in range(times + 1):
        job, second_job = job_id(number % JOBS), job_id((number + 1) % JOBS)
        address = path.format(job=job, other=second_job, episode=f"{job}-{number * 7919 % EPISODES}")
        began = time.perf_counter()
        answer = client.get(address)
        if number:  # the first one warms up
            seconds.append(time.perf_counter() - began)
        codes.add(answer.status_code)
        largest = max(largest, len(answer.content))
    return seconds, codes, largest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("url")
    parser.add_argument("--times", type=int, default=40, help="how often each page is asked for")
    arguments = parser.parse_args()
    kind = arguments.url.partition(":")[0].partition("+")[0]
    fine = True
    with start_explorer(arguments.url) as client:
        for page in PAGES:
            path, is_part = page.removesuffix("+"), page.endswith("+")
            seconds, codes, largest = measure(client, path, arguments.times)
            p95 = sorted(seconds)[max(0, round(0.95 * len(seconds)) - 1)]
            over = not is_part and (p95 >= LIMITS[kind] or codes != {200})
            fine &= not over
            summary = f"p95 {1000 * p95:7.0f} ms  median {1000 * median(seconds):7.0f} ms  {largest:9,} bytes"
            mark = "  part" if is_part else "  OVER" if over else ""
            print(f"{kind:10} {path:50} {summary}  {', '.join(map(str, sorted(codes)))}{mark}", flush=True)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
