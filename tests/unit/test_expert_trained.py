"""`lumos train experts` and `own:PATH`: networks that are trained for a few steps, used in a plan, and broken."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from lumos_queue.actions.experts.options import prepare_experts
from lumos_queue.benchmarks.openagi.data.samples import load_input
from lumos_queue.benchmarks.openagi.tasks import TASKS
from lumos_queue.cli.main import main
from lumos_queue.errors import ActionError, SpecError
from lumos_queue.experts.backends import registry
from lumos_queue.experts.backends.own.config import CONFIG, MODELS, WEIGHTS
from lumos_queue.experts.backends.registry import resolve
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.host import ExpertHost
from lumos_queue.training.recipes.experts import experts
from tests.fake_endpoint import FakeEndpoint

TRAINED = ("Image Denoising", "Sentiment Analysis")
OPTIONS = [EXPERTS[name].option for name in TRAINED]


def train(folder: Path, *more: str, names: tuple[str, ...] = TRAINED) -> int:
    only = [part for name in names for part in ("--only", EXPERTS[name].option)]
    return main(("train", "experts", "--folder", str(folder), "--steps", "2", *only, *more, "--json"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A folder with two experts: the command trains the sentiment analysis, its function the denoising.

    The function runs in this process, which has loaded torch, and measures six samples instead of sixty.
    """
    from lumos_queue.training.experts import dev
    from lumos_queue.training.experts.work import train_expert

    home = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LUMOS_HOME", str(home / "home"))
        assert train(home / "experts", names=("Sentiment Analysis",)) == 0
        patch.setattr(dev, "SAMPLES", 6)
        train_expert(experts(home / "experts", OPTIONS, "both", 2, 0), "Image Denoising")
    return home / "experts"


@pytest.fixture
def copied(trained, tmp_path) -> Path:
    """A copy that a test may break."""
    registry._find_here.cache_clear()
    return shutil.copytree(trained, tmp_path / "experts")


@pytest.mark.long
def test_the_command_trains_what_it_is_asked_for_and_says_how(tmp_path, monkeypatch):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    trained = tmp_path / "experts"
    assert train(trained) == 0
    assert sorted(path.name for path in trained.iterdir()) == sorted(OPTIONS), "and leaves nothing else behind"
    config = json.loads((trained / "image-denoising" / CONFIG).read_bytes())
    training = config["training"]
    assert (config["expert"], config["licence"], training["split"]) == ("Image Denoising", "MIT", "train")
    assert (training["steps"], training["request"]["seed"]) == (2, 0)
    assert [(one["profile"], one["measure"], one["n"]) for one in training["dev"]] == [
        ("released", "dB", 60),
        ("strong", "dB", 60),
    ]
    assert all(one["expert"] > 10 for one in training["dev"])


def test_the_job_has_each_optimizer_step_of_its_experts(trained, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(trained.parent / "home"))
    assert main(("jobs", "--json")) == 0
    job = json.loads(capsys.readouterr()[0])["jobs"][0]["job"]
    assert main(("report", job, "--json")) == 0
    report = json.loads(capsys.readouterr()[0])
    steps = [(step["item"], step["fit"], step["step"]) for step in report["training_steps"]]
    assert steps == [(0, "Sentiment Analysis", 1), (0, "Sentiment Analysis", 2)]
    assert [fit["last_loss"] for fit in report["fits"]] == [report["training_steps"][-1]["loss"]]
    assert main(("report", job, "--all")) == 0
    text = capsys.readouterr()[0]
    assert "Sentiment Analysis: dev " in text and "Loss over optimizer steps" in text


def test_the_folder_s_networks_run_and_rules_do_the_rest(trained):
    said = {name: resolve(name, f"own:{trained}").note.partition(":")[0] for name in MODELS}
    assert said == {name: "trained" if name in TRAINED else "by rule" for name in MODELS}
    given = {"image": load_input("captions", "test", 0, "image", ("noisy",)), "text": b"the plot is dull and weak ."}

    async def run() -> list[object]:
        host = ExpertHost()
        try:
            return [
                (await host.run(resolve(name, f"own:{trained}"), [[given[EXPERTS[name].slots[0].name]]]))[0]
                for name in TRAINED
            ]
        finally:
            await host.close()

    picture, sentiment = asyncio.run(run())
    assert isinstance(picture, bytes) and picture.startswith(b"\x89PNG") and picture != given["image"]
    assert sentiment in (b"positive", b"negative")


