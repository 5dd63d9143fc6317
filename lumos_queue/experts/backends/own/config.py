"""Read the folder that `lumos train experts` writes for each expert: weights and their description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.util.regular_file import read_regular
from lumos_queue.util.untrusted_json import read_json

CONFIG, WEIGHTS = "config.json", "model.safetensors"
FORMAT = 1
_MODELS = "lumos_queue.experts.backends.own.models"
#: Trained expert → the class that runs its network: `package.module:Class`.
MODELS: Mapping[str, str] = MappingProxyType(
    {
        "Image Super Resolution": f"{_MODELS}.pictures:RestorePicture",
        "Image Denoising": f"{_MODELS}.pictures:RestorePicture",
        "Image Deblurring": f"{_MODELS}.pictures:RestorePicture",
        "Colorization": f"{_MODELS}.pictures:RestorePicture",
        "Image Classification": f"{_MODELS}.pictures:ClassifyPicture",
        "Object Detection": f"{_MODELS}.pictures:ListThings",
        "Image Captioning": f"{_MODELS}.pictures:DescribePicture",
        "Visual Question Answering": f"{_MODELS}.pictures:AnswerAboutPicture",
        "Text to Image Generation": f"{_MODELS}.pictures:DrawText",
        "Sentiment Analysis": f"{_MODELS}.texts:JudgeSentiment",
        "Fill Mask": f"{_MODELS}.texts:FillMasks",
        "Machine Translation": f"{_MODELS}.texts:TranslateText",
        "Question Answering": f"{_MODELS}.texts:PointAtAnswer",
        "Text Summarization": f"{_MODELS}.texts:ChooseSentences",
    }
)


@dataclass(frozen=True, slots=True)
class ExpertConfig:
    """The content of config.json. `training` describes the training; running the network does not need it."""

    expert: str
    shape: Mapping[str, Any]  #: arguments of the network
    vocabulary: Mapping[str, Any]  #: words and labels by their numbers
    training: Mapping[str, Any]
    licence: str

    def as_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "expert": self.expert,
            "shape": dict(self.shape),
            "vocabulary": dict(self.vocabulary),
            "training": dict(self.training),
            "licence": self.licence,
        }


def folder_of(folder: Path, expert: str) -> Path:
    """Return the folder of an expert in a folder of trained experts."""
    return folder / EXPERTS[expert].option


def read_config(path: Path, expert: str) -> ExpertConfig:
    """Read a config. Raises SpecError for a file that cannot be read, of another format, or of another expert."""
    try:
        fields = read_json(read_regular(path, path.parent))
        if fields["format"] != FORMAT:
            raise SpecError(
                f"'{path}' has format {str(fields['format'])[:20]}: this version reads {FORMAT}. Train it again."
            )
        config = ExpertConfig(
            str(fields["expert"]),
            dict(fields["shape"]),
            dict(fields["vocabulary"]),
            dict(fields["training"]),
            str(fields["licence"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise SpecError(f"'{path}' cannot be read: expected a file that `lumos train experts` wrote.") from None
    if config.expert != expert:
        raise SpecError(f"'{path}' is of {config.expert[:80]}, not of {expert}.")
    return config
