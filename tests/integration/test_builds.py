"""Builds from jobs that really ran: converted problems, and agents that get some of them right."""

from __future__ import annotations

import hashlib
import json
import re
import resource
from collections import Counter
from pathlib import Path

import pytest

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.queries.filters import parse_where
from db.queries.trajectories import stream_episodes
from lumos_queue.benchmarks.wordmath.benchmark import benchmark
from lumos_queue.builds.build import build
from lumos_queue.builds.database_facts import DatabaseFacts
from lumos_queue.builds.difference import compare_builds
from lumos_queue.builds.known_benchmarks import KnownBenchmarks
from lumos_queue.builds.options import BuildOptions
from lumos_queue.cli.main import main
from lumos_queue.compat.file_import import store_released
from lumos_queue.compat.row_join import open_join
from lumos_queue.errors import SpecError
from lumos_queue.formulations.defaults import RELEASED
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.convert import Convert
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import gold_conversations, read_conversations
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.gold_agent import gold_replies
from tests.integration.made_builds import make, rows_in
from tests.stored_rows import run_embedded
from tests.wordmath_rows import read_training_rows

CONVERTED = 60
TRIED = 12  #: tasks that two agents try, one of which errs at every third


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A home with a conversion and three evaluations: right, half wrong, and right in one pass."""
    folder = tmp_path_factory.mktemp("home")
    rows = read_training_rows()
    run_embedded(folder, Convert("wordmath", rows.digest, "train", limit=CONVERTED), rows)[0].close()
    tasks = rows.tasks[:TRIED]
    for name, errs in (("iterative", False), ("iterative", True), ("one-pass", False)):
        replies = gold_replies(benchmark, tasks, name)
        if errs:  # 7 too many in the first action of every third task
            for task in tasks[::3]:
                grounder = _conversation(task, "grounder").turns
                prompt, reply = _prompt_of(task), grounder[1].content
                replies[prompt] = re.sub(r"(?<![R\d.])\d+", lambda found: str(int(found[0]) + 7), reply, count=1)
        with FakeEndpoint(from_mapping(replies, default="Yes, I will stop planning.")) as server:
            agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
            job = Evaluate(Infer("wordmath", rows.digest, "train", name, agent, limit=TRIED, seed=int(errs)))
            run_embedded(folder, job, rows)[0].close()
    return folder


def _conversation(task, module: str):
    agent = Agent(roles={}, domain="maths")
    made = gold_conversations(task, benchmark.gold(task), FORMULATIONS.load("iterative"), agent)
    return next(one for one in made if one.dataset.endswith(module))


def _prompt_of(task) -> str:
    from lumos_queue.prompts.dialogue import render

    return hashlib.sha256(render(_conversation(task, "grounder").turns[:1], "train").encode()).hexdigest()


@pytest.fixture
def database(home: Path):
    opened = open_database(f"sqlite:///{home / 'lumos.db'}")
    yield opened
    opened.close()


def test_a_build_has_both_sides_of_each_task_and_says_where_every_row_comes_from(database, tmp_path):
    found = make(database, tmp_path / "one", where="origin=converted", formulations=("iterative", "one-pass"))
    files = {one["file"]: one for one in found["files"]}
    assert set(files) == {
        f"{module}_{name}.jsonl" for module in ("planner", "grounder") for name in ("iterative", "one-pass")
    }
    assert all(one["rows"] == CONVERTED and one["part"] == "train" for one in files.values())
    planner = list(read_conversations(tmp_path / "one" / "planner_iterative.jsonl"))
    grounder = list(read_conversations(tmp_path / "one" / "grounder_iterative.jsonl"))
    assert [one.id for one in planner] == [one.id for one in grounder] and planner[0].id.startswith("wordmath/")
    task = next(task for task in read_training_rows().tasks if f"wordmath/{task.row}" == planner[5].id)
    assert planner[5].turns == _conversation(task, "planner").turns
    turns = sum(len(one.turns) // 2 for one in planner) / CONVERTED
    assert files["planner_iterative.jsonl"]["average_turns"] == round(turns, 2)
    assert found["episodes"] == {"read": CONVERTED, "used": CONVERTED, "left_out": {}, "not_written": {}}
    lineage = rows_in(tmp_path / "one" / "lineage.jsonl")
    assert len(lineage) == found["rows"] == 4 * CONVERTED
    for name, about in files.items():
        data = (tmp_path / "one" / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == about["sha256"]
        traced = [row for row in lineage if row["file"] == name]
        assert [row["sha256"] for row in traced] == [hashlib.sha256(x).hexdigest() for x in data.splitlines()]
    assert all(re.fullmatch(rf"{row['job']}-\d+", row["episode"]) and row["licence"] == "MIT" for row in lineage)
    assert sum(found["levels"].values()) == found["rows"] and set(found["levels"]) <= {"executed", "perturbed"}


def test_the_same_rows_are_the_same_build_on_either_database(database, tmp_path, postgres_url):
    rows = read_training_rows()
    converted = Convert("wordmath", rows.digest, "train", limit=CONVERTED)
    postgres, _ = run_embedded(tmp_path / "postgres", converted, rows, postgres_url)
    options = {"where": "origin=converted", "dev_share": 0.2, "near": 0.9, "formulations": ("iterative",)}
    one, other = make(database, tmp_path / "one", **options), make(postgres, tmp_path / "other", **options)
    postgres.close()
    assert one["digest"] == other["digest"]
    for file in one["files"]:
        assert (tmp_path / "one" / file["file"]).read_bytes() == (tmp_path / "other" / file["file"]).read_bytes()
    assert make(database, tmp_path / "third", **options | {"seed": 1})["digest"] != one["digest"]
    apart = compare_builds(tmp_path / "one", tmp_path / "other")
    assert (apart["same"], apart["changed"], apart["only_a"], apart["only_b"], apart["options"]) == (
        one["rows"],
        [],
        [],
        [],
        {},
    )


def test_only_successful_runs_are_taken_and_every_episode_is_accounted_for(database, tmp_path):
    found = make(database, tmp_path / "one", where="origin=run", formulations=("iterative", "one-pass"))
    left_out, wrong = found["episodes"]["left_out"], len(range(0, TRIED, 3))
    assert found["episodes"]["read"] == 3 * TRIED
    assert sum(count for why, count in left_out.items() if why != "duplicate") == wrong
    assert found["episodes"]["used"] + sum(left_out.values()) == 3 * TRIED
    # The other agent's right episodes say what the first one's say; so do those that were run in one pass.
    assert {one["file"]: one["rows"] for one in found["files"]} == {
        f"{module}_{name}.jsonl": TRIED for module in ("planner", "grounder") for name in ("iterative", "one-pass")
    }
    long = sum(len(benchmark.gold(task).steps) > 1 for task in read_training_rows().tasks[:TRIED])
    assert found["episodes"]["not_written"] == {
        "iterative: its steps do not say which action belongs to which subgoal": long
    }
    iterative = make(database, tmp_path / "two", where="origin=run formulation=iterative")
    assert iterative["levels"] == {"executed": 2 * TRIED}
    replayed = {one.id: one.turns for one in read_conversations(tmp_path / "two" / "planner_iterative.jsonl")}
    for task in read_training_rows().tasks[:TRIED]:
        assert replayed[f"wordmath/{task.row}"] == _conversation(task, "planner").turns


def test_so_many_of_a_task_are_taken_as_asked_for(database, tmp_path):
    found = make(database, tmp_path / "one", where="sample=0", select="best", per_task=1)
    lineage = rows_in(tmp_path / "one" / "lineage.jsonl")
    assert max(Counter((row["file"], row["id"]) for row in lineage).values()) == 1
    assert found["episodes"]["used"] == CONVERTED
    assert {"duplicate", "wrong answer"} <= found["episodes"]["left_out"].keys()


def test_a_source_task_lies_wholly_in_one_part(database, tmp_path):
    found = make(database, tmp_path / "one", dev_share=0.3, formulations=("iterative", "one-pass", "direct"))
    parts: dict[str, set[str]] = {}
    for row in rows_in(tmp_path / "one" / "lineage.jsonl"):
        parts.setdefault(row["id"], set()).add(row["file"].partition("/")[0] == "dev")
    assert all(len(one) == 1 for one in parts.values())
    assert 0.1 * CONVERTED < sum(True in one for one in parts.values()) < 0.5 * CONVERTED
    assert {one["part"] for one in found["files"]} == {"train", "dev"}


def test_shares_of_a_mix_hold_exactly(database, tmp_path, shared_data):
    home = tmp_path / "home"
    rows = read_training_rows()
    run_embedded(home, Convert("wordmath", rows.digest, "train", limit=60), rows)[0].close()
    from lumos_queue.benchmarks.asdiv.benchmark import benchmark as asdiv

    rows = read_rows(asdiv, shared_data / "asdiv" / "ASDiv.xml", "train", True)
    mixed, _ = run_embedded(home, Convert("asdiv", rows.digest, "train", limit=60), rows)
    found = make(mixed, tmp_path / "one", mix={"wordmath": 0.75, "asdiv": 0.25})
    counts = Counter(row["benchmark"] for row in rows_in(tmp_path / "one" / "lineage.jsonl"))
    assert counts == {"wordmath": 120, "asdiv": 40}
    assert found["warning"].startswith("40 of 160 rows may be licensed for non-commercial use only: asdiv")
    assert found["warning"] in (tmp_path / "one" / "README.md").read_text()
    with pytest.raises(SpecError, match="'svamp', but no episode of it remains"):
        make(mixed, tmp_path / "two", mix={"wordmath": 0.5, "svamp": 0.5})
    mixed.close()
    assert [path.name for path in tmp_path.iterdir() if "two" in path.name] == []


def test_rows_whose_text_stands_in_a_test_split_are_refused(database, tmp_path):
    path = tmp_path / "gsm8k.jsonl"
    tasks = read_training_rows().tasks[:5]
    path.write_text("".join(json.dumps({"question": task.question, "answer": "#### 1"}) + "\n" for task in tasks))
    options = {"where": "origin=converted", "against": (f"gsm8k:{path}",)}
    found = make(database, tmp_path / "one", **options)
    refused = {why: n for why, n in found["episodes"]["left_out"].items() if why.startswith("stands in gsm8k:")}
    assert refused["stands in gsm8k:gsm8k.jsonl: equal text"] >= 5
    assert found["episodes"]["used"] == CONVERTED - sum(refused.values())
    assert found["contamination"]["gsm8k:gsm8k.jsonl"] == {"rows": 5, "unreadable": 0}
    assert found["contamination"]["wordmath"] == "not checked"
    assert not {f"wordmath/{task.row}" for task in tasks} & {
        row["id"] for row in rows_in(tmp_path / "one" / "lineage.jsonl")
    }
    assert make(database, tmp_path / "two", **options, allow_contaminated=True)["episodes"]["used"] == CONVERTED


@pytest.mark.parametrize("name", ["iterative", "one-pass"])
def test_a_build_can_be_imported_again(database, tmp_path, name):
    make(database, tmp_path / "one", where="origin=converted", formulations=(name,))
    plan, ground = (tmp_path / "one" / f"{module}_{name}.jsonl" for module in ("planner", "grounder"))
    assert {(row["dataset"], row["id"].partition("/")[0]) for row in rows_in(plan)} == {("maths", "wordmath")}
    settings = Settings(home=tmp_path / "home")
    settings.home.mkdir()
    other = open_database(f"sqlite:///{settings.home / 'lumos.db'}")
    upgrade(other)
    with open_join(plan, ground) as joining:
        assert (
            joining.summary.pairs == CONVERTED
            and joining.summary.bad_rows == 0
            and joining.summary.domains == {"maths"}
        )
        store_released(other, settings, joining, "wordmath", "train", "MIT", formulations=RELEASED)
    make(other, tmp_path / "two", where="origin=imported", formulations=(name,))
    for file in (plan.name, ground.name):
        turns = {
            folder: sorted(
                tuple(turn.content.strip() for turn in one.turns)
                for one in read_conversations(tmp_path / folder / file)
            )
            for folder in ("one", "two")
        }
        assert turns["one"] == turns["two"]
    other.close()


def test_stored_actions_run_again_and_with_other_numbers(database, tmp_path):
    where = "origin=run formulation=iterative"
    assert make(database, tmp_path / "one", where=where, reexecute=True)["episodes"]["used"] == TRIED
    found = make(database, tmp_path / "two", where=where, perturbed=True)
    assert set(found["levels"]) == {"perturbed"} and 0 < found["episodes"]["used"] <= TRIED


def test_pairs_hold_the_reply_at_fault_and_the_right_one(database, tmp_path):
    found = make(database, tmp_path / "one", where="origin=run formulation=iterative", format="trl-preference")
    assert [one["file"] for one in found["files"]] == ["grounder_preference.jsonl"]
    made = rows_in(tmp_path / "one" / "grounder_preference.jsonl")
    assert len(made) == len(range(0, TRIED, 3))
    tasks = read_training_rows().tasks
    replies = gold_replies(benchmark, tasks[:TRIED], "iterative")
    for row in made:
        assert row["chosen"] == replies[hashlib.sha256(row["prompt"].encode()).hexdigest()] != row["rejected"]
    lineage = rows_in(tmp_path / "one" / "lineage.jsonl")
    assert all(row["episode"] != row["rejected"] for row in lineage)


def test_a_success_that_a_person_calls_wrong_or_corrected_is_never_chosen(database, tmp_path):
    where = "origin=run formulation=iterative"
    episodes = list(stream_episodes(database, parse_where(where)))
    good = [one.id for one in episodes if one.scores["accuracy"] == 1]
    bad = frozenset(one.id for one in episodes) - set(good)

    def pairs(folder: str, stored: DatabaseFacts) -> dict:
        options = BuildOptions(where, "trl-preference")
        return build(episodes, folder, tmp_path / folder, options, KnownBenchmarks(), stored)[0]

    assert (
        pairs("one", DatabaseFacts(wrong=bad))["rows"]
        == pairs("two", DatabaseFacts())["rows"]
        == len(range(0, TRIED, 3))
    )
    for name, stored in (
        ("three", DatabaseFacts(wrong=frozenset(good))),
        ("four", DatabaseFacts(corrected=frozenset(good))),
    ):
        with pytest.raises(SpecError, match=f"{len(good)} (labelled wrong|corrected) by a person"):
            pairs(name, stored)


def lumos(monkeypatch, capsys, home: Path, *arguments: str) -> tuple[int, dict, str]:
    monkeypatch.setenv("LUMOS_HOME", str(home))
    code = main([*arguments, "--json"])
    captured = capsys.readouterr()
    return code, json.loads(captured.out.splitlines()[-1]), captured.err


def test_the_commands_make_list_show_and_compare(home, monkeypatch, capsys):
    def call(*arguments):
        return lumos(monkeypatch, capsys, home, "dataset", *arguments)

    assert call("list")[1]["builds"] == []
    code, one, _ = call("build", "one", "--where", "origin=converted")
    assert code == 0 and one["new"] and Path(one["folder"]) == home / "builds" / "one"
    code, again, said = call("build", "one", "--where", "origin=converted")
    assert code == 0 and not again["new"] and again["digest"] == one["digest"] and "exists already" in said
    code, refused, _ = call("build", "one", "--where", "origin=run")
    assert code == 2 and "holds a build with other options" in refused["error"]
    assert call("build", "two", "--where", "origin=converted", "--seed", "1", "--dev-share", "0.2")[0] == 0
    assert [made["build"] for made in call("list")[1]["builds"]] == ["one", "two"]
    assert call("show", "one")[1]["digest"] == one["digest"] == call("show", one["folder"])[1]["digest"]
    code, apart, _ = call("diff", "one", "two", "--limit", "1")
    dev = sum(file["rows"] for file in call("show", "two")[1]["files"] if file["part"] == "dev")
    assert apart["counts"] == {"only_a": dev, "only_b": dev, "changed": 0} and len(apart["only_a"]) == 1
    assert apart["options"] == {"dev_share": [0.0, 0.2], "seed": [0, 1]}
    for command in (["show", "one"], ["list"], ["diff", "one", "two"]):
        assert main(["dataset", *command]) == 0
    assert "digest" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--where", "nosuch=1"), "No field called 'nosuch'"),
        (("--where", "score=1; DROP TABLE episode"), "expected a number"),
        (("--format", "csv"), "No format called 'csv'"),
        (("--select", "worst", "--per-task", "1"), "No selection called 'worst'"),
        (("--level", "proven"), "No check level called 'proven'"),
        (("--mix", "wordmath"), "--mix"),
        (("--where", "benchmark=hotpotqa"), "no episode matches the filter"),
        (("--formulations", "magic"), "No formulation called 'magic'"),
        (("--against", "nothing:x"), "No benchmark called 'nothing'"),
        (("--against", "svamp:README.md"), "README.md' is not SVAMP.json"),
    ],
)
def test_what_cannot_be_built_is_one_line_and_leaves_nothing(home, monkeypatch, capsys, arguments, named):
    before = sorted(path.name for path in home.rglob("*") if not path.name.startswith("lumos.db"))
    code, told, said = lumos(monkeypatch, capsys, home, "dataset", "build", "wrong", *arguments)
    assert code == 2 and named in told["error"] and len(said.strip().splitlines()) == 1
    assert sorted(path.name for path in home.rglob("*") if not path.name.startswith("lumos.db")) in (
        before,
        sorted([*before, "builds"]),
    )


def test_a_disk_that_takes_no_more_is_one_line_and_leaves_nothing(home, monkeypatch, capsys, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, before[1]))  # bytes of a file: less than the rows have
    try:
        code, told, said = lumos(monkeypatch, capsys, home, "dataset", "build", "x", "--out", str(tmp_path / "x"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert code == 2 and "cannot be written" in told["error"] and len(said.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_refused_by_name_and_left_alone(home, monkeypatch, capsys, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    code, told, _ = lumos(monkeypatch, capsys, home, "dataset", "build", "x", "--out", str(tmp_path))
    assert code == 2 and str(tmp_path) in told["error"] and "not empty" in told["error"]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
