"""`lumos models`: the list, one with what it was made from, and removing one with or without its files."""

from __future__ import annotations

import re

import pytest

from db.queue.commit import commit
from db.queue.job_changes import cancel
from lumos_queue.deployment.database import database
from lumos_queue.endpoints.model_folder import digest_of_files, weights
from lumos_queue.settings import read_settings
from tests.claims import claim, holder
from tests.integration.test_incomplete import lumos, result  # noqa: F401 - the fixture
from tests.integration.test_training_rows import done, model, steps, train_job


@pytest.fixture
def stored(lumos, tmp_path):  # noqa: F811
    """Ids of two jobs: the second one's model starts from the first one's, which started from one that is not known."""
    folders = [tmp_path / "base", tmp_path / "lora"]
    for number, folder in enumerate(folders):
        folder.mkdir()
        (folder / "adapter_model.safetensors").write_bytes(bytes([number]) * 8)
    digests = [digest_of_files(weights(folder)) for folder in folders]
    models = [
        model("base", digests[0], "f" * 64, path=str(folders[0]), kind="full"),
        model("lora", digests[1], digests[0], path=str(folders[1])),
    ]
    jobs = []
    with database(read_settings(), create=True) as opened:
        for number, one in enumerate(models):
            job = train_job(opened, digest=str(number) * 64)
            who = holder(opened, job)
            (item,) = claim(opened, who, 1)
            commit(opened, who, done(item, training_steps=steps(1, 300), models=(one,)))
            jobs.append(job)
            if number:
                cancel(opened, job)
    return jobs, folders, digests


def test_the_list_and_one_model_with_its_lineage(lumos, stored):  # noqa: F811
    jobs, folders, digests = stored
    listed = result(lumos("models", "list", "--json"))["models"]
    assert [(one["name"], one["job"], one["digest"]) for one in listed] == [
        ("lora", jobs[1], digests[1]),
        ("base", jobs[0], digests[0]),
    ]
    assert all(name in lumos("models", "list").out for name in ("lora", "base", *jobs))
    for text in ("lora", f"{jobs[1]}/lora", digests[1][:6]):
        shown = result(lumos("models", "show", text, "--json"))
        assert shown["lineage"] == [
            {"digest": digests[0], "name": "base", "job": jobs[0], "builds": ["b1", "b2"]},
            {"digest": "f" * 64},
        ]
        assert (shown["files"], shown["path"], shown["builds"]) == ("present", str(folders[1]), ["b1", "b2"])
        assert (shown["fits"][0]["first_loss"], shown["fits"][0]["last_loss"]) == (3.0, 0.01)
    said = " ".join(lumos("models", "show", "lora").out.split())
    assert "loss 3.00 → 0.01 over 300 steps, 30,000 tokens" in said
    assert f"made from base ({digests[0][:12]}) ← {'f' * 12}" in said
    assert result(lumos("models", "show", "base", "--json"))["start_of"] == ["lora"]
    (folders[1] / "adapter_model.safetensors").write_bytes(b"other")
    assert result(lumos("models", "show", "lora", "--json"))["files"] == "changed"
    (folders[1] / "adapter_model.safetensors").unlink()
    assert result(lumos("models", "show", "lora", "--json"))["files"] == "missing"


def test_the_report_says_the_curve_and_its_json_has_every_step(lumos, stored):  # noqa: F811
    jobs, *_ = stored
    shown = lumos("report", jobs[1]).out
    assert re.search(r"^a +300 +30,000 +3\.0000 +0\.0100 ", shown, re.M)
    assert re.search(r"^(model lora: )?/.*/lora$", shown, re.M), "on one line, so that it can be copied"
    report = result(lumos("report", jobs[1], "--json"))
    assert len(report["training_steps"]) == 300 and [one["name"] for one in report["models"]] == ["lora"]


def test_a_model_is_removed_with_its_files_or_without(lumos, stored):  # noqa: F811
    jobs, folders, _ = stored
    refused = lumos("models", "rm", "base")
    assert refused.code == 2 and f"Job {jobs[0]}" in refused.err and "queued" in refused.err
    kept = lumos("models", "rm", "lora", "--keep-files", "--json")
    assert kept.code == 0 and result(kept)["files_removed"] is False and folders[1].is_dir()
    assert lumos("models", "show", "lora").code == 2
    lumos("cancel", jobs[0])
    (folders[0] / "adapter_model.safetensors").write_bytes(b"other")
    changed = lumos("models", "rm", "base")
    assert changed.code == 2 and "--keep-files" in changed.err and folders[0].is_dir()
    (folders[0] / "adapter_model.safetensors").write_bytes(bytes(8))
    gone = lumos("models", "rm", "base")
    assert gone.code == 0 and "with its files" in gone.out and not folders[0].exists()
    assert result(lumos("models", "list", "--json")) == {"models": []}


def test_a_name_of_several_models_or_of_none_is_refused_in_one_line(lumos, stored, tmp_path):  # noqa: F811
    jobs, folders, digests = stored
    with database(read_settings()) as opened:
        job = train_job(opened, digest="c" * 64)
        who = holder(opened, job)
        (item,) = claim(opened, who, 1)
        commit(opened, who, done(item, models=(model("lora", digests[1], path=str(folders[1])),)))
        cancel(opened, job)
    several = lumos("models", "show", "lora")
    assert several.code == 2 and f"{jobs[1]}/lora" in several.err and f"{job}/lora" in several.err
    removed = lumos("models", "rm", f"{job}/lora")  # the other row still names this folder
    assert removed.code == 0 and folders[1].is_dir() and "left as it is" in removed.out
    nobody = lumos("models", "show", "nobody")
    assert nobody.code == 2 and "lumos models list" in nobody.err
    assert lumos("rm", jobs[1], "--yes").code == 0
    assert folders[1].is_dir(), "files are removed by `lumos models rm` alone"
    assert [one["name"] for one in result(lumos("models", "list", "--json"))["models"]] == ["base"]
