"""`lumos data import`, `lumos dataset export-compat` and `lumos dataset unify`, as people call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from sqlalchemy import select
from typer.testing import CliRunner, Result

from db.engine.connection import open_database
from db.models import EpisodeRow, JobRow
from lumos_queue.cli import compat, output
from lumos_queue.compat.raw_annotations import RawAnnotation
from lumos_queue.compat.unify import unify
from lumos_queue.errors import SpecError
from lumos_queue.settings import read_settings
from tests.raw_files import raw_line, write_raw

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
app.command("import")(compat.import_files)
app.command("export-compat")(compat.export_compat)
app.command("unify")(compat.unify)

PLAN = (
    "Subgoal 1: Add.\nAction 1-1: R1 = Calculator({n} + 1) = {m} \n\n"
    "Subgoal 2: Halve.\nAction 2-1: R2 = Calculator(R1 / 2) = {h} "
)


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(output, "as_json", False)
    return tmp_path / "home"


@pytest.fixture
def raw(tmp_path) -> Path:
    rows = [
        RawAnnotation(f"Half of {n} and one?", "plan", PLAN.format(n=n, m=n + 1, h=(n + 1) / 2))
        for n in range(1, 12, 2)
    ]
    write_raw(rows, tmp_path / "raw.json")
    return tmp_path / "raw.json"


def lumos(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def told(ran: Result) -> dict:
    assert ran.exit_code == 0, ran.exception
    return json.loads(ran.stdout.splitlines()[-1])


def test_files_are_made_imported_and_found_again(raw, tmp_path):
    made = told(lumos("export-compat", raw, "--domain", "maths", "--out", tmp_path / "files", "--json"))
    assert set(made["rows"].values()) == {6}
    assert len(made["rows"]) == 4
    files = [tmp_path / "files" / f"lumos_maths_{module}_iterative.jsonl" for module in ("plan", "ground")]
    first = told(lumos("import", *files, "--licence", "CC BY 4.0", "--json"))
    assert (first["episodes"], first["new"], first["without_partner"]) == (6, True, {"plan": 0, "ground": 0})
    assert told(lumos("import", *files, "--licence", "CC BY 4.0", "--json"))["job"] == first["job"]
    opened = open_database(read_settings().database)
    with opened.engine.connect() as connection:
        assert connection.execute(select(JobRow.state, JobRow.benchmark, JobRow.origin, JobRow.formulation)).one() == (
            "done",
            "maths",
            "imported",
            "annotation",
        )
        assert len(connection.execute(select(EpisodeRow.id)).all()) == 6
    opened.close()


def test_a_licence_must_be_named_and_bad_rows_store_nothing(raw, tmp_path, home):
    lumos("export-compat", raw, "--domain", "maths", "--out", tmp_path / "files")
    plan, ground = (tmp_path / "files" / f"lumos_maths_{module}_iterative.jsonl" for module in ("plan", "ground"))
    assert "--licence" in str(lumos("import", plan, ground).exception)
    plan.write_bytes(plan.read_bytes() + b'{"half": ')
    ran = lumos("import", plan, ground, "--licence", "MIT")
    assert isinstance(ran.exception, SpecError)
    assert "1 rows cannot be read: lumos_maths_plan_iterative.jsonl row 7" in str(ran.exception)
    assert not home.exists()
    skipped = told(lumos("import", plan, ground, "--licence", "MIT", "--skip-bad-rows", "--json"))
    assert (skipped["episodes"], skipped["bad_rows"]) == (6, 1)
    assert skipped["first_bad"].startswith("lumos_maths_plan_iterative.jsonl row 7: is not JSON")
    said = lumos("import", plan, ground, "--licence", "MIT", "--skip-bad-rows", "--again").stderr
    assert "skipped 1 bad rows; the first: lumos_maths_plan_iterative.jsonl row 7: is not JSON" in said


@pytest.mark.parametrize("licence", ["M" * 101, "MIT\x1b[31m", "two\nlines", "\N{RIGHT-TO-LEFT OVERRIDE}TIM"])
def test_a_licence_is_one_short_line_of_printable_text(raw, tmp_path, home, licence):
    lumos("export-compat", raw, "--domain", "maths", "--out", tmp_path / "files")
    plan, ground = (tmp_path / "files" / f"lumos_maths_{module}_iterative.jsonl" for module in ("plan", "ground"))
    assert "at most 100" in str(lumos("import", plan, ground, "--licence", licence).exception)
    assert not home.exists()


def test_rows_that_are_in_no_episode_are_told_by_reason(raw, tmp_path):
    lumos("export-compat", raw, "--domain", "maths", "--out", tmp_path / "files")
    plan, ground = (tmp_path / "files" / f"lumos_maths_{module}_iterative.jsonl" for module in ("plan", "ground"))
    rows = ground.read_text().splitlines()
    ground.write_text("\n".join([rows[0].replace("Add.", "Plus."), *rows[1:-2]]) + "\n")
    said = lumos("import", plan, ground, "--licence", "MIT").stderr
    assert (
        "left out 3 rows of the plan file: 2 have a task that the ground file does not have, "
        "1 have other subgoals for their task than the ground file"
    ) in said


def test_an_export_never_writes_over_anything(raw, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "mine.txt").write_text("keep")
    ran = lumos("export-compat", raw, "--domain", "maths", "--out", folder)
    assert "is not an empty folder" in str(ran.exception)
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
    (folder / "mine.txt").unlink()
    assert lumos("export-compat", raw, "--domain", "maths", "--out", folder).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "home") == ["files", "raw.json"]


def test_bad_raw_rows_are_named_and_leave_no_folder(raw, tmp_path):
    raw.write_bytes(raw.read_bytes() + b'{"task": "t"}\n')
    ran = lumos("export-compat", raw, "--domain", "maths", "--out", tmp_path / "files")
    assert "row 7, field 'natural_language_plan': is missing" in str(ran.exception)
    assert not (tmp_path / "files").exists()
    assert (
        lumos("export-compat", raw, "--domain", "maths", "--out", tmp_path / "files", "--skip-bad-rows").exit_code == 0
    )


def test_an_export_says_where_it_is_and_which_rows_are_in_no_file(raw, tmp_path):
    silent = RawAnnotation(
        "Silent?", "plan", "Subgoal 1: Add.\n\nSubgoal 2: Halve.\nAction 2-1: R2 = Calculator(4 / 2) = 2"
    )
    raw.write_text(raw.read_text() + f'{raw_line(silent)}\n{{"task": "t"}}\nno row\n')
    ran = lumos("export-compat", raw, "--domain", "maths", "--out", tmp_path / "files", "--skip-bad-rows")
    assert f"in {tmp_path / 'files'}" in ran.stdout
    for module in ("plan", "ground"):
        assert f"1 annotations are in the onetime {module} file only" in ran.stderr
    assert "skipped 2 bad rows; the first: row 8, field 'natural_language_plan': is missing" in ran.stderr


def test_a_raw_file_that_is_one_array_and_a_folder_below_a_file_are_named(raw, tmp_path):
    rows = [json.loads(line) for line in raw.read_text().splitlines()]
    (tmp_path / "array.json").write_text(json.dumps(rows))
    ran = lumos("export-compat", tmp_path / "array.json", "--domain", "maths", "--out", tmp_path / "files")
    assert "array.json' is one JSON array: expected JSON lines" in str(ran.exception)
    ran = lumos("export-compat", raw, "--domain", "maths", "--out", raw / "files")
    assert f"'{raw}' is a file, not a folder" in str(ran.exception) and "--out" in str(ran.exception)


def test_the_multimodal_grounder_is_left_out(raw, tmp_path):
    made = told(lumos("export-compat", raw, "--domain", "multimodal", "--out", tmp_path / "files", "--json"))
    assert sorted(made["rows"]) == [f"lumos_multimodal_plan_{name}.jsonl" for name in ("iterative", "onetime")]


def test_unified_files_are_the_files_one_after_the_other(raw, tmp_path):
    for domain in ("maths", "complex_qa"):
        lumos("export-compat", raw, "--domain", domain, "--out", tmp_path / domain)
    files = [tmp_path / domain / f"lumos_{domain}_ground_iterative.jsonl" for domain in ("maths", "complex_qa")]
    made = told(lumos("unify", *files, "--out", tmp_path / "all.jsonl", "--json"))
    assert list(made["rows"].values()) == [6, 6]
    assert (tmp_path / "all.jsonl").read_bytes() == b"".join(file.read_bytes() for file in files)
    plans = [tmp_path / domain / f"lumos_{domain}_plan_iterative.jsonl" for domain in ("maths", "complex_qa")]
    lumos("unify", *plans, "--out", tmp_path / "plans.jsonl")
    both = told(lumos("import", tmp_path / "plans.jsonl", tmp_path / "all.jsonl", "--licence", "MIT", "--json"))
    assert (both["benchmark"], both["episodes"]) == ("unified", 12)


def test_a_unified_file_refuses_ids_that_stand_twice(raw, tmp_path):
    lumos("export-compat", raw, "--domain", "maths", "--out", tmp_path / "maths")
    file = tmp_path / "maths" / "lumos_maths_plan_iterative.jsonl"
    with pytest.raises(SpecError, match=r"row 1, field 'id': another row of 'maths' has the id 'maths_0'"):
        unify([file, file], tmp_path / "all.jsonl")
    assert not (tmp_path / "all.jsonl").exists()
    assert not list(tmp_path.glob(".all*"))
