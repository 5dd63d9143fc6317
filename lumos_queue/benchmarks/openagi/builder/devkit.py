"""Read the classes of ImageNet's development kit from its meta.mat, a MATLAB file, in a child process."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.openagi.builder.files import UnusableSet
from lumos_queue.errors import ActionError
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.regular_file import read_regular
from lumos_queue.util.sandbox import Sandbox, serve

MAX_BYTES = 8 << 20  #: of the file; the published file has 120 kB
_SECONDS = 20.0  #: of processor time
_WNID = re.compile(r"n[0-9]{8}")
_reader = Sandbox("lumos_queue.benchmarks.openagi.builder.devkit")


def read_classes(path: Path) -> Mapping[int, tuple[str, str]]:
    """Return the WordNet id and the name of each class by its number (ILSVRC2012_ID). Raises UnusableSet."""
    try:
        reply = asyncio.run(_reader.call({"path": str(path.absolute())}, _SECONDS))
    except ActionError as error:
        raise UnusableSet(f"'meta.mat' cannot be read ({error.kind}: {error})") from None
    if "problem" in reply:
        raise UnusableSet(f"'meta.mat' cannot be read ({reply['problem']})")
    return {int(number): (wnid, words) for number, (wnid, words) in reply["classes"].items()}


# --- in the child -----------------------------------------------------------------------------------------------------


def main() -> None:
    serve(_read)


def _read(request: dict[str, Any]) -> dict[str, Any]:
    """Return the classes without children, or the `problem`."""
    with import_libraries():
        from scipy.io import loadmat

    try:
        data = read_regular(request["path"], limit=MAX_BYTES)
        synsets = loadmat(io.BytesIO(data), squeeze_me=True)["synsets"]
        classes = {}
        for synset in synsets:
            number, wnid, words = int(synset["ILSVRC2012_ID"]), str(synset["WNID"]), str(synset["words"]).strip()
            if int(synset["num_children"]) == 0 and _WNID.fullmatch(wnid) and words:
                classes[str(number)] = (wnid, words[:500])
    except MemoryError:
        raise
    except Exception as error:  # a broken file can make the reader raise anything
        return {"problem": " ".join(f"{type(error).__name__}: {error}".split())[:120]}
    return {"classes": classes} if classes else {"problem": "no synset without children"}
