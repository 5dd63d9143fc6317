"""Run the commands of one domain in this process, and write a report.

python -m tests.fuzz.work DOMAIN REQUEST.json     (a process that tests/fuzz/run.py starts)
"""

from __future__ import annotations

import faulthandler
import json
import math
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from db.engine.connection import open_database
from lumos_queue.settings import read_settings
from lumos_queue.submission.agents import ROLE_OPTIONS
from tests.fuzz.checks import check_commands, check_items, check_pages, find_endings, run
from tests.fuzz.domains import DOMAINS, SEES, Case
from tests.fuzz.pulse import Pulse
from tests.original_files import write_originals
from tests.tool_apis import LATEST, OFFICES, record

#: Commands that read the job of the previous case, and have no limit of rows.
AFTER = ("judge", "score")


@dataclass
class DomainReport:
    """The results of a domain."""

    episodes: int = 0
    endings: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  #: by command
    #: peak in bytes while commands `work`, and while jobs are `shown`
    memory: dict[str, int] = field(default_factory=dict)

    def note_memory(self, phase: str) -> None:
        """Record the peak of memory since the last note for a phase."""
        self.memory[phase] = max(self.memory.get(phase, 0), _take_peak())


def fuzz(
    domain: str, folder: Path, data: Path, roles: Mapping[str, Mapping[str, str]], episodes: int, report: DomainReport
) -> None:
    """Run a domain's cases; LUMOS_HOME names the database. `roles`: role to its addresses by scheme, tgi and chat.

    `data`: the folder of real rows; without it, the cases that need it are left out.
    """
    job = ""
    files, options = folder / "files", _write_files(folder / "files", episodes)
    cases = [case for case in DOMAINS[domain] if data.is_dir() or not case.real]
    if len(cases) < len(DOMAINS[domain]):
        report.skipped.append(f"the cases with real rows: there is no folder {data}")
    for case, many in zip(cases, share_out(cases, episodes), strict=True):
        if not many and case.command.split()[0] not in AFTER:
            continue
        words = _words(case, options, files, data, job)
        began = time.monotonic()
        ran = run(*words, *_addresses(case, roles), *_limits(case, many), "--json")
        name = " ".join(words).replace(str(folder), "")
        report.seconds[name] = round(time.monotonic() - began, 1)
        report.note_memory("work")
        last = _last_value(ran.out)
        if ran.problem or "job" not in last:
            report.violations.append(f"lumos {name}: {ran.problem or 'it printed no job'}")
            if "job" not in last:
                continue
        job = last["job"]
        _check(job, name, folder / f"{len(report.seconds)}", report)


def _check(job: str, name: str, folder: Path, report: DomainReport) -> None:
    folder.mkdir()
    database = open_database(read_settings().database)
    try:
        endings = find_endings(database, job)
        report.endings = dict(Counter(report.endings) + endings)
        report.episodes += endings.total()
        for problem in (
            *check_items(database, job),
            *check_commands(database, job, folder),
            *check_pages(database, job),
        ):
            report.violations.append(f"{name}: {problem}")
    finally:
        database.close()
    report.note_memory("shown")


def share_out(cases: list[Case], episodes: int) -> list[int]:
    """Return the episodes of each case by its share. The first cases get the remainder."""
    whole = sum(case.share for case in cases if case.command.split()[0] not in AFTER)
    exact = [0.0 if case.command.split()[0] in AFTER else episodes * case.share / whole for case in cases]
    many = [math.floor(amount) for amount in exact]
    order = sorted(range(len(cases)), key=lambda index: (many[index] - exact[index], index))
    for index in order[: episodes - sum(many)]:
        many[index] += 1
    return many


def _write_files(folder: Path, episodes: int) -> dict[str, list[str]]:
    options = write_originals(folder, max(2, episodes))
    rows = [
        {
            "query_id": number,
            "query": f"Where is parcel P{number}?",
            "api_list": [LATEST, OFFICES],
            "relevant APIs": [["Swift Post", "Latest"]],
        }
        for number in range(max(2, episodes))
    ]
    (folder / "toolbench.json").write_text(json.dumps(rows), encoding="utf-8")
    lines = (json.dumps(record(arguments={"parcelid": f"P{number}"})) for number in range(3))
    (folder / "answers.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return options


def _words(case: Case, options: Mapping[str, list[str]], files: Path, data: Path, job: str) -> list[str]:
    command_words = case.command.replace("HOME", str(files)).replace("DATA", str(data)).split()
    words: list[str] = []
    for word in command_words:
        words += options[command_words[1]] if word == "FILES" else [job if word == "JOB" else word]
    if "intercode_sql" in words and "FILES" not in command_words and "--tool" not in words:
        words += ["--tool", f"databases={files / 'databases'}"]
    return words


def _addresses(case: Case, roles: Mapping[str, Mapping[str, str]]) -> list[str]:
    words = []
    if case.command.startswith("score "):
        return []
    for role in case.all_roles:
        url = roles[role]["chat" if role in SEES else "tgi"]
        has_option = role in ROLE_OPTIONS or role == "teacher"
        words += [f"--{role}", url] if has_option else ["--role", f"{role}={url}"]
    return words


def _limits(case: Case, many: int) -> list[str]:
    if case.command.split()[0] in AFTER:
        return []
    limit = min(many, case.tasks or many)
    words = ["--limit", str(limit)]
    if many > limit:
        words += ["--samples", str(math.ceil(many / limit)), "--temperature", "1"]
    return words


def _last_value(out: str) -> dict[str, Any]:
    for line in reversed(out.splitlines()):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return {}


def main() -> None:
    domain, request = sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    folder, report = Path(request["folder"]), DomainReport()
    for name in [name for name in os.environ if name.startswith("LUMOS_")]:
        del os.environ[name]
    os.environ["LUMOS_HOME"] = str(folder / "home")
    with (folder / "stacks.txt").open("w") as stacks, Pulse(folder, request["limit"]) as pulse:
        faulthandler.register(signal.SIGUSR1, stacks)
        try:
            fuzz(domain, folder, Path(request["data"]), request["roles"], request["episodes"], report)
        finally:
            values = asdict(report) | {"interpreter": asdict(pulse.interpreter), "loop": asdict(pulse.loop)}
            (folder / "result.json").write_text(json.dumps(values), encoding="utf-8")


def _take_peak() -> int:
    """Return the peak of memory, in bytes, of this process since the last call."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    Path("/proc/self/clear_refs").write_text("5")
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
