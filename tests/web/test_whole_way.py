"""The whole way through the explorer by keyboard alone, with a deployment of real workers behind it.

The model server is scripted: this is about what a person does, not about what a model can.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from db.connection import open_database
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.records import Task
from tests.conftest import ROOT
from tests.fake_endpoint import FakeEndpoint
from tests.gold_agent import gold_replies
from tests.integration.test_deployment import Up, running_up
from tests.services import wait_until
from tests.stored import state

if TYPE_CHECKING:
    from playwright.sync_api import Page

TASKS, WRONG, LABELS = 24, 2, 20
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


def submit(up: Up, endpoint: str, *further: str) -> str:
    """The id of an evaluation that the workers of the deployment begin with at once."""
    settings = up.settings()
    addresses = {"LUMOS_DATABASE_URL": settings.database_url, "LUMOS_BROKER_URL": settings.broker_url}
    asked = ["evaluate", "wordmath", "--formulation", "one-pass", "--limit", str(TASKS), "--planner", endpoint]
    ran = subprocess.run(
        [sys.executable, "-m", "lumos_queue.cli.main", *asked, "--grounder", endpoint, *further],
        env=os.environ | {"LUMOS_HOME": str(up.home)} | addresses,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split()[0]


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def write(page: Page, text: str) -> None:
    """In place of what is written where the cursor is."""
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def test_from_a_job_to_a_training_set_by_keyboard_alone(page, tmp_path):
    model = Model()
    with FakeEndpoint(model, latency=0.2, slots=4) as server, running_up(tmp_path) as up:
        up.wait_until_up()
        job = submit(up, server.tgi)
        page.goto(re.search(r"explorer  (\S+)", up.said)[1])

        # Watch it live.
        press(page, "j", "Enter")
        page.wait_for_url(f"**/jobs/{job}")
        page.get_by_text(f"{TASKS} of {TASKS} items").wait_for(timeout=60_000)
        page.get_by_text("score so far").wait_for()

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
        page.get_by_text("What comes of it").wait_for()
        press(page, "y")
        page.get_by_text("corrects").first.wait_for()
        corrected = page.url.partition("/episodes/")[2].partition("?")[0]
        assert not corrected.startswith(job)

        # Label twenty, with one key each.
        page.goto(page.url.partition("/episodes/")[0] + f"/annotate/new?kind=runs&where=job={job} score=1")
        page.get_by_text("How many to draw").wait_for()
        press(page, "n")
        page.keyboard.type("twenty")
        press(page, "Tab")
        write(page, str(LABELS))
        press(page, "Enter")
        page.wait_for_url("**/annotate/twenty")
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


@pytest.mark.long
def test_a_class_of_failures_is_run_again_from_the_browser(page, tmp_path):
    model = Model()
    model.refused = model.questions[4:6]
    with FakeEndpoint(model, latency=0.01) as server, running_up(tmp_path) as up:
        up.wait_until_up()
        job = submit(up, server.tgi)
        page.goto(re.search(r"explorer  (\S+)", up.said)[1])
        page.goto(page.url.replace("/jobs", f"/jobs/{job}"))
        page.get_by_text(re.compile("infra_error 2")).wait_for(timeout=60_000)
        model.refused = []
        page.reload()
        page.get_by_text("Run these again").wait_for()
        press(page, "q")
        page.get_by_text("2 items are owed again.").wait_for()
        database = open_database(up.settings().database)
        wait_until(lambda: state(database, job) == "done", "the job is done again", 60)
        database.close()
        page.get_by_text(f"answered {TASKS}").wait_for()
