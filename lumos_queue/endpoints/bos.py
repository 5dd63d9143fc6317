"""Decide which servers can omit `<s>` before a prompt, as the framing `eval` requires (spec/lumos.md 1.1).

vLLM has a field for it. Text-generation-inference, SGLang and llama.cpp have none: they tokenize a text
with the tokenizer's prefix (read in their sources, 2026). For chat://, the server's template decides.
"""

from __future__ import annotations

from lumos_queue.records import JsonObject

OWNERS = frozenset(("vllm",))  #: `owned_by` in /v1/models of the servers that take `add_special_tokens`
DECIDES = "decides itself whether <s> precedes a prompt, also with --framing eval"
_SCHEMES = ("local", "scripted")  #: a scripted endpoint has no tokenizer


def leaves_out_bos(url: str, identity: JsonObject) -> bool:
    """Return whether the endpoint at `url`, with this identity, can omit `<s>` before a prompt."""
    scheme = url.partition(":")[0]
    if scheme in ("openai", "openais"):
        return identity.get("owned_by") in tuple(OWNERS)
    return scheme in _SCHEMES
