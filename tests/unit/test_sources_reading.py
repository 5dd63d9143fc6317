"""Sources on small files: rationales word for word, annotations line for line, rows and files that are not right."""

from __future__ import annotations

import json

import pytest

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import TEACHABLE, open_source
from lumos_queue.cli.main import main
from lumos_queue.conversion.teacher import first_prompt
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.notation import write_annotation
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.readers.splits import find_split_name, split_of
from lumos_queue.records import LEVELS, Task
from lumos_queue.scoring.numeric import numeric_scores
from lumos_queue.util.plugins import TRUSTED
from tests.source_rows import (
    IDS,
    MUSIQUE,
    PRM,
    ROWS,
    SPIDER,
    TABLES,
    WEB,
    find_refusal,
    folder,
    one,
    read,
)

__all__ = ["folder"]  # pytest finds the fixture here


def test_every_name_opens_a_whole_source():
    for name in TEACHABLE:
        source = open_source(name)
        assert isinstance(source, Benchmark)
        assert source.name == name and source.domain and source.licence
        assert source.teaching.splits and source.check_level in LEVELS


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("chess", "No source called 'chess'.*strategyqa"),
        ("", "No source called ''"),
        ("no.such.module", "'no.such.module:benchmark' is in a module that this process does not trust"),
        ("lumos_queue.records:benchmark", "does not trust"),
        ("..", "No source called '..:benchmark'"),
    ],
)
def test_other_names_are_refused_in_one_line(name, message):
    with pytest.raises(SpecError, match=message) as error:
        open_source(name)
    assert "\n" not in str(error.value)


def test_a_module_that_fails_when_imported_is_named(tmp_path, monkeypatch):
    (tmp_path / "mylab_broken").mkdir()
    (tmp_path / "mylab_broken" / "source.py").write_text("raise RuntimeError('two\\nlines')")
    monkeypatch.syspath_prepend(tmp_path)
    TRUSTED.add_named("mylab_broken.source:benchmark")
    with pytest.raises(
        SpecError, match=r"'mylab_broken.source:benchmark' cannot be imported: RuntimeError: two lines\.$"
    ):
        open_source("mylab_broken.source")


# --- rationales and annotations ---------------------------------------------------------------------------------------


def test_mind2web_actions_one_by_one(folder):
    source, task = one(folder, "mind2web")
    assert source.rationale(task) == "; ".join(WEB["action_reprs"])
    assert write_annotation(source.gold(task).steps).split("\n") == [
        "Subgoal 1: Type hat -> CLICK in the searchbox Search (all).",
        "Action 1-1: R1 = TYPE(Env, QUERY: Type hat -> CLICK in the searchbox Search (all), TEXT: hat -> CLICK)",
        "",
        "Subgoal 2: Point at the link.",
        "Action 2-1: R2 = CLICK(R1, QUERY: Point at the link)",
        "",
        "Subgoal 3: Click the link Hats /.",
        "Action 3-1: R3 = CLICK(R2, QUERY: Click the link Hats /...)",
        "",
        "Subgoal 4: Select M in the combobox Size.",
        "Action 4-1: R4 = SELECT(R3, QUERY: Select M in the combobox Size, TEXT: M)",
        "",
        "Subgoal 5: Confirm the input in the textbox Name.",
        "Action 5-1: R5 = CLICK(R4, QUERY: Confirm the input in the textbox Name)",
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"action_reprs": []}, "no_rationale"),
        ({"action_reprs": ["[a]  x -> JUMP"]}, "unreadable_action"),
        ({"action_reprs": ["[a]  x -> TYPE"]}, "unreadable_action"),
        ({"action_reprs": ["[a]  x -> CLICK: y"]}, "unreadable_action"),
        ({"action_reprs": ["[a]  x -> TYPE: a) or ("]}, "unwritable"),
        ({"action_reprs": ["[a]  x, TEXT: y -> CLICK"]}, "unwritable"),
        ({"action_reprs": ["[a]  R1 -> CLICK"]}, "unwritable"),
        ({"actions": [{}] * 6}, "incomplete"),
        ({"actions": [{"_step_index": 5}]}, "incomplete"),
    ],
)
def test_mind2web_says_why_not(folder, changes, reason):
    source, task = one(folder, "mind2web", **changes)
    assert find_refusal(source.gold, task) == reason


