"""Find tokens of chat formats that servers leave in replies. The text of a reply ends at its first end token.

Replies contain them if a server does not skip special tokens, if a model file has a wrong end token, or if the model
writes the next turn itself. The list only has tokens that ordinary text does not contain.
"""

from __future__ import annotations

import re

#: By the families of models that write them. A token that begins a turn also ends the reply before it.
END_TOKENS = {
    "Llama 2, Mistral, Zephyr, TinyLlama, T5": ("</s>", "[INST]", "[/INST]"),
    "Llama 3": ("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|start_header_id|>"),
    "Llama 4": ("<|eot|>", "<|eom|>", "<|header_start|>"),
    "ChatML, Qwen, Yi, SmolLM, InternLM 2, Falcon 3, Kimi": ("<|im_end|>", "<|im_start|>", "[UNUSED_TOKEN_145]"),
    "GPT-2, Qwen, OLMo, Falcon, StableLM, Phi": ("<|endoftext|>",),
    "Gemma": ("<end_of_turn>", "<start_of_turn>", "<turn|>", "<|turn>", "<eos>"),
    "Phi": ("<|end|>", "<|im_sep|>"),
    "Phi, Zephyr, GLM, OLMo, Granite 3": ("<|user|>", "<|assistant|>", "<|system|>", "<|observation|>"),
    "DeepSeek": ("<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<|EOT|>", "<|end_of_sentence|>"),
    "Command R, Aya": ("<|END_OF_TURN_TOKEN|>", "<|START_OF_TURN_TOKEN|>", "<|END_RESPONSE|>", "<EOS_TOKEN>"),
    "gpt-oss": ("<|return|>", "<|call|>", "<|start|>"),
    "Granite": ("<|start_of_role|>", "<|end_of_role|>"),
    "OpenChat, Starling": ("<|end_of_turn|>",),
    "EXAONE": ("[|endofturn|]",),
    "InternLM 1": ("<eoa>", "<eoh>"),
    "Seed-OSS": ("<seed:eos>",),
    "SmolVLM": ("<end_of_utterance>",),
    "Code Llama, Codestral": ("<EOT>",),
    "Apertus": ("<|assistant_end|>",),
    "OpenThinker": ("<|end_of_solution|>",),
}


def _join(prefix: str) -> str:
    """Return the pattern of the rest of the tokens that begin with `prefix`, but with no longer prefix."""
    tokens = {token for group in END_TOKENS.values() for token in group if token.startswith(prefix)}
    longer = "<|" if prefix == "<" else None
    return "|".join(
        re.escape(token.removeprefix(prefix)) for token in sorted(tokens) if longer is None or token[:2] != longer
    )


END = re.compile(rf"<(?:\|(?:{_join('<|')})|{_join('<')})|\[(?:{_join('[')})")

#: White space, and tokens in front of a reply: the beginning of the text, and the header of the assistant's turn.
_START = re.compile(
    r"(?:[\s\ufeff\u200b]"
    r"|<s>|<bos>|<BOS_TOKEN>|<\|begin_of_text\|>|<\|startoftext\|>|<｜begin▁of▁sentence｜>|\[gMASK\]|<sop>"
    r"|<\|im_start\|>\s?assistant\b|<\|start_header_id\|>\s?assistant\s?<\|end_header_id\|>"
    r"|<\|header_start\|>\s?assistant\s?<\|header_end\|>|<start_of_turn>\s?model\b|<\|turn>\s?model\b"
    r"|<\|assistant\|>|<｜Assistant｜>|\[/INST\]|\[\|assistant\|\]|<\|assistant_start\|>"
    r"|<\|START_OF_TURN_TOKEN\|>|<\|CHATBOT_TOKEN\|>|<\|START_RESPONSE\|>"
    r"|<\|start_of_role\|>\s?assistant\s?<\|end_of_role\|>"
    r"|<\|begin_of_solution\|>|<think(?:ing)?\s?/>)*+"
)


def skip_start(text: str, position: int = 0) -> int:
    """Return the index at which the reply begins, behind white space and start tokens at `position`."""
    match = _START.match(text, position)
    return match.end() if match else position


def find_end(text: str, position: int) -> int:
    """Return the index of the first end token at or behind `position`, or the length of the text if there is none."""
    match = END.search(text, position)
    return match.start() if match else len(text)
