"""What a backend is: facts for whoever submits a job, and a model for the process that runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from lumos_queue.experts.base import Kind

MIB = 1 << 20


class Fidelity(StrEnum):
    """What the results of a backend can be compared with."""

    REFERENCE = "reference"  #: the paper's checkpoint
    SUBSTITUTE = "substitute"  #: another real model or rule: its scores are its own
    ORACLE = "oracle"  #: gives the clean original back: measures planning only


class Model(Protocol):
    """Made and used in a process of its own, one sample at a time."""

    def run(self, *inputs: bytes) -> bytes:
        """The result for one sample, from a value for each slot: PNG (any image format going in) or UTF-8.

        Raises SampleError for a sample that it cannot do.
        """
        ...


@dataclass(frozen=True, slots=True)
class Loading:
    """How a process makes its model; part of neither digest nor record."""

    model: str  #: `package.module:Class`
    options: Mapping[str, str] = field(default_factory=dict)  #: arguments of the class
    memory: int = 512 * MIB  #: bytes that the process may write to
    seconds: float = 60.0  #: for one sample, by the wall clock
    start_seconds: float = 180.0  #: until it is loaded


@dataclass(frozen=True, slots=True)
class BackendFacts:
    """What runs one expert. `digest` changes whenever its answers may."""

    expert: str
    url: str
    digest: str  #: sha256 in hexadecimal
    licence: str  #: of the weights and of what runs them
    fidelity: Fidelity
    output: Kind
    note: str = ""  #: one line about what it is: 'median filter, 3 x 3'
    #: None of `oracle:`, which runs where its inputs are known, and of experts of another machine.
    loading: Loading | None = None
