"""The tokenizer of any causal language model made ready for LUMOS: `</s>` ends a reply, `<pad>` fills a batch.

A base's own end and pad tokens are renamed, so that a reply ends in the very token that the base learnt to end in. A
row of the embeddings is added only for what the base has no token for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lumos_queue.errors import SpecError
from lumos_queue.util.regular_file import check_entries

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

EOS, PAD = "</s>", "<pad>"

#: The `train` framing of a conversation, for servers that are sent messages instead of text.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}{{ '<|assistant|>\\n' + message['content'].strip() + '</s>\\n' }}"
    "{% else %}{{ '<|' + message['role'] + '|>\\n' + message['content'].strip() + '\\n' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"
)
#: Tokens that bases pad with, in the order in which they are taken where the tokenizer names none of its own.
_PADS = (PAD, "[PAD]", "<|pad|>", "<|padding|>", "<|finetune_right_pad_id|>", "<|endoftext|>")


@dataclass(frozen=True, slots=True)
class PreparedTokenizer:
    """A tokenizer in which `</s>` and `<pad>` are two tokens, and the ids that the base has no trained row for."""

    tokenizer: PreTrainedTokenizerFast
    added: tuple[int, ...]  #: ids of new tokens, ascending: to be trained with the adapter


def prepare_tokenizer(folder: Path, phrases: Sequence[str] = ()) -> PreparedTokenizer:
    """The tokenizer of a model folder, with its end and pad tokens renamed; each of `phrases` becomes one token.

    Raises SpecError when it cannot be read, has no end token, or is not one that the library tokenizers runs.
    """
    from tokenizers import AddedToken, Tokenizer
    from transformers import PreTrainedTokenizerFast

    base = _load(folder)
    value = json.loads(base.backend_tokenizer.to_str())
    end, pad = base.eos_token, _find_pad(base, value)
    if not end or (end_id := base.backend_tokenizer.token_to_id(end)) is None:
        raise SpecError(f"The tokenizer of '{folder}' has no end token: set eos_token in its tokenizer_config.json.")
    renamed: dict[str, str] = {}
    for old, new in ((end, EOS), (pad, PAD)):
        if old and old != new:
            if base.backend_tokenizer.token_to_id(new) is not None:
                renamed[new] = f"<|former {new.strip('<>')}|>"
            renamed[old] = new
    value = _rename(value, renamed)
    for token in value["added_tokens"]:
        if token["content"] in (EOS, PAD):
            token.update(special=True, normalized=False, single_word=False, lstrip=False, rstrip=False)
    tokenizer = Tokenizer.from_str(json.dumps(value))
    size = tokenizer.get_vocab_size()
    plain = {"normalized": False, "single_word": False, "lstrip": False, "rstrip": False}
    tokenizer.add_special_tokens([AddedToken(token, special=True, **plain) for token in (EOS, PAD)])
    tokenizer.add_tokens([AddedToken(phrase, special=False, **plain) for phrase in dict.fromkeys(phrases)])
    others = {"bos_token": base.bos_token, "unk_token": base.unk_token}
    prepared = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=EOS,
        pad_token=PAD,
        # What is renamed is no longer there under its old name; as the end or pad token it is nothing else.
        **{name: token for name, token in others.items() if token and token not in renamed},
        chat_template=CHAT_TEMPLATE,
        padding_side="right",
        clean_up_tokenization_spaces=False,
        model_max_length=base.model_max_length,
    )
    assert prepared.eos_token_id == end_id
    return PreparedTokenizer(prepared, tuple(range(size, tokenizer.get_vocab_size())))


def _load(folder: Path) -> Any:
    from transformers import AutoTokenizer

    check_entries(folder)
    try:
        found = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # a folder made by others can make two libraries raise anything
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SpecError(f"'{folder}' has no tokenizer that can be read: {reason}") from None
    if not getattr(found, "is_fast", False):
        raise SpecError(f"The tokenizer of '{folder}' runs in Python only: save it as a tokenizer.json.")
    return found


def _find_pad(base: Any, value: dict[str, Any]) -> str:
    """The token of the base to pad with: none that it uses for anything else; '' where it has none."""
    used = {base.eos_token, base.bos_token}
    special = {token["content"] for token in value["added_tokens"] if token["special"]}
    if base.pad_token and base.pad_token not in used and base.pad_token != base.unk_token:
        return base.pad_token
    return next((token for token in _PADS if token in special - used), "")


def _rename(value: Any, names: dict[str, str]) -> Any:
    """A tokenizer's JSON with tokens renamed: where they are texts, and where they are keys.

    Merges are left alone: those of a renamed token lead to it no more, and no text is cut into them either way.
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
    added = [{**token, "content": names.get(token["content"], token["content"])} for token in value["added_tokens"]]
    return {
        **value,
        "model": model,
        "added_tokens": added,
        "post_processor": _replace(value.get("post_processor"), names),
    }


def _replace(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(key, key): _replace(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [_replace(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value
