"""The functions that run on this machine. Each takes checked arguments, and returns a response and artifacts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from lumos_queue.actions.experts.interface import ExpertActions
from lumos_queue.actions.experts.session import Run
from lumos_queue.actions.experts.values import Values, read_size
from lumos_queue.actions.local.documents import CALCULATOR, COMPOSE_MELODY, SEARCH, TAKE_PICTURE, WRITE_FILE
from lumos_queue.actions.local.images import camera_image, find_image, write_image
from lumos_queue.actions.local.library import search_articles
from lumos_queue.actions.local.melody import compose
from lumos_queue.actions.maths.interface import MathsActions
from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError
from lumos_queue.experts.base import Expert, Kind
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.problems import BAD_INPUT, TIMEOUT
from lumos_queue.records import Action, Task

PNG = "image/png"
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,79}")
_MEDIA_TYPES = {"md": "text/markdown", "csv": "text/csv"}  #: by a file name's ending; all other files are plain text
#: The kind of a problem of an expert's run to the status of the call; 'tool_error' for other kinds.
_STATUSES = {BAD_INPUT: "invalid_arguments", TIMEOUT: "timeout", "not_run": "not_run"}


@dataclass(frozen=True, slots=True)
class CallSite:
    """What a call needs: the experts and the calculator of its job, its task, and the context of its step."""

    experts: ExpertActions
    maths: MathsActions
    task: Task
    context: StepContext


@dataclass(frozen=True, slots=True)
class CallResponse:
    """The response and the artifacts of a call."""

    response: Any  #: JSON
    artifacts: tuple[Mapping[str, str], ...] = ()  #: each with name, sha256 and media_type
    images: Mapping[str, str] = field(default_factory=dict)  #: argument to the sha256 of the image that it named


Arguments = Mapping[str, Any]
LocalFunction = Callable[
    [Arguments, CallSite], Awaitable[CallResponse]
]  #: raises ActionError, whose message is sent to the model


async def run_expert(expert: Expert, arguments: Arguments, site: CallSite) -> CallResponse:
    """Run an expert on one sample, as a recorded call. If an equal call was made before, its result is reused."""
    images: dict[str, str] = {}
    inputs = []
    for slot in expert.slots:
        argument = str(arguments[slot.name])
        if slot.kind is Kind.IMAGE:
            images[slot.name] = argument = find_image(argument, site.task, site.context)
        inputs.append(Values(slot.kind, (argument,)))
    item = await _run(Run(expert, tuple(inputs), (0,)), site)
    if expert.output is Kind.TEXT:
        return CallResponse(item, images=images)
    return CallResponse(write_image(item, await _size(item, site)), (_image(expert.option, item),), images)


async def _run(run: Run, site: CallSite) -> str:
    """Return the expert's output: a text, or the sha256 of an image. Raises ActionError without an output."""
    try:
        execution = await site.experts.call(run, site.context)
    except ActionError as error:
        raise ActionError(_STATUSES.get(error.kind, "tool_error"), str(error)) from None
    if not execution.ok:
        raise ActionError(_STATUSES.get(execution.status, "tool_error"), execution.message)
    (value,) = execution.values
    (item,) = value["items"]
    if item is None:
        kind, _, message = str(value["problems"].get("0", "no value")).partition(": ")
        raise ActionError(_STATUSES.get(kind, "tool_error"), f"{run.expert.name} gave nothing: {message or kind}")
    return item


async def search(arguments: Arguments, site: CallSite) -> CallResponse:
    """Return the titles and texts of the library's articles that fit the query best."""
    articles = await search_articles(arguments["query"])
    if not articles:
        raise ActionError("not_found", "no article has any of these words")
    return CallResponse([{"title": article.title, "text": article.text} for article in articles])


async def calculate(arguments: Arguments, site: CallSite) -> CallResponse:
    """Return the exact value of a formula, computed by the calculator of the maths domain. No code is run."""
    execution = await site.maths.execute(Action(("R1",), "Calculator", arguments["formula"]), {})
    if not execution.ok:
        raise ActionError("timeout" if execution.status == "timeout" else "invalid_arguments", execution.message)
    return CallResponse(execution.result)


async def write_file(arguments: Arguments, site: CallSite) -> CallResponse:
    """Store a text as an artifact of the episode, and return a confirmation."""
    name, text = arguments["name"], arguments["text"]
    if not _FILE_NAME.fullmatch(name):
        raise ActionError(
            "invalid_arguments", "a file's name has letters, digits, spaces, '.', '_' and '-', at most 80, no folder"
        )
    media_type = _MEDIA_TYPES.get(name.rpartition(".")[2].lower(), "text/plain")
    digest = site.context.keep(text.encode(), media_type)
    artifact = {"name": name, "sha256": digest, "media_type": media_type}
    return CallResponse(f"{name} is written: {len(text):,} characters", (artifact,))


async def compose_melody(arguments: Arguments, site: CallSite) -> CallResponse:
    """Return a melody in notation; its sound is stored as an artifact of the episode."""
    melody = await asyncio.to_thread(compose, arguments["text"])
    sound = site.context.keep(await asyncio.to_thread(melody.write_wav), "audio/wav")
    artifact = {"name": "melody.wav", "sha256": sound, "media_type": "audio/wav"}
    return CallResponse(melody.write_abc(), (artifact,))


async def take_picture(arguments: Arguments, site: CallSite) -> CallResponse:
    """Return the image that the task's camera sees."""
    digest = camera_image(site.task)
    return CallResponse(write_image(digest, await _size(digest, site)), (_image("webcam", digest),))


async def _size(digest: str, site: CallSite) -> str:
    return read_size(await site.context.load(digest))


def _image(name: str, digest: str) -> dict[str, str]:
    return {"name": name, "sha256": digest, "media_type": PNG}


def _by_expert(expert: Expert) -> LocalFunction:
    async def run(arguments: Arguments, site: CallSite) -> CallResponse:
        return await run_expert(expert, arguments, site)

    return run


#: By the `api_name` of its document (documents.py).
LOCAL_FUNCTIONS: Mapping[str, LocalFunction] = MappingProxyType(
    {name: _by_expert(expert) for name, expert in EXPERTS.items()}
    | {SEARCH: search, CALCULATOR: calculate, WRITE_FILE: write_file, TAKE_PICTURE: take_picture}
    | {COMPOSE_MELODY: compose_melody}
)
