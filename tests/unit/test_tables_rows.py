"""The papers' tables as data: every own row is a configuration that can be run here."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lumos_queue.benchmarks.registry import TESTABLE, open_benchmark
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers.columns import COLUMNS
from lumos_queue.papers.comparison import _status as told
from lumos_queue.papers.evaluation_options import check_weights, find_row, make_request
from lumos_queue.papers.figures import TABLE_4, TABLE_6
from lumos_queue.papers.model import PaperRow, number
from lumos_queue.papers.protocol import departures
from lumos_queue.papers.results import TABLES
from lumos_queue.papers.stored_evaluations import (
    StoredEvaluation,
    find_best,
    is_tool,
    is_weights,
    model_of,
    weight_mismatches,
)
from lumos_queue.reports.score_values import Metric
from lumos_queue.row_origins.origins import RowOrigin, RowState

VERIFIED = RowOrigin(RowState.VERIFIED, "hotpotqa/hotpot_dev_distractor_v1.json")
OWN = [(table.key, row) for table in TABLES.values() for row in table.rows if not row.quoted]


@pytest.mark.parametrize("column", COLUMNS.values(), ids=lambda column: column.key)
def test_every_column_is_measured_by_a_benchmark_of_ours(column):
    assert column.benchmark in TESTABLE
    benchmark = open_benchmark(column.benchmark)
    assert column.metric in benchmark.metrics and column.split in benchmark.splits
    assert set(column.options) <= set(benchmark.options)


@pytest.mark.parametrize(("key", "row"), OWN, ids=lambda value: getattr(value, "handle", value))
def test_every_own_row_is_a_configuration(key, row):
    needed = row.list_needed_weights()
    assert not needed or set(needed) == set(FORMULATIONS.load(row.formulation).roles)
    for one in row.figures:
        benchmark = COLUMNS[one].benchmark
        _, found, column = find_row(f"{key}/{row.handle}/{benchmark}")
        assert found == row and column.benchmark == benchmark
        options = make_request(
            row,
            column,
            data=None,
            roles={"planner": "tgi://h:1", "qa": "chat://h:2"},
            tools=["corpus=x"],
            options=[],
            live=False,
            replay="",
            skip_bad_rows=False,
        )
        assert (options.benchmark, options.formulation, options.planner) == (benchmark, row.formulation, "tgi://h:1")
        assert (options.draw, options.sets) == (column.draw, column.sets) and options.roles == ("qa=chat://h:2",)
        by_original = benchmark in ("strategyqa", "hotpotqa") and FORMULATIONS.load(row.formulation).executes
        assert options.tools == (("corpus=x", "protocol=lumos") if by_original else ("corpus=x",))


def test_names_on_the_command_line_are_unique_in_a_table_and_figures_have_columns():
    for table in TABLES.values():
        handles = [row.handle for row in table.rows]
        assert len(set(handles)) == len(handles)
        for row in table.rows:
            assert row.figures and set(row.figures) <= set(table.columns)
            assert all(number(figure) is not None for figure in row.figures.values())


def test_the_papers_figures_stand_as_printed():
    def figures(key, handle):
        return next(row.figures for row in TABLES[key].rows if row.handle == handle)

    assert figures("1a", "LUMOS-I-Web") == {"mind2web": "27.6*"}
    assert figures("1b", "LUMOS-O-13B") == {"gsm8k": "55.4*", "svamp": "69.3"}
    assert figures("1d", "LUMOS-I-GPT-3.5") == {"strategyqa": "65.7*", "hotpotqa": "45.9", "hotpotqa_em": "29.4"}
    assert figures("1e", "LUMOS-I-All-13B") == {"webshop": "50.3", "intercode_sql": "7.3"}
    assert figures("3", "Integrated-maths") == {"gsm8k": "45.5", "svamp": "61.7"}
    assert figures("p3", "unified-and-Alpaca") == {"superni": "39.3"}
    assert figures("7", "LUMOS-I-All-complex-qa") == {"strategyqa": "66.7", "hotpotqa": "51.0", "hotpotqa_em": "31.6"}
    assert {key: len(table.rows) for key, table in TABLES.items()} == {
        "1a": 9,
        "1b": 10,
        "1c": 11,
        "1d": 14,
        "1e": 18,
        "2": 4,
        "3": 16,
        "7": 8,
        "p3": 2,
    }
    assert [sum(one.sources.values()) for one in TABLE_4] == [19_778, 19_409, 1_009, 17_056]
    assert sum(TABLE_6.values()) == 102 + 556 + 851 + 1007


def test_weights_are_named_as_they_were_released():
    row = PaperRow("LUMOS-O-13B", {}, "one-pass", "maths", "-13B")
    assert row.list_needed_weights() == {
        "planner": "lumos_maths_plan_onetime-13B",
        "grounder": "lumos_maths_ground_onetime-13B",
    }
    assert (
        row.needs(COLUMNS["gsm8k"]) == "lumos_maths_plan_onetime-13B and lumos_maths_ground_onetime-13B at an endpoint"
    )
    assert "never released" in PaperRow("x", {}, "iterative", "maths", "-13B").needs(COLUMNS["gsm8k"])
    assert PaperRow("x", {}, "integrated", "maths").needs(COLUMNS["gsm8k"]) == "weights that were never released"


def test_the_generated_shop_does_not_stand_for_webshops():
    def stored(tools):
        spec = {"infer": {"agent": {"tools": tools}, "draw": 0, "samples": 1}}
        job = SimpleNamespace(benchmark="webshop", split="test", formulation="iterative", items=500, spec=spec)
        return StoredEvaluation(job, {}, VERIFIED)

    row, column = PaperRow("x", {}, "iterative", "unified"), COLUMNS["webshop"]
    assert find_best(row, column, [stored({})]) is None
    real = stored({"catalogue": "/shop/products.json"})
    assert find_best(row, column, [stored({}), real]) is real
    assert "and --tool catalogue=…" in row.needs(column)


def test_an_endpoints_model_is_compared_by_its_name():
    assert is_weights("ai2lumos/lumos_maths_plan_iterative", "lumos_maths_plan_iterative")
    assert not is_weights("ai2lumos/lumos_maths_plan_iterative-13B", "lumos_maths_plan_iterative")
    assert not is_weights("", "x") and is_weights("a/x, b/x", "x") and not is_weights("y, b/x", "x")
    assert model_of({"model_id": "a/b"}) == "a/b" and model_of({"model": ["a", "b"]}) == "a, b" and model_of({}) == ""
    row = PaperRow("LUMOS-I", {}, "iterative", "maths")
    ours = {"planner": "x/lumos_maths_plan_iterative", "grounder": "starter"}
    assert weight_mismatches(row, ours) == ["grounder is starter, not lumos_maths_ground_iterative"]
    with pytest.raises(SpecError, match=r"grounder is starter.*--any-weights"):
        check_weights(row, COLUMNS["gsm8k"], ours)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4", "gpt-4"),
        ("openai/GPT-4", "gpt-4"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4-2023-06-13", "gpt-4"),
        ("gpt-3.5-turbo-0125", "gpt-3.5-turbo"),
        ("gpt-35-turbo", "gpt-3.5-turbo"),
        ("gpt-4, gpt-4-0613", "gpt-4"),
        ("meta-llama/Llama-2-7b-hf", "llama-2-7b"),
        ("meta-llama/Llama-2-13b-chat-hf", "llama-2-13b-chat"),
        ("liuhaotian/llava-v1.5-7b", "llava-1.5-7b"),
        ("llava-hf/llava-1.5-7b-hf", "llava-1.5-7b"),
    ],
)
def test_a_tools_model_is_the_papers_by_its_whole_name(model, name):
    assert is_tool(model, name)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("", "gpt-4"),
        ("my-gpt-4", "gpt-4"),
        ("gpt-4o-mini", "gpt-4"),
        ("gpt-4o", "gpt-4"),
        ("gpt-4-turbo", "gpt-4"),
        ("gpt-4.1", "gpt-4"),
        ("gpt-4-32k-0613", "gpt-4"),
        ("gpt-4-0125-preview", "gpt-4"),
        ("gpt-4-06", "gpt-4"),
        ("gpt-40613", "gpt-4"),
        ("gpt-3.5-turbo-instruct", "gpt-3.5-turbo"),
        ("gpt-4, gpt-4o", "gpt-4"),
        ("gpt-4o, gpt-4", "gpt-4"),
        ("meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"),
        ("llama-2-70b", "llama-2-7b"),
    ],
)
def test_another_model_whose_name_begins_alike_is_another(model, name):
    assert not is_tool(model, name)


GPT4 = next(row for row in TABLES["1d"].rows if row.name == "LUMOS-I (GPT-4)")
AGENT = {
    "planner": "ai2lumos/lumos_complex_qa_plan_iterative",
    "grounder": "ai2lumos/lumos_complex_qa_ground_iterative",
    "qa": "gpt-4-0613",
    "judge": "gpt-4",
}


def hotpotqa(models=None, items=2990, agent=None, sampling=None, **infer):
    """A stored evaluation by the papers' settings, but for those given. Of 1,000 × 3 some tasks are drawn twice."""
    sampled = {"temperature": 0.0, "top_p": 1.0, "max_tokens": 512, "stop": ["\n"]} | (sampling or {})
    settings = {"tools": {"protocol": "lumos"}, "framing": "train", "max_subgoals": 8, "shots": 0, "answer_by": "qa"}
    agent = settings | (agent or {})
    infer = {"draw": 1000, "sets": 3, "limit": 0, "samples": 1, "agent": agent | {"sampling": sampled}} | infer
    job = SimpleNamespace(
        benchmark="hotpotqa", split="dev", formulation="iterative", items=items, spec={"infer": infer}
    )
    return StoredEvaluation(job, AGENT | (models or {}), VERIFIED)


