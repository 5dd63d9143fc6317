"""The counts of a manifest as people read them."""

from __future__ import annotations

from typing import Any

import pytest

from lumos_queue.builds import summary
from lumos_queue.builds.card import card
from lumos_queue.cli.build_tables import print_build

MANIFEST: dict[str, Any] = {
    "name": "one",
    "digest": "d" * 64,
    "rows": 12,
    "folder": "/builds/one",
    "warning": "",
    "options": {
        "where": "score=1",
        "format": "lumos",
        "formulations": ["iterative", "one-pass"],
        "select": "all",
        "per_task": 0,
        "level": "",
        "mix": {"gsm8k": 0.7, "svamp": 0.3},
        "near": 0.9,
        "dev_share": 0.0,
        "seed": 0,
        "against": {},
        "allow_test": False,
        "allow_contaminated": False,
        "reexecute": True,
        "perturbed": False,
    },
    "files": [{"file": "planner_iterative.jsonl", "part": "train", "rows": 12, "average_turns": 3.5, "sha256": ""}],
    "episodes": {
        "read": 30,
        "used": 6,
        "left_out": {"rejected: empty result": 4, "rejected: wrong final answer": 8, "duplicate": 11, "no steps": 1},
        "not_written": {"iterative: it is loose": 3, "no steps": 1},
    },
    "verdicts": {
        "planner": {"wrong final answer": 8, "empty result": 4},
        "grounder": {"wrong final answer": 8, "overlong": 1},
        "noted": {"ambiguous link": 7},
    },
    "levels": {"perturbed": 2, "": 1, "format": 3, "executed": 6},
    "licences": {"MIT": {"gsm8k": 10, "svamp": 2}},
    "contamination": {"gsm8k:test.jsonl": {"rows": 1319, "unreadable": 2}, "svamp": "not checked"},
    "code_version": "abc",
    "created_at": "2025-01-01T00:00:00+00:00",
}


def test_what_was_left_out_and_used_is_what_was_read():
    left_out = summary.exclusions(MANIFEST)
    assert left_out == [("rejected by filters, planner and grounder", 12), ("duplicate", 11), ("no steps", 1)]
    assert sum(count for _, count in left_out) + MANIFEST["episodes"]["used"] == MANIFEST["episodes"]["read"]


def test_a_reason_that_left_an_episode_out_is_not_told_again():
    assert summary.list_unwritten_formulations(MANIFEST) == [("iterative: it is loose", 3)]


def test_filters_stand_once_with_both_modules():
    assert summary.rejections(MANIFEST) == [("wrong final answer", 8, 8), ("empty result", 4, 0), ("overlong", 0, 1)]


def test_levels_stand_in_the_order_of_their_strength():
    assert summary.levels(MANIFEST) == [("not checked", 1), ("format", 3), ("executed", 6), ("perturbed", 2)]


def test_test_sets_say_whether_they_were_checked():
    assert summary.test_sets(MANIFEST) == "checked: gsm8k:test.jsonl (1,319 rows, 2 unreadable); not checked: svamp"
    assert summary.test_sets({"contamination": {"svamp": "not checked"}}) == "checked: none; not checked: svamp"


def test_the_recipe_names_what_was_asked_for_alone():
    told = dict(summary.properties(MANIFEST))
    assert told["mix"] == "gsm8k 70.0 %, svamp 30.0 %"
    assert told["further"] == "actions run again, other results left out"
    assert told["licences"] == "MIT: gsm8k 10 rows, svamp 2 rows"
    assert "check level" not in told


@pytest.mark.parametrize("width", [80, 100])
def test_each_reason_is_printed_once(monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    print_build(MANIFEST)
    shown = capsys.readouterr().out
    assert all(len(line) <= width for line in shown.splitlines())
    for reason in ("wrong final answer", "empty result", "ambiguous link", "no steps", "it is loose"):
        assert shown.count(reason) == 1
    assert shown.count("of 30 episodes") == 3


@pytest.mark.parametrize(("licences", "told"), [(("MIT",), "mit"), (("unknown",), "other"), (("MIT", "x"), "other")])
def test_the_card_names_the_licence_only_when_it_is_the_only_one_and_known(licences, told):
    text = card(MANIFEST | {"licences": {licence: {"gsm8k": 6} for licence in licences}})
    assert f"\nlicense: {told}\n" in text
