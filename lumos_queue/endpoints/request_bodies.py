"""Write the bodies of requests to model servers, which endpoints send and `lumos show --prompts` shows.

`image_urls` are the addresses of a call's images: data: URLs in requests, and names where a request is only shown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lumos_queue.endpoints.base import ModelCall
from lumos_queue.endpoints.bos import OWNERS
from lumos_queue.endpoints.chat_messages import chat_messages
from lumos_queue.endpoints.request_fields import merge_fields
from lumos_queue.endpoints.tool_messages import tools_field, with_tool_calls
from lumos_queue.endpoints.vision import with_image_urls, with_markdown_images
from lumos_queue.records import Json, JsonObject

#: Servers that take `structured_outputs`, which replaced vLLM's `guided_regex` (removed in 0.12). Other releases
#: ignore it, like every unknown field, so replies are also judged.
CONSTRAINED = frozenset(("vllm",))
CONSTRAINT_FIELD = "structured_outputs"
MAX_STOPS = 4  #: stop strings that servers accept; the rest is applied to the reply


@dataclass(frozen=True, slots=True)
class SentRequest:
    """The body of a request in parts: either messages or one text, the functions and all other fields."""

    messages: Sequence[JsonObject] | None
    text: str | None
    functions: Sequence[JsonObject]  #: that the model may call
    fields: JsonObject


def write_completion(
    call: ModelCall, image_urls: Sequence[str], model: str, owners: Collection[str]
) -> dict[str, Json]:
    """Return the body of POST /v1/completions, which has no images: `image_urls` is unused.

    `owners`: `owned_by` of the servers' models, which tells their kind.
    """
    content: dict[str, Json] = {"prompt": call.prompt}
    if not call.sampling.bos and OWNERS.issuperset(owners):
        content["add_special_tokens"] = False
    if call.constraint is not None and CONSTRAINED.issuperset(owners):
        content[CONSTRAINT_FIELD] = {"regex": call.constraint.regex()}
    return _write_openai(call, model, content)


def write_chat(call: ModelCall, image_urls: Sequence[str], model: str, owners: Collection[str] = ()) -> dict[str, Json]:
    """Return the body of POST /v1/chat/completions, without a constraint: most servers have no field for it.

    All servers get the same body: `owners` is unused. Raises EpisodeError if there are images but the prompt has no
    turn of the user.
    """
    messages = with_image_urls(chat_messages(call.prompt), image_urls)
    if not call.functions:
        return _write_openai(call, model, {"messages": messages})
    content = {"messages": with_tool_calls(messages, call.functions), "tools": tools_field(call.functions)}
    return _write_openai(call, model, content)


def _write_openai(call: ModelCall, model: str, content: JsonObject) -> dict[str, Json]:
    """Return a body of OpenAI's protocol. `content`: its fields for the prompt, functions and constraint."""
    sampling = call.sampling
    body = {"model": model, **content, "max_tokens": sampling.max_tokens, "temperature": sampling.temperature}
    if sampling.stop:
        body["stop"] = list(sampling.stop[:MAX_STOPS])
    if sampling.temperature > 0:
        body |= {"top_p": sampling.top_p, "seed": call.seed % 2**31}
    return merge_fields(body, sampling.request)


def write_generate(
    call: ModelCall, image_urls: Sequence[str], model: str = "", owners: Collection[str] = ()
) -> dict[str, Json]:
    """Return the body of POST /generate of text-generation-inference.

    Its servers have one model, so `model` and `owners` are unused.
    """
    sampling = call.sampling
    parameters: dict[str, Json] = {"max_new_tokens": sampling.max_tokens, "details": True}
    if sampling.stop:
        parameters["stop"] = list(sampling.stop[:MAX_STOPS])
    if sampling.temperature > 0:
        parameters |= {"do_sample": True, "temperature": sampling.temperature, "seed": call.seed % 2**31}
        if sampling.top_p < 1:
            parameters["top_p"] = sampling.top_p
    else:
        parameters["do_sample"] = False
    if call.constraint is not None:
        parameters["grammar"] = {"type": "regex", "value": call.constraint.regex()}
    parameters = merge_fields(parameters, sampling.request)
    return {"inputs": with_markdown_images(call.prompt, image_urls), "parameters": parameters}


def write_sampling(call: ModelCall) -> dict[str, Json]:
    """Return the input of an endpoint without a server, with the field names of OpenAI's protocol."""
    sampling = call.sampling
    fields: dict[str, Json] = {"max_tokens": sampling.max_tokens, "temperature": sampling.temperature}
    if sampling.stop:
        fields["stop"] = list(sampling.stop)
    if sampling.temperature > 0:
        fields["top_p"] = sampling.top_p
    fields |= {name: value for name in ("beams", "epsilon") if (value := getattr(sampling, name))}
    if sampling.temperature > 0 or sampling.epsilon > 0:
        fields["seed"] = call.seed
    return {"prompt": call.prompt, **fields}


def split_body(body: Mapping[str, Any]) -> SentRequest:
    """Split a body, which a function of this module wrote, into its parts."""
    fields = {**body, **body.get("parameters", {})}
    fields.pop("parameters", None)
    messages, functions = fields.pop("messages", None), fields.pop("tools", ())
    texts = [fields.pop(name) for name in ("prompt", "inputs") if name in fields]
    return SentRequest(messages, None if messages is not None else texts[0], functions, fields)
