"""Examine a Hugging Face model folder without loading the model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import metadata, util
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.records import Json, JsonObject
from lumos_queue.util.extras import install_command
from lumos_queue.util.regular_file import check_entries, open_regular, read_regular
from lumos_queue.util.untrusted_json import read_json

MADE_FROM = (
    "made-from.json"  #: names the sources of a folder with converted or merged weights (lumos_queue/models/folders.py)
)


def check_folder(folder: Path) -> None:
    """Raise SpecError if the folder has no model, or the libraries that run it are not installed."""
    if not folder.is_dir():
        raise SpecError(f"No folder '{folder}': local: names a Hugging Face model folder on the machine that runs it.")
    if not (folder / "config.json").is_file():
        raise SpecError(f"'{folder}' is not a model folder: it has no config.json.")
    check_entries(folder)
    tokenizer_file(folder)
    if not any(folder.glob("*.safetensors")):
        raise SpecError(f"'{folder}' has no *.safetensors weights; other formats can run code and are refused.")
    if not (util.find_spec("torch") and util.find_spec("transformers")):
        raise SpecError(f"local: needs torch and transformers: {install_command('local')}.")


def tokenizer_file(folder: Path) -> Path:
    """Return the file of the folder's tokenizer. Raises SpecError when it has none."""
    for name in ("tokenizer.json", "tokenizer.model", "spiece.model"):  # those of SentencePiece; the last is T5's
        if (folder / name).is_file():
            return folder / name
    raise SpecError(f"'{folder}' is not a model folder: it has no tokenizer.json.")


def encodes_prompts(folder: Path) -> bool:
    """Whether the model has an encoder, which reads the prompt, and a decoder, which writes the reply (T5).

    Raises SpecError when its configuration cannot be read.
    """
    return bool(_read_config(folder).get("is_encoder_decoder"))


def weights(folder: Path) -> list[Path]:
    """Return the weight files, in the order in which the digest reads them."""
    return sorted(folder.glob("*.safetensors"))


def identity(folder: Path) -> dict[str, str]:
    """Return the model's name, kind, digests and libraries. Raises SpecError if its configuration cannot be read."""
    architectures: Any = _read_config(folder).get("architectures")
    return {
        "model": folder.resolve().name,
        "architecture": ", ".join(architectures or ["unknown"]),
        **model_digests(folder),
        "tokenizer_sha256": _sha256(tokenizer_file(folder)),
        "dtype": "float32",
        "server": f"transformers {metadata.version('transformers')}, torch {metadata.version('torch')}",
    }


def model_digests(folder: Path) -> dict[str, str]:
    """Return the `sha256` of the model: of its weights, or of the sources of the weights if these are known.

    Converted or merged weights may differ between machines by rounding; their sources do not. A merged model also has
    `base_sha256` and `adapter_sha256`, from which its `sha256` is made. The file about the sources is ignored if it
    does not contain the digest of the folder's weights.
    """
    digest = digest_of_files(weights(folder))
    try:
        origin = read_json(read_regular(folder / MADE_FROM, folder))
        if origin["weights_sha256"] != digest:
            return {"sha256": digest}
        if "adapter" not in origin:
            return {"sha256": str(origin["sha256"])}
        base, adapter = str(origin["base"]["sha256"]), str(origin["adapter"]["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return {"sha256": digest}
    return {"sha256": digest_of_merged(base, adapter), "base_sha256": base, "adapter_sha256": adapter}


def digest_of_merged(base: str, adapter: str) -> str:
    """Return the digest of an adapter that is merged into its base, from the digests of both."""
    return hashlib.sha256(f"{base} {adapter}".encode()).hexdigest()


def digest_of_files(paths: Sequence[Path]) -> str:
    """Return the sha256 of a single file; for several files, that of their joined digests."""
    digests = [_sha256(path) for path in paths]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def _read_config(folder: Path) -> JsonObject:
    path = folder / "config.json"
    try:
        config: Json = read_json(read_regular(path, folder))
    except (OSError, ValueError) as error:
        raise SpecError(f"'{path}' cannot be read: {error}.") from None
    if not isinstance(config, dict):
        raise SpecError(f"'{path}' cannot be read: expected an object.")
    return config


def _sha256(path: Path) -> str:
    with open_regular(path, path.parent) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
