"""The documents as a site (`make docs`): complete, without a warning, with nothing loaded from elsewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

DOCS = ROOT / "docs"
LOADED = re.compile(r"<(?:script|img|iframe)[^>]*\ssrc=[\"'](?:https?:)?//|<link[^>]*\shref=[\"'](?:https?:)?//")


def test_every_page_is_in_the_list_of_pages_and_in_the_navigation():
    pages = {file.name for file in DOCS.glob("*.md")} - {"README.md"}
    start, settings = (file.read_text(encoding="utf-8") for file in (DOCS / "README.md", ROOT / "mkdocs.yml"))
    listed = re.findall(r"^\| \[[^\]]+\]\(([^/)]+\.md)\)", start, re.MULTILINE)
    navigation = re.findall(r"^ +- [^:]+: (\S+\.md)$", settings, re.MULTILINE)
    assert sorted(listed) == sorted(pages)
    assert sorted(one for one in navigation if "/" not in one and one != "README.md") == sorted(pages)


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path):
    if not importlib.util.find_spec("mkdocs") and os.environ.get("CI", "").lower() != "true":
        pytest.skip("mkdocs is not installed: pip install -e '.[docs]'")
    # Not --quiet: what is not printed is not counted as a warning.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    built = [file.read_text(encoding="utf-8") for file in tmp_path.rglob("*.html")]
    assert len(built) > 60
    assert (tmp_path / "source/lumos_queue/episode.py.html").is_file(), "a file outside docs/ that pages link to"
    assert not [found for text in built for found in LOADED.findall(text)]
