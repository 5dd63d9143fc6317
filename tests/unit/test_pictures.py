"""The pictures of the documentation: every page of the list has one, and each is small and has a text."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import ROOT

PICTURES = ROOT / "docs" / "pictures"
MAX_BYTES = 200_000
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_IMAGE = re.compile(r'<img src="(?P<source>[^"]+)" alt="(?P<text>[^"]*)"|!\[(?P<label>[^\]]*)\]\((?P<target>[^)]+)\)')


def shown_pictures() -> list[tuple[Path, Path, str]]:
    """Return (page, picture, alternative text) of each picture that a page shows."""
    shown = []
    for page in PAGES:
        for match in _IMAGE.finditer(page.read_text(encoding="utf-8")):
            source, text = match["source"] or match["target"], match["text"] or match["label"] or ""
            shown.append((page, (page.parent / source).resolve(), text))
    return shown


def test_every_page_of_the_explorer_has_a_light_and_a_dark_picture():
    from tests.screenshots.__main__ import WINDOWS, list_pages
    from tests.screenshots.sample_jobs import SampleNames

    names = list_pages(SampleNames(("a", "b"), "c", "a-0", 1))
    expected = {f"{name}-{scheme}.png" for name in names for scheme in WINDOWS}
    assert {file.name for file in (PICTURES / "explorer").iterdir()} == expected


def test_a_shown_picture_exists_and_has_a_text():
    shown = shown_pictures()
    assert {picture.name for _, picture, _ in shown} >= {"terminal.svg", "architecture.svg", "comparison.svg"}
    for page, picture, text in shown:
        assert picture.is_file(), f"{page.name} shows {picture}"
        assert len(text) > 10, f"{page.name}: {picture.name} has no text"


@pytest.mark.parametrize("picture", sorted(PICTURES.rglob("*.*")), ids=lambda file: file.name)
def test_a_picture_is_small(picture):
    assert picture.stat().st_size < MAX_BYTES


@pytest.mark.parametrize("picture", sorted(PICTURES.glob("*.svg")), ids=lambda file: file.name)
def test_a_drawing_loads_nothing(picture):
    text = picture.read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert not re.search(r"""(href|src)=["']https?:|url\(["']?https?:|<script""", text)
