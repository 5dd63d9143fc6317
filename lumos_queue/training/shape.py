"""The shape of a model in a folder, if it is of the kind that is trained here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.training.fit import load_tokenizer
from lumos_queue.training.model import ModelSpec, make_model
from lumos_queue.util.untrusted_json import read_json

_FIELDS = {
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "feed_forward": "intermediate_size",
    "positions": "max_position_embeddings",
}
#: What a model computes depends on these too; they must be as `make_model` sets them.
_SAME = (
    "model_type", "vocab_size", "num_key_value_heads", "head_dim", "hidden_act", "rms_norm_eps", "rope_parameters",
    "tie_word_embeddings", "attention_bias", "mlp_bias", "bos_token_id", "eos_token_id", "pad_token_id",
)  # fmt: skip


def shape_of(folder: Path) -> ModelSpec:
    """The shape of a model that this project exported. Raises SpecError for another kind, naming what differs.

    Other models are trained with a library for them, from a build in its format.
    """
    try:
        config: dict[str, Any] = read_json((folder / "config.json").read_text(encoding="utf-8"))
        spec = ModelSpec(**{field: int(config[name]) for field, name in _FIELDS.items()})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SpecError(f"'{folder / 'config.json'}' does not describe a Llama: {error!r}.") from None
    wanted = make_model(spec, load_tokenizer(str(folder)), 0).config.to_dict()
    for name in _SAME:
        if config.get(name) != wanted.get(name):
            raise SpecError(
                f"'{folder}' is not a model of the kind that is fitted here: {name} is {config.get(name)!r}, not "
                f"{wanted.get(name)!r}. Fit it with TRL: lumos dataset build NAME --format trl-sft"
            )
    return spec