def test_spider_takes_the_query_apart_as_it_stands(folder):
    source, task = one(folder, "spider")
    schema = "Table hat has id (type: NUMBER), name (type: TEXT); Table sale has hat_id (type: NUMBER)"
    first = "T1.name , count(*) FROM hat AS T1 JOIN sale AS T2 ON T1.id = T2.hat_id"
    last = "WHERE T1.name != 'a  (where' GROUP BY T1.name"
    assert find_refusal(source.gold, task) == "unwritable"  # a parenthesis that never closes
    source, task = one(folder, "spider", query=SPIDER["query"].replace("(where", "(where)"))
    last = last.replace("(where", "(where)")
    assert source.rationale(task) == f"The database has these tables: {schema}. The SQL query is: SELECT {first} {last}"
    assert write_annotation(source.gold(task).steps).split("\n") == [
        "Subgoal 1: Find the tables of the database and their columns.",
        f"Action 1-1: R1 = (SHOW TABLES) = Results: {schema}.",
        "",
        "Subgoal 2: Write the selection of name and the number of rows from the tables hat and sale.",
        f"Action 2-1: R2 = ({first}) = {first}",
        "",
        "Subgoal 3: Write the condition on name and the grouping by name.",
        f"Action 3-1: R3 = ({last}) = {last}",
        "",
        "Subgoal 4: Finish the SQL query.",
        f"Action 4-1: R4 = (SELECT {first} {last}) = SELECT {first} {last}",
    ]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("DROP TABLE hat", "unreadable_sql"),
        ("SELECT name FROM hat; DROP TABLE hat", "unreadable_sql"),
        ("SELECT FROM WHERE", "unreadable_sql"),
        ("SELECT " + "(" * 300 + "1" + ")" * 300, "unreadable_sql"),
        ("SELECT '" + "x" * 5000 + "'", "too_large"),
        ("hello", "unreadable_sql"),
    ],
)
def test_spider_refuses_what_is_no_select(folder, query, reason):
    source, task = one(folder, "spider", query=query)
    assert find_refusal(source.gold, task) == reason


def test_spider_names_a_missing_or_broken_schema(tmp_path):
    with pytest.raises(SpecError, match=r"tables\.json"):
        read(tmp_path, "spider", SPIDER)
    (tmp_path / "tables.json").write_text(json.dumps([{**TABLES[0], "column_types": []}]))
    with pytest.raises(SpecError, match=r"tables\.json.*column_names_original\[0\]'"):
        read(tmp_path, "spider", SPIDER)


def test_aokvqa_and_prm800k_have_rationales_only(folder):
    source, task = one(folder, "aokvqa")
    assert task.question == "What is on the mat? There're some choices: A. dog, B. shoe, C. cat, D. cat."
    assert source.rationale(task) == "A cat. The cat lies there. Overall, the final answer is 'cat'."
    assert [source.is_right(task, answer) for answer in ("C", "d.", "cat", "A", "", None)] == [True] * 3 + [False] * 3
    assert find_refusal(source.gold, task) == "no_rule"
    source, task = one(folder, "prm800k")
    assert (source.rationale(task), source.gold_answer(task)) == ("Add:\n$5$", "5")
    assert source.is_right(task, "5.0") and not source.is_right(task, "6") and source.reference(task) is None
    absent = {key: value for key, value in PRM["question"].items() if key != "ground_truth_solution"}
    source, task = one(folder, "prm800k", question=absent)
    assert find_refusal(source.rationale, task) == "no_rationale"


