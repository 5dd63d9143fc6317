"""What people copy into programs runs: the README's snippet, the page on the Python API, and the notebook."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def run_blocks(page: str, folder: Path) -> str:
    """Run the Python blocks of a page as one program; returns what it printed."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    (folder / "program.py").write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_the_snippet_of_the_readme_runs(tmp_path):
    pytest.importorskip("torch")
    said = run_blocks("README.md", tmp_path)
    assert "wordmath (test): 1 evaluation" in said and "20 of 20" in said


def test_the_snippets_of_the_page_run(tmp_path):
    said = run_blocks("docs/python_api.md", tmp_path)
    figures = {" ".join(line.split()) for line in said.splitlines()}
    assert {"fixed / broken 2 / 0", "pairs 20"} <= figures
    assert "limit= is -1: expected a whole number from 0 to 2,147,483,647." in said


@pytest.mark.long
def test_the_notebook_runs_and_is_stored_without_outputs(tmp_path):
    pytest.importorskip("torch")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    text = (ROOT / "examples" / "notebook.ipynb").read_text(encoding="utf-8")
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in json.loads(text)["cells"])
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    displays = [output["data"] for output in outputs if "data" in output]
    text = "".join(output["text"] for output in outputs if output["output_type"] == "stream")
    assert sum("image/png" in display for display in displays) == 1
    assert sum(display.get("text/html", "").startswith("<iframe sandbox") for display in displays) == 2
    assert any("<td>wordmath</td>" in display.get("text/html", "") for display in displays)
    assert "done, 8 of 8, accuracy" in text and "error" not in text
    assert ["pairs", "8"] in map(str.split, text.splitlines()), "the printed comparison"
