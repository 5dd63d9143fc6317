"""The values of closed sets are written once, in their enums."""

from __future__ import annotations

from pathlib import Path

import pytest

from db.kinds.job_kinds import JobKind
from db.kinds.pools import Pool
from db.kinds.states import ItemState, JobState
from lumos_queue.records import Ending, FinishReason, Level, Origin, Role
from lumos_queue.reports.real_state import RealState
from tests.closed_sets import ClosedSet, Literal, find_literals

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("lumos_queue", "db", "workers")
_STATES = frozenset({"state", "states", "job_state", "item_state", "real_state"})
SETS = (
    ClosedSet(JobKind, frozenset({"kind", "kinds", "job_kind"})),
    ClosedSet(Origin, frozenset({"origin", "origins"}), frozenset({"converted", "imported"})),
    ClosedSet(Pool, frozenset({"pool", "pools", "queue"}), frozenset({"llm"})),
    ClosedSet(
        Role,
        frozenset({"role", "roles", "module", "who", "ask", "Ask"}),
        frozenset({"grounder", "solver", "router", "state_manager", "captioner", "simulator", "planner"}),
    ),
    ClosedSet(FinishReason, frozenset({"finish_reason"})),
    ClosedSet(Ending, frozenset({"ending", "endings"}), frozenset({"infra_error"})),
    ClosedSet(Level, frozenset({"level", "levels", "check_level"}), frozenset({"oracle_tool"})),
    ClosedSet(JobState, _STATES),
    ClosedSet(ItemState, _STATES, frozenset({"owed"})),
    ClosedSet(RealState, _STATES),
)


#: Texts that only look like values: they are names of other things.
OTHER_NAMES = {
    ("lumos_queue/__init__.py", "evaluate"),  # a function
    ("lumos_queue/__init__.py", "infer"),
    ("lumos_queue/training/presets.py", "planner"),  # presets of fits
    ("lumos_queue/training/rltf_presets.py", "planner"),
    ("lumos_queue/submission/requests/training.py", "planner"),
    *(("lumos_queue/cli/options.py", name) for name in ("planner", "grounder", "solver")),  # fields of a request
    ("workers/metrics.py", "waiting"),  # what requests do
}


def test_no_value_of_a_closed_set_is_written_outside_its_enum():
    literals = find_literals(ROOT, FOLDERS, SETS)
    others = {(literal.path, literal.value) for literal in literals} & OTHER_NAMES
    assert others == OTHER_NAMES, "an exception that is not needed"
    literals = [literal for literal in literals if (literal.path, literal.value) not in OTHER_NAMES]
    assert [*map(_describe, literals)] == []


@pytest.mark.parametrize(
    "line",
    [
        'job.kind == "train"',
        '"train" != row["kind"]',
        'row.get("kind") in ("train", other)',
        'JobRow.kind.in_(["train"])',
        'kind = "train" if x else y',
        'job.kind = x or "train"',
        'kind: str = "train"',
        'kinds = {"train": 1, "x": 2}',
        'other: JobKind = "train"',
        'values = {"kind": "train"}',
        'make(kind="train")',
        'def make(kind): ...\nmake("train")',
        'class Job:\n    name: str\n    kind: str\nJob("", "train")',
        'class Job:\n    def make(self, kind): ...\njob.make("train")',
        'def make(kind="train"): ...',
        'def make(*, other: JobKind = "train"): ...',
        'def kind(self):\n    return "train"',
        'def choose() -> JobKind:\n    return "train"',
        '(job.kind, size) == ("train", 2)',
        'match job.kind, size:\n    case "convert" | "train", 2: ...',
        'KINDS = ("train", "infer")',
        'NAMES = {"train": 1, "infer": 2}',
        "f\"{word(kind='train')}\"",
    ],
)
def test_a_literal_is_found_where_it_is_a_value_of_the_set(tmp_path, line):
    assert {(literal.enum, literal.value) for literal in _find(tmp_path, line)} >= {("JobKind", "train")}


@pytest.mark.parametrize(
    "line",
    [
        'split == "train"',
        'SPLITS = ("train", "test")',
        'spec.get("infer", spec)',
        "job.kind == JobKind.TRAIN",
        'job.kind == "purchase"',
        '"train"',
        'make(split="train")',
        'def make(split, kind): ...\nmake("train", JobKind.INFER)',
    ],
)
def test_a_text_that_means_something_else_is_not_a_literal(tmp_path, line):
    assert _find(tmp_path, line) == []


def test_a_value_that_nothing_else_is_called_is_a_literal_everywhere_but_in_documentation(tmp_path):
    lines = 'def page():\n    """grounder"""\n    return replies["grounder"]'
    assert [literal.line for literal in _find(tmp_path, lines)] == [3]


def _find(folder: Path, code: str) -> list[Literal]:
    own_enum = 'class Own(StrEnum):\n    KIND = "train"\n'
    (folder / "code").mkdir()
    (folder / "code" / "file.py").write_text(f"{code}\n{own_enum}")
    return find_literals(folder, ["code"], SETS)


def _describe(literal: Literal) -> str:
    return f"{literal.path}:{literal.line}: '{literal.value}' is a member of {literal.enum}"
