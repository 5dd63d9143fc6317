"""Find experts of `hf:ID_OR_PATH`: the paper's or similar checkpoints, which transformers runs from a local folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from lumos_queue.commands import digest
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.base import MIB, BackendFacts, Fidelity, Loading
from lumos_queue.experts.backends.hf.lengths import FIXED_LENGTHS, OWN_LENGTHS
from lumos_queue.experts.backends.needs import need_modules, versions
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.util.extras import install_command
from lumos_queue.util.weights import check_weights, digest_of_weights, find_weights

_DIFFUSION = "lumos_queue.experts.backends.hf.diffusion"
_TEXT, _IMAGE = "lumos_queue.experts.backends.hf.texts", "lumos_queue.experts.backends.hf.images"
MODELS: Mapping[str, str] = MappingProxyType(
    {
        "Sentiment Analysis": f"{_TEXT}:ClassifyText",
        "Text Summarization": f"{_TEXT}:Summarize",
        "Machine Translation": f"{_TEXT}:Translate",
        "Fill Mask": f"{_TEXT}:FillMask",
        "Question Answering": f"{_TEXT}:AnswerFromText",
        "Text Generation": f"{_TEXT}:Continue",
        "Image Classification": f"{_IMAGE}:ClassifyImage",
        "Object Detection": f"{_IMAGE}:DetectObjects",
        "Image Super Resolution": f"{_IMAGE}:Enlarge",
        "Visual Question Answering": f"{_IMAGE}:AnswerAboutImage",
        "Image Captioning": f"{_IMAGE}:Caption",
        "Text to Image Generation": f"{_DIFFUSION}:DrawImage",
        "Image Editing": f"{_DIFFUSION}:EditImage",
    }
)
_WITH_LENGTHS = ("Text Summarization", "Machine Translation")  #: whose outputs have the lengths of their checkpoints
#: Licences of the paper's checkpoints as their cards name them. The licences of other checkpoints are unknown.
LICENCES: Mapping[str, str] = MappingProxyType(
    {
        "facebook/bart-large-cnn": "MIT",
        "t5-base": "Apache-2.0",
        "distilroberta-base": "Apache-2.0",
        "distilbert-base-cased-distilled-squad": "Apache-2.0",
        "gpt2": "MIT",
        "google/vit-base-patch16-224": "Apache-2.0",
        "facebook/detr-resnet-101": "Apache-2.0",
        "caidas/swin2SR-classical-sr-x2-64": "Apache-2.0",
        "microsoft/git-base-textvqa": "MIT",
        "nlpconnect/vit-gpt2-image-captioning": "Apache-2.0",
        "CompVis/stable-diffusion-v1-4": "CreativeML Open RAIL-M",
        "timbrooks/instruct-pix2pix": "MIT",
    }
)
_DRAWING_SECONDS = 1800.0  #: time limit of an image in fifty steps, without a GPU
_BASE, _PER_BYTE = 1024 * MIB, 3  #: memory of a process: for libraries, and for each byte of the weights while loading


def find(expert: str, url: str) -> BackendFacts:
    """Return the facts of a checkpoint for an expert. Raises SpecError ('not run: needs …') if it cannot run."""
    name = url.removeprefix("hf:")
    if not name:
        raise SpecError(f"not run: needs weights: the paper names none for {expert}; name them with hf:ID_OR_PATH.")
    if expert not in MODELS:
        raise SpecError(f"not run: needs code of {name[:80]}, which transformers does not have; choose own:.")
    draws = MODELS[expert].startswith(_DIFFUSION)
    libraries = ("torch", "transformers", *(("diffusers",) if draws else ()))
    need_modules(libraries, install_command("local,experts" if draws else "local"))
    folder = find_weights(name)
    size = sum(path.stat().st_size for path in check_weights(folder))
    paper = name == EXPERTS[expert].checkpoint
    facts = BackendFacts(
        expert,
        url,
        digest("hf", expert, digest_of_weights(folder), *versions(*libraries)),
        LICENCES.get(name, "see the model's card"),
        Fidelity.REFERENCE if paper else Fidelity.SUBSTITUTE,
        EXPERTS[expert].output,
        f"{Path(name).name if Path(name).is_absolute() else name}, {size / 1e6:,.1f} MB",
        Loading(
            MODELS[expert],
            {"folder": str(folder.resolve())},
            memory=_BASE + _PER_BYTE * size,
            seconds=_DRAWING_SECONDS if draws else 60.0,
        ),
    )
    if expert not in _WITH_LENGTHS:
        return facts
    assert facts.loading is not None
    earlier_options = {**facts.loading.options, "lengths": FIXED_LENGTHS}
    return replace(
        facts,
        digest=digest(facts.digest, "lengths", OWN_LENGTHS),
        earlier=replace(facts, loading=replace(facts.loading, options=earlier_options)),
    )
