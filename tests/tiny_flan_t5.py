"""A random T5 with a tokenizer as T5's: Unigram, `</s>` after each text, no `<s>`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def make_tiny_flan_t5(folder: Path, texts: Iterable[str], dropout: float = 0.0, tied: bool = False) -> Path:
    """Write model and tokenizer to `folder`; the same weights each time. Gated feed-forward blocks, as of Flan-T5."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=special, unk_token="<unk>", show_progress=False)  # type: ignore[call-arg]
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    config = T5Config(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
        dropout_rate=dropout,
        tie_word_embeddings=tied,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    torch.manual_seed(3)
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder
