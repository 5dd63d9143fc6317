"""A random quantised model in a GGUF file, as llama.cpp's converter writes it; and the same by transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
#: Merges of the tokenizer, in order.
MERGES = ("t h", "th e", "Ġ the", "i n", "e r", "Ġ Ġ", "Ċ Ċ", "1 2", "Ġ 1", "' s", "o u")


def vocabulary() -> list[str]:
    """Its tokens, in order: special ones, bytes, merges."""
    from tokenizers import pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return [*SPECIAL, *alphabet, *(merge.replace(" ", "") for merge in MERGES)]


def make_tiny_gguf(file: Path, pre: str = "smollm", hidden: int = 64, layers: int = 2) -> Any:
    """Write the file (Q4_1 matrices, four heads on two of keys); returns the model whose weights it holds, in float32.

    The weights are the same each time.
    """
    import gguf
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokens = vocabulary()
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokens),
            hidden_size=hidden,
            intermediate_size=2 * hidden,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=256,
            rope_parameters={"rope_type": "default", "rope_theta": 50000.0},
            tie_word_embeddings=True,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=2,
        )
    )
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_name("tiny")
    writer.add_context_length(256)
    writer.add_embedding_length(hidden)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(2 * hidden)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_rope_dimension_count(hidden // 4)
    writer.add_rope_freq_base(50000.0)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL)))
    writer.add_token_merges(list(MERGES))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(2)
    writer.add_add_bos_token(False)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:
                weight.copy_(torch.rand_like(weight) + 0.5)
                writer.add_tensor(_their_name(name), weight.numpy())
                continue
            weight.mul_(4)
            heads = 4 if "q_proj" in name else 2 if "k_proj" in name else 0
            data = _interleave(weight, heads).numpy() if heads else weight.numpy()
            packed_weights = gguf.quantize(data, gguf.GGMLQuantizationType.Q4_1)
            writer.add_tensor(_their_name(name), packed_weights, raw_dtype=gguf.GGMLQuantizationType.Q4_1)
            real = torch.from_numpy(gguf.dequantize(packed_weights, gguf.GGMLQuantizationType.Q4_1))
            weight.copy_(_part(real, heads) if heads else real)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model.eval()


def _interleave(weight: Any, heads: int) -> Any:
    """Rows as llama.cpp rotates them: each pair side by side, not in two halves."""
    return weight.view(heads, 2, -1, weight.shape[1]).transpose(1, 2).reshape(weight.shape).contiguous()


def _part(weight: Any, heads: int) -> Any:
    return weight.view(heads, -1, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)


def _their_name(name: str) -> str:
    parts = {
        "model.embed_tokens": "token_embd",
        "model.norm": "output_norm",
        "model.layers": "blk",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "post_attention_layernorm": "ffn_norm",
        "input_layernorm": "attn_norm",
    }
    for own_name, theirs in parts.items():
        name = name.replace(own_name, theirs)
    return name
