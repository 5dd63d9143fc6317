"""`own:` runs rules, which need only numpy and Pillow; `own:PATH` runs the trained networks of a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from lumos_queue.commands import digest
from lumos_queue.experts.backends.base import MIB, BackendFacts, Fidelity, Loading
from lumos_queue.experts.backends.own.trained_networks import find_trained
from lumos_queue.experts.catalogue import EXPERTS

LICENCE = "MIT"  #: this project's
_PACKAGE = Path(__file__).resolve().parents[3]
_HERE, _GENERATED = "lumos_queue.experts.backends.own", "lumos_queue.benchmarks.openagi.rules"
#: The code that decides the answers of rules.
_CODE = ("experts/backends/own/restoration.py", "benchmarks/openagi/rules/*.py", "benchmarks/openagi/data/*.py")


@dataclass(frozen=True, slots=True)
class OwnRule:
    model: str  #: `package.module:Class`, not imported here: code of data sets is in a higher package than this one
    note: str


RULES: Mapping[str, OwnRule] = MappingProxyType(
    {
        "Sentiment Analysis": OwnRule(f"{_GENERATED}.texts:FeelSentiment", "word counts of the training split"),
        "Text Summarization": OwnRule(
            f"{_GENERATED}.texts:SummarizeByCounts", "two sentences of the text, by word counts"
        ),
        "Machine Translation": OwnRule(f"{_GENERATED}.translation:TranslateByVocabulary", "closed vocabulary"),
        "Fill Mask": OwnRule(f"{_GENERATED}.texts:FillByCounts", "neighbouring words in the training split"),
        "Question Answering": OwnRule(f"{_GENERATED}.texts:AnswerByCounts", "a word of the text, by its neighbours"),
        "Text Generation": OwnRule(f"{_GENERATED}.texts:ContinueByCounts", "the words that most often follow"),
        "Image Classification": OwnRule(f"{_GENERATED}.pictures:ClassifyScene", "compares with drawings"),
        "Object Detection": OwnRule(f"{_GENERATED}.pictures:DetectThings", "compares with drawings"),
        "Image Captioning": OwnRule(f"{_GENERATED}.pictures:CaptionScene", "compares with drawings"),
        "Visual Question Answering": OwnRule(f"{_GENERATED}.pictures:AnswerFromScene", "compares with drawings"),
        "Colorization": OwnRule(f"{_GENERATED}.pictures:Colorize", "colours of a drawing of what it shows"),
        "Text to Image Generation": OwnRule(f"{_GENERATED}.pictures:Draw", "draws the things that are named"),
        "Image Super Resolution": OwnRule(f"{_HERE}.restoration:ReduceBlocks", "light bilateral filter"),
        "Image Denoising": OwnRule(f"{_HERE}.restoration:Denoise", "bilateral filter that estimates the noise"),
        "Image Deblurring": OwnRule(f"{_HERE}.restoration:Deblur", "unsharp mask"),
        "Conditioned Image Generation": OwnRule(f"{_GENERATED}.colours:PaintOutlines", "fills outlines with a colour"),
        "Image Editing": OwnRule(f"{_GENERATED}.colours:Recolour", "gives a thing that it knows another colour"),
        "Image Style Transfer": OwnRule(f"{_HERE}.styles:ChangeStyle", "filters by the names of styles"),
    }
)


def find(expert: str, url: str) -> BackendFacts:
    """Return the facts of the expert's network in the folder after `own:`, or else of its rule; the note names it.

    Raises SpecError for a folder that cannot be used.
    """
    if url != "own:" and (trained_facts := find_trained(expert, url)) is not None:
        return trained_facts
    rule = RULES[expert]
    return BackendFacts(
        expert,
        url,
        digest("own", expert, rule.model, _digest_of_code()),
        LICENCE,
        Fidelity.SUBSTITUTE,
        EXPERTS[expert].output,
        f"by rule: {rule.note}",
        Loading(rule.model, memory=320 * MIB),
    )


@cache
def _digest_of_code() -> str:
    """Return the digest of the rules' code, the data that they use, and the versions of numpy and Pillow."""
    parts = [f"{name} {metadata.version(name)}" for name in ("numpy", "pillow")]
    for name in _CODE:
        for path in sorted(_PACKAGE.glob(name)):
            parts += [path.name, hashlib.sha256(path.read_bytes()).hexdigest()]
    return digest(*parts)
