"""Names, settings and messages of trackers."""

from __future__ import annotations

import importlib.util

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.training.trackers.environment import hide_keys, missing_setting, prepare
from lumos_queue.training.trackers.messages import LoggedStep, Reply, RunHeader, Stage, TrackedStep, flatten
from lumos_queue.training.trackers.names import check_trackers
from lumos_queue.training.trackers.tracker_process import Positions
from lumos_queue.util.launch_folder import VARIABLE


def test_an_unknown_tracker_is_refused_also_for_work_of_other_machines():
    with pytest.raises(SpecError, match=r"No tracker called 'tensorbord'\. Did you mean 'tensorboard'"):
        check_trackers(["wandb", "tensorbord"], is_local=False)


def test_a_missing_package_is_refused_only_for_work_of_this_machine(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SpecError, match=r"'trackio' needs the Python package trackio: pip install .*\[trackers\]"):
        check_trackers(["trackio"], is_local=True)
    check_trackers(["trackio"], is_local=False)


def test_wandb_needs_a_key_or_no_server(monkeypatch, tmp_path):
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_BASE_URL", "WANDB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "netrc"
    monkeypatch.setenv("NETRC", str(file))
    assert "WANDB_API_KEY, or WANDB_MODE=offline" in missing_setting("wandb")
    file.write_text("machine api.wandb.ai login user password secret\n")
    file.chmod(0o600)
    assert missing_setting("wandb") == ""
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.example.org")
    assert "WANDB_API_KEY" in missing_setting("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    assert missing_setting("wandb") == ""


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("sqlite:////data/mlflow.db", "sqlite:////data/mlflow.db"),
        ("sqlite:///mlflow.db", "sqlite:////launch/mlflow.db"),
        ("runs", "/launch/runs"),
        ("databricks", "databricks"),
    ],
)
def test_a_relative_address_of_mlflow_is_below_the_launch_folder(address, expected, monkeypatch):
    monkeypatch.setenv(VARIABLE, "/launch")
    variables = {"MLFLOW_TRACKING_URI": address, "RANK": "1", "TRACKIO_DIR": "tracked"}
    prepare(variables)
    assert variables["MLFLOW_TRACKING_URI"] == expected
    assert variables["TRACKIO_DIR"] == "/launch/tracked" and "RANK" not in variables


def test_a_message_has_neither_keys_nor_addresses(monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "k3y0fwandb")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://user:pa55word@mlflow.example.org:8443/base")
    message = (
        "no answer from\nhttps://user:pa55word@mlflow.example.org:8443/base/api (host mlflow.example.org), k3y0fwandb"
    )
    assert hide_keys(message) == "no answer from MLFLOW_TRACKING_URI/api (host MLFLOW_TRACKING_URI), ***"
    assert "pa55word" not in hide_keys("the password pa55word is wrong")
    assert len(hide_keys("x" * 5000)) == 300


def test_messages_are_read_as_they_were_written():
    header = RunHeader("mlflow", "train-1", "0123456789abcdef", "/fit", {"steps": 3})
    assert RunHeader.from_line(header.as_line()) == header and header.run == "train-1-0123456789ab"
    reply = Reply(Stage.RUNNING, 4, 2, "slow")
    assert Reply.from_line(reply.as_line()) == reply
    assert LoggedStep.from_line(TrackedStep("", 2, {"loss": 0.5}).as_line(2)) == LoggedStep(2, {"loss": 0.5})
    assert LoggedStep.from_line(TrackedStep("a", 2, {"loss": 0.5}).as_line(5)) == LoggedStep(5, {"a/loss": 0.5})


def test_steps_are_numbered_over_the_fits_of_a_job():
    numbers = Positions()
    fits = [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("a", 2), ("b", 2), ("b", 3)]
    assert [numbers.of(TrackedStep(fit, step, {})) for fit, step in fits] == [1, 2, 3, 4, 2, 4, 5]


def test_a_request_is_a_flat_configuration():
    request = {"recipe": "sft", "fit": {"rate": 0.1, "lora": {"rank": 8}, "none": None}, "data": ["a", "b"]}
    expected = {"recipe": "sft", "fit.rate": 0.1, "fit.lora.rank": 8, "data": '["a", "b"]'}
    assert flatten(request) == expected