def status(found, column="hotpotqa"):
    return told(GPT4, COLUMNS[column], found, Metric(1.0, (0.0, 1.0), 1))


def test_an_evaluation_by_the_papers_settings_is_a_run():
    assert status(hotpotqa()) == "run" and hotpotqa().size == "1,000 × 3" == COLUMNS["hotpotqa"].size


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (hotpotqa(items=4, limit=4), "n differs: 4 of 1,000 × 3"),
        (hotpotqa(items=8, limit=4, samples=2), "other settings: samples is 2, not 1; n differs: 4 of 1,000 × 3"),
        (hotpotqa(draw=0, sets=1, items=7405), "n differs: 7,405 of 1,000 × 3"),
        (hotpotqa(sets=1, items=1000), "n differs: 1,000 × 1 of 1,000 × 3"),
        (hotpotqa({"qa": "gpt-4o-mini"}), "other weights: qa is gpt-4o-mini, not gpt-4"),
        (hotpotqa({"judge": "llama"}), "judge is llama, not gpt-4"),
        (hotpotqa(sampling={"temperature": 0.7}), "other settings: temperature is 0.7, not 0"),
        (hotpotqa(sampling={"top_p": 0.9}), "other settings: top_p is 0.9, not 1"),
        (hotpotqa(sampling={"max_tokens": 64}), "other settings: max_tokens is 64, not 512"),
        (hotpotqa(agent={"max_subgoals": 1}), "other settings: max_subgoals is 1, not 8"),
        (hotpotqa(agent={"shots": 1}), "other settings: shots is 1, not 0"),
        (hotpotqa(agent={"answer_by": "last"}), "other settings: answer_by is last, not qa"),
        (hotpotqa(agent={"framing": "eval"}), "other settings: framing is eval, not train"),
        (hotpotqa(agent={"tools": {}}), "other settings: protocol is own, not lumos"),
        (hotpotqa(agent={"tools": {"protocol": "own"}}), "other settings: protocol is own, not lumos"),
        (hotpotqa(agent={"at_limit": "conclude"}), "other settings: at_limit is conclude, not wrong"),
        (
            hotpotqa({"judge": "llama"}, items=4, limit=4, agent={"framing": "eval", "max_subgoals": 1}),
            "judge is llama, not gpt-4; other settings: framing is eval, not train; max_subgoals is 1, not 8; "
            "n differs: 4 of 1,000 × 3",
        ),
    ],
)
def test_whatever_departs_from_the_papers_is_said(found, said):
    assert status(found) == said


