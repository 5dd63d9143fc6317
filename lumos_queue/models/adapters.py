"""An adapter folder, examined without loading it, and the base that it belongs to."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from lumos_queue.endpoints.model_folder import MADE_FROM, check_folder, digest_of_files, model_digests, weights
from lumos_queue.errors import SpecError
from lumos_queue.models.folders import MERGED, models_folder, require_libraries
from lumos_queue.models.smollm2 import SHA256 as SMOLLM2
from lumos_queue.util.regular_file import check_entries, read_regular
from lumos_queue.util.untrusted_json import read_json

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
#: What says nothing about the model, only about where and how the adapter was made.
_ABOUT_MAKING = ("base_model_name_or_path", "inference_mode", "peft_version", "revision")


@dataclass(frozen=True, slots=True)
class Adapter:
    """A LoRA adapter in a folder, and the base that it was fitted on."""

    folder: Path
    config: dict[str, Any]  #: of peft
    base_name: str
    base_sha256: str  #: as `model_digests` tells it of the base's folder


def is_adapter(folder: Path) -> bool:
    return (folder / CONFIG).is_file()


def read_adapter(folder: Path) -> Adapter:
    """What an adapter folder says. Raises SpecError when it is not whole, or not LoRA."""
    for name in (CONFIG, WEIGHTS, MADE_FROM, "tokenizer.json"):
        if not (folder / name).is_file():
            raise SpecError(f"'{folder}' is not an adapter folder: it has no {name}.")
    check_entries(folder)
    config, made = _read(folder / CONFIG), _read(folder / MADE_FROM)
    if config.get("peft_type") != "LORA":
        raise SpecError(f"'{folder / CONFIG}' has the peft_type {config.get('peft_type')!r:.40}: expected 'LORA'.")
    base = made.get("base")
    if not (isinstance(base, dict) and all(isinstance(base.get(name), str) for name in ("name", "sha256"))):
        raise SpecError(f"'{folder / MADE_FROM}' does not name its base: expected base.name and base.sha256.")
    require_libraries("peft")
    return Adapter(folder, config, base["name"], base["sha256"])


def digest_of_adapter(adapter: Adapter) -> str:
    """The sha256 of its weights and of its configuration, wherever and in whichever order that was written."""
    config = {
        name: sorted(value, key=str) if isinstance(value, list) else value
        for name, value in adapter.config.items()
        if name not in _ABOUT_MAKING
    }
    text = json.dumps(config, sort_keys=True)
    return hashlib.sha256(f"{text}\n{digest_of_files([adapter.folder / WEIGHTS])}".encode()).hexdigest()


def find_base(adapter: Adapter) -> Path:
    """The folder of an adapter's base on this machine, found by its digest.

    Raises SpecError, saying how to get it, when it is not here.
    """
    root = models_folder()
    named = adapter.config.get("base_model_name_or_path")
    places = [root / Path(adapter.base_name).name, *([Path(named)] if isinstance(named, str) and named else [])]
    places += sorted(path for path in root.glob("*") if path.name != MERGED)
    for place in dict.fromkeys(places):
        if (place / "config.json").is_file() and weights(place):
            state = tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in (*weights(place), place))
            try:
                fits = _digest(place, state) == adapter.base_sha256
            except SpecError:  # a folder with something other than files says nothing about the others
                continue
            if fits:
                check_folder(place)
                return place
    get = "Run: lumos models get smollm2" if adapter.base_sha256 == SMOLLM2 else f"Put its folder into '{root}'"
    raise SpecError(
        f"'{adapter.folder}' is an adapter of '{adapter.base_name[:80]}' (sha256 {adapter.base_sha256[:12]}…), which "
        f"is not on this machine. {get}."
    )


@lru_cache(maxsize=64)
def _digest(folder: Path, _state: tuple[tuple[int, int], ...]) -> str:
    """Read in full once for each state of the files."""
    return model_digests(folder)["sha256"]


def _read(path: Path) -> dict[str, Any]:
    try:
        value = read_json(read_regular(path, path.parent))
    except (OSError, ValueError) as error:
        raise SpecError(f"'{path}' cannot be read: {error}.") from None
    if not isinstance(value, dict):
        raise SpecError(f"'{path}' cannot be read: expected an object.")
    return value
