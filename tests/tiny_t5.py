"""A random T5 with a Unigram tokenizer in spiece.model, as its authors ship it."""

from __future__ import annotations

from pathlib import Path

from lumos_queue.experts.catalogue import PLANNABLE

TEXT = f"Given noisy image, how to return the regular image step by step? ({',)('.join(PLANNABLE)},)() left right\n"


def make_tiny_t5(folder: Path, tokenizer_json: bool = False) -> None:
    """Write it to `folder`, with either spiece.model or tokenizer.json; the weights are the same each time."""
    import sentencepiece
    import torch
    from transformers import T5Config, T5ForConditionalGeneration, T5Tokenizer

    folder.mkdir(parents=True, exist_ok=True)
    text = folder.parent / f"{folder.name}.txt"
    text.write_text(TEXT * 50, encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(folder / "spiece"),
        vocab_size=200,
        model_type="unigram",
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (folder / "spiece.vocab").unlink()
    text.unlink()
    tokenizer = T5Tokenizer.from_pretrained(folder, extra_ids=0)
    if tokenizer_json:
        tokenizer.save_pretrained(folder)
        (folder / "spiece.model").unlink()
    torch.manual_seed(0)
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=32,
            d_kv=8,
            d_ff=64,
            num_layers=2,
            num_heads=4,
            pad_token_id=0,
            eos_token_id=1,
            decoder_start_token_id=0,
            tie_word_embeddings=False,
        )
    )
    with torch.no_grad():  # random weights would be sure of one token
        model.lm_head.weight.mul_(0.2)
    model.save_pretrained(folder)
