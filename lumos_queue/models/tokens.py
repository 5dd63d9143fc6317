"""Prepare the tokenizer of a causal language model for LUMOS: `</s>` ends a reply, `<pad>` fills a batch.

The base's own end and pad tokens are renamed, so that a reply ends with the token at which the base was trained to end
texts. The embeddings get a new row only for a text that is not a token of the base.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lumos_queue.errors import SpecError
from lumos_queue.util.model_loading import MODEL_LOADING, import_libraries
from lumos_queue.util.regular_file import check_entries

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

EOS, PAD = "</s>", "<pad>"

#: The `train` format of a conversation, for servers that receive messages instead of text.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}{{ '<|assistant|>\\n' + message['content'].strip() + '</s>\\n' }}"
    "{% else %}{{ '<|' + message['role'] + '|>\\n' + message['content'].strip() + '\\n' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"
)
#: Pad tokens of base models; the first that exists is used if the tokenizer names no pad token.
_PADS = (PAD, "[PAD]", "<|pad|>", "<|padding|>", "<|finetune_right_pad_id|>", "<|endoftext|>")


@dataclass(frozen=True, slots=True)
class PreparedTokenizer:
    """A tokenizer in which `</s>` and `<pad>` are tokens, and the ids of its tokens that the base does not have."""

    tokenizer: PreTrainedTokenizerFast
    added: tuple[int, ...]  #: ids of new tokens, ascending; the adapter trains their rows


def prepare_tokenizer(folder: Path, phrases: Sequence[str] = ()) -> PreparedTokenizer:
    """Return the tokenizer of a model folder with renamed end and pad tokens. Each text of `phrases` becomes a token.

    Raises SpecError if the tokenizer cannot be read, has no end token, or is not one of the library tokenizers.
    """
    with import_libraries():
        from tokenizers import AddedToken, Tokenizer
        from transformers import PreTrainedTokenizerFast

    base = _load(folder)
    value = json.loads(base.backend_tokenizer.to_str())
    end, pad = base.eos_token, _find_pad(base, value)
    if not end or (end_id := base.backend_tokenizer.token_to_id(end)) is None:
        raise SpecError(f"The tokenizer of '{folder}' has no end token: set eos_token in its tokenizer_config.json.")
    new_names: dict[str, str] = {}
    for old, new in ((end, EOS), (pad, PAD)):
        if old and old != new:
            if base.backend_tokenizer.token_to_id(new) is not None:
                new_names[new] = f"<|former {new.strip('<>')}|>"
            new_names[old] = new
    value = _rename(value, new_names)
    for token in value["added_tokens"]:
        if token["content"] in (EOS, PAD):
            token.update(special=True, normalized=False, single_word=False, lstrip=False, rstrip=False)
    tokenizer = Tokenizer.from_str(json.dumps(value))
    size = tokenizer.get_vocab_size()
    plain = {"normalized": False, "single_word": False, "lstrip": False, "rstrip": False}
    tokenizer.add_special_tokens([AddedToken(token, special=True, **plain) for token in (EOS, PAD)])
    tokenizer.add_tokens([AddedToken(phrase, special=False, **plain) for phrase in dict.fromkeys(phrases)])
    special_tokens = {"bos_token": base.bos_token, "unk_token": base.unk_token}
    prepared_tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=EOS,
        pad_token=PAD,
        # A renamed token does not exist under its old name; as end or pad token it has no second role.
        **{name: token for name, token in special_tokens.items() if token and token not in new_names},
        chat_template=CHAT_TEMPLATE,
        padding_side="right",
        clean_up_tokenization_spaces=False,
        model_max_length=base.model_max_length,
    )
    assert prepared_tokenizer.eos_token_id == end_id
    return PreparedTokenizer(prepared_tokenizer, tuple(range(size, tokenizer.get_vocab_size())))


def _load(folder: Path) -> Any:
    with import_libraries():
        from transformers import AutoTokenizer

    check_entries(folder)
    try:
        with MODEL_LOADING:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # a hostile folder can make the two libraries raise any exception
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SpecError(f"'{folder}' has no tokenizer that can be read: {reason}") from None
    if not getattr(tokenizer, "is_fast", False):
        raise SpecError(f"The tokenizer of '{folder}' runs in Python only: save it as a tokenizer.json.")
    return tokenizer


def _find_pad(base: Any, value: dict[str, Any]) -> str:
    """Return a token of the base that has no other role and can pad; '' if there is none."""
    reserved_tokens = {base.eos_token, base.bos_token}
    special = {token["content"] for token in value["added_tokens"] if token["special"]}
    if base.pad_token and base.pad_token not in reserved_tokens and base.pad_token != base.unk_token:
        return base.pad_token
    return next((token for token in _PADS if token in special - reserved_tokens), "")


def _rename(value: Any, names: dict[str, str]) -> Any:
    """Return the JSON of a tokenizer in which tokens are renamed, both in texts and in keys.

    Merges are not changed: those of a renamed token no longer form it, but no text needs to be split into this token.
    """
    if not names:
        return value
    model = dict(value["model"])
    if isinstance(model.get("vocab"), dict):
        model["vocab"] = {names.get(token, token): number for token, number in model["vocab"].items()}
    elif isinstance(model.get("vocab"), list):  # Unigram: [token, score]
        model["vocab"] = [[names.get(token, token), score] for token, score in model["vocab"]]
    if isinstance(model.get("unk_token"), str):
        model["unk_token"] = names.get(model["unk_token"], model["unk_token"])
    added_tokens = [
        {**token, "content": names.get(token["content"], token["content"])} for token in value["added_tokens"]
    ]
    return {
        **value,
        "model": model,
        "added_tokens": added_tokens,
        "post_processor": _replace(value.get("post_processor"), names),
    }


def _replace(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(key, key): _replace(child, names) for key, child in value.items()}
    if isinstance(value, list):
        return [_replace(child, names) for child in value]
    return names.get(value, value) if isinstance(value, str) else value
