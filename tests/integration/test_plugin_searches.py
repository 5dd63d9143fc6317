"""Tool agents of plug-ins have the report, the pages of episodes, the files and the rows of the agents of the project.

Scripted models.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from experiments.toolworld.policies import very_noisy
from lumos_queue.limits import Limits
from lumos_queue.records import Task
from lumos_queue.util.plugins import TRUSTED
from tests import searches_by_hand as hand
from tests import tool_apis
from tests.command_line import CommandLine
from tests.fake_endpoint import FakeEndpoint
from tests.integration.made_builds import make, rows_in
from tests.integration.test_answer_files import infer

ROOT = Path(__file__).parents[2]
SECONDS = re.compile(r"[0-9]+\.[0-9]+ s\b")  #: a measured time
TASKS = 8  #: of an evaluation
LIMITS = Limits(calls=12, depth=9, steps=30)  #: some searches end at the limit of calls
EXAMPLE = "examples.tree_search:tree_search"
COPIES = """
from dataclasses import replace
from lumos_queue.formulations.registry import FORMULATIONS
react, dfsdt, sum2act, rewoo = (
    replace(FORMULATIONS.load(name), name=f"copy-of-{name}") for name in ("react", "dfsdt", "sum2act", "rewoo")
)
"""
#: Keys that differ between two jobs of the same request, or that tell which code ran.
OWN_KEYS = {"job", "formulation", "plugins", "seconds", "phases", "latency", "episode", "name", "started_at"}


@pytest.fixture(scope="module")
def copies(tmp_path_factory) -> Path:
    """Return the folder of a module with formulations that differ from those of the project in their names alone."""
    folder = tmp_path_factory.mktemp("copies")
    (folder / "copied_agents.py").write_text(COPIES)
    return folder


@pytest.fixture
def lumos(tmp_path, monkeypatch, capsys) -> CommandLine:
    return CommandLine(tmp_path, monkeypatch, capsys)


def without_own(value: Any) -> Any:
    """Return JSON without the keys that differ between two jobs."""
    if isinstance(value, dict):
        return {key: without_own(content) for key, content in value.items() if key not in OWN_KEYS}
    return [without_own(content) for content in value] if isinstance(value, list) else value


def make_tasks() -> list[Task]:
    """Return tasks with the replies of random searches for each role that an agent may have."""
    random, tasks = Random(52), []
    for number in range(4):
        texts = [hand.make_reply(hand.random_parts(random, 0.05)) for _ in range(100)]
        record = json.dumps({"success": True, "aim": "a", "result": "r"})
        replies = {
            "policy": texts,
            "router": texts,
            "state_manager": [record] * 100,
            "planner": [f'Plan: look\n#E1 = {tool_apis.LATEST_NAME} {{"parcelid": "P1"}}'],
            "solver": ["there"],
        }
        inputs = {**tool_apis.TASK.inputs, "answers": hand.ANSWERS, "given": replies}
        tasks.append(Task("toolbench", "d", str(number), "Where is parcel P1?", inputs, {"relevant": []}))
    return tasks


def read_everything(lumos: CommandLine, job: str, tasks: int, folder: Path) -> dict[str, Any]:
    """Return the report, the episodes as they are shown, and the exported files of a job."""
    texts = [lumos("show", f"{job}-{number}").out.replace(job, "JOB") for number in range(tasks)]
    shown = [SECONDS.sub("N s", text) for text in texts]
    episodes = [without_own(lumos("show", f"{job}-{number}", "--json").json) for number in range(tasks)]
    assert lumos("data", "export-toolbench", job, "--out", folder).code == 0
    states = [lumos("show", f"{job}-{number}", "--state", "--json") for number in range(tasks)]
    return {
        "states": [result.json["states"] for result in states if result.code == 0],
        "report": without_own(lumos("report", job, "--json").json),
        "shown": shown,
        "episodes": episodes,
        "files": read_files(folder),
    }


@pytest.mark.parametrize("name", ["react", "dfsdt", "sum2act", "rewoo"])
def test_an_agent_under_another_name_has_the_same_report_episodes_files_and_rows(
    name, copies, tmp_path, lumos, monkeypatch
):
    monkeypatch.syspath_prepend(copies)
    tasks, copy = make_tasks(), f"copied_agents:{name}"
    monkeypatch.setenv("LUMOS_PLUGINS", "copied_agents")
    TRUSTED.add_named(copy)
    readings, rows = {}, {}
    for formulation in (name, copy):
        database, job = infer(tmp_path, "", formulation, tasks, scored=True, split="train", limits=LIMITS)
        build = tmp_path / f"build of {formulation}"
        summary = make(database, build, where=f"job={job}", format="trl-sft", formulations=(formulation,))
        rows[formulation] = [rows_in(build / file["file"]) for file in summary["files"]]
        database.close()
        readings[formulation] = read_everything(lumos, job, len(tasks), tmp_path / formulation)
    assert rows[name] == rows[copy] and rows[name]
    own, copied = readings.values()
    assert own["report"] == copied["report"] and own["report"]["tool_calls"]
    assert own["episodes"] == copied["episodes"] and own["states"] == copied["states"]
    assert bool(own["states"]) == (name == "sum2act")
    assert [text.replace(name, copy) for text in own["shown"]] == copied["shown"]
    method = {"react": "CoT@1", "dfsdt": "DFS_woFilter_w2"}.get(name, f"{name}_CoT@1")
    expected = {f.replace(method, method.replace(name, f"copy-of-{name}")): text for f, text in own["files"].items()}
    assert expected == copied["files"] and expected


def evaluate(lumos: CommandLine, formulation: str, url: str) -> dict[str, Any]:
    options = ("--option", "parts=1", "--option", "links=1", "--option", "unsolvable=0.2", "--setting", "calls=30")
    request = ("evaluate", "toolworld", "--split", "I1-inst", "--formulation", formulation, "--limit", TASKS, *options)
    return lumos(*request, "--role", f"policy={url}", "--json").json


def count_branches(node: dict[str, Any]) -> int:
    """Return the number of nodes below this one, itself included, that have several children."""
    return (len(node["children"]) > 1) + sum(map(count_branches, node["children"]))


def read_files(folder: Path) -> dict[str, Any]:
    return {path.name: json.loads(path.read_text()) for path in sorted(folder.iterdir())}


def test_the_example_of_a_tree_search_has_the_report_episodes_and_files_of_dfsdt(tmp_path, lumos, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setenv("LUMOS_PLUGINS", "examples.tree_search")
    with FakeEndpoint(very_noisy) as server:
        reports = {name: evaluate(lumos, name, server.tgi) for name in ("dfsdt", EXAMPLE)}
    own, example = reports.values()
    assert [plugin["name"] for plugin in example["plugins"]] == [EXAMPLE]
    assert {*example} == {*own} >= {"tool_calls", "descriptions", "scoring"}
    assert example["metrics"].keys() == own["metrics"].keys() and example["complete"]
    assert own["endings"] == example["endings"] == {"answered": TASKS}
    heads, shapes, branches, text = {}, {}, {}, ""
    for name, report in reports.items():
        job, folder = report["job"], tmp_path / name
        text = "".join(lumos("show", f"{job}-{number}").out for number in range(TASKS))
        heads[name] = {" ".join(line.split()) for line in text.splitlines() if "thoughts" in line}
        assert lumos("data", "export-toolbench", job, "--out", folder, "--json").json["episodes"] == TASKS
        files = read_files(folder)
        shapes[name] = {(*content, content["answer_generation"]["valid_data"]) for content in files.values()}
        branches[name] = sum(count_branches(content["tree"]["tree"]) for content in files.values())
        imported = lumos("data", "import-toolbench", *folder.iterdir(), "--licence", "MIT", "--json").json
        assert imported["formulation"] == "dfsdt", "files of trees"
        assert lumos("data", "export-toolbench", imported["job"], "--out", tmp_path / f"again {name}").code == 0
        assert read_files(tmp_path / f"again {name}") == files
    assert heads["dfsdt"] == heads[EXAMPLE] == {"policy: thoughts actions results"}
    assert shapes["dfsdt"] == shapes[EXAMPLE] and len(shapes[EXAMPLE]) == 1
    assert branches[EXAMPLE] > 0 and "(back to step" in text, "the search has a tree"
