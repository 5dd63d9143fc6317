"""Explorers, and a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from db.engine.connection import Database, open_database
from db.engine.lease import Lease
from db.engine.migrate import upgrade
from lumos_queue.web.access.users import Role
from tests.explorers import CHROMIUM, Explorer, RoleLogin, call_explorer, serve_explorer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: The server allows a transaction two thirds of this without a statement, which suffices on a busy machine.
LEASE = Lease(900.0)


@pytest.fixture
def database(request, tmp_path) -> Iterator[Database]:
    """SQLite, or what a test names: `@pytest.mark.parametrize("database", ["postgresql"], indirect=True)`."""
    if getattr(request, "param", "sqlite") == "sqlite":
        test_database = open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
        upgrade(test_database)
    else:
        test_database = open_database(request.getfixturevalue("postgres_url"), LEASE.idle_milliseconds)
    yield test_database
    test_database.close()


@pytest.fixture
def explorer(database) -> Iterator[Explorer]:
    """An explorer behind a token, without a server."""
    with call_explorer(database) as caller:
        yield caller


@pytest.fixture
def many(database) -> Iterator[Explorer]:
    """An explorer with named users, without a server: rita is a reader, anna an annotator, otto an operator."""
    people = {"rita": Role.READER, "anna": Role.ANNOTATOR, "otto": Role.OPERATOR}
    with call_explorer(database, RoleLogin(people)) as caller:
        yield caller


@pytest.fixture
def served(database) -> Iterator[Explorer]:
    """An explorer behind a token, with a server that a browser reaches."""
    with serve_explorer(database) as explorer:
        yield explorer


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for one file: while it runs, this thread has an event loop, and asyncio.run fails."""
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
    """A page in a separate browser context. An error in its console fails the test."""
    context = chromium.new_context()
    browser_page = context.new_page()
    browser_page.set_default_timeout(60_000)  # milliseconds
    messages: list[str] = []
    browser_page.on("console", lambda message: messages.append(message.text) if message.type == "error" else None)
    browser_page.on("pageerror", lambda error: messages.append(str(error)))
    yield browser_page
    context.close()
    assert messages == []
