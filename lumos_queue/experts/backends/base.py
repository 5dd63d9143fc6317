"""The interface of a backend: facts, for the submission of a job, and a model, which its own process runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from lumos_queue.experts.base import Kind

MIB = 1 << 20


class Fidelity(StrEnum):
    """How comparable the results of a backend are with the results in the paper."""

    REFERENCE = "reference"  #: the paper's checkpoint
    SUBSTITUTE = "substitute"  #: another real model or rule: its scores are not comparable
    ORACLE = "oracle"  #: returns the clean original: measures planning only


class Model(Protocol):
    """A model that is loaded in its own process and processes one sample at a time."""

    def run(self, *inputs: bytes) -> bytes:
        """Return the result for one sample, as PNG or UTF-8. `inputs` has one value for each slot of the expert.

        Inputs may have any image format. Raises SampleError for a sample that the model cannot process.
        """
        ...


@dataclass(frozen=True, slots=True)
class Loading:
    """How a process loads its model. Neither the backend's digest nor stored records contain these settings."""

    model: str  #: `package.module:Class`
    options: Mapping[str, str] = field(default_factory=dict)  #: arguments of the class
    memory: int = 512 * MIB  #: limit of the process's writable memory, in bytes
    seconds: float = 60.0  #: time limit of a sample, by the wall clock
    start_seconds: float = 180.0  #: time limit of loading


@dataclass(frozen=True, slots=True)
class BackendFacts:
    """Facts about the backend of one expert. `digest` changes whenever the expert's answers may change."""

    expert: str
    url: str
    digest: str  #: sha256 in hexadecimal
    licence: str  #: of the weights and of the code that runs them
    fidelity: Fidelity
    output: Kind
    note: str = ""  #: a description in one line: 'median filter, 3 x 3'
    #: None for `oracle:`, which runs in the process of the actions, and for experts of another machine.
    loading: Loading | None = None
    #: The same backend as earlier versions ran it, with another digest: half-done jobs continue with it.
    earlier: BackendFacts | None = None
