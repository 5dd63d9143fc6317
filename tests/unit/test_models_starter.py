"""Which starter is used: the adapter where its base is here, otherwise the model from scratch."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from lumos_queue.cli.main import main
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.formulations.registry import starter_names
from lumos_queue.models import starter
from lumos_queue.models.starter import remark_on_starter, starter_url
from lumos_queue.settings import Settings
from tests.tiny_adapter import make_tiny_adapter
from tests.tiny_model import make_tiny_model


@pytest.fixture
def shipped(tmp_path, monkeypatch) -> Path:
    """A copy that ships a tiny adapter for `iterative` beside the models from scratch; its base is not installed."""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    folder = tmp_path / "shipped"
    shutil.copytree(starter._FOLDERS[1], folder)
    make_tiny_model(tmp_path / "base", context=1024)
    make_tiny_adapter(tmp_path / "base", folder / "smollm2-iterative")
    monkeypatch.setattr(starter, "_FOLDERS", (tmp_path / "nothing", folder))
    (tmp_path / "base").rename(tmp_path / "kept")
    return folder


def install(shipped: Path) -> None:
    shutil.copytree(shipped.parent / "kept", shipped.parent / "home" / "models" / "smollm2")


def test_without_the_base_the_small_model_is_used_and_said(shipped):
    assert starter_url("iterative") == f"local:{shipped / 'iterative'}"
    assert "run `lumos models get smollm2` for the larger one" in remark_on_starter("iterative")


def test_with_the_base_the_adapter_is_used(shipped):
    install(shipped)
    assert starter_url("iterative") == f"local:{shipped / 'smollm2-iterative'}"
    assert remark_on_starter("iterative") == ""
    endpoint = open_endpoint(starter_url("iterative"), Settings())
    known = asyncio.run(endpoint.identity())
    assert (known["model"], "adapter_sha256" in known) == ("smollm2-iterative", True)
    asyncio.run(endpoint.close())


def test_the_one_from_scratch_can_be_asked_for(shipped):
    install(shipped)
    assert starter_url("iterative", starter.FROM_SCRATCH) == f"local:{shipped / 'iterative'}"


def test_one_pass_has_one_model_and_no_remark(shipped):
    install(shipped)
    assert starter_url("one-pass") == f"local:{shipped / 'one-pass'}"
    assert remark_on_starter("one-pass") == ""


@pytest.mark.parametrize("formulation", starter_names())
def test_a_copy_without_an_adapter_says_nothing(shipped, formulation):
    shutil.rmtree(shipped / "smollm2-iterative")
    assert starter_url(formulation) == f"local:{shipped / formulation}"
    assert remark_on_starter(formulation) == ""


@pytest.mark.parametrize(("agent", "said"), [("starter", 1), ("starter-scratch", 0)])
def test_evaluate_says_once_which_one_it_uses(shipped, capsys, agent, said):
    assert main(["evaluate", "wordmath", "--agent", agent, "--limit", "1", "--json"]) in (0, 1)
    assert capsys.readouterr().err.count("lumos models get smollm2") == said


def test_evaluate_runs_the_adapter(shipped, capsys):
    install(shipped)
    assert main(["evaluate", "wordmath", "--agent", "starter", "--limit", "1", "--json"]) in (0, 1)
    assert len([path for path in (shipped.parent / "home/models/merged").iterdir() if path.is_dir()]) == 1
