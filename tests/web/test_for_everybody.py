"""What every page must be: usable with any sight, and on a small screen. No violation that axe-core finds, nothing
wider than the window, no error on the console, and no text that runs as a script."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from db.engine.connection import Database
from db.models import Item
from db.queries.filters import parse_where
from db.queue.shares import set_cap
from db.queue.web_actions import note_action
from db.review.audits import sample_audit, samples_of
from db.review.labels import NewLabel, add_labels
from lumos_queue.builds.options import BuildOptions
from lumos_queue.scoring.sampling import AuditKind
from lumos_queue.submission.build_request import make_build
from tests.claims import claim, holder
from tests.explorers import Explorer, serve_explorer
from tests.page_jobs import FAILED, RIGHT, WRONG, evaluation
from tests.page_parts import HOSTILE, parse_page
from tests.scored_jobs import create_scored_job
from tests.web.conversions import convert_rows

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXT = "\n".join(HOSTILE)
TITLE = "<script>document.title='run'</script>\u202e \x1b[31m"
#: Parts of a page that come after it, and have come.
NOTE_PARTS = "window.parts = new Set(); addEventListener('htmx:afterSettle', event => window.parts.add(event.target))"
ALL_PARTS = "() => [...document.querySelectorAll('[hx-trigger=load]')].every(part => window.parts.has(part))"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

#: A page, and what comes last on it beside its parts.
PAGES = {
    "/jobs": "table",
    "/jobs/{first}": "#live >> text=items",
    "/jobs/{first}/episodes?where=score<1": "[data-row]",
    "/episodes/{first}-2": "#step-0",
    "/episodes/{first}-0/difference?other={second}-0": "table",
    "/episodes/{first}-0/correct": "#text",
    "/compare?jobs={first},{second}": "svg",
    "/annotate/first": "text=Place",
    "/annotate/first/labels": "table",
    "/annotate/new?kind=runs": "h1",
    "/workers": "table",
    "/builds/new": "#count:has-text('episodes')",
    "/builds/difference?one=one&other=two": "text=rows are the same",
}
#: Pages that are much like one of these.
SIMILAR_PAGES = {
    "/jobs?where=nonsense": "[role=alert]",
    "/jobs/{first}/report": "svg",
    "/jobs/zzzz": "h1",
    "/jobs/{first}/episodes": "[data-row]",
    "/episodes": "[data-row]",
    "/compare/task?jobs={first},{second}&task={task}": "table",
    "/annotate": "table",
    "/annotate/new": "h1",
    "/annotate/new?kind=runs&where=nonsense": "h1",
    "/annotate/first/report": "table",
    "/endpoints": "table",
    "/actions": "table",
    "/builds": "table",
    "/builds/one": "text=All files are unchanged.",
    "{draft}": "text=What it would hold",
}


@pytest.fixture(scope="module")
def explorer(tmp_path_factory) -> Iterator[Explorer]:
    """With something on every page, and texts of others in it."""
    home = tmp_path_factory.mktemp("everybody")
    database, _ = convert_rows(home, 6)
    with serve_explorer(
        database, home=home, lease_seconds=3600
    ) as served:  # a worker is not silent while this file runs
        yield served
    database.close()


@pytest.fixture(scope="module")
def names(explorer) -> dict[str, str]:
    """What stands in the addresses of pages."""
    database = explorer.site.database
    first = evaluation(database, [WRONG, WRONG, FAILED, RIGHT], TEXT, number=1, same_tasks=True)
    second = evaluation(database, [RIGHT, WRONG, RIGHT, WRONG], TEXT, number=2, same_tasks=True)
    unfinished = create_scored_job(database, [[1], [0], [None], [1]], pending=2, name=TITLE, tags={"team": "maths"})
    claim(database, holder(database, unfinished), 1)
    _label(database, first)
    set_cap(database, "tgi://one:1", 3)
    with database.writer.begin() as connection:
        note_action(connection, "otto", "cap", "tgi://" + "long" * 60, "3 requests")
    for name, share in (("one", 0.0), ("two", 0.2)):
        folder = explorer.site.settings.home / "builds" / name
        make_build(
            database,
            name,
            folder,
            BuildOptions(where="origin!=derived benchmark=wordmath kind=convert", dev_share=share),
        )
    client = explorer.client()
    form = {"name": "three", "where": "kind=convert", "format": "lumos", "formulations": "iterative"}
    draft = client.submit("/builds/new", form).headers["location"]
    with database.engine.connect() as connection:
        task = connection.execute(select(Item.task).where(Item.job == first, Item.ordinal == 0)).scalar_one()
    return {"first": first, "second": second, "task": str(task), "draft": draft}


def _label(database: Database, job: str) -> None:
    sample_audit(database, "first", parse_where(f"job={job}"), 3, 0, AuditKind.RUNS, 0.5)
    with database.engine.connect() as connection:
        samples = samples_of(connection, "first")
    labels = [NewLabel(samples[0].episode, "right", person, TITLE * 50, audit="first") for person in ("eve", TITLE)]
    add_labels(database, labels)


def test_every_page_has_a_title_one_heading_and_names_for_its_fields(explorer, names):
    """What needs no browser to be seen, of all pages."""
    client = explorer.client()
    for path in PAGES | SIMILAR_PAGES:
        page = parse_page(client.get(path.format(**names)).text)
        assert page.get("lang") and page.findtext("head/title"), path
        assert len(page.xpath("//main//h1")) == 1, path
        assert len(set(page.xpath("//@id"))) == len(page.xpath("//@id")), f"{path} gives an id twice"
        assert not page.xpath("//script[text()] | //img[not(@alt)] | //*[@onerror or @onload]"), path
        for field in page.xpath("//input[not(@type='hidden')] | //select | //textarea"):
            labels = page.xpath("//label[@for=$field]", field=field.get("id", "")) or field.xpath("ancestor::label")
            assert labels or field.get("aria-label"), f"{path} has a field without a label: {field.get('name')}"
        for control in page.xpath("//button | //a[@href]"):
            assert control.text_content().strip() or control.get("aria-label"), f"{path} has a control without a name"


@pytest.fixture(scope="module")
def page(explorer, chromium) -> Iterator[Page]:
    """A page that has logged in."""
    context = chromium.new_context()
    opened = context.new_page()
    opened.set_default_timeout(60_000)  # milliseconds
    opened.add_init_script(NOTE_PARTS)
    opened.goto(explorer.login_url)
    yield opened
    context.close()


@pytest.mark.parametrize("path", [*PAGES, *(pytest.param(path, marks=pytest.mark.long) for path in SIMILAR_PAGES)])
def test_a_page_is_for_everybody(explorer, names, page, path):
    from axe_playwright_python.sync_playwright import Axe

    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light")
    page.goto(explorer.url + path.format(**names))
    page.locator((PAGES | SIMILAR_PAGES)[path]).first.wait_for()
    page.wait_for_function(ALL_PARTS)
    for part in page.locator("details").all():
        part.evaluate("element => { element.open = true; }")
    for scheme, width in (("light", 1280), ("dark", 390)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        violations = Axe().run(page)
        assert violations.violations_count == 0, violations.generate_report()
        wider = page.evaluate(WIDER)
        assert wider <= 0, f"{path} is {wider} pixels wider than its window of {width}"
    assert page.title() != "run" and page.evaluate("window.pwned") is None
    assert [error for error in errors if "status of 40" not in error] == []  # the page itself is a refusal
