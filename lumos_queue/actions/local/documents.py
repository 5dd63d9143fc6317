"""Describe functions that run on this machine, in ToolBench's form. A task's input `functions` contains them:

Task(…, inputs={"functions": local_functions("search", "text_to_image_generation"), "channels": […]})
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lumos_queue.actions.tools.function_names import safe_name
from lumos_queue.errors import unknown
from lumos_queue.experts.base import Expert, Kind
from lumos_queue.experts.catalogue import EXPERTS

CATEGORY = "Local"  #: of all documents: sessions of this domain answer it
SEARCH, CALCULATOR, WRITE_FILE, TAKE_PICTURE = "search", "calculator", "write_file", "take_picture"
COMPOSE_MELODY = "compose_melody"
_IMAGE = "an image by its name, such as image:0123456789ab"
Document = dict[str, Any]


def local_functions(*names: str) -> list[Document]:
    """Return the documents of the named functions; without names, of all. Raises SpecError for an unknown name."""
    for name in names:
        if name not in DOCUMENTS:
            raise unknown("local function", name, DOCUMENTS)
    return [dict(DOCUMENTS[name]) for name in names or DOCUMENTS]


def _document(tool: str, api: str, description: str, **parameters: str) -> Document:
    """Return a function's document. `parameters` maps the names of arguments, which are texts, to descriptions."""
    return {
        "category_name": CATEGORY,
        "tool_name": tool,
        "api_name": api,
        "function_name": safe_name(api),
        "api_description": description,
        "required_parameters": [
            {"name": name, "type": "STRING", "description": text} for name, text in parameters.items()
        ],
        "optional_parameters": [],
    }


def _of_expert(expert: Expert) -> Document:
    slots = {slot.name: _IMAGE if slot.kind is Kind.IMAGE else f"the {slot.name}" for slot in expert.slots}
    return _document("experts", expert.name, expert.description, **slots)


_ALL = (
    *map(_of_expert, EXPERTS.values()),
    _document(
        "library", SEARCH, "finds short articles about places, recipes and styles by words", query="words to find"
    ),
    _document("calculator", CALCULATOR, "works out a formula, such as 3 * (19.5 + 4)", formula="numbers and signs"),
    _document(
        "files",
        WRITE_FILE,
        "keeps a text as a file for the person; a later file of the same name takes its place",
        name="such as report.md",
        text="what is in it",
    ),
    _document(
        "music",
        COMPOSE_MELODY,
        "writes a short melody in the mood of a text, by rule, and keeps it as a sound file",
        text="what the music is about",
    ),
    _document("webcam", TAKE_PICTURE, "takes a picture with the person's webcam"),
)
DOCUMENTS: Mapping[str, Document] = MappingProxyType({document["function_name"]: document for document in _ALL})
