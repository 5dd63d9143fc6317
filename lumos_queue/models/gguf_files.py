"""Convert a GGUF file to a Hugging Face model folder.

Weights are dequantised exactly to float32, and stored as bfloat16 in half the size. The rounding error is at most a
quarter of a percent, well below the error of the quantisation. The tokenizer is read from the GGUF file too.
"""

from __future__ import annotations

import hashlib
import io
import json
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.models.folders import check_made_from, require_libraries, write_made_from
from lumos_queue.util.model_loading import MODEL_LOADING, import_libraries
from lumos_queue.util.new_folder import write_folder
from lumos_queue.util.regular_file import open_regular

_LEFT_OUT = ("quantization_config", "_model_name_or_path")
LIBRARIES = ("torch", "transformers", "gguf")
_DIGITS = {"type": "Digits", "individual_digits": True}
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_MERGED_BYTES = {**_BYTES, "use_regex": False}
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


#: How a byte-level tokenizer splits a text before its merges, by the file's `tokenizer.ggml.pre`.
_PIECES = {
    "gpt-2": [_BYTES],
    "default": [_BYTES],
    "smollm": [_DIGITS, _BYTES],
    "llama-bpe": [_split(_WORDS % "{1,3}"), _MERGED_BYTES],
    "qwen2": [_split(_WORDS % ""), _MERGED_BYTES],
}


def write_model(file: Path, folder: Path, origin: dict[str, Any]) -> None:
    """Write the model of a GGUF file into an empty folder, and `origin` to its `made-from.json`.

    Raises SpecError if the file is not GGUF, or if its model or tokenizer cannot be read.
    """
    require_libraries(*LIBRARIES)
    with import_libraries():
        import torch
        from transformers import AutoModelForCausalLM, GenerationConfig
        from transformers.utils import logging

    pieces = _read_pieces(file)
    logging.disable_progress_bar()
    try:
        tokenizer = _read_tokenizer(file, pieces)
        with MODEL_LOADING, redirect_stderr(io.StringIO()):  # a progress bar that nothing else turns off
            float32_model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
        config = type(float32_model.config).from_dict(
            {name: value for name, value in float32_model.config.to_dict().items() if name not in _LEFT_OUT}
        )
        with MODEL_LOADING:
            model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        model.load_state_dict(float32_model.state_dict())
    except (MemoryError, SpecError):
        raise
    except Exception as error:  # a hostile file can make the two libraries raise any exception
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SpecError(f"'{file}' cannot be read as a language model: {reason}") from None
    del float32_model
    model.generation_config = GenerationConfig(
        do_sample=False,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_made_from(folder, origin)


def digest_of(file: Path) -> str:
    """Return the sha256 of a GGUF file. Raises SpecError if the file cannot be read or is not GGUF."""
    try:
        with open_regular(file) as stream:
            start = stream.read(4)
            stream.seek(0)
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise SpecError(f"'{file}' cannot be read: {error.strerror}.") from None
    if start != b"GGUF":
        raise SpecError(f"'{file}' is not a GGUF file: expected it to begin with the bytes GGUF.")
    return digest


def _read_pieces(file: Path) -> list[dict[str, Any]] | None:
    """Return the rules by which the tokenizer first splits a text; None for SentencePiece. Raises SpecError."""
    with import_libraries():
        from gguf import GGUFReader

    try:
        fields = GGUFReader(file).fields
        tokenizer_fields = {
            name: field.contents() for name in ("model", "pre") if (field := fields.get(f"tokenizer.ggml.{name}"))
        }
    except Exception as error:  # the reader checks nothing
        raise SpecError(f"'{file}' cannot be read as GGUF: it is cut off or damaged ({error}).") from None
    if tokenizer_fields.get("model") != "gpt2":
        return None
    pre = tokenizer_fields.get("pre", "default")
    if pre not in _PIECES:
        known_names = ", ".join(sorted(_PIECES))
        raise SpecError(f"'{file}' has a tokenizer of the unknown type '{pre!s:.40}': expected one of {known_names}.")
    return _PIECES[pre]


def _read_tokenizer(file: Path, pieces: list[dict[str, Any]] | None) -> Any:
    """Return the tokenizer with `pieces`, its rules for splitting, which transformers does not read from the file."""
    with import_libraries():
        from tokenizers import Tokenizer
        from transformers import AutoTokenizer, PreTrainedTokenizerFast

    with MODEL_LOADING:
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    if pieces is None:
        return tokenizer
    value = json.loads(tokenizer.backend_tokenizer.to_str())
    value["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": pieces}
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(value)),
        **tokenizer.special_tokens_map,
        chat_template=tokenizer.chat_template,
        clean_up_tokenization_spaces=False,
    )


def get_gguf(file: Path, folder: Path) -> bool:
    """Write the model of a user's GGUF file to `folder`. Return False if the folder had this model already.

    Raises SpecError if the file cannot be read, or if the folder has another model.
    """
    require_libraries(*LIBRARIES)
    origin = {"name": folder.name, "sha256": digest_of(file), "file": file.name}
    new = write_folder(folder, lambda part: write_model(file, part, origin))
    check_made_from(folder, origin["sha256"])
    return new
