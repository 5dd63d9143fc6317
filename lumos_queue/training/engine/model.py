"""Make the model of a fit, with random weights or a folder's weights, rows for new tokens, adapters and dropout."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging

from lumos_queue.endpoints.model_folder import encodes_prompts
from lumos_queue.errors import SpecError
from lumos_queue.training.engine.spec import BF16, FitSpec, LoraShape, ModelShape
from lumos_queue.util.model_loading import MODEL_LOADING
from lumos_queue.util.regular_file import check_entries

#: The projections of a layer in Llama and its relatives.
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
#: The projections of T5 and its relatives, whose feed-forward blocks have one input projection (wi) or two.
PAIR_PROJECTIONS = ("q", "k", "v", "o", "wi", "wi_0", "wi_1", "wo")
#: The output of an attention or feed-forward block: the hidden states, alone or first in a tuple.
Output = torch.Tensor | tuple[Any, ...]


def auto_class(folder: Path) -> Any:
    """Return the class that loads the model of a folder. Raises SpecError when its configuration cannot be read."""
    return AutoModelForSeq2SeqLM if encodes_prompts(folder) else AutoModelForCausalLM


def is_encoder_decoder(model: PreTrainedModel | PeftModel) -> bool:
    """Return whether the model has an encoder, which reads the prompt, and a decoder, which writes the reply."""
    return bool(getattr(model.config, "is_encoder_decoder", False))


def load_tokenizer(folder: str) -> PreTrainedTokenizerBase:
    """Load the tokenizer in a folder; nothing is downloaded. Raises SpecError when there is none."""
    check_entries(Path(folder))
    try:
        with MODEL_LOADING:
            return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise SpecError(f"No tokenizer in '{folder}': {str(error).partition(chr(10))[0]}") from None


def load_model(spec: FitSpec) -> PreTrainedModel | PeftModel:
    """Return the model before its first step. The same spec gives the same weights.

    Raises SpecError for a folder that holds no suitable model.
    """
    logging.disable_progress_bar()
    tokenizer = load_tokenizer(spec.tokenizer)
    torch.manual_seed(spec.seed)
    if not spec.base:
        model: PreTrainedModel = make_model(spec.shape, tokenizer, spec.seed, choose_attention(spec))
        new_rows: list[int] = []
    else:
        model, new_rows = load_base(Path(spec.base), tokenizer, spec)
    add_dropout(model, spec.dropout)
    return add_adapters(model, spec.lora, new_rows) if spec.lora else model


def make_model(
    shape: ModelShape, tokenizer: PreTrainedTokenizerBase, seed: int, attention: str = "eager"
) -> LlamaForCausalLM:
    """Return a Llama with random float32 weights; the same seed gives the same weights."""
    options: dict[str, Any] = {  # a dict, because LlamaConfig takes more than its signature names
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "attn_implementation": attention,
    }
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        intermediate_size=shape.feed_forward,
        max_position_embeddings=shape.positions,
        tie_word_embeddings=True,
        **options,
    )
    torch.manual_seed(seed)
    return LlamaForCausalLM(config)


def load_base(folder: Path, tokenizer: PreTrainedTokenizerBase, spec: FitSpec) -> tuple[PreTrainedModel, list[int]]:
    """Load the model in a folder; return it and the ids of tokens of `tokenizer` that the folder's tokenizer lacks.

    The row of a new token starts as the mean of the rows of the tokens into which the folder's tokenizer splits its
    text.

    Raises SpecError for a folder that holds no language model in safetensors.
    """
    check_entries(folder)
    try:
        with MODEL_LOADING:
            load = auto_class(folder).from_pretrained
            model, loading_info = load(
                folder,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
                dtype=weights_type(spec),
                attn_implementation=choose_attention(spec),
            )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise SpecError(f"No language model in '{folder}': {str(error).partition(chr(10))[0]}") from None
    if loading_info["missing_keys"]:  # they would be random
        raise SpecError(f"The weights in '{folder}' are incomplete: {min(loading_info['missing_keys'])} is missing.")
    before = load_tokenizer(str(folder))
    new = list(range(len(before), len(tokenizer)))
    if len(tokenizer) > model.get_input_embeddings().weight.shape[0]:
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    tables = {
        id(module.weight): module.weight for module in (model.get_input_embeddings(), model.get_output_embeddings())
    }
    with torch.no_grad():
        for table in tables.values():
            for token in new:
                pieces = before(tokenizer.convert_ids_to_tokens(token), add_special_tokens=False)["input_ids"]
                table[token] = table[pieces].mean(0)
    for name in ("bos", "eos", "pad"):
        setattr(model.config, f"{name}_token_id", getattr(tokenizer, f"{name}_token_id"))
    return model, new


def weights_type(spec: FitSpec) -> torch.dtype:
    """Return the type of a base's weights: float32, or bfloat16 if they are frozen and the fit multiplies in it."""
    return torch.bfloat16 if spec.lora is not None and spec.precision == BF16 else torch.float32


