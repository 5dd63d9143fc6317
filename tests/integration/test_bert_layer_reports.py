"""A report remarks on scores of the last layer, and a layer that the model lacks is refused before a job is stored."""

from __future__ import annotations

import json

import pytest

from lumos_queue.benchmarks.openagi.splits import tasks_of
from tests.command_line import CommandLine
from tests.tiny_scores import make_bert


@pytest.fixture
def lumos(tmp_path, monkeypatch, capsys) -> CommandLine:
    command_line = CommandLine(tmp_path / "home", monkeypatch, capsys)
    command_line.set(LUMOS_BERT_WEIGHTS=make_bert(tmp_path / "encoder"))
    rules = [{"contains": f"{task.description}\n", "reply": task.plan.write()} for task in tasks_of("labelled")]
    (tmp_path / "gold.json").write_text(json.dumps(rules))
    return command_line


def evaluate(lumos: CommandLine, tmp_path, *options):
    return lumos(
        "evaluate",
        "openagi",
        *("--split", "labelled", "--option", "samples=1", "--formulation", "model-synthesis", "--tool"),
        *("experts=oracle", "--planner", f"scripted:{tmp_path / 'gold.json'}", *options),
    )


def test_the_last_layer_is_a_remark_and_a_chosen_layer_is_in_the_version(lumos, tmp_path):
    scoring = evaluate(lumos, tmp_path, "--json").json["scoring"]
    (version,) = scoring["versions"]["bert_score"]
    (remark,) = scoring["remarks"]
    assert version.startswith("encoder@") and version in remark and "last layer" in remark
    lumos.set(LUMOS_BERT_LAYER=1)
    report = evaluate(lumos, tmp_path, "--json", "--seed", "1").json
    (version,) = report["scoring"]["versions"]["bert_score"]
    assert version.startswith("encoder layer 1@") and "remarks" not in report["scoring"]
    printed = lumos("report", report["job"], "--all").out
    assert "encoder layer 1@" in printed and "LUMOS_BERT_LAYER" not in printed


def test_a_layer_that_the_model_lacks_is_refused(lumos, tmp_path):
    lumos.set(LUMOS_BERT_LAYER=3)
    refusal = evaluate(lumos, tmp_path)
    assert refusal.code == 2 and "LUMOS_BERT_LAYER=3 cannot be used: expected a layer from 0 to 2" in refusal.err
    assert len(refusal.err.splitlines()) == 1
    assert not (tmp_path / "home/lumos.db").exists() or "0 jobs" in lumos("jobs").out or lumos("jobs").lines == []
