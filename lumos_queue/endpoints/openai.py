"""Servers of the OpenAI completions protocol: `openai://HOST:PORT[/PREFIX]?model=NAME`, `openais://` over TLS.

POST /v1/completions takes the raw prompt. vLLM, SGLang, llama.cpp and `transformers serve` have this protocol. Requests
contain only fields that all of them know, because `transformers serve` answers 422 to others. vLLM also gets its own
fields for a prompt without `<s>` and for a constraint; replies of other servers are checked against the constraint.
`transformers serve` also ignores a temperature above 0 unless the model's generation_config.json has
`"do_sample": true`, and leaves stop strings in the text.
"""

from __future__ import annotations

from collections.abc import Mapping

from lumos_queue.endpoints.base import RULES, EndpointSettings, ModelCall
from lumos_queue.endpoints.constraints import judge, refuse_search
from lumos_queue.endpoints.finish_reasons import FinishReasons
from lumos_queue.endpoints.http import Http, Malformed
from lumos_queue.endpoints.messages import count_reasoning, read_reasoning
from lumos_queue.endpoints.replies import SEPARATES_REASONING, count
from lumos_queue.endpoints.request_bodies import CONSTRAINT_FIELD, write_completion
from lumos_queue.endpoints.request_fields import merge_into_control
from lumos_queue.endpoints.server import ServerEndpoint, ServerReply
from lumos_queue.endpoints.tool_calls import with_call
from lumos_queue.endpoints.tool_support import refuse_functions
from lumos_queue.endpoints.vision import refuse_images
from lumos_queue.errors import EndpointRefused, SpecError
from lumos_queue.records import Completion, FinishReason, Json, JsonObject

#: Servers (`owned_by` in /v1/models) that list exactly their models; `transformers serve` lists its cache instead.
LISTS_ALL = ("vllm", "sglang", "llamacpp")


