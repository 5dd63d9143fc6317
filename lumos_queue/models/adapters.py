"""Read adapter folders without loading the model, and find their base models."""

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
#: Options that describe how and where the adapter was made. They do not affect the model.
_ABOUT_MAKING = ("base_model_name_or_path", "inference_mode", "peft_version", "revision")


@dataclass(frozen=True, slots=True)
class Adapter:
    """A LoRA adapter in a folder, with the name and the digest of the base model that it was trained on."""

    folder: Path
    config: dict[str, Any]  #: of peft
    base_name: str
    base_sha256: str  #: `model_digests` of the base's folder


def is_adapter(folder: Path) -> bool:
    return (folder / CONFIG).is_file()


def read_adapter(folder: Path) -> Adapter:
    """Read the configuration of an adapter folder. Raises SpecError if the folder is incomplete or not of LoRA."""
    for name in (CONFIG, WEIGHTS, MADE_FROM, "tokenizer.json"):
        if not (folder / name).is_file():
            raise SpecError(f"'{folder}' is not an adapter folder: it has no {name}.")
    check_entries(folder)
    config, origin = _read(folder / CONFIG), _read(folder / MADE_FROM)
    if config.get("peft_type") != "LORA":
        raise SpecError(f"'{folder / CONFIG}' has the peft_type {config.get('peft_type')!r:.40}: expected 'LORA'.")
    base = origin.get("base")
    if not (isinstance(base, dict) and all(isinstance(base.get(name), str) for name in ("name", "sha256"))):
        raise SpecError(f"'{folder / MADE_FROM}' does not name its base: expected base.name and base.sha256.")
    require_libraries("peft")
    return Adapter(folder, config, base["name"], base["sha256"])


def digest_of_adapter(adapter: Adapter) -> str:
    """Return the sha256 of the adapter's weights and configuration.

    It does not depend on the path of the folder, and not on the order of keys and lists in the configuration.
    """
    config = {
        name: sorted(value, key=str) if isinstance(value, list) else value
        for name, value in adapter.config.items()
        if name not in _ABOUT_MAKING
    }
    text = json.dumps(config, sort_keys=True)
    return hashlib.sha256(f"{text}\n{digest_of_files([adapter.folder / WEIGHTS])}".encode()).hexdigest()


def find_base(adapter: Adapter) -> Path:
    """Find the adapter's base on this machine by its digest, and return its folder.

    Raises SpecError if the base is not on this machine; the message explains how to get it.
    """
    root = models_folder()
    configured_path = adapter.config.get("base_model_name_or_path")
    folders = [
        root / Path(adapter.base_name).name,
        *([Path(configured_path)] if isinstance(configured_path, str) and configured_path else []),
    ]
    folders += sorted(path for path in root.glob("*") if path.name != MERGED)
    for folder in dict.fromkeys(folders):
        if (folder / "config.json").is_file() and weights(folder):
            state = tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in (*weights(folder), folder))
            try:
                fits = _digest(folder, state) == adapter.base_sha256
            except SpecError:  # a folder that cannot be read does not end the search
                continue
            if fits:
                check_folder(folder)
                return folder
    get = "Run: lumos models get smollm2" if adapter.base_sha256 == SMOLLM2 else f"Put its folder into '{root}'"
    raise SpecError(
        f"'{adapter.folder}' is an adapter of '{adapter.base_name[:80]}' (sha256 {adapter.base_sha256[:12]}…), which "
        f"is not on this machine. {get}."
    )


@lru_cache(maxsize=64)
def _digest(folder: Path, _state: tuple[tuple[int, int], ...]) -> str:
    """Return the digest of a model folder. The files are read again only if their times or sizes (`_state`) change."""
    return model_digests(folder)["sha256"]


def _read(path: Path) -> dict[str, Any]:
    try:
        value = read_json(read_regular(path, path.parent))
    except (OSError, ValueError) as error:
        raise SpecError(f"'{path}' cannot be read: {error}.") from None
    if not isinstance(value, dict):
        raise SpecError(f"'{path}' cannot be read: expected an object.")
    return value
