"""docs/decisions/README.md: every decision by its title."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "decisions"
HEAD = """\
# Decisions

Why it is so: one page for each decision, with what was found, what was decided and what it costs. This list is written
by `make docs-reference`.
"""
_TITLE = re.compile(r"# (\d+)(?: ·|\.)? (.+)")


def write_decisions_page() -> str:
    """Return the page. Raises ValueError for a page without a title such as `# 1. Title`."""
    lines = []
    for file in sorted(FOLDER.glob("0*.md")):
        match = _TITLE.match(file.read_text(encoding="utf-8"))
        if not match or int(match[1]) != int(file.name[:4]):
            raise ValueError(f"{file.name}: expected a first line such as '# {int(file.name[:4])}. Title'.")
        lines.append(f"{int(match[1])}. [{match[2]}]({file.name})\n")
    return f"{HEAD}\n{''.join(lines)}"
