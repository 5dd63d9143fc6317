"""A byte-level BPE tokenizer that reads each fixed phrase of the LUMOS dialogue as one token.

The text interface stays plain: `encode` splits the prompt exactly at the phrases, `decode` gives the same bytes back.
A long instruction head then costs a small model one position instead of a hundred.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from lumos_queue.models.tokens import CHAT_TEMPLATE, EOS, PAD

BOS = "<s>"

#: Numbers without their space, so that each reads the same everywhere. The digits of a name (`b78069`) by threes:
#: single ones say nothing there, and a small model learns to copy two tokens sooner than five.
_PIECES = r"(?<=\p{L}|\p{L}\p{N}{3})\p{N}{1,3}|\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+"
#: Where numbers are only copied: all of them by threes, as Llama 3 reads them, and the letters of an id with its hyphen
#: (`SH-`, `482`, `13`), so that the token in front tells which id goes on.
_COPIED = r" ?\p{L}+-(?=\p{N})|\p{N}{1,3}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+"


def train_tokenizer(
    texts: Iterable[str], size: int, phrases: Iterable[str], copies: bool = False
) -> PreTrainedTokenizerFast:
    """Learn `size` tokens from the texts; each of `phrases` becomes one further token.

    `copies`: whether numbers are copied alone: then a token has up to three digits. Where models calculate it has one.

    `<s>` is put in front once by the tokenizer; `</s>` in a text is the end-of-sequence token; padding is on the right.
    """
    phrases = list(dict.fromkeys(phrases))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_COPIED if copies else _PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[PAD, BOS, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_split_at(texts, phrases), trainer)
    tokenizer.add_tokens([AddedToken(phrase, normalized=False, special=False) for phrase in phrases])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", special_tokens=[(BOS, tokenizer.token_to_id(BOS))]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BOS,
        eos_token=EOS,
        pad_token=PAD,
        padding_side="right",
        clean_up_tokenization_spaces=False,
        model_max_length=1024,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def _split_at(texts: Iterable[str], phrases: list[str]) -> Iterator[str]:
    """The texts cut at the phrases, so that no merge is learnt for what is already a token."""
    separator = "\x00"
    longest_first = sorted(phrases, key=len, reverse=True)
    for text in texts:
        for phrase in longest_first:
            text = text.replace(phrase, separator)
        yield from (piece for piece in text.replace(EOS, separator).split(separator) if piece)