def add_adapters(model: PreTrainedModel, lora: LoraShape, new_rows: list[int]) -> PeftModel:
    """Return the model with adapters; only the adapters and the embeddings of `new_rows` are trained.

    Raises SpecError for an architecture that lacks a projection for an adapter.
    """
    module_names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    pairs = is_encoder_decoder(model)
    targets = lora.targets or (
        tuple(name for name in PAIR_PROJECTIONS if name in module_names) if pairs else PROJECTIONS
    )
    missing_names = [name for name in targets or PAIR_PROJECTIONS if name not in module_names]
    if missing_names:
        raise SpecError(f"A {type(model).__name__} has no {missing_names[0]} for an adapter: train it without --lora.")
    config = LoraConfig(
        task_type="SEQ_2_SEQ_LM" if pairs else "CAUSAL_LM",
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(targets),
        trainable_token_indices=_rows_by_table(model, new_rows) if new_rows else None,
    )
    adapted_model = get_peft_model(model, config)
    # Otherwise PEFT names this machine's folder in the adapter, and saves all embeddings because some are new. It takes
    # the name from the configuration of adapters, and after the first save from the model.
    adapted_model.peft_config["default"].base_model_name_or_path = None
    cast(Any, model).name_or_path = ""
    return cast(PeftModel, adapted_model)


def _rows_by_table(model: PreTrainedModel, rows: list[int]) -> dict[str, list[int]]:
    """Return `rows` by the name of each module that has them: the embeddings, and a head with its own weights."""
    names = {id(module): name.rpartition(".")[2] for name, module in model.named_modules()}
    tables: list[Any] = [model.get_input_embeddings()]
    if not model.config.tie_word_embeddings:
        tables.append(model.get_output_embeddings())
    return {names[id(table)]: rows for table in tables}


def choose_attention(spec: FitSpec) -> str:
    """Return the attention implementation, `eager` or `sdpa`.

    On a CPU, the backward pass of `sdpa` is slower than that of `eager` in bfloat16, but twice as fast in float32 for
    some 500 tokens or more.
    """
    return "eager" if spec.device == "cpu" and spec.precision == BF16 else "sdpa"


def add_dropout(model: PreTrainedModel, rate: float) -> None:
    """Drop `rate` of the output of each attention and feed-forward block, in training mode only.

    Llama itself has no residual dropout. An encoder-decoder model has its own dropout; `rate` replaces the rate of its
    configuration.
    """

    def drop(_module: torch.nn.Module, _inputs: tuple[Any, ...], output: Output) -> Output:
        first = output[0] if isinstance(output, tuple) else output
        states = torch.nn.functional.dropout(first, rate, model.training)
        return (states, *output[1:]) if isinstance(output, tuple) else states

    if rate:
        for name, module in model.named_modules():
            if is_encoder_decoder(model):
                if isinstance(module, torch.nn.Dropout):
                    module.p = rate
            elif name.rpartition(".")[2] in ("self_attn", "mlp"):
                module.register_forward_hook(drop)
