"""Read captions of images by row from a JSON file, such as ScienceQA's or one that `lumos data captions` wrote.

{"model": "…", "captions": {"23": "A cat sleeps on a mat.", …}}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lumos_queue.errors import SpecError
from lumos_queue.readers.json_records import json_document
from lumos_queue.util.sanitize import storable

FORMAT = "a JSON object with 'captions': row to text"


def read_captions(path: Path) -> Mapping[str, str]:
    """Return the captions by row, each on one line; empty captions are left out. Raises SpecError for another file."""
    document = json_document(path, FORMAT)
    captions = document.get("captions") if isinstance(document, dict) else None
    if not isinstance(captions, dict):
        raise SpecError(f"'{path}' is not {FORMAT}: it has no object 'captions'.")
    for row, text in captions.items():
        if not isinstance(text, str):
            raise SpecError(f"'{path}': the caption of row '{storable(row)[0][:40]}' is not a text. Expected {FORMAT}.")
    lines = {row: " ".join(storable(text)[0].split()) for row, text in captions.items()}
    return {row: text for row, text in lines.items() if text}