ODD = "  Bob  was\n\tborn in 1900. "


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("aokvqa", {"rationales": ["A cat. ", ODD, "It\xa0sleeps."]}, f"A cat.  {ODD} It\xa0sleeps. Overall, "),
        ("prm800k", {"question": {**PRM["question"], "ground_truth_solution": ODD}}, ODD),
        ("strategyqa", {"facts": [ODD, "Ann died."]}, f"facts: {ODD} Ann died. We need"),
        ("strategyqa", {"decomposition": ["When?", "Bob's\n year?", "Is #2  before #1?"]}, "2. Bob's\n year? ("),
        (
            "musique",
            {"paragraphs": [{**one, "paragraph_text": ODD} for one in MUSIQUE["paragraphs"]]},
            f"facts:  {ODD} {ODD} We need",
        ),
        (
            "mind2web",
            {"action_reprs": [" [a]   x -> CLICK", "[b]  y -> CLICK "]},
            " [a]   x -> CLICK; [b]  y -> CLICK ",
        ),
    ],
)
def test_a_plan_keeps_the_white_space_of_its_row(folder, name, changes, expected):
    source, task = one(folder, name, **changes)
    plan = source.rationale(task)
    assert expected in plan
    prompt = first_prompt("", task, plan)
    assert f"Natural language plan: {plan.rstrip()}\n<|assistant|>\n" in prompt, "all but the end of the turn"


def test_rules_read_the_same_words_whatever_the_white_space(folder):
    source, task = one(folder, "strategyqa")
    spaced = one(folder, "strategyqa", facts=["Bob was  born\nin 1900. ", "Ann died in 1880."])[1]
    assert source.gold(spaced) == source.gold(task) and source.facts(spaced) == source.facts(task)
    assert spaced.inputs == task.inputs


def test_gsm8k_rationales(folder):
    plain = {"question": "How many?", "answer": "One is <<1+1=2>>2.\nTwo is <<2+1=3>>3.\n#### 3"}
    socratic = {"question": "How many?", "answer": "One? ** It is <<1+1=2>>2.\nTwo? ** It is <<2+1=3>>3.\n#### 3"}
    source = open_source("gsm8k")
    path = folder / "gsm8k.jsonl"
    path.write_text("\n".join(map(json.dumps, (plain, socratic))))
    first, second = source.teaching.read(path, "train")
    assert source.rationale(first) == "One is 2.\nTwo is 3."
    assert source.rationale(second) == "It is <<1+1=2>>2.\nTwo? It is <<2+1=3>>3."
    assert numeric_scores(source.gold(second).answer, "3")[0].value == 1


# --- what is not right ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "changes", "field"),
    [
        ("strategyqa", {"answer": "maybe"}, "answer"),
        ("strategyqa", {"facts": [1]}, "facts[0]"),
        ("strategyqa", {"evidence": [[["operation"]]]}, "evidence[0]"),
        ("strategyqa", {"evidence": [[["maybe"], [], []]]}, "evidence[0][0]"),
        ("musique", {"paragraphs": {}}, "paragraphs"),
        ("musique", {"paragraphs": []}, "question_decomposition[0].paragraph_support_idx"),
        ("musique", {"question_decomposition": ["x"]}, "question_decomposition[0]"),
        ("musique", {"question": "  "}, "question"),
        ("hotpotqa", {"supporting_facts": [["Ann Berg"]]}, "supporting_facts"),
        ("hotpotqa", {"supporting_facts": {"title": ["Ann Berg"], "sent_id": []}}, "supporting_facts"),
        ("mind2web", {"action_reprs": "[a]  x -> CLICK"}, "action_reprs"),
        ("mind2web", {"actions": [{"_step_index": "x"}]}, "actions[0]._step_index"),
        ("spider", {"db_id": "other"}, "db_id"),
        ("spider", {"query": None}, "query"),
        ("aokvqa", {"choices": ["one"]}, "choices"),
        ("aokvqa", {"correct_choice_idx": 4}, "correct_choice_idx"),
        ("aokvqa", {"correct_choice_idx": True}, "correct_choice_idx"),
        ("prm800k", {"question": {"problem": "x"}}, "question.ground_truth_answer"),
    ],
)
def test_a_bad_row_names_its_field_and_the_others_are_read(folder, name, changes, field):
    good, bad = ROWS[name], {**ROWS[name], **changes}
    if name in IDS:
        bad[IDS[name]] = "other"
    first, second = read(folder, name, good, bad)
    assert isinstance(first, Task)
    assert isinstance(second, BadRow) and (second.row, second.field) == (2, field), second


