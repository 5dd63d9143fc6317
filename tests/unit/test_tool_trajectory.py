"""How `lumos show` writes a tool agent's episode in columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from db.journal.step_records import RecordedStep
from lumos_queue.cli.trajectory import with_markup
from lumos_queue.commands import ROOT, WITHIN, Call
from lumos_queue.compat.toolbench.stored_steps import count_replies, decisions_of
from lumos_queue.formulations.base import VERSION
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.notation import REPEATED
from lumos_queue.records import Action, Completion, Execution, FinishReason
from lumos_queue.reports.episode_values import Step
from lumos_queue.reports.lanes import decision_rows, rows_of
from lumos_queue.reports.step_tree import read_tree
from lumos_queue.reports.tool_agents import HEADS, column_heads, decides_alone
from lumos_queue.text_calls.decision_form import DecisionForm
from tests.tool_scripts import call
from tests.unit.test_trajectory_json import described, shown


def decision_lanes(steps: list[Step]) -> list[list[str]]:
    return [with_markup(row) for _, row in decision_rows(steps)]


def said(position: int, text: str, role: str, parent: int | None = None) -> RecordedStep:
    return RecordedStep(position, 0, "c", Completion(text, FinishReason.STOP), None, role, "p", parent)


def done(position: int, action: Action, execution: Execution, parent: int | None = None) -> RecordedStep:
    return RecordedStep(position, 0, "c", execution, action, parent=parent)


@pytest.mark.parametrize(
    ("formulation", "heads"),
    [
        ("react", ("policy: thoughts", "actions", "results")),
        ("dfsdt", ("policy: thoughts", "actions", "results")),
        ("sum2act", ("router: thoughts", "actions", "results; state_manager: records")),
        ("rewoo", ("planner: subgoals", "actions; solver: answer", "results")),
        ("tooleval", ("", "judge: labels", "")),
        ("iterative", HEADS),
        ("annotation", HEADS),
    ],
)
def test_the_roles_of_a_formulation_stand_above_the_columns(formulation, heads):
    assert column_heads(formulation) == heads


def test_every_formulation_that_calls_functions_names_its_roles():
    for name in FORMULATIONS:
        if FORMULATIONS.load(name).functions:
            assert all(role in " ".join(column_heads(name)) for role in FORMULATIONS.load(name).roles)
            assert decides_alone(name) == (name != "rewoo")


def test_thoughts_stand_beside_calls_and_records_below_results():
    guarded = Execution(REPEATED, message="made before")
    steps = shown(
        said(0, "1. Find it.", "state_manager"),
        said(1, call("look", "It may be there.", at=1), "router"),
        done(2, Action((), "look", '{"at": 1}'), Execution("ok", "seen")),
        RecordedStep(2, WITHIN, "c", Execution("ok", "seen", provenance="synthetic"), Call("api", {"arguments": {}})),
        said(3, '{"status": "success"}', "state_manager"),
        said(4, "Hm.", "router"),
        said(5, call("look", "Again.", at=1), "router"),
        done(6, Action((), REPEATED, '{"at": 1}', "look"), guarded),
        formulation="sum2act",
    )
    assert decision_lanes(steps) == [
        ["", "", "[dim]1. Find it.[/]"],
        ["It may be there.", 'look {"at": 1}', "seen"],
        ["", "[dim]  synthetic[/]", ""],
        ["", "", '[dim]{"status": "success"}[/]'],
        ["[dim]Hm.[/]", "", ""],
        ["Again.", 'look {"at": 1}', "repeated: made before"],
    ]


def test_a_tree_says_where_a_branch_begins():
    text = call("look", "Once.", at=1)
    look, failed = Action((), "look", '{"at": 1}', text), Execution("tool_error", "no", message="no")
    steps = shown(
        said(0, text, "policy", ROOT),
        done(1, look, failed, 0),
        said(2, text, "policy", 1),
        done(3, look, failed, 2),
        said(4, text, "policy", 1),
        done(5, look, failed, 4),
        said(6, text, "policy", ROOT),
        done(7, look, failed, 6),
        formulation="dfsdt",
    )
    assert [row[0] for row in decision_lanes(steps)] == [
        "Once.",
        "Once.",
        "[dim](back to step 1)[/] Once.",
        "[dim](from the beginning)[/] Once.",
    ]
    assert {row[1] for row in decision_lanes(steps)} == {'look {"at": 1}'}, "not the whole reply"


@pytest.mark.parametrize(("version", "thought"), [(1, "**Thought:** Once."), (2, "**Thought:** Once."), (3, "Once.")])
def test_replies_are_shown_and_exported_as_the_version_of_their_job_reads_them(version, thought):
    stored = [
        said(0, '**Thought:** Once.\nAction: look\nAction Input: {"at": 1}', "policy", ROOT),
        done(1, Action((), "look", '{"at": 1}'), Execution("ok", "seen"), 0),
    ]
    episode = replace(described(*stored, formulation="react"), formulation_version=version)
    steps, rows = episode.steps, rows_of(episode)
    assert rows[0][0] == [(thought, "")]
    assert read_tree(steps, version)[0][0].text == thought
    assert [one.thought for one in decisions_of(DecisionForm.SEARCH, "policy", stored, version)] == [thought]


def test_replies_of_a_role_that_judges_decisions_are_no_decisions():
    steps = [
        said(0, "Thought: first\nAction: look\nAction Input: {}", "policy", ROOT),
        done(1, Action((), "look", "{}"), Execution("ok", "seen"), 0),
        said(2, "0.8", "evaluator", 1),
        said(3, "Thought: second", "policy", 2),
        said(4, "Thought: third", "policy", ROOT),
    ]
    decisions = decisions_of(DecisionForm.SEARCH, "policy", steps, VERSION)
    assert [(decision.before, decision.thought) for decision in decisions] == [
        (-1, "first"),
        (0, "second"),
        (-1, "third"),
    ]
    assert (count_replies(steps, "policy"), count_replies(steps, "evaluator")) == (3, 1)
