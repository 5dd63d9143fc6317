"""The pages that are written from the code, with their writers."""

from __future__ import annotations

from pathlib import Path

from tests.reference_pages.commands import write_commands_page
from tests.reference_pages.decisions import write_decisions_page
from tests.reference_pages.settings import write_settings_page

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {
    DOCS / "commands.md": write_commands_page,
    DOCS / "settings.md": write_settings_page,
    DOCS / "decisions" / "README.md": write_decisions_page,
}
