"""`lumos papers`: published figures beside stored jobs. The endpoints are fake servers that name the weights."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import typer
from click.testing import Result
from sqlalchemy import event
from typer.testing import CliRunner

from db.engine.connection import open_database
from lumos_queue.actions.maths.interface import MathsActions
from lumos_queue.cli import output, papers
from lumos_queue.cli.deployment import close_at_end
from lumos_queue.cli.main import main
from lumos_queue.errors import SpecError
from lumos_queue.papers.comparison import KEYS, papers_tables
from lumos_queue.papers.interfaces import actions_of
from lumos_queue.row_origins.origins import STATED_REMARK
from lumos_queue.settings import read_settings
from tests.fake_endpoint import FakeEndpoint

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
app.command("papers")(papers.papers)

ROWS = [
    {
        "question": f"A shelf holds {n} jars and 3 more are put on it. How many are there?",
        "answer": f"There are {n}+3=<<{n}+3={n + 3}>>{n + 3} jars.\n#### {n + 3}",
    }
    for n in (5, 8, 11)
]


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(output, "as_json", False)


@pytest.fixture
def data(tmp_path):
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path / "test.jsonl"


@pytest.fixture
def weights():
    """A planner and a grounder that are called like the released one-pass weights; the grounder knows two of three."""

    def ground(prompt: str) -> str:
        return next((f"R1 = Calculator({n} + 3)" for n in (5, 8) if f" {n} jars" in prompt), "R1 = Calculator(0)")

    with (
        FakeEndpoint(lambda _: "Subgoal 1: Add.", model="ai2lumos/lumos_maths_plan_onetime") as planner,
        FakeEndpoint(ground, model="ai2lumos/lumos_maths_ground_onetime") as grounder,
    ):
        yield SimpleNamespace(planner=planner.tgi, grounder=grounder.tgi)


def invoke(arguments: list[str], **options: bool) -> Result:
    """Run the command as `lumos` does: its deployment is closed at the end."""
    with close_at_end():
        return CliRunner().invoke(app, arguments, **options)


def lumos(*arguments: object) -> dict:
    ran = invoke([str(argument) for argument in arguments], catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.stdout.splitlines()[-1])


def row(what: str) -> dict:
    (table,) = lumos(what, "--json")["tables"]
    (found,) = table["rows"]
    return found


def test_without_a_database_every_table_says_what_it_needs():
    shown = lumos("--json")["tables"]
    assert [table["table"] for table in shown] == list(KEYS)
    for table in shown:
        assert table["rows"] and all(row["status"] and row["published"] for row in table["rows"])
    assert row("1b/LUMOS-I/gsm8k")["status"] == (
        "not run: needs lumos_maths_plan_iterative and lumos_maths_ground_iterative at an endpoint"
    )
    assert {one["status"] for one in shown[1]["rows"] if one["row"] == "AgentLM-13B"} == {
        "not run: quoted from its paper"
    }


def test_a_row_that_was_run_stands_beside_the_published_figure(data, weights):
    ends = ("--planner", weights.planner, "--grounder", weights.grounder, "--data", data, "--published", "--json")
    report = lumos("1b/LUMOS-O/gsm8k", "--run", *ends)
    assert report["n"] == 3 and report["correct"] == 2
    found = row("1b/LUMOS-O/gsm8k")
    assert found["status"] == f"{STATED_REMARK}; n differs: 3 of 1,319" and found["published"] == "50.5*"
    assert found["ours"]["job"] == report["job"] and found["ours"]["value"] == 66.67
    assert found["ours"]["ci95"] == [round(100 * bound, 2) for bound in report["ci95"]]
    assert row("3/LUMOS-O-maths/gsm8k")["ours"] == found["ours"], "the same agent in another table"
    assert "other weights: planner is ai2lumos/lumos_maths_plan_onetime" in row("1b/LUMOS-O-13B/gsm8k")["status"]
    assert "ours" not in row("1b/LUMOS-I/gsm8k") and "ours" not in row("1b/LUMOS-O/svamp")
    (six,) = [one for one in lumos("6", "--json")["tables"][0]["rows"] if one["row"] == "LUMOS-O" and "ours" in one]
    assert six["ours"]["value"] > 0 and six["status"] == STATED_REMARK and six["published"] == "102"


def test_other_weights_are_refused_unless_asked_for_and_then_said(data, weights):
    swapped = ("--planner", weights.grounder, "--grounder", weights.planner, "--data", data, "--published")
    with pytest.raises(SpecError, match="planner is ai2lumos/lumos_maths_ground_onetime, not lumos_maths_plan_onetime"):
        lumos("1b/LUMOS-O/gsm8k", "--run", *swapped)
    assert "ours" not in row("1b/LUMOS-O/gsm8k"), "nothing was stored"
    lumos("1b/LUMOS-O/gsm8k", "--run", "--any-weights", *swapped, "--json")
    assert row("1b/LUMOS-O/gsm8k")["status"].startswith("other weights: planner is ai2lumos/lumos_maths_ground_onetime")
    lumos(
        "1b/LUMOS-O/gsm8k",
        "--run",
        *("--planner", weights.planner, "--grounder", weights.grounder),
        "--data",
        data,
        "--published",
        "--json",
    )
    assert row("1b/LUMOS-O/gsm8k")["status"] == f"{STATED_REMARK}; n differs: 3 of 1,319", (
        "the named weights go before others"
    )


def test_people_get_a_table(data, weights):
    ends = ("--planner", weights.planner, "--grounder", weights.grounder, "--data", data, "--published")
    invoke(["1b/LUMOS-O/gsm8k", "--run", *map(str, ends)])
    shown = invoke(["1b"]).stdout
    assert "Table 1b: Maths agents" in shown and "66.7 [" in shown and "quoted from its paper" in shown


@pytest.mark.parametrize("width", [80, 120])
def test_nothing_is_cut_in_a_narrow_terminal(data, weights, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    ends = ("--planner", weights.grounder, "--grounder", weights.planner, "--data", data, "--published")
    report = lumos("1b/LUMOS-O/gsm8k", "--run", "--any-weights", *ends, "--json")
    shown = invoke(["1b"]).stdout.replace("…", "CUT")
    assert max(map(len, shown.splitlines())) <= width and "CUT" not in shown
    words = shown.split()
    for name in (
        "ai2lumos/lumos_maths_plan_onetime,",
        "lumos_maths_plan_onetime;",
        f"({report['job']})",
        "lumos_maths_plan_iterative",
        "lumos_maths_ground_onetime-13B",
    ):
        assert name in words, "on one line, so that it can be read and copied"
    (line,) = [line for line in shown.splitlines() if line.startswith("LUMOS-O ")]
    assert line.split()[:4] == ["LUMOS-O", "GSM8K", "50.5*", "0.0"] and line.split()[-1] == "3"
    after = " ".join(shown[shown.index(line) + len(line) :].split())
    assert after.startswith(
        "status: other weights: planner is ai2lumos/lumos_maths_ground_onetime, not lumos_maths_plan"
    )
    (quoted,) = [line for line in shown.splitlines() if line.startswith("AgentLM-13B")]
    assert quoted.endswith("not run: quoted from its paper") == (width == 120), "a short status stands in its line"
    assert shown.count("not run: quoted from its paper") == 7, "once for each row, though most have two figures"


def test_what_departs_from_the_papers_settings_is_shown(data, weights, capsys):
    assert (
        main(
            [
                "evaluate",
                "gsm8k",
                "--data",
                str(data),
                "--formulation",
                "one-pass",
                "--planner",
                weights.planner,
                "--grounder",
                weights.grounder,
                "--temperature",
                "1",
                "--limit",
                "2",
                "--framing",
                "eval",
                "--json",
                "--published",
            ]
        )
        == 0
    )
    capsys.readouterr()
    settings = f"other settings: temperature is 1, not 0; framing is eval, not train; {STATED_REMARK}"
    assert row("1b/LUMOS-O/gsm8k")["status"] == f"{settings}; n differs: 2 of 1,319"
    (six,) = [one for one in lumos("6", "--json")["tables"][0]["rows"] if "ours" in one]
    assert six["status"] == settings


def test_how_much_is_read_does_not_grow_with_the_rows_that_show_a_job(data, weights):
    ends = ("--planner", weights.planner, "--grounder", weights.grounder, "--data", data, "--published", "--json")
    lumos("1b/LUMOS-O/gsm8k", "--run", *ends)
    database = open_database(read_settings().database)
    statements = []
    with database.engine.connect() as connection:
        papers_tables(connection, [])
        event.listen(connection, "before_cursor_execute", lambda *given: statements.append(given[2]))
        papers_tables(connection, ["1b"])
        one = len(statements)
        statements.clear()
        papers_tables(connection, ["1b", "3", "6", "1b"])
    database.close()
    assert len(statements) == one == 5


def test_a_conversion_stands_beside_the_papers(data, capsys):
    assert (
        main(["convert", "gsm8k", "--data", str(data), "--split", "train", "--deterministic", "--published", "--json"])
        == 0
    )
    job = json.loads(capsys.readouterr().out.splitlines()[-1])["job"]
    rows = {one["row"]: one for one in lumos("4", "--json")["tables"][0]["rows"]}
    found = rows["maths: gsm8k"]
    assert found["status"] == f"n differs: 3 of 7,473; {STATED_REMARK}" and found["ours"]["job"] == job
    assert (found["ours"]["plan"], found["ours"]["ground"], found["ours"]["how"]) == (3, 3, "by rule")
    assert rows["maths: annotations"]["status"] == "not run: no conversion of prm800k, asdiv"


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("9", "No table of the papers called '9'. Choose one of: 1a, 1b"),
        ("1b/nope", "No row of table 1b called 'nope'"),
        ("1b/LUMOS-I/webshop", "has no figure for 'webshop'"),
        ("4/gsm8k", "^Table 4 has no rows that can be run. Show all of it with: lumos papers 4$"),
        ("5/SciQ", "^Table 5 has no rows that can be run"),
        ("8/maths", "^Table 8 has no rows that can be run"),
    ],
)
def test_what_there_is_not_is_named(what, told):
    with pytest.raises(SpecError, match=told):
        lumos(what)


def test_the_action_interfaces_are_read_from_the_code():
    assert set(actions_of("maths")) == {name for name in MathsActions().actions if name}
    assert set(actions_of("maths")) == {
        "Calculator",
        "SetEquation",
        "SolveEquation",
        "SolveInequality",
        "Count",
        "Define",
        "Code",
    }
    rows = {one["row"]: one for one in lumos("8", "--json")["tables"][0]["rows"]}
    assert rows["maths: Code"]["status"] == "offered" and rows["maths: Code"]["published"] == "gpt-3.5-turbo"
    assert all(one["status"] == "offered" for name, one in rows.items() if name.startswith("maths"))
