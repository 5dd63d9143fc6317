"""Evaluations whose replies two readers read: the scores, the options, the report, and scores that are made again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.command_line import CommandLine
from tests.fake_endpoint import FakeEndpoint

#: Question to its gold answer, and the reply to it.
ROWS = {
    "Ida has 5 pens and buys 7. How many?": (12, "Ida has **12** pens."),
    "Bo has 9 pens and loses 2. How many?": (7, "The answer is 7."),
    "Cy has 3 dozen pens. How many?": (36, "That makes **3 dozens**."),
    "Di has 8 pens and sells 1. How many?": (7, "It depends on Di, or maybe"),
}


def reply_to(prompt: str) -> str:
    return next(reply for question, (_, reply) in ROWS.items() if question in prompt)


@pytest.fixture
def server() -> Iterator[FakeEndpoint]:
    with FakeEndpoint(reply_to) as endpoint:
        yield endpoint


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    rows = ({"question": question, "answer": f"Count.\n#### {gold}"} for question, (gold, _) in ROWS.items())
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def evaluate(lumos: CommandLine, data: Path, solver: str, *options: object) -> dict:
    shared = ("--data", data, "--formulation", "cot", "--solver", solver, "--json")
    return lumos("evaluate", "gsm8k", *shared, *options).json


def values(report: dict) -> dict[str, float]:
    return {name: metric["value"] for name, metric in report["metrics"].items()}


def test_a_chat_server_is_read_flexibly_and_other_addresses_by_phrase(lumos, data, server):
    chat = evaluate(lumos, data, server.chat)
    assert chat["reader"] == "flexible" and chat["metric"] == "accuracy"
    assert values(chat) == {"accuracy": 0.75, "strict": 0.75, "accuracy_phrase": 0.25}
    other = evaluate(lumos, data, server.openai)
    assert other["reader"] == "phrase"
    assert values(other) == {"accuracy": 0.25, "strict": 0.25, "accuracy_flexible": 0.75}
    assert chat["scoring"]["versions"] == {"accuracy": {"3": 4}, "accuracy_phrase": {"1": 4}, "strict": {"1": 4}}
    assert len(chat["metrics"]["accuracy_phrase"]["ci95"]) == 2


def test_direct_replies_are_read_flexibly_too(lumos, data, server):
    shared = ("--data", data, "--formulation", "direct", "--solver", server.chat, "--json")
    report = lumos("evaluate", "gsm8k", *shared).json
    assert values(report) == {"accuracy": 0.75, "strict": 0.75, "accuracy_phrase": 0.0}


def test_the_reader_is_chosen_stored_shown_and_compared(lumos, data, server):
    chat = evaluate(lumos, data, server.chat)
    phrase = evaluate(lumos, data, server.chat, "--reader", "phrase")
    assert phrase["job"] != chat["job"] and values(phrase)["accuracy_flexible"] == 0.75
    again = lumos("rerun", chat["job"], "--reader", "phrase", "--json").json
    assert again["job"] == phrase["job"], "the same request"
    assert lumos("rerun", phrase["job"], "--seed", 5, "--json").json["reader"] == "phrase", "it is kept"
    output = lumos("report", chat["job"], phrase["job"]).out
    assert re.search(r"^ +reader flexible +reader phrase$", output, re.M) and "accuracy flexible" in output
    assert "of 4: 1 without an answer" in output and "of 4: 3 without an answer" in output
    compared = lumos("compare", chat["job"], phrase["job"], "--json").json
    assert [job["differs"] for job in compared["jobs"]] == [{"reader": "flexible"}, {"reader": "phrase"}]
    assert lumos("compare", chat["job"], phrase["job"], "--metric", "accuracy_phrase").code != 0


def test_the_report_counts_replies_that_were_cut_and_those_without_an_answer(lumos, data, server):
    report = evaluate(lumos, data, server.chat)
    assert report["reply_endings"] == {"solver": {"replies": 4, "cut": 0, "unanswered": 1}}
    engine = create_engine(f"sqlite:///{lumos.home / 'lumos.db'}")
    with engine.begin() as connection:
        changed = "UPDATE completion SET finish_reason = 'length' WHERE reply LIKE '%maybe'"
        assert connection.execute(text(changed)).rowcount == 1
    engine.dispose()
    assert lumos("report", report["job"], "--json").json["reply_endings"]["solver"]["cut"] == 1
    assert "of 4: 1 cut at the limit of tokens, 1 without an answer" in lumos("report", report["job"]).out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--reader", "nope"), "--reader must be one of phrase, flexible, not 'nope'."),
        (
            ("--reader", "phrase", "--formulation", "one-pass"),
            "The formulation 'one-pass' reads no answer from a single",
        ),
    ],
)
def test_a_reader_that_is_none_or_has_no_effect_is_refused(lumos, data, options, message):
    refused = lumos("evaluate", "gsm8k", "--data", data, "--formulation", "cot", "--solver", "tgi://one:1", *options)
    assert refused.code == 2 and message in refused.err


def test_another_formulation_leaves_the_reader_out(lumos, data, server):
    job = evaluate(lumos, data, server.chat, "--reader", "phrase")["job"]
    again = lumos("rerun", job, "--formulation", "integrated", "--json")
    assert "reader" not in again.json


def test_the_other_readers_score_is_made_again_from_the_stored_replies(lumos, data, server):
    report = evaluate(lumos, data, server.chat)
    engine = create_engine(f"sqlite:///{lumos.home / 'lumos.db'}")
    with engine.begin() as connection:  # as a job of version 2 stored it
        for table in ("score", "score_sum"):
            connection.execute(text(f"DELETE FROM {table} WHERE metric = 'accuracy_phrase'"))
    assert "accuracy_phrase" not in lumos("report", report["job"], "--json").json["metrics"]
    scored = lumos("score", report["job"], "--scorer", "other_reader", "--json").json
    assert (scored["metrics"], scored["episodes"], scored["version"]) == (["accuracy_phrase"], 4, "1")
    assert values(lumos("report", report["job"], "--json").json) == values(report)
    assert lumos("score", report["job"], "--scorer", "other_reader", "--json").json["episodes"] == 0
    engine.dispose()


def test_numbers_that_an_earlier_version_judged_are_judged_again(lumos, data, server):
    job = evaluate(lumos, data, server.openai, "--reader", "phrase")["job"]
    engine = create_engine(f"sqlite:///{lumos.home / 'lumos.db'}")
    with engine.begin() as connection:
        for table in ("score", "score_sum"):
            changed = f"UPDATE {table} SET version = '2' WHERE metric = 'accuracy'"
            assert connection.execute(text(changed)).rowcount
    engine.dispose()
    assert lumos("score", job, "--scorer", "numbers", "--json").json["episodes"] == 4
    report = lumos("report", job, "--json").json
    assert report["scoring"]["versions"]["accuracy"] == {"3": 4} and report["value"] == 0.25


def test_a_job_without_readers_is_not_scored_by_them(lumos, data, server):
    report = lumos(
        "evaluate", "gsm8k", "--data", data, "--formulation", "integrated", "--solver", server.chat, "--json"
    ).json
    assert "reader" not in report
    refused = lumos("score", report["job"], "--scorer", "other_reader")
    assert refused.code == 2 and "it is for inferences and evaluations by cot and direct" in refused.err
