"""Train on builds, which are conversations of stored episodes. The fit starts from a model folder with its tokenizer.

If it starts from scratch, the model is small and has random weights, and its tokenizer is learnt from the build.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from lumos_queue.builds.folder import find_build
from lumos_queue.commands import digest
from lumos_queue.endpoints.model_folder import identity
from lumos_queue.errors import SpecError, unknown
from lumos_queue.models.starter import FROM_SCRATCH, starter_url
from lumos_queue.records import Role
from lumos_queue.settings import Settings
from lumos_queue.training.base_check import check_base
from lumos_queue.training.engine.control import BEST, DEFAULTS, NEW, FitControl
from lumos_queue.training.engine.spec import BF16, FP32, FitSpec
from lumos_queue.training.presets import CONTINUED_RATE, LORA, PAPER, PRESETS, SCRATCH, SMALL, WINDOWS
from lumos_queue.training.recipes.base import Window
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.regular_file import open_regular, read_regular_text

REQUEST = "sft.json"  #: in the output folder: the recipe of its checkpoints
STARTER = "starter"
FIT = "fit"  #: in the output folder: the checkpoints
#: The conversations that one model learns: of the planner, of the grounder, or of both.
JOINT = "joint"
MODULES = (JOINT, Role.PLANNER, Role.GROUNDER)


@dataclass(frozen=True, slots=True)
class Sft:
    """The recipe of one model. Its items are the preparation, the windows of the fit and the export."""

    data: tuple[str, ...]  #: builds (folders), or files of conversations
    start: str  #: model folder that the fit starts from; '' = random weights
    folder: str  #: of conversations, checkpoints and the model; every worker must be able to read it
    formulation: str  #: selects the files `[…_]<formulation>.jsonl` of a build
    module: str  #: selects the conversations of both roles, or of one
    conversations: int  #: number in these builds at submission; some may be left out later
    window: int  #: optimizer steps of one item
    fit: FitSpec  #: without folders
    control: FitControl = field(default_factory=FitControl)

    name = "sft"

    @property
    def device(self) -> str:
        return self.fit.device

    def as_json(self) -> dict[str, Any]:
        values = asdict(self) | {"data": list(self.data), "fit": self.fit.as_json(), "control": self.control.as_json()}
        if not values["control"]:
            del values["control"]
        return values

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Sft:
        parts = {"fit": FitSpec.from_json(value["fit"]), "control": FitControl.from_json(value.get("control", {}))}
        return cls(**{**value, "data": tuple(value["data"]), **parts})

    def windows(self) -> list[Window]:
        steps = self.fit.steps_of(self.conversations)
        starts = range(0, steps, self.window)
        fits = [{"do": "fit", "start": start, "stop": min(start + self.window, steps)} for start in starts]
        return [{"do": "prepare"}, *fits, {"do": "export"}]

    def checkpoints(self) -> Path:
        return from_launch(self.folder) / FIT

    def check_unchanged(self) -> None:
        """Raise SpecError when the builds or the start model have changed since submission."""
        if content_of(map(from_launch, self.data), self.start, self.formulation, self.module) != self.fit.content:
            raise SpecError("The builds or the model to start from have changed since this job was submitted.")

    def check_development(self) -> None:
        """Raise SpecError when an option needs development conversations and no build has some."""
        control = self.control
        flags = {
            "--patience": control.patience,
            "--eval-every": control.eval_every,
            "--keep best": control.keep == BEST,
        }
        flag = next((flag for flag, is_used in flags.items() if is_used), "")
        builds = [from_launch(build) / "dev" for build in self.data]
        if flag and not any(_has_conversations(folder, self.formulation, self.module) for folder in builds):
            raise SpecError(
                f"{flag} needs development conversations, and the data has none. Build it with --dev-share, or leave "
                f"{flag} out."
            )

    def check_folder(self) -> None:
        """Raise SpecError when the output folder holds anything other than this fit."""
        folder = from_launch(self.folder)
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
        try:
            stored = Sft.from_json(json.loads(read_regular_text(folder / REQUEST, folder)))
            is_own = _without_reports(stored) == _without_reports(self)
        except (OSError, ValueError, KeyError, TypeError):
            is_own = False
        if not is_own:
            raise SpecError(f"--folder '{folder}' holds something else already: name a new or empty one.")


def _without_reports(recipe: Sft) -> Sft:
    """Return the recipe without the settings that change neither the weights of a step nor the exported ones."""
    control = replace(recipe.control, report_to=(), checkpoint_seconds=DEFAULTS.checkpoint_seconds)
    return replace(recipe, control=control)


def sft(
    data: Sequence[Path],
    start: str,
    folder: Path,
    formulation: str,
    *,
    module: str = JOINT,
    preset: str = "",
    window: int = 0,
    cpu_precision: str = FP32,
    control: FitControl = NEW,
    **values: Any,
) -> Sft:
    """Return the recipe of a request; `values` are fields of FitSpec that differ from the preset.

    `start` is a model folder, `starter` or `scratch`. `cpu_precision` replaces bfloat16 in a fit on a CPU, unless
    `values` have a precision or the fit in the folder has another one.

    Raises SpecError for unknown names, and for missing or unsuitable data, models and folders.
    """
    if module not in MODULES:
        raise unknown("module", module, MODULES)
    preset = preset or (SCRATCH if start in (SCRATCH, STARTER) else LORA if "lora" in values else PAPER)
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS)
    begin = "" if start == SCRATCH else str(_model_folder(start, formulation).resolve())
    builds = [build.resolve() for build in data]
    fit = replace(PRESETS[preset], content=content_of(builds, begin, formulation, module))
    if begin and preset in SMALL:
        fit = replace(fit, rate=CONTINUED_RATE, other_rate=CONTINUED_RATE / 5, prompt_weight=0.0, decay=1.0)
    if "rate" in values and fit.other_rate:
        values["other_rate"] = values["rate"] / 5
    if preset not in SMALL:  # larger matrices gain from every core
        values.setdefault("threads", os.cpu_count() or 1)
    if values.get("device", fit.device) == "cpu" and fit.precision == BF16:
        values.setdefault("precision", _read_precision(folder) or cpu_precision)
    if "batch" in values:
        values["micro_batch"] = _micro_batch(values["batch"], fit.micro_batch)
    recipe = Sft(
        data=tuple(map(str, builds)),
        start=begin,
        folder=str(folder.resolve()),
        formulation=formulation,
        module=module,
        conversations=sum(_count_rows(path) for build in builds for path in files_of(build, formulation, module)),
        window=window or WINDOWS[preset],
        fit=replace(fit, **values),
        control=control,
    )
    if not recipe.conversations:
        raise SpecError(f"The builds have no conversations for {formulation} ({module}): {', '.join(recipe.data)}.")
    recipe.check_folder()
    return recipe


def _read_precision(folder: Path) -> str:
    """Return the precision of the fit that a folder contains; '' if it contains no fit."""
    try:
        precision = json.loads(read_regular_text(folder / REQUEST))["fit"]["precision"]
    except (OSError, SpecError, ValueError, KeyError, TypeError):
        return ""
    return precision if precision in (BF16, FP32) else ""


def _micro_batch(batch: int, limit: int) -> int:
    """Return the largest number up to `limit` that divides the batch."""
    return next(size for size in range(min(limit, batch), 0, -1) if batch % size == 0)


def _model_folder(start: str, formulation: str) -> Path:
    url = starter_url(formulation, FROM_SCRATCH) if start == STARTER else f"local:{start}"
    folder = Path(url.removeprefix("local:"))
    check_base(folder)
    return folder


def find_data(settings: Settings, text: str) -> Path:
    """Return the path of a build (by its name or folder) or a file. Raises SpecError when it does not exist."""
    path = Path(text).expanduser()
    return path if path.exists() else find_build(settings, text)


def files_of(build: Path, formulation: str, module: str = JOINT) -> list[Path]:
    """Return the files with conversations of one formulation. Raises SpecError when there are none."""
    if build.is_file():
        return [build]
    if not build.is_dir():
        raise SpecError(f"No build '{build}': expected what `lumos dataset build` wrote, or a JSON lines file.")
    paths = sorted({*build.glob(f"*_{formulation}.jsonl"), *build.glob(f"{formulation}.jsonl")})  # cot has one module
    if module != JOINT:
        paths = [path for path in paths if path.name == f"{module}_{formulation}.jsonl"]
    if not paths:
        names = ", ".join(path.name for path in sorted(build.glob("*.jsonl"))) or "no JSON lines files"
        subject = f"'{formulation}'" if module == JOINT else f"the {module} of '{formulation}'"
        raise SpecError(f"The build '{build}' has no conversations for {subject}. It has: {names}.")
    return paths


def content_of(builds: Iterable[Path], start: str, formulation: str, module: str) -> str:
    """Return the digest of all inputs: the conversations in order, the weights and the tokenizer."""
    model = identity(from_launch(start)) if start else {"sha256": "", "tokenizer_sha256": ""}
    return content_of_data(model["sha256"], model["tokenizer_sha256"], builds, formulation, module)


def content_of_data(weights: str, tokenizer: str, builds: Iterable[Path], formulation: str, module: str) -> str:
    """Return the digest of all inputs. `weights` and `tokenizer`: digests of the start model; '' for random weights."""
    parts = [weights or SCRATCH, tokenizer or SCRATCH]
    for build in builds:
        for path in files_of(build, formulation, module):
            with open_regular(path) as file:
                parts += [path.name, hashlib.file_digest(file, "sha256").hexdigest()]
    return digest("sft", *parts)


def _has_conversations(folder: Path, formulation: str, module: str) -> bool:
    with suppress(SpecError):  # it has no files of the formulation
        return folder.is_dir() and any(_count_rows(path) for path in files_of(folder, formulation, module))
    return False


def _count_rows(path: Path) -> int:
    with open_regular(path) as file:
        return sum(1 for line in file if line.strip())
