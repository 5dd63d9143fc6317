"""Read untrusted image files: PNG, JPEG, WebP or GIF of bounded size that can be decoded completely.

The content decides the format, not the ending of the name. The bytes stay unchanged: nothing is scaled, rotated or
encoded again. So width and height are those before a rotation by EXIF data. The bytes may contain other data after the
end of the image, so they must be used only as an image of the stated type.

A helper process that may be killed (sandbox.py) decodes an image, after a check of bytes and pixels. Its memory and its
processor time are limited. Other formats (SVG, TIFF, PDF, …), animations, images of more than MAX_BYTES or MAX_PIXELS,
and truncated or broken files are refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lumos_queue.errors import ActionError, SpecError
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.regular_file import UnusableFile, open_regular
from lumos_queue.util.sandbox import Sandbox, serve

#: Of a file. Images are encoded for requests on the event loop, which takes 0.2 s for 8 MB and 0.1 s for 4 MB; and a
#: text-generation-inference server accepts requests of 2 MB by default.
MAX_BYTES = 3 * 2**20
MAX_PIXELS = 32_000_000
DECODE_SECONDS = 10.0  #: of processor time; a photograph takes about 0.01 s
_EXPECTED = f"expected a PNG, JPEG, WebP or GIF of at most {MAX_BYTES >> 20} MB and {MAX_PIXELS // 10**6} megapixels"
#: First bytes of a file → (media type, Pillow's name of the format)
_MAGIC = {
    b"\x89PNG\r\n\x1a\n": ("image/png", "PNG"),
    b"\xff\xd8\xff": ("image/jpeg", "JPEG"),
    b"GIF87a": ("image/gif", "GIF"),
    b"GIF89a": ("image/gif", "GIF"),
}
_decoder = Sandbox("lumos_queue.util.images")


@dataclass(frozen=True, slots=True)
class Image:
    """An image file's bytes, with their type, digest and size in pixels."""

    data: bytes = field(repr=False)
    media_type: str
    sha256: str
    width: int
    height: int


def read_image(path: Path) -> Image:
    """Read and decode the image in a file. Blocking: do not call it on an event loop.

    Raises SpecError for a file that is not a usable image, with a remedy.
    """
    data, media_type, sha256 = _read(path)
    try:
        reply = asyncio.run(_decoder.call({"path": str(path.absolute())}, DECODE_SECONDS))
    except ActionError as error:
        raise image_error(path, f"decoding it failed ({error.kind}: {error})") from None
    if "problem" in reply:
        raise image_error(path, reply["problem"])
    if reply["sha256"] != sha256:
        raise SpecError(f"The image '{path}' changed while it was read: try again.")
    return Image(data, media_type, sha256, reply["width"], reply["height"])


def image_in(folder: Path, *names: str) -> Path | None:
    """Return the path of a file from the folder and the names below it, or None if there is none.

    Raises SpecError for a name that contains folders, and for a link that leads out of the folder.
    """
    for name in names:
        if name in ("", ".", "..") or any(character in name for character in "/\\\0"):
            raise SpecError(f"'{name[:80]}' is not the name of an image: expected one without folders in it.")
    path = folder.joinpath(*names)
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: links in a circle
        return None
    if not real.is_relative_to(folder.resolve()):
        raise SpecError(
            f"The image '{path}' is a link that leads out of '{folder}': put the file there, or name its folder."
        )
    return path


def image_error(path: Path, problem: str) -> SpecError:
    return SpecError(f"'{path}' cannot be used: {problem}; {_EXPECTED}.")


def _read(path: Path) -> tuple[bytes, str, str]:
    """Return bytes, media type and sha256 of an image. Raises SpecError for a missing, large, empty or other file."""
    try:
        with open_regular(path) as file:
            data = file.read(MAX_BYTES + 1)
    except UnusableFile as error:
        raise image_error(path, f"it {error.problem}") from None
    except OSError as error:
        raise image_error(path, f"it cannot be read ({error.strerror or error})") from None
    if len(data) > MAX_BYTES:
        raise image_error(path, f"it has more than {MAX_BYTES >> 20} MB")
    if not data:
        raise image_error(path, "it is empty")
    return data, _kind(path, data)[0], hashlib.sha256(data).hexdigest()


def media_type_of(data: bytes) -> str:
    """Return the media type of an image by its first bytes, e.g. 'image/png'. Raises ValueError for another file."""
    if (kind := _format_of(data)) is None:
        raise ValueError("expected the bytes of a PNG, JPEG, WebP or GIF")
    return kind[0]


def ends_unlike(media_type: str, end: bytes) -> bool:
    """Return whether the last bytes of an image (`end`) differ from the fixed end of its type.

    Then the image was cut off, or other data follow. Only PNG and GIF have a fixed end; return False for other types.
    """
    endings = {"image/png": b"IEND\xaeB`\x82", "image/gif": b";"}
    return not end.endswith(endings.get(media_type, b""))


def _kind(path: Path, data: bytes) -> tuple[str, str]:
    if (kind := _format_of(data)) is None:
        raise image_error(path, "it does not begin as one of these images")
    return kind


def _format_of(data: bytes) -> tuple[str, str] | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp", "WEBP"
    return next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)


# --- in the child -----------------------------------------------------------------------------------------------------


def main() -> None:
    with import_libraries():
        from PIL import Image as Pillow

    Pillow.MAX_IMAGE_PIXELS = MAX_PIXELS
    warnings.simplefilter("error", Pillow.DecompressionBombWarning)
    serve(_decode)


def _decode(request: dict[str, Any]) -> dict[str, Any]:
    """Decode the image at `path` completely. Return its size and digest, or the `problem`."""
    with import_libraries("PIL.Image"):
        from PIL import Image as Pillow

    try:
        data, _, sha256 = _read(path := Path(request["path"]))
        with Pillow.open(io.BytesIO(data), formats=(_kind(path, data)[1],)) as image:
            width, height = image.size
            if image.format != "MPO" and getattr(image, "is_animated", False):  # an MPO is a JPEG with a second view
                return {"problem": "it is an animation"}
            image.load()
    except MemoryError:
        raise
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning):
        return {"problem": f"it has more than {MAX_PIXELS // 10**6} megapixels"}
    except Exception as error:  # a broken file can make a decoder raise anything
        return {"problem": f"it cannot be decoded ({' '.join(str(error).split())[:120] or type(error).__name__})"}
    return {"width": width, "height": height, "sha256": sha256}
