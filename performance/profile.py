"""Where the embedded process spends its CPU time in scenario D, by py-spy.

python -m performance.profile [EPISODES]
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from performance.contender import Spec
from performance.scenarios import SCENARIOS
from performance.server import start_server

ROOT = Path(__file__).resolve().parent.parent
#: In this order: the innermost frame that belongs to a group decides.
GROUPS = {
    "json": ("json/",),
    "http client": ("aiohttp/", "yarl/", "multidict/", "httptools/", "urllib/", "lumos_queue/endpoints/"),
    "database": ("sqlalchemy/", "sqlite3/", "psycopg/", "db/"),
    "actions": ("sympy/", "mpmath/", "fractions.py", "lumos_queue/actions/", "lumos_queue/util/sandbox.py"),
    "generator and dialogue": ("lumos_queue/",),
    "slices": ("workers/", "concurrent/futures/", "threading.py"),
    "event loop": ("asyncio/", "selectors.py"),
}
#: Innermost functions of threads that wait, which py-spy takes for busy.
WAITING = {
    ("_wait_for_tstate_lock", "threading.py"),
    ("wait", "threading.py"),
    ("_worker", "concurrent/futures/thread.py"),
}
_FRAME = re.compile(r"(.+) \((.+?)(?::\d+)?\)")


def module(path: str) -> str:
    """`lumos_queue/episode.py`, `aiohttp/client.py`, `json/decoder.py`: the path without where it is installed."""
    if "site-packages/" in path:
        return path.rpartition("site-packages/")[2]
    path = path.removeprefix(f"{ROOT}/")
    return re.sub(r".*/lib/python3\.\d+/", "", path)


def group(name: str) -> str | None:
    return next((label for label, starts in GROUPS.items() if name.startswith(starts)), None)


def read(raw: str) -> Iterator[tuple[list[tuple[str, str]], int]]:
    """Stacks as (function, module), outermost first, and how often each was seen; without imports and waits."""
    for line in raw.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = [(match[1], module(match[2])) for text in stack.split(";") if (match := _FRAME.fullmatch(text))]
        if not frames or any("importlib" in name for _, name in frames):
            continue
        function, name = frames[-1]
        if (function.rpartition(".")[2], name) not in WAITING:
            yield frames, int(count)


def report(raw: str, limit: int = 25) -> str:
    """Shares by module group, and the functions with the most time of their own and with all they call."""
    own_group, all_group, exclusive, inclusive = Counter(), Counter(), Counter(), Counter()
    total = 0
    for frames, count in read(raw):
        total += count
        groups = [label for _, name in reversed(frames) if (label := group(name))]
        own_group[groups[0] if groups else "other"] += count
        all_group.update(dict.fromkeys(groups or ["other"], count))
        labels = [f"{function} ({name})" for function, name in frames]
        exclusive[labels[-1]] += count
        inclusive.update(dict.fromkeys(labels, count))
    if not total:
        return "no samples"
    lines = [f"{total} samples", "", f"{'own':>6} {'with all below':>15}"]
    lines += [f"{n / total:6.1%} {all_group[name] / total:15.1%}  {name}" for name, n in own_group.most_common()]
    for title, counts in (("own", exclusive), ("with all below", inclusive)):
        lines += ["", title, *(f"{n / total:6.1%}  {name}" for name, n in counts.most_common(limit))]
    return "\n".join(lines)


def main() -> None:
    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    scenario = SCENARIOS["D"]
    with start_server(scenario.latency, scenario.slots) as url, TemporaryDirectory() as folder:
        spec = Spec(url, folder, scenario.latency, scenario.slots, scenario.slots, episodes)
        out = Path(folder) / "stacks.txt"
        py_spy = str(Path(sys.executable).parent / "py-spy")
        command = [
            py_spy,
            "record",
            "--format",
            "raw",
            "--rate",
            "200",
            "--function",
            "--full-filenames",
            "--output",
            str(out),
            "--",
            sys.executable,
            "-m",
            "performance.embedded_run",
            json.dumps(asdict(spec)),
        ]
        process = subprocess.run(command, capture_output=True, text=True)
        if process.returncode or not out.exists():
            sys.exit(f"py-spy: {(process.stderr or process.stdout).strip()[-1000:]}")
        print(report(out.read_text()))


if __name__ == "__main__":
    main()
