"""From a worker to Flower, and from Flower's tasks back to their jobs, in a browser."""

from __future__ import annotations

import re

from db.connection import open_database
from lumos_queue.benchmarks.wordmath.benchmark import benchmark
from lumos_queue.jobs.convert import Convert
from lumos_queue.submission.store import read_rows, submit
from tests.integration.test_deployment import running_up
from tests.stored import wait_for
from workers.notify import notify_workers


def test_a_person_goes_from_workers_to_flower_and_back_to_the_job(chromium, tmp_path):
    rows = read_rows(benchmark, None, "dev", False)
    with running_up(tmp_path) as up:
        up.wait_until_up()
        settings = up.settings()
        database = open_database(settings.database)
        job, _ = submit(database, settings, Convert("wordmath", rows.digest, "dev", limit=5), rows)
        assert notify_workers(settings, "convert", job, 5)
        wait_for(database, job)
        database.close()
        user, password = re.search(r"login (\S+) / (\S+)", up.said).groups()
        context = chromium.new_context(http_credentials={"username": user, "password": password, "origin": up.flower})
        page = context.new_page()
        page.goto(re.search(r"explorer  (\S+)", up.said)[1])
        page.goto(page.url.replace("/jobs", "/workers"))
        page.locator("table").wait_for()
        page.keyboard.press("f")
        page.wait_for_url(f"{up.flower}/workers")
        page.goto(f"{up.flower}/tasks")
        page.get_by_role("link", name=job, exact=True).first.click()
        page.get_by_text("5 of 5 items").wait_for()
        page.go_back()
        page.locator("#tasks-table a[href*='/task/']").first.click()
        page.get_by_role("link", name=f"Job {job} in the explorer").click()
        page.get_by_text("5 of 5 items").wait_for()
        context.close()
