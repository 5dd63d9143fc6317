"""Episodes by keyboard alone, and for everybody: keys, no axe-core violation, no page wider than its window."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from db.labels import labels_of
from db.models import Item
from tests.page_jobs import FAILED, RIGHT, WRONG, evaluation
from tests.page_parts import HOSTILE

PATHS = ("/jobs/{0}/episodes", "/jobs/{0}/episodes?where=score<1", "/episodes", "/episodes/{0}-2",
         "/episodes/{0}-0/difference?other={1}-0", "/episodes/{0}-0/correct", "/compare?jobs={0},{1}",
         "/compare/task?jobs={0},{1}&task={2}")  # fmt: skip


@pytest.fixture
def jobs(database) -> tuple[str, str]:
    text = "\n".join(HOSTILE)
    first = evaluation(database, [WRONG, WRONG, FAILED, RIGHT], text, number=1, same_tasks=True)
    return first, evaluation(database, [RIGHT, WRONG, RIGHT, WRONG], text, number=2, same_tasks=True)


def labelled(database, job: str) -> list[tuple[int, str]]:
    with database.engine.connect() as connection:
        items = connection.execute(select(Item.ordinal, Item.id).where(Item.job == job).order_by(Item.ordinal)).all()
        return [(number, row.value) for number, key in items for row in labels_of(connection, key)]


def test_episodes_are_gone_through_and_labelled_by_single_keys(explorer, database, jobs, page):
    job, _ = jobs

    def press(key: str, name: str) -> None:
        """And wait for the page of that name."""
        page.keyboard.press(key)
        page.wait_for_function("name => document.title.startsWith(name)", arg=name)
        page.wait_for_load_state()

    page.goto(explorer.login_url)
    page.goto(f"{explorer.url}/jobs/{job}/episodes?where=score<1")
    page.get_by_role("link", name=f"{job}-0").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("j")
    press("Enter", f"{job}-1 ")
    press("k", f"{job}-0 ")
    page.keyboard.press("2")
    page.get_by_text(f"{job}-0 is labelled wrong.").wait_for()
    press("j", f"{job}-1 ")
    page.keyboard.press("1")
    page.get_by_text(f"{job}-1 is labelled right.").wait_for()
    page.keyboard.press("u")
    page.get_by_text(f"Your label right of {job}-1 is taken back.").wait_for()
    page.keyboard.press("3")
    page.get_by_text(f"{job}-1 is labelled unsure.").wait_for()
    press("s", f"{job}-2 ")
    page.keyboard.press("?")
    keys = page.locator("#help-keys").inner_text().split("\n")
    assert {"j", "k", "w", "e", "1", "2", "3", "s", "n", "b", "?"} <= set(keys)
    page.keyboard.press("Escape")
    # The filter is gone on under: the fourth one is right, and there is no other.
    page.keyboard.press("j")
    page.get_by_text("There is no episode after this one").wait_for()
    press("b", "Episodes ")
    assert labelled(database, job) == [(0, "wrong"), (1, "unsure")]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("path", PATHS)
def test_pages_are_for_everybody(explorer, chromium, database, jobs, path):
    from axe_playwright_python.sync_playwright import Axe

    with database.engine.connect() as connection:
        task = connection.execute(select(Item.task).where(Item.job == jobs[0], Item.ordinal == 0)).scalar()
    for scheme, width in (("light", 1280), ("dark", 390)):
        context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message, said=said: said.append(message.text) if message.type == "error" else None)
        page.goto(explorer.login_url)
        page.goto(explorer.url + path.format(*jobs, task))
        page.wait_for_load_state("networkidle")
        for one in page.locator("details").all():
            one.evaluate("element => { element.open = true; }")
        assert page.evaluate("window.pwned") is None and said == []
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, "the page is wider than its window"
        context.close()
