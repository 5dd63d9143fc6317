"""The contract of imports in pyproject.toml names every room of the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_room_has_a_place_in_the_order_of_imports():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    named = [name for layer in layers for name in re.split(r"\s*[|:]\s*", layer)]
    package = ROOT / "lumos_queue"
    rooms = {folder.name for folder in package.iterdir() if (folder / "__init__.py").is_file()}
    rooms |= {file.stem for file in package.glob("*.py")} - {"__init__"}
    assert sorted(named) == sorted([*(f"lumos_queue.{room}" for room in rooms), "db", "workers"])
    assert len(list(package.glob("*.py"))) - 1 <= 8, "at most eight modules lie loose in lumos_queue/"
