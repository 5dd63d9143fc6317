"""Explorers of both databases, and a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from lumos_queue.web.access.people import Role
from tests.explorers import CHROMIUM, Explorer, RoleDoor, serving
from tests.integration.conftest import database as database

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture
def explorer(database) -> Iterator[Explorer]:
    """Behind a token, of either database."""
    with serving(database) as served:
        yield served


@pytest.fixture
def many(database) -> Iterator[Explorer]:
    """Behind names: rita is a reader, anna an annotator, otto an operator."""
    people = {"rita": Role.READER, "anna": Role.ANNOTATOR, "otto": Role.OPERATOR}
    with serving(database, RoleDoor(people)) as served:
        yield served


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for one file: as long as there is one, this thread's event loop runs, and asyncio.run cannot."""
    from playwright.sync_api import sync_playwright

    if not CHROMIUM.exists():
        message = f"needs {CHROMIUM}: apt install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page of a browser of its own. What its console says of errors fails the test."""
    context = chromium.new_context()
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: said.append(str(error)))
    yield opened
    context.close()
    assert said == []
