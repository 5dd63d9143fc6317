"""Training from Python: a real fit of two steps, a recipe of a person's own module, and values that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import lumos_queue as lq
from lumos_queue.api.train import _make
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.training.engine.spec import LoraShape
from tests.conftest import ROOT
from tests.unit.test_training_sft import build, model  # noqa: F401 - the fixtures

OWN = """
from dataclasses import asdict, dataclass
from pathlib import Path

@dataclass(frozen=True)
class Counting:
    folder: str
    items: int = 2
    name = "own_recipe:Counting"
    device = "cpu"

    def as_json(self):
        return asdict(self)

    @classmethod
    def from_json(cls, value):
        return cls(**value)

    def windows(self):
        return [{"number": number} for number in range(self.items)]

    def run_item(self, window):
        Path(self.folder, str(window["number"])).touch()
        return {"made": window["number"]}
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LUMOS_POLL_SECONDS", "0.2")
    return tmp_path / "home"


@pytest.mark.long
def test_a_small_model_is_trained_and_the_same_request_is_the_same_job(build, model, tmp_path):  # noqa: F811
    asked = {"data": str(build), "start": str(model), "folder": tmp_path / "fit", "preset": "scratch", "steps": 2}
    job = lq.train("sft", **asked, batch=0, name="small", tags={"team": "maths"}).wait(timeout=300)
    assert (job.state, job.facts["kind"], job.facts["done"], job.facts["items"]) == ("done", "train", 3, 3)
    assert list((tmp_path / "fit").rglob("*.safetensors"))
    assert [one.id for one in lq.list_jobs("name=small tag.team=maths")] == [job.id]
    assert lq.train("sft", **asked).id == job.id
    assert job.report()["state"] == "done" and "1 training" in str(job.report())
    with pytest.raises(lq.SpecError, match="it has no episodes to score"):
        job.score("same_words")
    with pytest.raises(lq.SpecError, match="holds something else already"):
        lq.train("sft", **asked | {"steps": 3})


def test_values_mean_what_the_command_line_takes_them_for(build, model, tmp_path):  # noqa: F811
    asked = {"data": [str(build)], "start": str(model), "folder": tmp_path / "fit", "preset": "scratch"}
    recipe = _make("sft", asked | {"steps": 0, "rate": 0.0, "lora": 8, "seed": 3}, Deployment(lq.Settings()))
    plain = _make("sft", asked, Deployment(lq.Settings()))
    assert recipe.fit.lora == LoraShape(rank=8) and recipe.fit.seed == 3
    assert (recipe.fit.steps, recipe.fit.rate) == (plain.fit.steps, plain.fit.rate)


@pytest.mark.parametrize("kind", [pytest.param("name", marks=pytest.mark.long), "object"])
def test_a_recipe_of_a_module_is_carried_out(kind, tmp_path, monkeypatch):
    (tmp_path / "own_recipe.py").write_text(OWN)
    (tmp_path / "made").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")  # of the processes that train
    if kind == "name":
        job = lq.train("own_recipe:Counting", folder=str(tmp_path / "made"))
    else:
        from own_recipe import Counting

        job = lq.train(Counting(str(tmp_path / "made")))
    assert job.wait(timeout=60).state == "done"
    assert sorted(one.name for one in (tmp_path / "made").iterdir()) == ["0", "1"]
    (plugin,) = job.report()["plugins"]
    assert (plugin["group"], plugin["name"], len(plugin["digest"])) == ("recipes", "own_recipe:Counting", 16)


SFT = {"recipe": "sft", "data": "no_such", "folder": "out"}
EXPERTS = {"recipe": "experts", "folder": "out"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"recipe": "sftt"}, r"No recipe called 'sftt'\. Did you mean 'sft'\?"),
        ({"recipe": 5}, "^A recipe is 5: expected a name, or a recipe as an object"),
        ({"recipe": None}, "^A recipe is None: expected a name"),
        ({"recipe": "rltf"}, "'rltf' runs from the command line only: lumos train rltf --help"),
        ({"recipe": "sft"}, "^folder= is missing: expected a path"),
        (SFT, r"There is no build 'no_such'"),
        (SFT | {"steps": "3"}, "^steps= is '3': expected a whole number from 0"),
        (SFT | {"batch": -1}, "^batch= is -1: expected a whole number from 0"),
        (SFT | {"rate": float("nan")}, "^rate= is nan: expected a number from 0 to 1"),
        (SFT | {"lora": True}, "^lora= is True: expected a whole number from 0"),
        (SFT | {"device": "gpu"}, "No value of device= called 'gpu'"),
        (SFT | {"precision": 16}, "^precision= is 16: expected a text"),
        (SFT | {"precision": "16"}, "No value of precision= called '16'"),
        (SFT | {"optimizer": "sgd"}, "No value of optimizer= called 'sgd'"),
        (SFT | {"dropout": 1.5}, "^dropout= is 1.5: expected a number from 0 to 1"),
        (SFT | {"priority": 2**40}, "^priority= is 1099511627776"),
        (EXPERTS | {"steps": -1}, "^steps= is -1: expected a whole number from 0"),
        (EXPERTS | {"seed": 2**80}, "^seed= is 1208925819614629174706176: expected a whole number from 0"),
        (EXPERTS | {"only": ("no-such",)}, "No expert that can be trained called 'no-such'"),
        (EXPERTS | {"profile": "x"}, "No profile called 'x'"),
        (EXPERTS | {"stepz": 1}, r"No option called 'stepz'\. Did you mean 'steps'\?"),
    ],
)
def test_what_cannot_be_trained_is_said_in_one_line_and_nothing_is_stored(arguments, problem, home):
    with pytest.raises(lq.SpecError, match=problem) as error:
        lq.train(**arguments)
    assert "\n" not in str(error.value)
    assert not (home / "lumos.db").exists() or not lq.list_jobs()


def test_a_recipe_that_only_the_program_has_is_refused():
    class Mine:
        name, folder, device = "mine", "out", "cpu"

        def as_json(self):
            return {}

        def windows(self):
            return [{}]

    with pytest.raises(lq.SpecError, match="No recipe called 'mine'"):
        lq.train(Mine())