def test_a_plan_runs_over_trained_experts(trained, tmp_path, monkeypatch, capsys):
    """The plan denoises, so that its picture comes from the network."""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    task = next(one for one in TASKS if one.plan.names == ("Image Denoising",))
    with FakeEndpoint(lambda prompt: task.plan.write()) as server:
        asked = ("--formulation", "model-synthesis", "--planner", server.tgi, "--tool", f"experts=own:{trained}")
        rows = ("--split", "all", "--limit", "3", "--option", "samples=1")
        assert main(("evaluate", "openagi", *asked, *rows, "--json")) == 0
    report = json.loads(capsys.readouterr()[0].splitlines()[-1])
    assert report["n"] == 3 and set(report["endings"]) <= {"answered", "infeasible"}, report["endings"]


def test_the_digest_is_that_of_the_weights(copied, trained):
    from safetensors.numpy import load_file, save_file

    both = [prepare_experts({"experts": f"own:{folder}"})["experts_sha256"] for folder in (copied, trained)]
    assert both[0] == both[1], "wherever the folder is"
    weights = load_file(copied / "image-denoising" / WEIGHTS)
    weights["first.bias"] = weights["first.bias"] + 1
    save_file(weights, copied / "image-denoising" / WEIGHTS)
    registry._find_here.cache_clear()
    assert prepare_experts({"experts": f"own:{copied}"})["experts_sha256"] != both[0]


def cut_off(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:-10])


def swap(folder: Path) -> None:
    shutil.copy(folder.parent / "sentiment-analysis" / CONFIG, folder / CONFIG)


def pickle(folder: Path) -> None:
    (folder / WEIGHTS).rename(folder / "model.pt")


def change_format(folder: Path) -> None:
    config = json.loads((folder / CONFIG).read_bytes())
    (folder / CONFIG).write_text(json.dumps(config | {"format": 9}))


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (cut_off, "cannot be read.*Train it again"),
        (swap, "is of Sentiment Analysis, not of Image Denoising"),
        (pickle, "needs safetensors.*model.pt"),
        (change_format, "has format 9"),
        (lambda folder: (folder / CONFIG).write_text("[" * 9000), "expected a file that `lumos train experts` wrote"),
        (lambda folder: (folder / CONFIG).unlink(), "has no config.json"),
        (lambda folder: shutil.rmtree(folder.parent), "is no folder"),
        (lambda folder: [shutil.rmtree(one) for one in folder.parent.iterdir()], "has none"),
    ],
)
def test_what_cannot_be_used_is_refused_at_submission(copied, harm, says):
    harm(copied / "image-denoising")
    for option in ("experts", "image-denoising"):
        with pytest.raises(SpecError, match=says) as raised:
            prepare_experts({"experts": "own", option: f"own:{copied}"})
        assert "\n" not in str(raised.value)


def test_a_broken_folder_ends_a_submission_with_one_line(copied, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    cut_off(copied / "image-denoising")
    asked = ("--formulation", "model-synthesis", "--planner", "http://127.0.0.1:9", "--split", "heldout")
    assert main(("evaluate", "openagi", *asked, "--tool", f"experts=own:{copied}")) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_weights_of_another_shape_fail_the_run_with_one_line(copied):
    path = copied / "image-denoising" / CONFIG
    config = json.loads(path.read_bytes())
    path.write_text(json.dumps(config | {"shape": config["shape"] | {"channels": 8}}))

    async def run() -> None:
        host = ExpertHost()
        try:
            await host.run(resolve("Image Denoising", f"own:{copied}"), [[b"?"]])
        finally:
            await host.close()

    with pytest.raises(ActionError, match=r"are not those of its config\.json"):
        asyncio.run(run())


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (("experts", "--only", "bake-the-cake"), "No expert that can be trained called 'bake-the-cake'"),
        (("experts", "--profile", "mild"), "No profile called 'mild'"),
        (("experts", "--data", "x"), "No such option: --data"),
        (("sft",), "Missing option '--data'"),
    ],
)
def test_bad_requests_are_named(asked, says, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    assert main(("train", *asked, "--folder", str(tmp_path / "out"))) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_another_training_never_replaces_an_expert(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    assert train(trained, "--seed", "1") == 2
    assert "was trained in another way" in capsys.readouterr().err
