"""Train the experts of `own:PATH`, each a small network, on generated data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lumos_queue.benchmarks.openagi.data.augmentations import PROFILES
from lumos_queue.commands import digest
from lumos_queue.errors import SpecError, unknown
from lumos_queue.experts.backends.own.config import CONFIG, MODELS, folder_of, read_config
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.training.engine.control import DEFAULTS, FitControl
from lumos_queue.training.recipes.base import Window
from lumos_queue.util.launch_folder import from_launch

BOTH = "both"
_PACKAGE = Path(__file__).resolve().parents[2]
#: The code that decides the weights.
_CODE = (
    "experts/backends/own/networks/*.py",
    "experts/backends/own/models/*.py",
    "benchmarks/openagi/data/*.py",
    "benchmarks/openagi/trials.py",
    "training/experts/*.py",
)
#: Files of this code that have changed since commit 91248b16 without an effect on weights, and their former digests
#: ('': the file is new). A job that was submitted with the former code continues with the present code.
_FORMER_FILES = {
    "training/experts/checkpoint.py": "",
    "training/experts/fit.py": "",
    "training/experts/lesson.py": "448dfb9410b5969ec5eb2d924186ad7211b0c1fa09b3feb27b8db840dec216a4",
    "training/experts/work.py": "7afa3192b84027702cebe1ce81121f9e2a0a520d36723359ae0627aa1f9d3bc7",
}


@dataclass(frozen=True, slots=True)
class Experts:
    """The recipe. It has an item for each expert, and a check of the size."""

    folder: str  #: of the experts; every worker must be able to write to it
    experts: tuple[str, ...]  #: by canonical name
    profiles: tuple[str, ...]  #: strengths of the augmentations, used in turn
    content: str  #: digest of the code at submission
    steps: int = 0  #: optimizer steps of each expert; 0: those of its course
    seed: int = 0
    control: FitControl = field(default_factory=FitControl)

    name = "experts"
    device = "cpu"

    def as_json(self) -> dict[str, Any]:
        values = asdict(self) | {"experts": list(self.experts), "profiles": list(self.profiles)}
        del values["control"]
        control = self.control.as_json()
        return values | ({"control": control} if control else {})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Experts:
        lists = {name: tuple(value[name]) for name in ("experts", "profiles")}
        return cls(**{**value, **lists, "control": FitControl.from_json(value.get("control", {}))})

    def windows(self) -> list[Window]:
        return [*({"do": "train", "expert": name} for name in self.experts), {"do": "check"}]

    def request_of(self, expert: str) -> dict[str, Any]:
        """Return everything that determines the weights of one expert. The expert's config stores the same value."""
        decides = {"expert": expert, "profiles": list(self.profiles), "steps": self.steps, "seed": self.seed}
        return decides | {"code": self.content}

    def is_trained(self, expert: str) -> bool:
        """Return whether the folder has the expert of this recipe. Raises SpecError if it was trained differently."""
        folder = folder_of(from_launch(self.folder), expert)
        if not folder.exists():
            return False
        stored = read_config(folder / CONFIG, expert).training.get("request")
        if not isinstance(stored, dict) or _with_equal_code(stored) != _with_equal_code(self.request_of(expert)):
            raise SpecError(f"'{folder}' was trained in another way: name another --folder, or remove it.")
        return True


def experts(
    folder: Path, only: Sequence[str], profile: str, steps: int, seed: int, control: FitControl = DEFAULTS
) -> Experts:
    """Return the recipe of a request. Raises SpecError for unknown names, and if the folder has different experts."""
    if profile not in (BOTH, *PROFILES):
        raise unknown("profile", profile, (BOTH, *PROFILES))
    profiles = tuple(PROFILES) if profile == BOTH else (profile,)
    selection = {_canonical_name(name) for name in only} or set(MODELS)
    names = tuple(name for name in MODELS if name in selection)
    recipe = Experts(str(folder.resolve()), names, profiles, digest_of_code(), steps, seed, control)
    for name in names:
        recipe.is_trained(name)
    return recipe


def digest_of_code() -> str:
    """Return the digest of the code of networks, lessons and data."""
    return _digest_of_files(_files())


def is_equal_code(content: str) -> bool:
    """Return whether the code with this digest gives the same weights as the present code."""
    return content in (digest_of_code(), _digest_of_files({**_files(), **_FORMER_FILES}))


@cache
def _files() -> Mapping[str, str]:
    """Return the path of each file of the code, relative to the package, and the digest of its content."""
    paths = [path for pattern in _CODE for path in sorted(_PACKAGE.glob(pattern))]
    return MappingProxyType(
        {str(path.relative_to(_PACKAGE)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    )


def _digest_of_files(files: Mapping[str, str]) -> str:
    """Return the digest of files by their paths. '': the file does not exist."""
    return digest(*(f"{Path(path).name} {content}" for path, content in files.items() if content))


def _with_equal_code(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with the digest of the present code if its code gives the same weights."""
    return {**request, "code": digest_of_code()} if is_equal_code(request.get("code", "")) else {**request}


def _canonical_name(text: str) -> str:
    for name in MODELS:
        if text in (name, EXPERTS[name].option):
            return name
    raise unknown("expert that can be trained", text[:80], [EXPERTS[name].option for name in MODELS])
