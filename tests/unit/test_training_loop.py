"""What examples/loop.sh splits and reckons."""

from __future__ import annotations

import asyncio
import csv
import importlib.util
from types import ModuleType, SimpleNamespace

import pytest

from lumos_queue.builds.heldout import mask
from lumos_queue.records import Action, Task
from tests.conftest import ROOT


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_two_parts_of_mawps_share_a_question_and_the_starter_learnt_only_the_first(shared_data, tmp_path):
    example("loop_split").main(shared_data, tmp_path)
    parts = {}
    for name in ("gold", "new", "held-out"):
        with (tmp_path / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            parts[name] = [row["Question"] for row in csv.DictReader(file)]
    questions = {name: set(map(mask, rows)) for name, rows in parts.items()}
    assert sum(map(len, parts.values())) == 1314
    assert min(len(parts["new"]), len(parts["held-out"])) > 200
    assert not questions["gold"] & questions["new"]
    assert not questions["held-out"] & (questions["gold"] | questions["new"])


def success(arguments: str) -> SimpleNamespace:
    """An episode that was right about two boxes of two pens, by these means."""
    gold = Action(("R1",), "Calculator", "2 * 2")
    steps = [
        {
            "subgoal": "Multiply 2 by 2.",
            "actions": [{"variables": ["R1"], "name": gold.name, "arguments": gold.arguments, "result": "4"}],
        }
    ]
    question = "Ann has 2 boxes with 2 pens in each. How many pens has she?"
    task = Task("wordmath", "", "dev-1", question, gold={"answer": "4", "steps": steps})
    return SimpleNamespace(task=task, steps=[SimpleNamespace(detail=Action(("R1",), "Calculator", arguments))])


def test_a_success_that_fails_with_other_numbers_is_spurious():
    counts = asyncio.run(
        example("loop_report").count_perturbations([success("2 * 2"), success("2 + 2"), success("2 + 2")])
    )
    assert counts == {"general": 1, "spurious": 2, "unknown": 0}


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        ([1.0] * 30 + [0.0] * 10, "round two is better than the control"),
        ([0.0] * 40, "round two is worse than the control"),
        ([1.0] * 11 + [0.0] * 29, "round two is not shown to differ from the control"),
    ],
)
def test_the_report_says_plainly_which_is_better(second, verdict, capsys):
    def scores(values: list[float]) -> dict[str, dict[str, float]]:
        return {seed: {str(row): value for row, value in enumerate(values)} for seed in ("1", "2", "3")}

    control = [1.0] * 10 + [0.0] * 30
    example("loop_report").print_comparison("sums", {"control": scores(control), "round-two": scores(second)})
    shown = capsys.readouterr().out
    assert verdict in shown
    assert "sums, 40 tasks" in shown and shown.count("control 25.0 %") == 3


def test_fits_that_disagree_show_nothing_however_many_the_tasks(capsys):
    tasks = range(2000)
    control = {seed: dict.fromkeys(map(str, tasks), 0.0) for seed in ("1", "2", "3")}
    second = {
        seed: {str(task): float(task % 10 < won) for task in tasks} for seed, won in (("1", 0), ("2", 3), ("3", 9))
    }
    example("loop_report").print_comparison("sums", {"control": control, "round-two": second})
    shown = capsys.readouterr().out
    assert "mean difference +40.0 points" in shown and "not shown to differ" in shown


def test_the_interval_of_a_mean_is_that_of_the_textbook():
    interval = example("loop_report").compute_interval
    assert interval([1.0, 0.0, 0.0, 1.0], 1.96) == pytest.approx((0.5 - 0.5658, 0.5 + 0.5658), abs=1e-4)
    assert interval([0.3], 1.96) == (-1.0, 1.0)
