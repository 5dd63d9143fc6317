"""What every page must be: usable with any sight, and on a small screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.explorers import Explorer

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def check_for_everybody(chromium: Browser, explorer: Explorer, path: str, wait_for: str = "main h1") -> None:
    """No violation that axe-core finds, and nothing wider than the window; `wait_for`: what is loaded last."""
    from axe_playwright_python.sync_playwright import Axe

    context = chromium.new_context()
    page = context.new_page()
    page.goto(explorer.login_url)
    page.goto(explorer.url + path)
    page.locator(wait_for).first.wait_for()
    assert page.title() != "run"
    for scheme, width in (("light", 1280), ("dark", 390)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{path} is {wide} pixels wider than its window of {width}"
    context.close()
