"""The contract of imports in pyproject.toml and docs/how-it-works.md name every room of the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "lumos_queue"


def test_every_room_has_a_place_in_the_order_of_imports():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["id"] == "rooms")
    named = [name for layer in layers for name in re.split(r"\s*[|:]\s*", layer)]
    rooms = {name.removesuffix("/").removesuffix(".py") for name in _rooms()}
    assert sorted(named) == sorted([*(f"lumos_queue.{room}" for room in rooms), "db", "workers"])
    assert len(list(PACKAGE.glob("*.py"))) - 1 <= 8, "at most eight modules lie loose in lumos_queue/"


def test_every_room_is_explained():
    tree = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8").partition("## The packages")[2]
    told = re.findall(r"^  ([a-z_]+(?:/|\.py)) +\S", tree, re.MULTILINE)
    assert sorted(told) == sorted(_rooms())


def _rooms() -> list[str]:
    """Folders with a slash, and modules that lie loose, of lumos_queue/."""
    folders = [f"{folder.name}/" for folder in PACKAGE.iterdir() if (folder / "__init__.py").is_file()]
    return folders + [file.name for file in PACKAGE.glob("*.py") if file.name != "__init__.py"]
