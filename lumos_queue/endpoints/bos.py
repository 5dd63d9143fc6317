"""Which servers can be asked to leave `<s>` out of a prompt, as the framing `eval` does (spec/lumos.md 1.1).

vLLM has a field for it. Text-generation-inference, SGLang and llama.cpp tokenize a text with what its tokenizer puts
in front and have none (read in their sources, 2026), and behind chat:// a template decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OWNERS = frozenset(("vllm",))  #: `owned_by` in /v1/models of the servers that take `add_special_tokens`
DECIDES = "decides itself whether <s> precedes a prompt, also with --framing eval"
_SCHEMES = ("local", "scripted")  #: a scripted endpoint has no tokenizer


def leaves_out_bos(url: str, identity: Mapping[str, Any]) -> bool:
    """Whether the endpoint at `url`, which says that it is `identity`, can be told to put no `<s>` in front."""
    scheme = url.partition(":")[0]
    if scheme in ("openai", "openais"):
        return identity.get("owned_by") in tuple(OWNERS)
    return scheme in _SCHEMES
