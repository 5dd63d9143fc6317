"""Questions about images: `VQA([IMG], Question: …)` and `QA([R1, R2], Question: …)`, answered by models.

LUMOS's paper names the two actions and quotes the signature and description of VQA; the form of arguments is that of
its conversion examples (spec/lumos.md 1.2, 4.2). The models have the roles `vqa`, which sees images, and `qa`, which
does not. The prompts were written for this project. The answer is the model's reply on one line.

`--tool vision=` selects the input of VQA: `image` (default), `caption` (the row's caption replaces the image, which is
not sent), or `none` (the question alone: it measures answers without an image).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lumos_queue.actions.options import check_option_names
from lumos_queue.actions.session import ActionSession, Value, action
from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError, unknown
from lumos_queue.records import Completion, Role, Task
from lumos_queue.settings import Settings

SHOWN = {
    "image": "the task's image",
    "caption": "the task's caption in place of the image",
    "none": "the question alone",
}
IMAGE = "[IMG]"
_QUESTION = re.compile(
    r"(?P<context>\[[^\]]*\]|R\d+|IMG)\s*,\s*(?:(?:question|query)\s*:\s*)?+(?P<question>\S.*)", re.I | re.S
)
_VARIABLE = re.compile(r"\bR\d+\b")

_LOOK = "Please answer the question about the image in a few words, without an explanation.\n\nQuestion: {question}\n"
_DESCRIBED = (
    "Please answer the question about an image in a few words, without an explanation. The image shows the following "
    "contents: {caption}\n\nQuestion: {question}\n"
)
_BLIND = (
    "Please answer the question about an image that you cannot see in a few words, without an explanation.\n\n"
    "Question: {question}\n"
)
_THINK = (
    "Please answer the question according to the context, in a few words, without an explanation.\n\n"
    "Question: {question}\nContext: {context}\n"
)
_KNOW = "Please answer the question in a few words, without an explanation.\n\nQuestion: {question}\n"
_NO_IMAGE = {
    "image": "the task has no image: read its benchmark with --option images=DIR, or answer from captions with "
    "--option captions=FILE --tool vision=caption",
    "caption": "the task has no caption: read its benchmark with --option captions=FILE",
}


class VisionSession(ActionSession):
    """The session of one task, which has at most one image."""

    def __init__(self, inputs: Mapping[str, Any], view: str):
        self._image: str | None = inputs.get("image")
        self._caption: str = inputs.get("caption") or ""
        self._view = view

    @action("QA(context, query)")
    async def QA(self, text: str, context: StepContext) -> Value:
        """Given context, answer the given query."""
        references, question = _parts(text, context)
        texts = [_item_text(reference, context) for reference in references]
        prompt = (
            _THINK.format(question=question, context="\n".join(texts)) if texts else _KNOW.format(question=question)
        )
        return _answer(await context.ask(Role.QA, prompt))

    @action("VQA(Image_Context, Query)")
    async def VQA(self, text: str, context: StepContext) -> Value:
        """Given the image context, answer the query."""
        references, question = _parts(text, context)
        digests = dict.fromkeys(self._image_of(reference, context) for reference in references or (IMAGE,))
        form = {"image": _LOOK, "caption": _DESCRIBED, "none": _BLIND}[self._view]
        prompt = form.format(question=question, caption=self._caption)
        images = tuple(digests) if self._view == "image" else ()
        return _answer(await context.ask(Role.VQA, prompt, images))

    async def alias(self, text: str, context: StepContext) -> Value:
        """Return the image as a value for `R1 = ([IMG])`. Other texts are handled by the base class."""
        if text in (IMAGE, "IMG"):
            return {"kind": "image", "text": IMAGE, "image": self._own_image()}
        return await super().alias(text, context)

    def _image_of(self, item: str, context: StepContext) -> str:
        """Return the sha256 of the image that `IMG` or a variable names; '' if VQA needs no image and there is none."""
        if item in ("IMG", IMAGE):
            return self._own_image()
        value = _variable(item, context)
        if value.get("kind") != "image":
            raise ActionError("no_image", f"{item[:40]} is no image: expected VQA([IMG], Question: …)")
        return value["image"]

    def _own_image(self) -> str:
        is_missing = {"image": not self._image, "caption": not self._caption}.get(self._view, False)
        if is_missing:
            raise ActionError("no_image", _NO_IMAGE[self._view])
        return self._image or ""


class VisionActions:
    """The actions of the domain `multimodal`."""

    domain = "multimodal"
    roles = (Role.VQA, Role.QA)
    defaults: Mapping[str, str] = {"vision": "image"}

    def __init__(self, tools: Mapping[str, str] | None = None, settings: Settings | None = None):
        self._view = (tools or {}).get("vision", "image")

    @staticmethod
    def prepare(tools: Mapping[str, str]) -> dict[str, str]:
        check_option_names(tools, "multimodal", {"vision": "what VQA shows: " + ", ".join(SHOWN)})
        if (view := tools.get("vision", "image")) not in SHOWN:
            raise unknown("way of showing an image", view, SHOWN)
        return {"vision": view}

    def begin(self, task: Task) -> VisionSession:
        return VisionSession(task.inputs, self._view)

    async def close(self) -> None:
        """Do nothing: no resource is open."""


def _parts(text: str, context: StepContext) -> tuple[list[str], str]:
    """Return the items in the brackets, and the question with variables replaced by their texts. Raises ActionError."""
    match = _QUESTION.fullmatch(text)
    if not match:
        raise ActionError("unreadable", f"expected [IMG] or [R1, …], then ', Question: …'; found '{text[:80]}'")
    items = [item.strip() for item in match["context"].strip("[]").split(",")]
    variables = context.variables
    question = _VARIABLE.sub(
        lambda name: variables[name[0]]["text"] if name[0] in variables else name[0], match["question"]
    )
    return [item for item in items if item], question.strip()


def _variable(name: str, context: StepContext) -> Mapping[str, Any]:
    if name not in context.variables:
        raise ActionError("undefined_variable", f"no earlier action has set {name[:40]}")
    return context.variables[name]


def _item_text(item: str, context: StepContext) -> str:
    """Return the text of an item of QA's context: a variable's text, or the item's words."""
    if item in ("IMG", IMAGE):
        raise ActionError("no_image", "QA sees no image: ask VQA([IMG], Question: …) about it")
    return _variable(item, context)["text"] if _VARIABLE.fullmatch(item) else item


def _answer(reply: Completion) -> Value:
    """Return the value of a reply: its text on one line, without a leading `Answer:`. Raises ActionError if empty."""
    text = " ".join(reply.text.split()).removeprefix("Answer:").strip()
    if not text:
        raise ActionError("no_answer", "the model's reply is empty")
    return {"kind": "answer", "text": text}