def test_a_limit_that_cut_nothing_and_a_judge_that_is_not_asked_are_no_difference():
    assert status(hotpotqa(limit=5000)) == "run"
    assert status(hotpotqa({"judge": "llama"}), "hotpotqa_em") == "run"
    spec = hotpotqa(draw=0, agent={"max_subgoals": 3}).job.spec
    job = SimpleNamespace(benchmark="gsm8k", split="test", formulation="one-pass", items=1319, spec=spec)
    assert "max_subgoals" not in str(StoredEvaluation(job, {}).departures(COLUMNS["gsm8k"])), "it plans all at once"


ORIGINAL = {"tools": {"protocol": "lumos"}}


@pytest.mark.parametrize(
    ("column", "formulation", "infer", "said"),
    [
        ("gsm8k", "iterative", {}, ["at_limit is wrong, not conclude"]),
        ("gsm8k", "iterative", {"agent": {"at_limit": "conclude"}}, []),
        ("hotpotqa", "iterative", {}, ["protocol is own, not lumos"]),
        ("hotpotqa", "iterative", {"agent": ORIGINAL}, []),
        ("strategyqa", "integrated", {"agent": {}}, ["protocol is own, not lumos"]),
        ("strategyqa", "cot", {"agent": {}}, []),  # no action runs
        ("hotpotqa", "one-pass", {"agent": ORIGINAL | {"answer_by": "qa"}}, ["formulation_version is 1, not 2"]),
        ("hotpotqa", "one-pass", {"agent": ORIGINAL | {"answer_by": "qa"}, "formulation_version": 2}, []),
        ("gsm8k", "one-pass", {}, []),
        ("gsm8k", "cot", {"agent": {"sampling": {"stop": []}}}, []),  # follows from the address
        (
            "gsm8k",
            "cot",
            {"agent": {"system": "", "sampling": {"request": {"top_k": 5}}}},
            ["request top_k is 5, not as by default", "system is none, not as by default"],
        ),
    ],
)
def test_an_evaluation_of_the_code_before_says_in_what_it_departed(column, formulation, infer, said):
    assert departures(COLUMNS[column], formulation, {"agent": {}} | infer) == said


