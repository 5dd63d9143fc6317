"""Which pages are written from the code, and what writes each."""

from __future__ import annotations

from pathlib import Path

from tests.reference_pages.commands import commands_page
from tests.reference_pages.decisions import decisions_page
from tests.reference_pages.settings import settings_page

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {
    DOCS / "commands.md": commands_page,
    DOCS / "settings.md": settings_page,
    DOCS / "decisions" / "README.md": decisions_page,
}
