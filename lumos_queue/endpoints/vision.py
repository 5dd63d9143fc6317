"""Write images in requests to model servers: as parts of a chat message, or as Markdown in front of a prompt."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from lumos_queue.endpoints.base import ImagePart
from lumos_queue.errors import EpisodeError
from lumos_queue.records import Ending, Json

_MARKDOWN = "![]("


def data_url(image: ImagePart) -> str:
    """Return a data: URL that contains the bytes of the image (RFC 2397)."""
    return f"data:{image.media_type};base64,{b64encode(image.data).decode()}"


def with_image_urls(messages: Sequence[dict[str, str]], urls: Sequence[str]) -> list[dict[str, Json]]:
    """Return chat messages (`role`, `content`) with the images put before the text of the user's first turn.

    The first turn has the task, also in a longer conversation such as a second request to a teacher. Raises
    EpisodeError if there are images but no turn of the user.
    """
    turns: list[dict[str, Json]] = [{**message} for message in messages]
    if not urls:
        return turns
    first = next((index for index, message in enumerate(turns) if message["role"] == "user"), None)
    if first is None:
        raise EpisodeError(Ending.INFRA_ERROR, "images belong to a turn of the user, and the prompt has none")
    parts: list[dict[str, Json]] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    turns[first] = {"role": "user", "content": [*parts, {"type": "text", "text": turns[first]["content"]}]}
    return turns


def with_markdown_images(prompt: str, urls: Sequence[str]) -> str:
    """Return a prompt for text-generation-inference: `![](URL)` for each image, then the prompt without `![](`.

    The server fetches the address in `![](http://…)` from its own, perhaps internal, network, and prompts contain
    untrusted choices, captions and replies. So `![](` in a prompt becomes `! [](`, even if there are no images.
    """
    harmless = prompt.replace(_MARKDOWN, "! [](")
    return "".join(f"{_MARKDOWN}{url})" for url in urls) + harmless


def refuse_images(url: str, images: Sequence[object]) -> None:
    """Raise EpisodeError if there are images. Endpoints that only take text call this."""
    if images:
        raise EpisodeError(
            Ending.INFRA_ERROR,
            f"{url} takes no images: use chat://HOST:PORT?model=NAME or tgi://HOST:PORT for this role.",
        )
