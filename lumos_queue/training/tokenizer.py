"""Train a byte-level BPE tokenizer that reads each fixed phrase of the LUMOS dialogue as one token.

`encode` splits a prompt exactly at the phrases, and `decode` returns the same bytes. So a long instruction takes one
position of a small model instead of a hundred.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from lumos_queue.models.tokens import CHAT_TEMPLATE, EOS, PAD

BOS = "<s>"

#: Numbers have no leading space, so that a number has the same tokens everywhere. The digits of a name (`b78069`) are
#: in groups of three: single digits mean nothing there, and a small model learns to copy two tokens sooner than five.
_PIECES = r"(?<=\p{L}|\p{L}\p{N}{3})\p{N}{1,3}|\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+"
#: For texts whose numbers are only copied. All digits are in groups of three, as in Llama 3, and the letters of an id
#: include its hyphen (`SH-`, `482`, `13`), so that the token before the digits identifies the kind of id.
_COPIED = r" ?\p{L}+-(?=\p{N})|\p{N}{1,3}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+"


def train_tokenizer(
    texts: Iterable[str], size: int, phrases: Iterable[str], copies: bool = False
) -> PreTrainedTokenizerFast:
    """Learn `size` tokens from the texts; each of `phrases` becomes one further token.

    `copies`: whether the model only copies numbers. If so, a token has up to three digits; if it calculates, one digit.

    The tokenizer puts `<s>` in front once; `</s>` in a text is the end-of-sequence token; padding is on the right.
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
    """Yield the texts between the phrases, so that no merge is learnt inside a phrase, which is already a token."""
    separator = "\x00"
    longest_first = sorted(phrases, key=len, reverse=True)
    for text in texts:
        for phrase in longest_first:
            text = text.replace(phrase, separator)
        yield from (piece for piece in text.replace(EOS, separator).split(separator) if piece)
