"""Names of images for models: `image:3fa2b1c07d5e (64x64, a cat)`. An argument may omit the part in brackets.

The digits are the first of the artifact's sha256, so that equal images always have the same name, and no name depends
on other steps of an episode (spec/sum2act.md 5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lumos_queue.actions.experts.values import read_items
from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError
from lumos_queue.experts.base import Kind
from lumos_queue.records import Task

CHANNELS = "channels"  #: the task's input that lists its images: name, kind, values; as in the domain experts
CAMERA = "camera"  #: the channel of the camera: an episode knows its image after taking a picture
ARTIFACTS = "artifacts"  #: in the value of a call: its artifacts, each with name, sha256 and media_type
_LETTERS = 12  #: of the sha256
_NAME = re.compile(r"\s*(?:image\s*:\s*)?([0-9a-f]{12,64})\s*+(?:\(.*\)\s*)?", re.DOTALL)


def write_image(digest: str, size: str = "", caption: str = "") -> str:
    """Return the name of an image for models. `size`: `64x64`, or '' if unknown; `caption`: a text, or ''."""
    details = ", ".join(filter(None, (size, " ".join(caption.split()))))
    return f"image:{digest[:_LETTERS]}" + (f" ({details})" if details else "")


def find_image(argument: str, task: Task, context: StepContext) -> str:
    """Return the sha256 of the image that an argument names. Raises ActionError of kind 'invalid_arguments'."""
    digests = dict.fromkeys([*_images_of_task(task), *_images_so_far(context)])
    match = _NAME.fullmatch(argument)
    matches = [digest for digest in digests if digest.startswith(match[1])] if match else []
    if len(matches) != 1:
        names = ", ".join(write_image(digest) for digest in digests) or "none"
        raise ActionError("invalid_arguments", f"'{argument[:80]}' names no image; there are so far: {names[:400]}")
    return matches[0]


def camera_image(task: Task) -> str:
    """Return the sha256 of the camera's image. Raises ActionError if the task has no camera."""
    for digest in _images_of_task(task, camera=True):
        return digest
    raise ActionError("tool_error", "there is no camera here")


def _images_of_task(task: Task, camera: bool = False) -> Iterator[str]:
    """Yield the sha256 of the images in the task's channels; if `camera`, only of the camera's images."""
    channels = task.inputs.get(CHANNELS)
    for channel in channels if isinstance(channels, list) else ():
        if (
            isinstance(channel, Mapping)
            and channel.get("kind") == Kind.IMAGE
            and (channel.get("name") == CAMERA) is camera
        ):
            yield from filter(None, read_items(Kind.IMAGE, channel.get("values")))


def _images_so_far(context: StepContext) -> Iterator[str]:
    """Yield the sha256 of the images that earlier calls made; in a tree, only calls on the path from the root."""
    for _, execution in context.done:
        for value in execution.values:
            yield from (
                artifact["sha256"] for artifact in artifacts_of(value) if artifact["media_type"].startswith("image/")
            )


def artifacts_of(value: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the artifacts in the value of a call, each with name, sha256 and media_type."""
    return list(value.get(ARTIFACTS, ()))
