"""Choose what a teacher sees of rows with images, when a conversion is submitted and before anything is stored."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.from_file.benchmark import FileBenchmark
from lumos_queue.endpoints.base import ImagePart, ModelCall, Sampling
from lumos_queue.endpoints.registry import open_endpoint, takes_images
from lumos_queue.errors import EpisodeError, SpecError, UnclearFailure
from lumos_queue.jobs.convert import TAUGHT_BY
from lumos_queue.settings import Settings
from lumos_queue.submission.store import Rows
from lumos_queue.util.images import read_image

_INSTEAD = "give it captions (--option captions=FILE --vision caption), or only the text (--vision none)"
_TRIAL = "Please answer in one word: is this an image?\n"


def resolve_vision(source: Benchmark, teacher: str, choice: str) -> str:
    """Return what the teacher at this address ('': no teacher) sees of a row's image; '' if the rows have no images.

    Raises SpecError for an option that has no effect here, and for an endpoint that accepts only text.
    """
    if not teacher or not _has_images(source):
        if choice:
            why = f"the rows of '{source.name}' have no images" if teacher else "it needs a --teacher"
            raise SpecError(f"--vision {choice[:40]} has no effect: {why}. Leave it out.")
        return ""
    if choice and choice not in TAUGHT_BY:
        raise SpecError(f"--vision must be one of {', '.join(TAUGHT_BY)}, not '{choice[:40]}'.")
    if (choice or "image") == "image" and not takes_images(teacher):
        raise SpecError(f"The teacher {teacher} accepts no images: use chat:// or tgi://, {_INSTEAD}.")
    return choice or "image"


def _has_images(source: Benchmark) -> bool:
    """Return whether rows can have images, by an option of the benchmark or a field of a person's own file."""
    has_own_images = isinstance(source, FileBenchmark) and bool(source.definition.fields.images)
    return has_own_images or "images" in source.teaching.options


def check_vision(vision: str, teacher: str, rows: Rows, settings: Settings) -> None:
    """Raises SpecError if no row has an image or caption to show, and if the server rejects an image.

    Without a broker, one image is sent to the teacher in a call of one token. In a deployment only workers can reach
    the teacher, so no image is sent.
    """
    if vision not in ("image", "caption"):
        return
    name = next((content for task in rows.tasks if (content := task.inputs.get(vision))), None)
    if name is None:
        message = f"None of the {len(rows.tasks):,} rows has {'an image' if vision == 'image' else 'a caption'}"
        option = "images=DIR" if vision == "image" else "captions=FILE"
        raise SpecError(f"{message} to show the teacher: give --option {option}, or {_INSTEAD}.")
    if vision == "image" and not settings.broker_url:
        source = rows.benchmark.artifacts[name]
        assert isinstance(source, Path), "a rationale is read from files"
        image = read_image(source)
        asyncio.run(_show(teacher, ImagePart(image.data, image.media_type), settings))


async def _show(teacher: str, image: ImagePart, settings: Settings) -> None:
    endpoint = open_endpoint(teacher, settings)
    try:
        await endpoint.generate(ModelCall(_TRIAL, Sampling(max_tokens=1, stop=()), images=(image,)))
    except (EpisodeError, UnclearFailure) as error:
        raise SpecError(f"The teacher accepts no images, it seems ({error}): use another, {_INSTEAD}.") from None
    finally:
        await endpoint.close()