def test_of_several_evaluations_the_one_most_like_the_papers_stands():
    exact, judged, cut = hotpotqa(), hotpotqa({"judge": "llama"}), hotpotqa(items=4, limit=4)
    warm, none = hotpotqa(sampling={"temperature": 1.0}), hotpotqa()
    none = StoredEvaluation(none.job, {role: model for role, model in none.models.items() if role != "judge"}, VERIFIED)
    other = hotpotqa({"planner": "starter"})
    column = COLUMNS["hotpotqa"]
    assert find_best(GPT4, column, [cut, none, other, warm, judged, exact]) is exact
    assert (
        find_best(GPT4, column, [other, none, cut, judged]) is judged and find_best(GPT4, column, [other, none]) is none
    )
    assert find_best(GPT4, column, [none, cut]) is cut, "without votes there is no figure"
    assert find_best(GPT4, COLUMNS["hotpotqa_em"], [none, exact]) is none, "the newer of two alike"


def test_a_judge_that_is_not_the_papers_is_refused_where_votes_count():
    with pytest.raises(SpecError, match=r"judge is llama, not gpt-4.*--any-weights"):
        check_weights(GPT4, COLUMNS["hotpotqa"], AGENT | {"judge": "llama"})
    check_weights(GPT4, COLUMNS["hotpotqa"], AGENT)
    check_weights(GPT4, COLUMNS["hotpotqa"], {role: AGENT[role] for role in ("planner", "grounder", "qa")})
    assert GPT4.needs(COLUMNS["hotpotqa"]).endswith("and gpt-4 as qa and gpt-4 as judge")
    assert GPT4.needs(COLUMNS["hotpotqa_em"]).endswith("and gpt-4 as qa")


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("9", "No table of results called '9'"),
        ("4/x", "No table of results called '4'"),
        ("1b/nope", "No row of table 1b called 'nope'. Choose one of: LUMOS-I, LUMOS-O"),
        ("1b/AgentLM-13B", "quoted from its paper"),
        ("1b/LUMOS-I", "name one, e.g. 1b/LUMOS-I/gsm8k or 1b/LUMOS-I/svamp"),
        ("1b/LUMOS-I/webshop", "No benchmark of the row 'LUMOS-I' called 'webshop'. Choose one of: gsm8k, svamp"),
    ],
)
def test_a_row_that_cannot_be_run_is_refused(what, told):
    with pytest.raises(SpecError, match=told.replace(".", r"\.")):
        find_row(what)
