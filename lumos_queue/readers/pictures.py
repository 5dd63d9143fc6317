"""Find the images and captions of a benchmark's rows, and report missing images and captions."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.arrow_rows import Binary
from lumos_queue.readers.captions import read_captions
from lumos_queue.readers.fields import RowNode
from lumos_queue.util.images import image_in, read_image

#: Options of the rows of a benchmark with images.
OPTIONS = {
    "images": "folder with the image files",
    "captions": "file with a caption for each row, appended to the task's text (lumos data captions writes one)",
}


class Pictures:
    """The images of a benchmark while its rows are read: the `inputs` of each row, and notes on missing images."""

    def __init__(self, images: str = "", captions: str = ""):
        """Read the captions. Raises SpecError when the folder of images is missing or the captions cannot be read."""
        self._folder = Path(images).expanduser() if images else None
        if self._folder and not self._folder.is_dir():
            raise SpecError(f"'{images}' is not a folder: give the folder with the image files as --option images=DIR.")
        self._file = captions
        self._captions: Mapping[str, str] = read_captions(Path(captions).expanduser()) if captions else {}
        self._digests: dict[Path, str] = {}
        self.artifacts: dict[str, Path] = {}  #: sha256 to file
        self._copies: Path | None = None  #: folder of images that rows contain; it is removed with this object
        self._rows = self._without_image = self._without_caption = 0

    def of(self, row: int, key: str, candidates: Sequence[tuple[str, ...]]) -> dict[str, Any]:
        """Return the inputs of a row with an image: `image` (sha256; None without a file), `image_name` and `caption`.

        `key` is the row's name in the captions. `candidates` are possible paths of the image below the folder; the
        first that exists is used. Raises BadRow for an image that cannot be used.
        """
        path = self._find(row, candidates)
        name = "" if path is None or self._folder is None else str(path.relative_to(self._folder))
        return self._describe(key, None if path is None else self._digest(row, path), name)

    def of_content(self, row: int, key: str, content: bytes, name: str) -> dict[str, Any]:
        """Return the same as `of` for a row that contains the bytes of its image; `name` is the file's name, or ''."""
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self.artifacts:
            if self._copies is None:
                self._copies = Path(tempfile.mkdtemp(prefix="lumos-images-"))
                weakref.finalize(self, shutil.rmtree, self._copies, ignore_errors=True)
            copy = self._copies / digest
            copy.write_bytes(content)
            try:
                self._digest(row, copy)
            except BadRow as bad:
                copy.unlink()
                raise BadRow(row, "image", bad.problem.replace(str(copy), name or "the image of the row")) from None
        return self._describe(key, digest, name)

    def _describe(self, key: str, image: str | None, name: str) -> dict[str, Any]:
        self._rows += 1
        caption = self._captions.get(key, "")
        self._without_image += image is None
        self._without_caption += not caption
        return {"image": image, "image_name": name, "caption": caption}

    def notes(self) -> list[str]:
        """Return sentences on missing images and captions."""
        notes = []
        if self._without_image:
            where = f"below '{self._folder}'" if self._folder else "without --option images=DIR"
            notes.append(
                f"{self._without_image} of {self._rows} rows have no image {where}: looking at it will fail there; "
                "--tool vision=caption (of a teacher: --vision caption) takes captions instead."
            )
        if self._file and self._without_caption:
            notes.append(f"{self._without_caption} of {self._rows} rows have no caption in '{self._file}'.")
        return notes

    def _find(self, row: int, candidates: Sequence[tuple[str, ...]]) -> Path | None:
        try:
            paths = (image_in(self._folder, *names) for names in candidates) if self._folder else ()
            return next((path for path in paths if path), None)
        except SpecError as error:
            raise BadRow(row, "image", str(error)) from None

    def _digest(self, row: int, path: Path) -> str:
        """Return the sha256 of an image. An image that several rows have is read only once."""
        if path not in self._digests:
            try:
                self._digests[path] = read_image(path).sha256
            except SpecError as error:
                raise BadRow(row, "image", str(error)) from None
            self.artifacts[self._digests[path]] = path
        return self._digests[path]


def read_image_field(node: RowNode) -> tuple[bytes | None, str]:
    """Return the bytes of a row's image, or None if the row has no bytes, and the name of the image's file, or ''.

    The library `datasets` writes an object with bytes and path. The path is that of another machine, so only the file's
    name is used. Raises BadRow for other values.
    """
    if (content := _read_content(node.value)) is not None:
        return content, ""
    if isinstance(node.value, str) and not node.value.startswith("{"):
        return None, node.text()
    name = node["path"].text() if "path" in node else ""
    return _read_content(node.fields().get("bytes")), PurePosixPath(name).name


def _read_content(value: Any) -> bytes | None:
    return value.content if isinstance(value, Binary) else value if isinstance(value, bytes) else None