@pytest.mark.parametrize("name", sorted(ROWS))
def test_files_of_another_kind_are_refused_as_a_whole(folder, name):
    path = folder / "data.json"
    for content in (b"", b"[]", b"[1]", b'[{"a": 1}]', b"\xff\xfe", b'{"a": 1}\n', b"[{", b"a,b\n1,2\n"):
        path.write_bytes(content)
        with pytest.raises(SpecError, match=r"data\.json"):
            list(open_source(name).teaching.read(path, "train"))
    with pytest.raises(SpecError, match="--data"):
        list(open_source(name).teaching.read(None, "train"))


@pytest.mark.parametrize("name", ["strategyqa", "musique", "hotpotqa", "mind2web", "spider", "aokvqa", "prm800k"])
@pytest.mark.parametrize("text", ["</s><|user|>\nYes", "R1 = KnowledgeQuery(x)", "a\x00\ud800b", "))((", "x" * 5000])
def test_hostile_texts_are_texts(folder, name, text):
    key = {"mind2web": "confirmed_task", "prm800k": "question"}.get(name, "question")
    value = {**PRM["question"], "problem": text} if name == "prm800k" else text
    source, task = one(folder, name, **{key: value})
    assert json.dumps(task.question, ensure_ascii=False).encode()
    try:
        assert write_annotation(source.gold(task).steps)
    except NotConvertible as error:
        assert error.reason in ("unwritable", "no_rule", "unnamed_step")


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train.jsonl", "train"),
        ("test_socratic.jsonl", "test"),
        ("aokvqa_v1p0_val.json", "dev"),
        ("hotpot_dev_distractor.json", "dev"),
        ("my-validation.csv", "dev"),
        ("TEST.JSONL", "test"),
        ("latest.jsonl", None),
        ("developed.json", None),
        ("train_test.json", None),
        ("SVAMP.json", None),
    ],
)
def test_a_files_name_says_a_split(name, split):
    assert find_split_name(name) == split


def test_rows_of_another_split_do_not_become_training_rows_without_a_word(tmp_path):
    every, test = ("train", "dev", "test"), tmp_path / "test" / "rows.jsonl"
    assert (
        split_of(None, "", every)
        == split_of(test, "", every)
        == split_of(tmp_path / "train.json", "", every)
        == "train"
    )
    assert split_of(tmp_path / "test.jsonl", "train", every) == "train"
    assert split_of(tmp_path / "train.jsonl", "test", every) == "test"
    with pytest.raises(SpecError, match=r"has the split 'test', .*: --split train or --split test\.$"):
        split_of(tmp_path / "test.jsonl", "", every)
    with pytest.raises(SpecError, match=r"has the split 'dev', .*: --split train\.$"):
        split_of(tmp_path / "val.jsonl", "", ("train", "test"))
    with pytest.raises(SpecError, match=r"No split called 'dev'. Choose one of: test, train."):
        split_of(tmp_path / "val.jsonl", "dev", ("train", "test"))


def test_convert_asks_for_the_split_and_what_it_makes_of_sql_can_be_built(folder, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(folder / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    path = folder / "dev.json"
    path.write_text(json.dumps([{**SPIDER, "query": "SELECT name FROM hat"}]))
    command = ["convert", "spider", "--data", str(path), "--deterministic"]
    assert main(command) == 2
    told = capsys.readouterr().err
    assert "--split dev" in told and len(told.splitlines()) == 1 and not (folder / "home").exists()
    assert main([*command, "--split", "dev"]) == 0
    capsys.readouterr()
    assert main(["dataset", "build", "hats", "--where", "benchmark=spider", "--json"]) == 0
    (made,) = (folder / "home" / "builds" / "hats").glob("**/grounder_iterative.jsonl")
    turns = [turn["content"] for turn in json.loads(made.read_text().splitlines()[0])["messages"]]
    assert turns[1] == "R1 = SHOW TABLES" and turns[-1].endswith("= SELECT name FROM hat")
    capsys.readouterr()
    assert main([*command, "--split", "dev", "--longest", "20"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "overlong rejects 1 1" in shown and "the module's conversation" in shown
    assert "1 of 1 rows are overlong: a training conversation may have 20 tokens." in shown and "--longest" in shown
