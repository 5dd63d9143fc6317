"""Tiny random models of the architectures that rank, with real tokenizers, in the files their authors publish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SAMPLE = "Which river flows through the old town? The Aare flows through Bern. Oats are eaten as porridge. A text page"
#: Small, with 512 tokens of context like the real ones.
SHAPE: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}


def make_bert_dpr(folder: Path, seed: int = 0) -> None:
    """The layout of facebook/dpr-reader-multiset-base."""
    from transformers import DPRConfig, DPRReader

    words = _words(folder, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], "DPRReaderTokenizer")
    _save(folder, seed, lambda: DPRReader(DPRConfig(vocab_size=words, max_position_embeddings=512, **SHAPE)))


def make_deberta(folder: Path, seed: int = 0) -> None:
    """The layout of osunlp/MindAct_CandidateGeneration_deberta-v3-base: one logit."""
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

    words = _words(folder, ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"], "PreTrainedTokenizerFast")
    config = DebertaV2Config(
        vocab_size=words,
        max_position_embeddings=512,
        relative_attention=True,
        position_buckets=32,
        num_labels=1,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
        **SHAPE,
    )
    _save(folder, seed, lambda: DebertaV2ForSequenceClassification(config))


def make_roberta(folder: Path, seed: int = 0, labels: int = 1) -> None:
    """The layout of cross-encoder/stsb-roberta-large: positions begin after the padding id, so there are 514."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForSequenceClassification

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        [SAMPLE],
        trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False),
    )
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
    ).save_pretrained(folder)
    config = RobertaConfig(
        vocab_size=len(tokenizer.get_vocab()),
        max_position_embeddings=514,
        type_vocab_size=1,
        num_labels=labels,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        **SHAPE,
    )
    _save(folder, seed, lambda: RobertaForSequenceClassification(config))


def _words(folder: Path, special: list[str], kind: str) -> int:
    """Write a WordPiece tokenizer; returns how many pieces it has."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import DPRReaderTokenizerFast, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        [SAMPLE + " abcdefghijklmnopqrstuvwxyz0123456789"],
        trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False),
    )
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    fast_tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        unk_token="[UNK]",
        mask_token="[MASK]",
    )
    fast_tokenizer.save_pretrained(folder)
    if kind == "DPRReaderTokenizer":
        vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
        (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece, _ in vocabulary), encoding="utf-8")
        DPRReaderTokenizerFast(vocab=tokenizer.get_vocab()).save_pretrained(folder)
    return len(tokenizer.get_vocab())


def _save(folder: Path, seed: int, make) -> None:
    import torch

    torch.manual_seed(seed)
    model = make()
    with torch.no_grad():
        for weight in model.parameters():  # wider than at the start of training, so that texts differ in their scores
            if weight.dim() > 1:
                weight.mul_(8)
    model.save_pretrained(folder)
