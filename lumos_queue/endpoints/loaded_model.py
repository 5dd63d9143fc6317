"""A model folder in memory: the model, its tokenizer, and their properties that decoding needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumos_queue.endpoints.model_folder import encodes_prompts
from lumos_queue.errors import SpecError
from lumos_queue.util.model_loading import MODEL_LOADING, import_libraries
from lumos_queue.util.regular_file import check_entries

#: Tokens of a prompt and of a reply for models with relative positions (T5), which have no limit of their own.
MAX_RELATIVE = 4096


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """One model in float32, for inference only."""

    model: Any
    tokenizer: Any
    ends: frozenset[int]  #: tokens that end a reply
    context: int  #: tokens of prompt and reply together; of an encoder-decoder, of each of the two
    encodes: bool  #: whether an encoder reads the prompt, and a separate decoder writes the reply

    @property
    def end(self) -> int:
        """The token that ends a reply under a constraint. Raises SpecError if the model has none."""
        if self.tokenizer.eos_token_id is not None:
            return self.tokenizer.eos_token_id
        if not self.ends:
            raise SpecError("the model has no end token, so no reply of it can be held to a constraint")
        return min(self.ends)

    @property
    def start(self) -> int:
        """The token with which a decoder starts. Raises SpecError if the model has none."""
        names = ("decoder_start_token_id", "bos_token_id", "pad_token_id")
        candidates = (
            getattr(config, name, None)
            for name in names
            for config in (self.model.generation_config, self.model.config)
        )
        start_token = next((token for token in candidates if token is not None), None)
        if start_token is None:
            raise SpecError("the model's config.json has no decoder_start_token_id, which its decoder begins with")
        return start_token

    def tokenize(self, prompt: str, bos: bool) -> list[int]:
        """Return the prompt's tokens. `bos`: with special tokens such as `<s>`; an encoder's prompt always has them."""
        return self.tokenizer(prompt, add_special_tokens=bos or self.encodes)["input_ids"]


def load_model(folder: Path) -> LoadedModel:
    """Load the model in a folder. Raises SpecError if it cannot be loaded or its weights are incomplete."""
    with import_libraries():
        import torch
        from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer
        from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(1)  # several threads are slower on small matrices, and workers share the machine
    check_entries(folder)
    encodes = encodes_prompts(folder)
    try:
        with MODEL_LOADING:
            tokenizers: Any = AutoTokenizer
            tokenizer = tokenizers.from_pretrained(folder, local_files_only=True)
            tokenizer.model_max_length = 10**9  # the context is checked elsewhere; no warning on the terminal
            models: Any = AutoModelForSeq2SeqLM if encodes else AutoModelForCausalLM
            model, loading_info = models.from_pretrained(
                folder,
                dtype=torch.float32,
                use_safetensors=True,
                local_files_only=True,
                attn_implementation="sdpa",
                output_loading_info=True,
            )
    except MemoryError:
        raise
    except Exception as error:  # a third-party folder can make two libraries raise any error
        reason = str(error).partition("\n")[0]
        raise SpecError(f"'{folder}' cannot be loaded as a language model: {reason}") from None
    if loading_info["missing_keys"]:  # they would be random
        raise SpecError(f"The weights in '{folder}' are incomplete: {min(loading_info['missing_keys'])} is missing.")
    end_tokens: int | list[int] | None = model.generation_config.eos_token_id
    ends = end_tokens if isinstance(end_tokens, list) else [end_tokens]
    config = model.config.get_text_config()
    context = getattr(config, "max_position_embeddings", None)
    return LoadedModel(
        model.eval(),
        tokenizer,
        frozenset(end for end in (*ends, tokenizer.eos_token_id) if end is not None),
        MAX_RELATIVE if context is None else context,
        encodes,
    )
