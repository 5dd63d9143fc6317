"""The description of an expert model: its name, its inputs and its output."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The type of an input or output of experts."""

    IMAGE = "image"  #: PNG or JPEG
    TEXT = "text"  #: UTF-8


@dataclass(frozen=True, slots=True)
class Slot:
    """An input of an expert, or a channel of a task."""

    name: str  #: 'image', 'text', 'document', 'question' or 'instruction'
    kind: Kind


@dataclass(frozen=True, slots=True)
class Expert:
    """A kind of model, independent of the backend that runs it."""

    name: str  #: as plans write it: 'Image Super Resolution'
    slots: tuple[Slot, ...]  #: one or two
    output: Kind
    description: str  #: its purpose and its inputs in one line, as prompts show it
    aliases: tuple[str, ...] = ()  #: its other names, in lower case and without hyphens
    undoes: str = ""  #: the augmentation of OpenAGI's inputs that it undoes: 'noisy'
    checkpoint: str = ""  #: the weights that OpenAGI's paper names

    @property
    def option(self) -> str:
        """The expert's name as options write it, such as image-denoising in `--tool image-denoising=URL`."""
        return self.name.lower().replace(" ", "-")
