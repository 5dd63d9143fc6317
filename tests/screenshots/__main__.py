"""Evaluate 2,000 tasks, and make the pictures of the documentation.

python -m tests.screenshots [--tasks 2000] [--folder docs/pictures] [--home FOLDER] [--drawings]

`explorer/` gets every page of the explorer, light at 1280 pixels and dark at 390. `terminal.svg` shows commands,
`comparison.svg` the forest plot of two jobs, `architecture.svg` the parts of a deployment; with --drawings, only these
three are made. A page with a problem of axe-core or an error in its console is printed, and the exit code is 1. With
--home, the jobs in that folder are used.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from db.engine.connection import Database, open_database
from lumos_queue.settings import Settings
from tests.conftest import ROOT
from tests.explorers import CHROMIUM, Explorer, serve_explorer
from tests.screenshots.drawings import draw_architecture, draw_comparison
from tests.screenshots.sample_jobs import SampleNames, store_samples
from tests.screenshots.terminal import record_terminal

WINDOWS = {"light": (1280, 900), "dark": (390, 844)}
COLOURS = 64  #: of a picture: a quarter of the bytes, and no difference to the eye


def list_pages(names: SampleNames) -> dict[str, str]:
    """Return the page of each picture by its name."""
    first, second = names.jobs
    return {
        "jobs": "/jobs",
        "job": f"/jobs/{first}",
        "compare": f"/compare?jobs={first}&jobs={second}",
        "compared-task": f"/compare/task?jobs={first}&jobs={second}&task={names.task}",
        "episodes": f"/jobs/{first}/episodes?where=score%3C1",
        "episode": f"/episodes/{names.wrong}",
        "correct": f"/episodes/{names.wrong}/correct",
        "audits": "/annotate",
        "audit-new": "/annotate/new",
        "annotate": f"/annotate/{names.audit}",
        "audit-report": f"/annotate/{names.audit}/report",
        "audit-labels": f"/annotate/{names.audit}/labels",
        "builds": "/builds",
        "build-new": "/builds/new",
        "build": f"/builds/{names.build}",
        "workers": "/workers",
        "endpoints": "/endpoints",
        "actions": "/actions",
    }


def photograph(page: Page, explorer: Explorer, path: str, file: Path) -> list[str]:
    """Write the picture of a page; return the faults of the page."""
    page.goto(explorer.url + path)
    page.wait_for_timeout(2500)  # for late content; a live page is never idle
    faults = [f"{violation['id']}: {violation['help']}" for violation in Axe().run(page).response["violations"]]
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        faults.append("it is wider than its window")
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    return faults


def write_drawings(folder: Path, home: Path, database: Database, names: SampleNames) -> None:
    """Write the pictures that are no pages."""
    first, second = names.jobs
    commands = [["report", first], ["compare", first, second, "--list", "0"], ["show", names.wrong]]
    drawings = {
        "architecture": draw_architecture(),
        "comparison": draw_comparison(database, (*names.jobs, names.short)),
        "terminal": record_terminal(home, commands, "lumos"),
    }
    for name, svg in drawings.items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "pictures")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--drawings", action="store_true")
    options = parser.parse_args()
    pages = options.folder / "explorer"
    pages.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = (options.home or Path(folder)).absolute()
        names, wrong = store_samples(home, options.tasks), 0
        database = open_database(Settings(home=home).database)
        write_drawings(options.folder, home, database, names)
        if options.drawings:
            database.close()
            return 0
        with serve_explorer(database, home=home) as explorer, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
            for scheme, (width, height) in WINDOWS.items():
                context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
                page, messages = context.new_page(), list[str]()
                page.on("console", lambda message, messages=messages: messages.append(message.text))
                page.goto(explorer.login_url)
                for name, path in list_pages(names).items():
                    messages.clear()
                    faults = photograph(page, explorer, path, pages / f"{name}-{scheme}.png") + messages
                    wrong += bool(faults)
                    print(f"{scheme:5} {path}: {'; '.join(faults) or 'fine'}", flush=True)
            browser.close()
        database.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
