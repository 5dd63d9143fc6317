"""A random Llama with a byte-level tokenizer, made in a second: enough to test everything but answers."""

from __future__ import annotations

from pathlib import Path

SAMPLE = "<|user|>\nTask: Tom has 8 apples.\n<|assistant|>\nSubgoal 1: Subtract 3 from 8.\nR1 = Calculator(8 - 3)"


def make_tiny_model(folder: Path, hidden: int = 64, layers: int = 2, context: int = 256, vocabulary: int = 400) -> None:
    """Write model and tokenizer (`<s>` put before each text) to `folder`; weights are the same each time."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<pad>", "<s>", "</s>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([SAMPLE] * 3, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    ).save_pretrained(folder)

    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer.get_vocab()),
            hidden_size=hidden,
            intermediate_size=2 * hidden,
            num_hidden_layers=layers,
            num_attention_heads=4,
            max_position_embeddings=context,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
        )
    )
    with torch.no_grad():
        # Random weights hardly prefer one token; wider ones do, and differently after each prompt.
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(4)
    model.save_pretrained(folder)
