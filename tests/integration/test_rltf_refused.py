"""Fits from rewards that cannot be made as they are asked for: one line that says what to do, and nothing is lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from sqlalchemy import update

from db.models import EpisodeRow, ScoreRow
from lumos_queue.training.engine.checkpoints import checkpoint_of
from tests.integration.test_incomplete import lumos  # noqa: F401 - the fixture
from tests.rltf_jobs import OPENAGI, begin_fit
from tests.tiny_planners import write_planner

OPENAGI_OPTIONS = {"--split": "feedback", "--limit": "4", "--tool": "experts=oracle:", "--option": "samples=1"}
SAMPLED = "Without it every try of a task would be the same."


@pytest.fixture(scope="module")
def planner(tmp_path_factory) -> Path:
    return write_planner(tmp_path_factory.mktemp("planner") / "start")


@pytest.mark.parametrize(
    ("benchmark", "changes", "message"),
    [
        (
            "openagi",
            {"--split": "heldout"},
            "The split 'heldout' of 'openagi' is a test split: learn from another.",
        ),
        ("wordmath", {"--split": "test"}, "The split 'test' of 'wordmath' is a test split: learn from another."),
        ("openagi", {"--reward": "praise"}, "No reward of 'openagi' called 'praise'. Choose one of: bert_score, chrf,"),
        (
            "wordmath",
            {"--reward": "proxies"},
            "No reward of 'wordmath' called 'proxies'. Choose one of: accuracy, strict.",
        ),
        ("openagi", {"--limit": "1", "--reward": "clip_score"}, "No task of 'openagi' (feedback) has the reward"),
        ("openagi", {"--preset": "gpt"}, "No preset called 'gpt'. Choose one of: flan-t5-large, llama-2-13b, planner"),
        ("wordmath", {"--temperature": "0"}, f"'one-pass' have to be sampled: give --temperature 1. {SAMPLED}"),
        ("openagi", {"--setting": "candidates=1"}, "every try of a task would be the same. Ask for more."),
        ("openagi", {"--setting": "candidates=9"}, "candidates=9 is more than --sampling planner.beams=5"),
        ("openagi", {"--temperature": "1", "--beams": "4"}, "--beams is for a search, which needs temperature 0"),
        (
            "openagi",
            {"--temperature": "1", "--epsilon": "0.5"},
            "--epsilon draws among the plans of a search: leave out",
        ),
        ("openagi", {"--temperature": "1", "--setting": "candidates=4"}, "needs --sampling planner.temperature=0"),
        ("openagi", {"--temperature": "inf"}, "--temperature is inf: expected a number of at least 0."),
        ("openagi", {"--infeasible": "-inf"}, "--infeasible is -inf: expected a finite number."),
        ("openagi", {"--from": "nowhere"}, "No folder 'nowhere': --from names a Hugging Face model folder"),
        ("openagi", {"--from": "other"}, "other' is not a model folder: it has no config.json."),
        ("openagi", {"--folder": "other"}, "holds something else already: name a new or empty one."),
        ("openagi", {"--baseline": "mean"}, "No baseline called 'mean'. Choose one of: moving, none, released."),
        ("openagi", {"--baseline": "released"}, "give --batch 1 and --samples 1, not 55 and 1."),
        (
            "openagi",
            {"--baseline": "released", "--batch": "1", "--samples": "2"},
            "give --batch 1 and --samples 1, not 1 and 2.",
        ),
        ("openagi", {"--batch": "1", "--shuffle-rewards": ""}, "--shuffle-rewards needs several rewards in a step"),
        ("openagi", {"--grounder": "scripted:x.json"}, "'model-synthesis' has no role grounder"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(lumos, planner, tmp_path, monkeypatch, benchmark, changes, message):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    options = {"--from": str(planner), "--folder": "fit"}
    options |= OPENAGI_OPTIONS if benchmark == "openagi" else {"--split": "dev", "--formulation": "one-pass"}
    options |= {} if benchmark == "openagi" else {"--grounder": f"local:{planner}"}
    ran = lumos("train", "rltf", benchmark, *(text for pair in (options | changes).items() for text in pair if text))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].startswith("lumos: ") and message in ran.err.splitlines()[-1]
    assert not (tmp_path / "home").exists(), "nothing is stored"
    assert not (tmp_path / "fit").exists() and (tmp_path / "other" / "notes.txt").read_text() == "mine"


def test_tasks_to_test_with_are_left_out_of_all_tasks(planner, tmp_path):
    whole = OPENAGI | {"split": "all", "limit": 0, "settings": ()}
    with begin_fit(tmp_path / "home", planner, reward="plan_order", **whole) as fit:
        assert len(fit.recipe.rows) == 185 - 55
    with begin_fit(tmp_path / "other", planner, reward="ssim", **whole) as fit:
        pictures = len(fit.recipe.rows)
    assert 0 < pictures < 130, "a text is not judged by it"


def damage(checkpoint: Path) -> None:
    (checkpoint / "training.pt").write_bytes(b"not what was written")


def lose(checkpoint: Path) -> None:
    shutil.rmtree(checkpoint)


def mix_up(checkpoint: Path) -> None:
    seal = json.loads((checkpoint / "seal.json").read_text())
    (checkpoint / "seal.json").write_text(json.dumps(seal | {"fit": "ab" * 32}))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (damage, "The checkpoint '{}' is damaged: training.pt is not as it was written."),
        (lose, "'{}' is not a checkpoint of a fit: it has no seal.json."),
        (mix_up, "The checkpoint '{}' is of another fit: name a new --folder."),
    ],
)
def test_a_checkpoint_that_cannot_be_used_fails_the_fit_before_anything_is_asked(planner, tmp_path, spoil, message):
    with begin_fit(tmp_path / "home", planner) as fit:
        checkpoint = checkpoint_of(fit.recipe.checkpoints(), 0)
        spoil(checkpoint)
        fit.work()
        assert (fit.row().state, fit.rollouts()) == ("failed", [])
        assert fit.row().waiting == f"item 1: {message.format(checkpoint)}"


def test_rewards_that_are_all_equal_are_told_in_the_report(lumos, planner, tmp_path):  # noqa: F811
    with begin_fit(tmp_path / "home", planner) as fit:
        fit.evaluate()
        with fit.database.writer.begin() as connection:
            connection.execute(update(ScoreRow).values(value=0.0))
            connection.execute(update(EpisodeRow).values(ending="infeasible"))
        fit.work()
        assert [one.state for one in fit.items()][:2] == ["done", "done"]
    report = lumos("report", fit.job)
    assert "note: all rewards are equal: nothing tells one plan from another (step 1)" in " ".join(report.out.split())
