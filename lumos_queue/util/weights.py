"""Find and check folders of published weights, at a path or in the Hugging Face cache.

The weights must be complete, and in safetensors, because other formats can run code when they are loaded. This module
never downloads weights.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from lumos_queue.errors import SpecError
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.regular_file import check_entries, open_regular, read_regular
from lumos_queue.util.untrusted_json import read_json

_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle", "*.h5", "*.msgpack")
_PIPELINE = "model_index.json"  #: of diffusers: lists the models of a pipeline, each in its own subfolder


def find_weights(name: str) -> Path:
    """Return the folder of weights. `name` is a path, or an id in the Hugging Face cache (`HF_HOME`).

    Raises SpecError, with a text that begins with 'not run: needs', if the weights are missing or cannot be used.
    """
    folder = from_launch(Path(name).expanduser())
    if not folder.is_dir():
        if name.startswith(("/", "./", "../", "~")):
            raise SpecError(f"not run: needs a model folder: there is none at '{name[:80]}'.")
        folder = find_cached_weights(name)
    check_weights(folder)
    return folder


def check_weights(folder: Path) -> list[Path]:
    """Return the weight files of a folder. Raises SpecError if some are missing, or if all are pickles."""
    paths = [path for part in _models_of(folder) for path in _check_model(part)]
    check_entries(folder)
    return paths


def _models_of(folder: Path) -> list[Path]:
    """Return the folder itself, or the folders of a pipeline's models. Raises SpecError."""
    if not (folder / _PIPELINE).is_file():
        return [folder]
    try:
        parts = dict(read_json(read_regular(folder / _PIPELINE, folder)))
        kinds = {
            name: str(description[1])
            for name, description in parts.items()
            if isinstance(description, list) and len(description) == 2
        }
    except (OSError, ValueError, TypeError):
        raise SpecError(f"'{folder / _PIPELINE}' cannot be read: expected the names of a pipeline's models.") from None
    models = sorted(Path(name).name for name, kind in kinds.items() if "Model" in kind or "Autoencoder" in kind)
    if not models:
        raise SpecError(f"not run: needs a pipeline with models: '{folder / _PIPELINE}' names none.")
    return [folder / name for name in models]


def _check_model(folder: Path) -> list[Path]:
    if not (folder / "config.json").is_file():
        raise SpecError(f"not run: needs a model folder: '{folder}' has no config.json.")
    for index in sorted(folder.glob("*.safetensors.index.json"))[:1]:
        return _shards(folder, index)
    paths = sorted(folder.glob("*.safetensors"))
    if paths:
        return paths
    pickles = [path.name for pattern in _PICKLES for path in folder.glob(pattern)]
    if pickles:
        raise SpecError(
            f"not run: needs safetensors: '{folder}' has only {pickles[0]}, a format that can run code when it is "
            "loaded. Convert it where you trust it: model.save_pretrained(folder)."
        )
    raise SpecError(f"not run: needs weights: '{folder}' has no *.safetensors.")


def digest_of_weights(folder: Path) -> str:
    """Return the digest of the weights, the configuration and the tokenizer. Reads all files."""
    parts = hashlib.sha256()
    texts = "**/*" if (folder / _PIPELINE).is_file() else "*"  # a pipeline's files are in subfolders
    for path in (*check_weights(folder), *sorted(folder.glob(f"{texts}.json")), *sorted(folder.glob(f"{texts}.txt"))):
        with open_regular(path, folder) as file:
            name = path.relative_to(folder).as_posix()
            parts.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return parts.hexdigest()


def _shards(folder: Path, index: Path) -> list[Path]:
    try:
        names = sorted(set(read_json(read_regular(index, folder))["weight_map"].values()))
        shards = [folder / Path(str(name)).name for name in names]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise SpecError(f"'{index}' cannot be read: expected a weight_map.") from None
    missing_names = [path.name for path in shards if not path.is_file()]
    if missing_names or not shards:
        raise SpecError(
            f"not run: needs all of the model: '{folder}' lacks {', '.join(missing_names[:3]) or 'every shard'} "
            f"({len(missing_names)} of {len(shards)} files that {index.name} names). Download it again."
        )
    return shards


def find_cached_weights(name: str) -> Path:
    """Return the folder of an id in the Hugging Face cache. Raises SpecError ('not run: needs …') if it is missing."""
    with import_libraries():
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, HfHubHTTPError, OSError, ValueError):
        raise SpecError(
            f"not run: needs the weights of {name[:80]}, which is neither a folder nor in the cache of Hugging Face. "
            f"Get them with `hf download {name[:80]}`, or give a folder: hf:PATH."
        ) from None
