"""The whole way through the explorer by keyboard alone, and to Flower and back, with one deployment behind it.

The model server is scripted: this is about what a person does, not about what a model can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from db.engine.connection import open_database
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.records import Task
from tests.command_line import CommandLine
from tests.conftest import ROOT
from tests.fake_endpoint import FakeEndpoint
from tests.gold_agent import gold_replies
from tests.integration.test_deployment import Up, running_up
from tests.services import wait_until
from tests.stored_rows import state

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TASKS, WRONG, LABELS = 10, 2, 5
RIGHT = "Subgoal 1: Add the two numbers.\nAction 1-1: R1 = Calculator(2 + 3)\n"


class Model:
    """Knows the gold solution of every task but the first ones; refuses prompts in which one of `refused` stands."""

    def __init__(self):
        benchmark = open_benchmark("wordmath")
        tasks = [task for task in islice(benchmark.read(None, "test"), TASKS) if isinstance(task, Task)]
        self.questions, self.refused = [task.question for task in tasks], list[str]()
        self._replies = gold_replies(benchmark, tasks[WRONG:], "one-pass")

    def __call__(self, prompt: str) -> str | None:
        if any(question in prompt for question in self.refused):
            return None
        wrong = "R1 = Calculator(4 + 3)" if "to be grounded:" in prompt else "Subgoal 1: Add."
        return self._replies.get(sha256(prompt.encode()).hexdigest(), wrong)


@pytest.fixture(scope="module")
def up(tmp_path_factory) -> Iterator[Up]:
    """One deployment for all tests of this file, without workers of the pools that they do not use."""
    folder = tmp_path_factory.mktemp("up")
    lines = (ROOT / "Procfile").read_text().splitlines(keepends=True)
    (folder / "Procfile").write_text("".join(line for line in lines if not line.startswith("worker_cpu")))
    with running_up(folder, str(folder / "Procfile")) as deployment:
        deployment.wait_until_up()
        yield deployment


@pytest.fixture
def submit(up: Up, lumos: CommandLine) -> Callable[[str], str]:
    """Submit an evaluation, which the workers of the deployment begin with at once; returns its id."""
    settings = up.settings()
    lumos.set(LUMOS_HOME=up.home, LUMOS_DATABASE_URL=settings.database_url, LUMOS_BROKER_URL=settings.broker_url)

    def submit_evaluation(endpoint: str) -> str:
        options = ("--formulation", "one-pass", "--limit", TASKS, "--planner", endpoint, "--grounder", endpoint)
        with ThreadPoolExecutor(1) as pool:  # the browser's event loop runs in this thread
            result = pool.submit(lumos, "evaluate", "wordmath", *options).result()
        assert result.code == 0, result.err
        return result.out.split()[0]

    return submit_evaluation


def explorer_of(up: Up) -> str:
    """The address that lets in."""
    match = re.search(r"explorer  (\S+)", up.said)
    assert match
    return match[1]


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def write(page: Page, text: str) -> None:
    """In place of what is written where the cursor is."""
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def test_from_a_job_to_a_training_set_by_keyboard_alone(up, submit, page):
    with FakeEndpoint(Model(), latency=0.2, slots=4) as server:
        job = submit(server.tgi)
        page.goto(explorer_of(up))

        # Watch it live.
        press(page, "j", "Enter")
        page.wait_for_url(f"**/jobs/{job}")
        page.locator("#live").get_by_text(f"{TASKS} of {TASKS} items").wait_for(timeout=60_000)
        page.locator("#live").get_by_text("score so far").wait_for()

        # Open a wrong trajectory, and correct it.
        press(page, "w")
        page.wait_for_url("**/episodes?where=score*")
        page.locator("[data-row]").first.wait_for()
        press(page, "j", "Enter")
        page.wait_for_url("**/episodes/*-*")
        press(page, "e")
        page.wait_for_url("**/correct*")
        page.locator("#text:focus").wait_for()
        write(page, RIGHT)
        press(page, "Control+Enter")
        page.get_by_text("Result of the changes").wait_for()
        press(page, "y")
        page.get_by_text("corrects").first.wait_for()
        corrected = page.url.partition("/episodes/")[2].partition("?")[0]
        assert not corrected.startswith(job)

        # Label some, with one key each.
        page.goto(page.url.partition("/episodes/")[0] + f"/annotate/new?kind=runs&where=job={job} score=1")
        page.get_by_text("How many to draw").wait_for()
        press(page, "n")
        page.keyboard.type("some")
        press(page, "Tab")
        write(page, str(LABELS))
        press(page, "Enter")
        page.wait_for_url("**/annotate/some")
        for number in range(LABELS):
            page.get_by_text(f"{number} labelled by you").wait_for()
            press(page, "1")
        page.get_by_text("Nothing is left for you").wait_for()

        # Build with them, and see them in the card.
        page.goto(page.url.partition("/annotate/")[0] + f"/builds/new?where=job={job} label=right")
        page.locator("#name").focus()
        write(page, "labelled")
        page.get_by_text(f"{LABELS} episodes").first.wait_for()
        for _ in range(40):
            press(page, "Tab")
            if page.evaluate("document.activeElement.value") == "true":
                named = page.evaluate("document.activeElement.name")
                if named == "allow_test":
                    press(page, "Space")
                    break
        press(page, "Control+Enter")
        page.get_by_text("What it would hold").wait_for(timeout=60_000)
        press(page, "b")
        page.get_by_text("It is built").wait_for(timeout=60_000)
        press(page, "o")
        page.wait_for_url("**/builds/labelled")
        card = page.locator("main").inner_text()
        assert "label=right" in card and re.search(rf"\b{LABELS}\b", card), card


def test_a_person_goes_from_workers_to_flower_and_back_to_the_job(up, submit, chromium: Browser):
    with FakeEndpoint(Model(), latency=0.01) as server:
        job = submit(server.tgi)
        database = open_database(up.settings().database)
        wait_until(lambda: state(database, job) == "done", "the job is done", 60)
        database.close()
    login = re.search(r"login (\S+) / (\S+)", up.said)
    assert login
    credentials = {"username": login[1], "password": login[2], "origin": up.flower}
    context = chromium.new_context(http_credentials=credentials)
    page = context.new_page()
    page.set_default_timeout(60_000)  # milliseconds
    page.goto(explorer_of(up))
    page.goto(page.url.replace("/jobs", "/workers"))
    page.locator("table").wait_for()
    page.keyboard.press("f")
    page.wait_for_url(f"{up.flower}/workers")
    page.goto(f"{up.flower}/tasks")
    page.get_by_role("link", name=job, exact=True).first.click()
    page.locator("#live").get_by_text(f"{TASKS} of {TASKS} items").wait_for()
    page.go_back()
    page.locator("#tasks-table tr", has_text=job).locator("a[href*='/task/']").first.click()
    page.get_by_role("link", name=f"Job {job} in the explorer").click()
    page.locator("#live").get_by_text(f"{TASKS} of {TASKS} items").wait_for()
    context.close()


@pytest.mark.long
def test_a_class_of_failures_is_run_again_from_the_browser(up, submit, page):
    model = Model()
    model.refused = model.questions[4:6]
    with FakeEndpoint(model, latency=0.01) as server:
        job = submit(server.tgi)
        page.goto(explorer_of(up))
        page.goto(page.url.replace("/jobs", f"/jobs/{job}"))
        page.locator("#live").get_by_text("infra_error 2").wait_for(timeout=60_000)
        model.refused = []
        page.reload()
        page.get_by_text("Run these again").wait_for()
        press(page, "q")
        page.get_by_text("2 items will be retried.").wait_for()
        database = open_database(up.settings().database)
        wait_until(lambda: state(database, job) == "done", "the job is done again", 60)
        database.close()
        page.locator("#live").get_by_text(f"answered {TASKS}").wait_for()
