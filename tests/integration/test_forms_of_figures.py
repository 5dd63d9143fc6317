"""All that people read has the same forms of figures: lumos_queue/util/wording.py."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console
from sqlalchemy import update

from db.engine.connection import Database
from db.models import JobRow
from db.queue.batch import Batch, FinishedItem
from db.queue.claims import ClaimRequest
from db.queue.commit import commit
from db.queue.fence import beat
from db.queue.training_steps import insert_models
from lumos_queue.builds.options import BuildOptions
from lumos_queue.cli.watch_result import format_watched, print_results
from lumos_queue.cli.watch_screen import Screen
from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.live.watched_jobs import WatchedJobs
from lumos_queue.records import Outcome, Score, Task, TrainedModel
from lumos_queue.settings import Settings
from lumos_queue.submission.build_request import make_build
from lumos_queue.web.live import LIVE
from lumos_queue.web.views.live_job import show_live_job
from tests.claims import claim, holder, new_job
from tests.explorers import call_explorer
from tests.other_forms import find_other_forms, read_texts
from tests.page_jobs import FAILED, RIGHT, WRONG, evaluation
from tests.scored_jobs import create_scored_job
from tests.web.conversions import convert_rows

MANY = 1234  #: tasks of the jobs whose counts need a separator
HTMX = {"hx-request": "true"}
URL = "tgi://gpu-1:8080"


@dataclass(frozen=True)
class Stored:
    """A database with jobs of known figures, and the home of its builds."""

    database: Database
    home: Path
    first: str  #: 1,234 tasks, of which 464 are right: 37.6 %
    second: str  #: the same tasks, of which 617 are right
    incomplete: str  #: 1,234 tasks, half of them without a result
    open: str  #: 2,000 tasks, of which a worker has finished 1,234
    steps: str  #: a job whose episodes have steps
    conversion: str
    session: int  #: of the worker that holds items of the open job

    @property
    def jobs(self) -> list[str]:
        return [self.first, self.second, self.incomplete, self.open, self.steps, self.conversion]

    def names(self) -> list[str]:
        """The texts that contain digits and are no figures: ids, the process, folders, rows of benchmarks."""
        return [*self.jobs, str(self.home), str(os.getpid())]


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Iterator[Stored]:
    home = tmp_path_factory.mktemp("forms")
    database, conversion = convert_rows(home, 12, 2)
    tasks = [Task("wordmath", "data", f"r{n}", f"question q{n}", {"n": n}, {"answer": f"a{n}"}) for n in range(MANY)]
    first = create_scored_job(database, [[task % 8 < 3] for task in range(MANY)], tasks)
    second = create_scored_job(database, [[task % 2] for task in range(MANY)], tasks, endpoint="tgi://better:1")
    incomplete = create_scored_job(database, [[task % 2 or None] for task in range(MANY)], tasks, digest="cd" * 32)
    steps = evaluation(database, [RIGHT, WRONG, FAILED, WRONG], number=1)
    is_open = new_job(database, tasks=2000, digest="ef" * 32)
    who = holder(database, is_open)
    items = claim(database, who, 1800)
    ends = [
        FinishedItem(item.id, Outcome("7", "answered"), (Score("accuracy", float(item.ordinal % 3 == 0)),))
        for item in items[:MANY]
    ]
    commit(database, who, Batch({item.id: item.claim for item in items}, finished=ends), ClaimRequest(0))
    with database.writer.begin() as connection:
        spec = {"infer": {"agent": {"roles": {"planner": URL}}}}
        connection.execute(update(JobRow).where(JobRow.id == is_open).values(state="running", spec=spec))
        insert_models(connection, None, None, [TrainedModel("base", "/m", "full", "a" * 64, 269_060_552, "", ("one",))])
    for name in ("one", "two"):
        options = BuildOptions(where="origin!=derived", formulations=("iterative",), seed=len(name))
        make_build(database, name, home / "builds" / name, options)
    yield Stored(database, home, first, second, incomplete, is_open, steps, conversion, who.session)
    database.close()


@pytest.fixture(autouse=True)
def worker(stored):
    """Let the worker report its traffic, so that it is alive during the test."""
    beat(stored.database, stored.session, [], {URL: Traffic(1300, 1700, 1800.0, 5, 1300.0, 2400)})


@pytest.fixture
def command(lumos, stored):
    """Runs a command on the stored database; returns all that it prints."""
    lumos.set(LUMOS_HOME=stored.home, LUMOS_DATABASE_URL="", COLUMNS=200)

    def run(*arguments: str) -> str:
        printed = lumos(*arguments)
        assert printed.code in ((0, 1) if arguments[0] == "doctor" else (0, 3)), printed.err
        return printed.out + printed.err

    return run


COMMANDS = {
    "report": ("report", "FIRST"),
    "report of an incomplete job": ("report", "INCOMPLETE"),
    "report of a conversion": ("report", "CONVERSION"),
    "report --all": ("report", "FIRST", "STEPS", "--all"),
    "compare": ("compare", "FIRST", "SECOND"),
    "compare with prices": ("compare", "FIRST", "SECOND", "--price-prompt", "1", "--price-completion", "2"),
    "board": ("board",),
    "jobs": ("jobs",),
    "job": ("job", "FIRST"),
    "job that is open": ("job", "OPEN"),
    "episodes": ("episodes", "FIRST", "--limit", "5"),
    "show": ("show", "STEPS-0", "--prompts"),
    "workers": ("workers",),
    "endpoints": ("endpoints",),
    "doctor": ("doctor",),
    "doctor --recount": ("doctor", "--recount"),
    "models": ("models", "list"),
    "model": ("models", "show", "base"),
    "builds": ("dataset", "list"),
    "build": ("dataset", "show", "one"),
    "two builds": ("dataset", "diff", "one", "two"),
    "data": ("data", "list"),
}
#: What a text must contain, so that its figures are among those that are searched.
FIGURES = {
    "report": "37.6 % [34.9, 40.3]",
    "report of an incomplete job": "incomplete: 50.0 to 100.0 % [47.2, 100.0]",
    "report of a conversion": "100.0 % [75.8, 100.0]",
    "report --all": "1,234",
    "compare": "+12.4 [",
    "compare with prices": "$",
    "job": "done 1,234",
    "job that is open": "owed 766",
    "episodes": "question q4",
    "endpoints": "No endpoint has a cap",
    "doctor": "3.11 or later",
    "doctor --recount": "jobs have the sums of their rows",
    "model": "269.1 MB",
    "build": "24 rows",
    "two builds": "24 rows",
    "data": "749.7 kB",
    "jobs": "37.6 [34.9, 40.3]",
    "board": "n 2,468",
    "workers": "s ago",
    "models": "269.1 MB",
    "builds": " UTC",
    "show": "0.500 s",
    "/jobs": "1,234 of 2,000",
    "/jobs/FIRST": "37.6 %",
    "/jobs/OPEN": "incomplete: 20.6 to 58.9 % [18.9, 61.0]",
    "/jobs/INCOMPLETE/failures": "617",
    "/jobs/STEPS/report": "25.0 % [4.6, 69.9]",
    "/jobs/FIRST/episodes": "100,000",
    "/episodes/rows?where=job%3DFIRST": "question q20",
    "/episodes/facets?where=job%3DFIRST": "1,234",
    "/compare?jobs=FIRST,SECOND": "better:1",
    "/compare/changed?jobs=FIRST,SECOND&other=SECOND": "0 → 1",
    "/jobs/FIRST/report": "2,468",
    "/compare/figures?jobs=FIRST,SECOND": "+12.4 [",
    "/episodes/STEPS-0": "0.500 s",
    "/workers": "0 s ago",
    "/endpoints": "1,300",
    "/builds": " UTC",
    "/builds/one": "2.42",
    "/builds/new": "0: all",
    "/builds/difference?one=one&other=two": "24 rows",
    "/annotate/new": "accepted annotations",
    "/actions": "Nobody has changed anything yet",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_figures_in_the_forms_of_all(command, stored, name):
    ids = {"FIRST": stored.first, "SECOND": stored.second, "INCOMPLETE": stored.incomplete, "OPEN": stored.open}
    ids |= {"STEPS": stored.steps, "STEPS-0": f"{stored.steps}-0", "CONVERSION": stored.conversion}
    text = command(*(ids.get(part, part) for part in COMMANDS[name]))
    assert FIGURES[name] in text, text
    assert find_other_forms(text, stored.names()) == []


def test_the_files_of_a_report_have_figures_in_the_forms_of_all(command, stored, tmp_path):
    html, markdown = tmp_path / "page.html", tmp_path / "page.md"
    prices = ("--price-prompt", "1", "--price-completion", "2")
    printed = command(
        "report", stored.first, stored.second, stored.steps, "--html", str(html), "--md", str(markdown), *prices
    )
    texts = [printed.replace(str(tmp_path), ""), read_texts(html.read_text()), _markdown_cells(markdown.read_text())]
    assert " kB" in texts[0] and all("37.6 %" in text and "1,234" in text for text in texts[1:])
    assert [find_other_forms(text, stored.names()) for text in texts] == [[], [], []]


def test_the_progress_of_jobs_has_figures_in_the_forms_of_all(stored, capsys):
    watched = WatchedJobs(Settings(), [stored.open, stored.first])
    with stored.database.engine.connect() as connection:
        watched.read(connection)
    texts = [format_watched(job) for job in watched.jobs]
    for height in (60, 12, 6):
        console = Console(file=io.StringIO(), width=160, height=height, legacy_windows=False)
        console.print(Screen(watched), height=height)
        texts.append(console.file.getvalue())  # type: ignore[attr-defined]
    texts.append(read_texts(show_live_job(watched.jobs[0], watched)[LIVE]))
    print_results(watched.jobs)
    texts.append(capsys.readouterr().out)
    assert (
        "1,234/2,000" in texts[0]
        and "61.7 %" in texts[2]
        and "22 min" in texts[2]
        and "37.6 % [34.9, 40.3]" in texts[-1]
    )
    assert [find_other_forms(text, stored.names()) for text in texts] == [[]] * len(texts)


PAGES = (
    "/jobs",
    "/jobs/FIRST",
    "/jobs/OPEN",
    "/jobs/INCOMPLETE/failures",
    "/jobs/FIRST/report",
    "/jobs/STEPS/report",
    "/jobs/FIRST/episodes",
    "/episodes/rows?where=job%3DFIRST",
    "/episodes/facets?where=job%3DFIRST",
    "/episodes/STEPS-0",
    "/compare?jobs=FIRST,SECOND",
    "/compare/figures?jobs=FIRST,SECOND",
    "/compare/changed?jobs=FIRST,SECOND&other=SECOND",
    "/workers",
    "/endpoints",
    "/builds",
    "/builds/one",
    "/builds/new",
    "/builds/difference?one=one&other=two",
    "/annotate/new",
    "/actions",
)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_the_explorer_has_figures_in_the_forms_of_all(stored, path):
    figure = FIGURES[path]
    for name in ("FIRST", "SECOND", "INCOMPLETE", "OPEN", "STEPS"):
        path = path.replace(name, getattr(stored, name.lower()))
    is_part = re.search(r"/(rows|facets|figures|changed|report|failures)\b", path)
    with call_explorer(stored.database, home=stored.home) as explorer:
        answer = explorer.client().get(path, headers=HTMX if is_part else {})
    assert answer.status_code == 200, answer.text
    assert figure in answer.text
    assert find_other_forms(read_texts(answer.text), stored.names()) == []


def _markdown_cells(text: str) -> str:
    """Return the text with each cell of a table on a line."""
    return re.sub(r" ?\| ?", "\n", text)
