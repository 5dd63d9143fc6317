"""Every `lumos` command that a document shows exists, with its options."""

from __future__ import annotations

import re
import shlex

import typer.main

from lumos_queue.cli.main import app
from tests.conftest import ROOT
from tests.reference_pages.commands import walk

#: Pages of what is, not of what was: a decision keeps the words of its day.
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def _shown(text: str) -> list[list[str]]:
    """The words of each command in a page: lines of code blocks, and code within sentences."""
    blocks = re.findall(r"^ {4}(?:\S+=\S+ )*(lumos (?:.*\\\n)*.*)$", text, re.MULTILINE)
    inline = re.findall(r"(?<!`)`(lumos [^`]+)`", text)
    return [shlex.split(one.replace("\\\n", " "), comments=True) for one in blocks + inline if "…" not in one]


def _problem(words: list[str], options: dict[str, set[str]]) -> str:
    """What is wrong with a command; empty: nothing."""
    path, rest = "lumos", words[1:]
    while rest and f"{path} {rest[0]}" in options:
        path, rest = f"{path} {rest[0]}", rest[1:]
    if path == "lumos" and rest and not rest[0].startswith("-"):
        return "no such command"
    unknown = {word.partition("=")[0] for word in rest if word.startswith("--")} - options[path] - {"--help"}
    return f"{path} has no {', '.join(sorted(unknown))}" if unknown else ""


def test_every_command_that_is_shown_exists():
    root = typer.main.get_command(app)
    found = walk(root, root.make_context("lumos", [], resilient_parsing=True))
    options = {
        of.command_path: {name for one in it.params for name in one.opts + one.secondary_opts} for it, of in found
    }
    shown = [(page.name, words) for page in PAGES for words in _shown(page.read_text(encoding="utf-8"))]
    assert len(shown) > 200
    problems = [f"{page}: {' '.join(words)}: {told}" for page, words in shown if (told := _problem(words, options))]
    assert not problems, "\n".join(problems)
