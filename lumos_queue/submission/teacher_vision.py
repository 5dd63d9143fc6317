"""What a teacher is shown of rows with images: decided when a conversion is submitted, before anything is stored."""

from __future__ import annotations

import asyncio

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.endpoints.base import ImagePart, Sampling
from lumos_queue.endpoints.registry import open_endpoint, takes_images
from lumos_queue.errors import EpisodeError, SpecError, Undecided, unknown
from lumos_queue.jobs.convert import TAUGHT_BY
from lumos_queue.settings import Settings
from lumos_queue.submission.store import Rows
from lumos_queue.util.images import read_image

_INSTEAD = "let it read captions (--option captions=FILE --vision caption), or the text alone (--vision none)"
_TRIAL = "Please answer in one word: is this an image?\n"


def vision_of(source: Benchmark, teacher: str, asked: str) -> str:
    """What the teacher at this address ('': none) is shown of a row's image; '' where rows have none.

    Raises SpecError for a wish that means nothing here, and for an endpoint that takes text alone.
    """
    if not teacher or "images" not in source.teaching.options:
        if asked:
            why = f"the rows of '{source.name}' have no images" if teacher else "--vision is for a --teacher"
            raise SpecError(f"--vision {asked[:40]} would do nothing: {why}. Leave it out.")
        return ""
    if asked and asked not in TAUGHT_BY:
        raise unknown("way of showing an image", asked, TAUGHT_BY)
    if (asked or "image") == "image" and not takes_images(teacher):
        raise SpecError(f"The teacher {teacher} takes no images: ask chat:// or tgi://, {_INSTEAD}.")
    return asked or "image"


def check_sight(vision: str, teacher: str, rows: Rows, settings: Settings) -> None:
    """Raises SpecError where no row has what is to be shown, and where the server refuses a row's image.

    Without a broker the teacher is shown an image here, one call of one token; in a deployment only workers reach it.
    """
    if vision not in ("image", "caption"):
        return
    name = next((shown for task in rows.tasks if (shown := task.inputs.get(vision))), None)
    if name is None:
        lacking = f"None of the {len(rows.tasks):,} rows has {'an image' if vision == 'image' else 'a caption'}"
        option = "images=DIR" if vision == "image" else "captions=FILE"
        raise SpecError(f"{lacking} to show the teacher: give --option {option}, or {_INSTEAD}.")
    if vision == "image" and not settings.broker_url:
        image = read_image(rows.benchmark.artifacts[name])
        asyncio.run(_show(teacher, ImagePart(image.data, image.media_type), settings))


async def _show(teacher: str, image: ImagePart, settings: Settings) -> None:
    endpoint = open_endpoint(teacher, settings)
    try:
        await endpoint.generate(_TRIAL, Sampling(max_tokens=1, stop=()), 0, images=[image])
    except (EpisodeError, Undecided) as error:
        raise SpecError(f"The teacher takes no images, it seems ({error}): ask another, {_INSTEAD}.") from None
    finally:
        await endpoint.close()