class OpenAI(ServerEndpoint):
    """A model of one server or of several replicas. If the address names none, the first replica's only model."""

    _path = "/v1/completions"

    def __init__(self, url: str, settings: EndpointSettings, first_backoff: float = 0.5):
        super().__init__(url, settings, first_backoff)
        self._finish_reasons = FinishReasons()
        self._owners: set[str] = set()  #: `owned_by` of the models, by the servers' answers

    async def generate(self, call: ModelCall) -> Completion:
        """Return a completion, with the errors of `Endpoint.generate`.

        Also raises SpecError if the address names no model and the server does not have exactly one model.
        """
        refuse_search(self.url, call)
        await self._prepare(call)
        body = self._write(call)
        completion = await self._complete(self._path, body, call)
        if call.functions:
            completion = with_call(completion, call.functions, completion.finish_reason == FinishReason.LENGTH)
        return judge(completion, call.constraint, was_sent=CONSTRAINT_FIELD in body)

    async def _prepare(self, call: ModelCall) -> None:
        """Ask the server for properties that the request depends on: the name of its model, and the server's kind.

        Raises EpisodeError for images and functions, because completions only take text.
        """
        refuse_images(self.url, call.images)
        refuse_functions(self.url, call.functions)
        needs_owner = not call.sampling.bos or call.constraint is not None
        if not self._model or (needs_owner and not self._owners):
            await self._client.describe(self._describe)

    def _write(self, call: ModelCall) -> dict[str, Json]:
        return write_completion(call, (), self._model, self._owners)

    def _control(self) -> dict[str, Json]:
        body = {"model": self._model, "prompt": "1 + 1 =", "max_tokens": 1, "temperature": 0.0}
        return merge_into_control(body, self._fields)

    def _read(self, reply: JsonObject, headers: Mapping[str, str], rules: int = RULES) -> ServerReply:
        choices, usage = reply.get("choices"), reply.get("usage")
        first = choices[0] if isinstance(choices, list) and choices else None
        choice: JsonObject = first if isinstance(first, dict) else {}
        notes: list[str] = []
        if rules < SEPARATES_REASONING:
            text, reasoning, message = self._text(choice), "", None
        else:
            text, reasoning, message = self._read_choice(choice, notes)
        counts: JsonObject = usage if isinstance(usage, dict) else {}
        if not isinstance(usage, dict):
            notes.append("no usage: tokens are not counted")
        prompt_tokens, completion_tokens = (
            count(counts.get(name), name, notes) for name in ("prompt_tokens", "completion_tokens")
        )
        reasoning_tokens = 0 if rules < SEPARATES_REASONING else count_reasoning(counts, notes)
        is_cut = self._finish_reasons.read(choice.get("finish_reason"), notes)
        # vLLM and SGLang report the end of a reply: a stop string, or the number of an end token.
        has_own_end = any(type(choice.get(name)) is int for name in ("stop_reason", "matched_stop"))
        return ServerReply(
            text,
            is_cut,
            prompt_tokens,
            completion_tokens,
            tuple(notes),
            reasoning,
            reasoning_tokens,
            message,
            has_own_end=has_own_end,
        )

    def _text(self, choice: JsonObject) -> str:
        """Return the text of a reply's first choice. Raises Malformed if it has none."""
        text = choice.get("text")
        if not isinstance(text, str):
            raise Malformed("no text in 'choices[0].text'")
        return text

    def _read_choice(self, choice: JsonObject, notes: list[str]) -> tuple[str, str, JsonObject | None]:
        """Return text, reasoning and message (if any) of a reply's first choice. Raises Malformed if it has no text."""
        return self._text(choice), read_reasoning(choice, notes), None

    async def _describe(self, http: Http) -> dict[str, Json]:
        """Describe the server by GET /health, /v1/models and /version. One of the first two must succeed."""
        health, _ = await http.probe("/health")
        status, listing = await http.probe("/v1/models")
        models = _models(listing)
        if health != 200 and not models:
            if health >= 500:
                raise http.not_ready("/health", health)
            if status >= 500:
                raise http.not_ready("/v1/models", status)
            raise EndpointRefused(
                f"{self.url} is not a server of the OpenAI protocol (GET /health answered {health}): "
                "for text-generation-inference write tgi://HOST:PORT.",
                status=health,
            )
        name = self._model or _only(models, self.url)
        if name not in models and any(row.get("owned_by") in LISTS_ALL for row in models.values()):
            raise SpecError(f"{self.url} has no such model. Choose one of: {', '.join(models)}.")
        self._model = name
        self._owners.add(str(models.get(name, {}).get("owned_by", "")))
        fields = {key: models.get(name, {}).get(key) for key in ("root", "owned_by", "max_model_len")}
        if not self._owners & {"vllm", "sglang"}:
            await self._read_slots(http)
        _, version = await http.probe("/version")
        if isinstance(version, dict):
            fields["version"] = version.get("version")
        return {"model": name, **{key: value for key, value in fields.items() if value is not None}}

    async def _read_slots(self, http: Http) -> None:
        """Note how many requests the server serves at once, if it states it as llama.cpp does (GET /props)."""
        _, props = await http.probe("/props")
        slots = props.get("total_slots") if isinstance(props, dict) else None
        if type(slots) is int and slots > 0:
            self._client.note_slots(http, slots)


def _models(reply: Json) -> dict[str, JsonObject]:
    """Return the models in a reply to GET /v1/models, by name; none if it is an error or lists none."""
    listing = reply.get("data") if isinstance(reply, dict) else None
    rows = [row for row in listing if isinstance(row, dict)] if isinstance(listing, list) else []
    return {name: row for row in rows if isinstance(name := row.get("id"), str)}


def _only(models: JsonObject, url: str) -> str:
    if len(models) == 1:
        return next(iter(models))
    choices = f"it has {', '.join(models)}" if models else "it lists none"
    raise SpecError(f"{url} does not say which model to use ({choices}): add ?model=NAME.")
