"""The pages and the module that are written from the code, with their writers."""

from __future__ import annotations

from pathlib import Path

from tests.reference_pages.arguments import write_argument_types
from tests.reference_pages.commands import write_commands_page
from tests.reference_pages.decisions import write_decisions_page
from tests.reference_pages.settings import write_settings_page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {
    DOCS / "commands.md": write_commands_page,
    DOCS / "settings.md": write_settings_page,
    DOCS / "decisions" / "README.md": write_decisions_page,
    ROOT / "lumos_queue" / "api" / "keyword_arguments.py": write_argument_types,
}
