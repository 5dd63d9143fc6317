"""ToolBench's answer files stored as episodes and given back, and their searches made again by whole jobs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.models import CompletionRow, EpisodeRow, ExecutionRow, JobRow, TaskRow, ToolCallRow
from db.queries.filters import Filter, Term
from db.queries.trajectories import StoredEpisode, stream_episodes
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.compat.toolbench.answer_file import AnswerFile
from lumos_queue.compat.toolbench.answer_reading import answer_file_of, read_answer_file
from lumos_queue.compat.toolbench.stored_steps import decisions_of
from lumos_queue.compat.toolbench.tree_writing import NodeStyle, write_tree
from lumos_queue.compat.toolbench.trees import ROOT
from lumos_queue.errors import SpecError
from lumos_queue.formulations.base import VERSION
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.searches.answer_episodes import replies_of, task_of
from lumos_queue.searches.answer_export import export_answer_files
from lumos_queue.searches.answer_import import ImportSummary, import_answer_files
from lumos_queue.settings import Settings
from lumos_queue.submission.store import Rows
from lumos_queue.text_calls.decision_form import DecisionForm
from tests import tool_apis
from tests.answer_files import chain_file, tree_file
from tests.recorded_search import BACK_OFF
from tests.stored_rows import run_embedded
from tests.tool_scripts import call, finish, give_up


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request) -> str:
    return "" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


#: For jobs and files; the published ones are stored on both databases.
sqlite_only = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


@pytest.fixture
def database(url, tmp_path):
    opened = open_database(url or f"sqlite:///{tmp_path / 'lumos.sqlite3'}")
    if not url:
        upgrade(opened)
    yield opened
    opened.close()


def published(shared_data: Path) -> list[Path]:
    return sorted((shared_data / "toolbench" / "answer").rglob("*.json"))


def imported(database: Database, tmp_path: Path, paths: list[Path], split: str = "train", **options) -> ImportSummary:
    return import_answer_files(database, Settings(home=tmp_path), paths, split, "Apache-2.0", **options)


def episodes(database: Database, job: str) -> list[StoredEpisode]:
    return list(stream_episodes(database, Filter((Term("job", "=", job),))))


def answers_in(database: Database, job: str) -> dict[str, set[str]]:
    """Each distinct request of a job to the different answers to it."""
    wanted = select(ToolCallRow).join(EpisodeRow, EpisodeRow.id == ToolCallRow.episode).where(EpisodeRow.job == job)
    found: dict[str, set[str]] = {}
    with database.engine.connect() as connection:
        for row in connection.execute(wanted):
            assert row.provenance == "recorded"
            found.setdefault(json.dumps(row.arguments, sort_keys=True), set()).add(row.result)
    return found


def count(database: Database, table: Any) -> int:
    with database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_published_files_are_stored_and_given_back(shared_data, database, tmp_path):
    found = imported(database, tmp_path, published(shared_data))
    assert (found.new, found.episodes, found.calls, found.actions, found.nodes) == (True, 6, 120, 114, 306)
    assert (count(database, CompletionRow), count(database, ExecutionRow)) == (120, 114)
    assert count(database, ToolCallRow) == 105 - 13, "a call of a function that there is not is no request"
    answers = answers_in(database, found.job)
    assert (len(answers), sum(len(one) > 1 for one in answers.values())) == (31, 3)
    assert Counter(one.ending for one in episodes(database, found.job)) == {"answered": 3, "gave_up": 2, "limit": 1}
    assert export_answer_files(database, found.job, tmp_path / "out") == 6
    for path in published(shared_data):
        assert json.loads((tmp_path / "out" / path.name).read_text()) == json.loads(path.read_text()), path.name
    again = imported(database, tmp_path, published(shared_data))
    assert (again.job, again.new) == (found.job, False)


def replay_task(file: AnswerFile) -> Task:
    return task_of(file, "replayed", given={"policy": replies_of(file)})


def infer(
    tmp_path: Path,
    url: str,
    formulation: str,
    tasks: list[Task],
    samples: int = 1,
    scored: bool = False,
    split: str = "I1-inst",
    **agent: Any,
) -> tuple[Database, str]:
    """Runs a job of that formulation whose models are never asked: all replies are given."""
    loaded = FORMULATIONS.load(formulation)
    (tmp_path / "nothing.json").write_text("[]")
    roles = dict.fromkeys(loaded.roles, f"scripted:{tmp_path / 'nothing.json'}")
    made = Agent(roles, "tools", samplings=loaded.samplings, **{"limits": loaded.limits, **agent})
    digest = tasks[0].dataset
    rows = Rows(open_benchmark("toolbench"), split, digest, tuple(tasks), ())
    job = Infer("toolbench", digest, split, formulation, made, samples=samples)
    return run_embedded(tmp_path, Evaluate(job) if scored else job, rows, url=url)


@sqlite_only
@pytest.mark.parametrize("back_off", [1, 2])
def test_published_searches_are_made_again_by_a_job(shared_data, url, tmp_path, back_off):
    """From the parents of the stored steps: the same trees. Together 120 calls, 114 actions, 306 nodes."""
    files = [read_answer_file(path) for path in published(shared_data)]
    files = [file for file in files if BACK_OFF[file.query_id] == back_off]
    tasks = [replay_task(file) for file in files]
    settings = {"back_off": str(back_off)}
    database, job = infer(tmp_path, url, "dfsdt", tasks, limits=Limits(calls=200, depth=12), settings=settings)
    calls = actions = nodes = unlisted = blank = 0
    stored = {one.task.row: one for one in episodes(database, job)}
    for file in files:
        steps = stored[file.name.removesuffix(".json")].steps
        made = decisions_of(DecisionForm.SEARCH, "policy", steps, VERSION)
        assert len(made) == len(file.decisions)
        for one, recorded in zip(made, file.decisions, strict=True):
            blank += one.thought != recorded.thought  # around a thought, on three lines
            assert (one.before, one.thought, one.pruned) == (recorded.before, recorded.thought.strip(), recorded.pruned)
            assert (one.name, one.arguments) == (recorded.name, recorded.arguments)
            if one.name == "dota_2_steam_web":
                unlisted += 1  # no listed function; ToolBench took it for one whose name ends so
                assert (one.code, recorded.code) == (1, 0)
                continue
            assert one.code == recorded.code
            if recorded.code not in (1, 3, 4) and "\\u" not in recorded.observation:
                assert one.observation == recorded.observation
        calls += len(made)
        actions += sum(bool(one.name) for one in made)
        nodes += write_tree(made, NodeStyle())["size"]
    several = [answers for answers in answers_in(database, job).values() if len(answers) > 1]
    wanted = {1: (41, 37, 102, 0, 1, 3), 2: (79, 77, 204, 3, 0, 0)}
    assert (calls, actions, nodes, len(several), unlisted, blank) == wanted[back_off]
    assert tuple(map(sum, zip(*wanted.values(), strict=True)))[:5] == (120, 114, 306, 3, 1)


# --- invented files


def write(folder: Path, **contents: Any) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return [folder / f"{name}.json" for name in contents]


@sqlite_only
@pytest.mark.parametrize("make", [tree_file, chain_file])
def test_invented_files_are_stored_and_given_back(make, database, tmp_path):
    content = make() | {"more": {"x": 1}}
    content["answer_generation"]["train_messages"][0][0]["content"] = "Another wording."
    found = imported(database, tmp_path, write(tmp_path / "files", x_1=content))
    (episode,) = episodes(database, found.job)
    assert (episode.formulation, episode.ending, episode.answer) == (found.formulation, "answered", "a pen")
    assert [step.parent for step in episode.steps if step.role] == (
        [ROOT, 1, 2, 1, 6] if make is tree_file else [ROOT, 1, 2, ROOT, 6]
    )
    told = ["not the first try" in step.prompt for step in episode.steps if step.role]
    assert told == [False, False, False, make is tree_file, False]
    export_answer_files(database, found.job, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "x_1.json").read_text()) == content


def test_all_files_are_stored_or_none(database, tmp_path):
    one = write(tmp_path / "a", x_1=tree_file())
    for paths, problem in [
        ([*one, *one], "Two files have the name 'a/x_1.json'"),
        ([*one, *write(tmp_path / "b" / "a", x_1=tree_file())], "Two files have the name 'a/x_1.json'"),
        ([*one, *write(tmp_path / "b", x_2=chain_file())], "separately"),
        ([*one, *write(tmp_path / "b", x_3={"a": 1})], "answer_generation"),
    ]:
        with pytest.raises(SpecError, match=problem):
            imported(database, tmp_path, paths)
    assert count(database, JobRow) == 0


@sqlite_only
def test_files_of_equal_number_from_two_groups_are_imported_together(database, tmp_path):
    groups = {"G1_answer": {"x_1": tree_file(), "x_2": tree_file()}, "G2_answer": {"x_1": tree_file() | {"win": False}}}
    paths = [path for group, contents in groups.items() for path in write(tmp_path / group, **contents)]
    summary = imported(database, tmp_path, paths)
    assert (summary.new, summary.episodes) == (True, 3)
    rows = {episode.task.row for episode in episodes(database, summary.job)}
    assert rows == {"G1_answer/x_1", "G1_answer/x_2", "G2_answer/x_1"}
    assert export_answer_files(database, summary.job, tmp_path / "out") == 3
    written = {str(path.relative_to(tmp_path / "out")): path for path in (tmp_path / "out").rglob("*.json")}
    assert {path: json.loads(file.read_text()) for path, file in written.items()} == {
        f"{group}/{name}.json": content for group, contents in groups.items() for name, content in contents.items()
    }
    assert not imported(database, tmp_path, paths[::-1]).new
    alone = imported(database, tmp_path, paths[:2])
    assert {episode.task.row for episode in episodes(database, alone.job)} == {"x_1", "x_2"}


@sqlite_only
def test_toolevals_format_has_one_file_for_each_group(database, tmp_path):
    paths = [path for group in "ab" for path in write(tmp_path / group, x_1=tree_file())]
    summary = imported(database, tmp_path, paths)
    assert export_answer_files(database, summary.job, tmp_path / "out", "tooleval") == 2
    for group in "ab":
        assert list(json.loads((tmp_path / "out" / group / "tooleval.json").read_text())) == ["x"]


@pytest.mark.parametrize("group", ["..", "/", "../../x", "."])
@sqlite_only
def test_a_stored_group_is_no_path(group, database, tmp_path):
    summary = imported(database, tmp_path, write(tmp_path / "files", x_1=tree_file()))
    with database.writer.begin() as connection:
        (inputs,) = connection.execute(select(TaskRow.inputs)).scalars()
        header = inputs["answer_file"] | {"group": group}
        connection.execute(update(TaskRow).values(inputs={**inputs, "answer_file": header}))
    export_answer_files(database, summary.job, tmp_path / "deep" / "out")
    (path,) = (tmp_path / "deep").rglob("*.json")
    assert path.is_relative_to(tmp_path / "deep" / "out")


@sqlite_only
def test_imports_of_earlier_versions_are_given_back(database, tmp_path):
    """Their headers have neither the replies without nodes nor the `win` of tries, which was that of the answer."""
    content = chain_file()
    content["answer_generation"]["query_count"] = 7
    summary = imported(database, tmp_path, write(tmp_path / "files", x_1=content))
    with database.writer.begin() as connection:
        (inputs,) = connection.execute(select(TaskRow.inputs)).scalars()
        header = dict(inputs["answer_file"])
        del header["group"], header["discarded_replies"]
        header["style"] = {name: value for name, value in header["style"].items() if name != "wins"}
        header["changes"] = [*header["changes"], [["answer_generation", "query_count"], 7]]
        connection.execute(update(TaskRow).values(inputs={**inputs, "answer_file": header}))
    export_answer_files(database, summary.job, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "x_1.json").read_text()) == content


def hidden_call() -> Any:
    content = tree_file()
    content["tree"]["tree"]["children"][0]["children"][0]["children"][0]["description"] = (
        "so\nAction: f\nAction Input: {}"
    )
    return content


def unnamed() -> Any:
    content = tree_file()
    content["answer_generation"]["function"][0]["name"] = "no name"
    return content


@pytest.mark.parametrize(
    ("make", "problem"), [(hidden_call, "cannot be separated"), (unnamed, "is invalid or occurs twice")]
)
def test_what_cannot_be_replayed_is_refused_and_leaves_nothing(make, problem, database, tmp_path):
    with pytest.raises(SpecError, match=problem):
        imported(database, tmp_path, write(tmp_path / "files", x_1=tree_file(), x_2=make()))
    assert count(database, JobRow) == count(database, EpisodeRow) == 0


@pytest.mark.parametrize("calls", [24, 25])
def test_a_tree_is_as_deep_as_can_be_read_again_or_refused(calls, tmp_path):
    """Two nodes for each call, one path of them."""
    given = {"policy": [*(call(tool_apis.LATEST_NAME, parcelid=f"P{n}") for n in range(calls - 1)), finish("there")]}
    task = Task("toolbench", "d", "7", "Where?", {**tool_apis.TASK.inputs, "given": given}, {"relevant": []})
    database, job = infer(tmp_path, "", "dfsdt", [task], limits=Limits(calls=200))
    if calls > 24:
        with pytest.raises(SpecError, match=r"has a path of 50 nodes\. In a file it may have 48"):
            export_answer_files(database, job, tmp_path / "out")
        return
    export_answer_files(database, job, tmp_path / "out")
    (path,) = (tmp_path / "out").glob("*.json")
    assert imported(database, tmp_path, [path]).nodes == 49, "with the root"
    content = json.loads(path.read_text())
    last = content["tree"]["tree"]
    while last["children"]:
        last = last["children"][0]
    last["children"] = [tree_file()["tree"]["tree"]]
    with pytest.raises(SpecError, match="nested more than 100 levels deep; a path may have 48 nodes"):
        imported(database, tmp_path, write(tmp_path / "files", x_1=content))


# --- episodes of jobs

LOOK = call(tool_apis.LATEST_NAME, "look it up", parcelid="P1")
RECORDED = json.dumps({"status": "success", "aim": "where", "answer": "there"})
PLAN = f'Plan: where it is\n#E1 = {tool_apis.LATEST_NAME} {{"parcelid": "P1"}}'
GIVEN = {
    "react": {"policy": [LOOK, "Thought: hm", finish("there")]},
    "dfsdt": {"policy": [LOOK, give_up(), call("nosuch"), finish("there")]},
    "sum2act": {"router": [LOOK, LOOK, finish("there")], "state_manager": [RECORDED]},
    "rewoo": {"planner": [PLAN], "solver": ["there"]},
}
CALLS = {
    "react": [tool_apis.LATEST_NAME, "", "Finish"],
    "dfsdt": [tool_apis.LATEST_NAME, "Finish", "nosuch", "Finish"],
    "sum2act": [tool_apis.LATEST_NAME, tool_apis.LATEST_NAME, "Finish"],
    "rewoo": [tool_apis.LATEST_NAME, "Finish"],
}


@sqlite_only
@pytest.mark.parametrize("formulation", GIVEN)
def test_episodes_of_jobs_are_written_and_can_be_read(formulation, url, tmp_path):
    inputs = {**tool_apis.TASK.inputs, "answers": [tool_apis.record()], "given": GIVEN[formulation]}
    task = Task("toolbench", "d", "../7_x", "Where is parcel P1?", inputs, {"relevant": []})
    database, job = infer(tmp_path, url, formulation, [task], scored=True)
    export_answer_files(database, job, tmp_path / "out")
    (path,) = (tmp_path / "out").iterdir()
    assert path.name.startswith("-7-x_"), "no path, and the number ends at the first underscore"
    content = json.loads(path.read_text())
    file = answer_file_of(path.name, content)
    assert [one.name for one in file.decisions] == CALLS[formulation]
    assert content["win"] and json.loads(content["answer_generation"]["final_answer"])["final_answer"] == "there"
    assert file.decisions[0].code == 0 and json.loads(file.decisions[0].observation)["response"] == "there"
    told = [one["content"] for one in file.messages()[-1] if one.get("valid") is False]
    assert [tool_apis.LATEST_NAME in one for one in told] == ([True] if formulation == "dfsdt" else [])
    export_answer_files(database, job, tmp_path / "judged", "tooleval")
    (entry,) = json.loads((tmp_path / "judged" / "tooleval.json").read_text()).values()
    assert entry["answer"]["method"] == file.method and len(entry["available_tools"]) == 3


def test_samples_have_files_of_their_own_and_the_last_reply_is_left_out(tmp_path):
    inputs = {**tool_apis.TASK.inputs, "answers": [tool_apis.record()], "given": {"policy": [LOOK, LOOK]}}
    task = Task("toolbench", "d", "7", "Where is parcel P1?", inputs, {"relevant": []})
    limits = Limits(calls=2, depth=12)
    database, job = infer(tmp_path, "", "dfsdt", [task], samples=2, limits=limits)
    assert export_answer_files(database, job, tmp_path / "out") == 2
    files = {path.name: read_answer_file(path) for path in (tmp_path / "out").iterdir()}
    assert set(files) == {"7_DFS_woFilter_w2.json", "7-1_DFS_woFilter_w2.json"}
    assert [len(file.decisions) for file in files.values()] == [1, 1], "the reply to the last call is not carried out"
    assert [file.chosen for file in files.values()] == [None, None]
    assert [file.content()["answer_generation"]["query_count"] for file in files.values()] == [2, 2], "it counts"
    assert [
        file.content()["tree"]["tree"]["children"][0]["children"][0]["children"][0]["pruned"] for file in files.values()
    ] == [False, False], "its path has no end"


@sqlite_only
def test_only_jobs_of_tool_agents_are_written_and_nothing_is_overwritten(database, tmp_path):
    found = imported(database, tmp_path, write(tmp_path / "files", x_1=tree_file()))
    with pytest.raises(SpecError, match="not an empty folder"):
        export_answer_files(database, found.job, tmp_path / "files")
    with pytest.raises(SpecError, match="format"):
        export_answer_files(database, found.job, tmp_path / "out", "xml")
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).values(formulation="iterative"))
    with pytest.raises(SpecError, match="iterative"):
        export_answer_files(database, found.job, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []
