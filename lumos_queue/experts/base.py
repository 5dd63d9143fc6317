"""What is known of an expert model before anything runs it: its name, what goes in and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The type of a value that experts take and give."""

    IMAGE = "image"  #: PNG or JPEG
    TEXT = "text"  #: UTF-8


@dataclass(frozen=True, slots=True)
class Slot:
    """One input of an expert, or one channel of a task."""

    name: str  #: 'image', 'text', 'document', 'question' or 'instruction'
    kind: Kind


@dataclass(frozen=True, slots=True)
class Expert:
    """One kind of model, whatever runs it."""

    name: str  #: as plans write it: 'Image Super Resolution'
    slots: tuple[Slot, ...]  #: one or two
    output: Kind
    description: str  #: what it is for and what it takes, in one line, as prompts show it
    aliases: tuple[str, ...] = ()  #: other names of it, in lower case and without hyphens
    undoes: str = ""  #: the augmentation of OpenAGI's inputs that it takes back: 'noisy'
    checkpoint: str = ""  #: the weights that OpenAGI's paper names

    @property
    def option(self) -> str:
        """Its name as options write it (`--tool image-denoising=URL`)."""
        return self.name.lower().replace(" ", "-")
