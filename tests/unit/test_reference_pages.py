"""The pages of docs/ that are written from the code say what the code says (`make docs-reference`)."""

from __future__ import annotations

import re
from html import unescape

import pytest
import typer.main

from lumos_queue.cli.main import app
from lumos_queue.settings import Settings
from tests.conftest import ROOT
from tests.reference_pages.commands import EVERYWHERE, walk
from tests.reference_pages.pages import DOCS, PAGES
from tests.reference_pages.settings import name_variable

#: A variable that is named for an error alone: it is not read any more.
NOT_READ = {"LUMOS_API_KEY"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_says_what_the_code_says(path):
    assert path.read_text(encoding="utf-8") == PAGES[path](), "write it again with: make docs-reference"


def test_every_command_and_option_is_on_the_page():
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^###+ (lumos [^\n]+)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
    root = typer.main.get_command(app)
    found = list(walk(root, root.make_context("lumos", [], resilient_parsing=True)))[1:]
    assert len(found) > 50
    for command, context in found:
        section = re.sub(r"</?code>", "`", unescape(sections.pop(context.command_path)))
        for one in command.params:
            names = one.opts if one.opts[0].startswith("-") else [one.metavar or one.name]
            for name in names if one.name not in EVERYWHERE else ():
                row = rf"^\| `[^`]*(?<![\w-]){re.escape(name)}(?![\w-])"
                assert re.search(row, section, re.MULTILINE), f"{context.command_path} {name}"
        assert "json" in {one.name for one in command.params} or hasattr(command, "list_commands"), context.command_path
    assert not sections, "commands that are gone"


def test_every_setting_is_on_the_page_and_has_a_meaning():
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(LUMOS_\w+)` \|.*\| ([^|]+) \|$", text, re.MULTILINE))
    assert {name_variable(name) for name in Settings.model_fields} <= set(rows)
    files = [file for folder in ("lumos_queue", "workers", "db") for file in (ROOT / folder).rglob("*.py")]
    read = {
        name for file in files for name in re.findall(r"[\"'](LUMOS_[A-Z_]+)[\"']", file.read_text(encoding="utf-8"))
    }
    units = {name for file in (ROOT / "deploy").iterdir() for name in re.findall(r"LUMOS_[A-Z_]+", file.read_text())}
    assert read >= {"LUMOS_TRAIN_RANKS"} and units >= {"LUMOS_CHILDREN"}
    assert (read | units) - NOT_READ - set(rows) == set()
