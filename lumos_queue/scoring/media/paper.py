"""Compute the scores of OpenAGI's paper that need models: CLIP score, BERTScore and ViT score.

Environment variables name the weights: a folder, or an id in the cache of Hugging Face. No model is downloaded. A score
without its weights is not run, and no other score replaces it. Scores are comparable only if they have the same
weights, so a score is stored with the name of its weights.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import util
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.scoring.media.bert_layers import BERT_LAYERS, VARIABLE, Layer, choose_layer
from lumos_queue.scoring.media.checkpoints import is_checkpoint, is_folder
from lumos_queue.util.model_loading import MODEL_LOADING, import_libraries, load_once
from lumos_queue.util.weights import digest_of_weights, find_weights

CLIP, BERT, VIT = "clip_score", "bert_score", "vit_score"
_MAX_TEXT = 10_000  #: characters


@dataclass(frozen=True, slots=True)
class PaperScore:
    variable: str  #: that names the weights
    checkpoint: str  #: that the released code used
    needs: str  #: what the weights are


SCORES: Mapping[str, PaperScore] = MappingProxyType(
    {
        CLIP: PaperScore("LUMOS_CLIP_WEIGHTS", "openai/clip-vit-base-patch16", "a CLIP model"),
        BERT: PaperScore("LUMOS_BERT_WEIGHTS", "microsoft/deberta-xlarge-mnli", "a text encoder"),
        VIT: PaperScore("LUMOS_VIT_WEIGHTS", "nateraw/vit-base-beans", "a ViT"),
    }
)
_EARLIER_LAYER = "deberta-xlarge-mnli"  #: earlier versions used layer 40 for a folder with this name


def find_score_weights(name: str) -> Path:
    """Return the folder of a score's weights. Raises SpecError with the text 'not run: needs …' if they are missing."""
    score = SCORES[name]
    try:
        return find_weights(_choose(score))
    except SpecError as error:
        raise SpecError(f"{name}: {error} {score.variable} may name another folder of {score.needs}.") from None


def name_score_weights(name: str) -> str:
    """Return the name of a score's weights as 'NAME@DIGEST', because scores of different weights are not comparable.

    NAME is the id of the weights, also for a folder with the weights of the paper's checkpoint; for other folders it is
    the last part of their path. A layer of BERTScore follows as ' layer N', except for the last layer and, in the
    paper's checkpoint, the released code's layer. DIGEST is the beginning of the sha256 of weights and tokenizer.

    Raises SpecError if the weights are missing, or for a layer that the model does not have.
    """
    folder = find_score_weights(name)
    label = _find_checkpoint(name, folder) or Path(_choose(SCORES[name])).name
    suffix = _name_layer(folder, label) if name == BERT else ""
    return f"{label[:60]}{suffix}@{_digest(folder)[:12]}"


_digest = cache(digest_of_weights)  # of gigabytes


def has_score_weights(name: str) -> bool:
    """Whether a score can be computed on this machine. A process checks the same weights only once."""
    return _has_weights(_choose(SCORES[name]))


def _choose(score: PaperScore) -> str:
    return os.environ.get(score.variable) or score.checkpoint


def _find_checkpoint(name: str, folder: Path) -> str:
    """Return the id of a score's weights; '' for a folder with weights that are not those of the paper's checkpoint."""
    score = SCORES[name]
    if not is_folder(weights := _choose(score)):
        return weights
    return score.checkpoint if is_checkpoint(folder, score.checkpoint) else ""


def _layer(folder: Path) -> Layer:
    return choose_layer(folder, _find_checkpoint(BERT, folder), os.environ.get(VARIABLE, ""))


def _name_layer(folder: Path, label: str) -> str:
    layer, checkpoint = _layer(folder), SCORES[BERT].checkpoint
    is_usual = layer.number == BERT_LAYERS[checkpoint] if label == checkpoint else layer.is_last
    # Earlier releases used the layer of the paper's checkpoint for a folder of this name.
    is_earlier_name = label != checkpoint and _EARLIER_LAYER in label
    return "" if is_usual and not is_earlier_name else f" layer {layer.number}"


def check_layer() -> None:
    """Raise SpecError for a value of LUMOS_BERT_LAYER that the text encoder on this machine does not have."""
    if os.environ.get(VARIABLE) and has_score_weights(BERT):
        _layer(find_score_weights(BERT))


def remark_on_layers(versions: Iterable[str]) -> list[str]:
    """Return a remark for each version of BERTScore that used the last layer because nothing names a better layer."""
    return [
        f"{BERT} of {version}: the embeddings of its last layer, as bert-score's table lists no layer for this model; "
        f"{VARIABLE} sets the layer"
        for version in versions
        if " layer " not in version and _EARLIER_LAYER not in version.partition("@")[0]
    ]


@cache
def _has_weights(weights: str) -> bool:
    try:
        find_weights(weights)
    except SpecError:
        return False
    return util.find_spec("torch") is not None and util.find_spec("transformers") is not None


def clip_score(image: bytes, text: str) -> float:
    """Return max(0, cosine) of the embeddings of an image and a text (Hessel et al. 2021, without the factor 2.5)."""
    with import_libraries("torch"):
        import torch

    model, images, tokenizer = _load_clip(str(find_score_weights(CLIP)))
    words = tokenizer(
        text[:_MAX_TEXT],
        return_tensors="pt",
        truncation=True,
        max_length=model.config.text_config.max_position_embeddings,
    )
    with torch.inference_mode():
        image_vector = model.visual_projection(model.vision_model(**_see(images, image)).pooler_output)
        text_vector = model.text_projection(model.text_model(**words).pooler_output)
        return max(0.0, float(torch.cosine_similarity(image_vector, text_vector)))


def vit_score(image: bytes, reference: bytes) -> float:
    """Return max(0, cosine) of the embeddings of two images.

    The embedding is that of the class token, after the last layer and its norm. The paper describes a similarity, but
    its code computes a distance (docs/experts.md).
    """
    with import_libraries("torch"):
        import torch

    model, images = _load_vit(str(find_score_weights(VIT)))
    with torch.inference_mode():
        image_vector, reference_vector = (
            model(**_see(images, data)).last_hidden_state[:, 0] for data in (image, reference)
        )
        return max(0.0, float(torch.cosine_similarity(image_vector, reference_vector)))


def bert_score(candidate: str, reference: str) -> float:
    """Return the F1 of BERTScore (Zhang et al. 2020), not rescaled and without idf weights; 0 if a text is empty."""
    with import_libraries("torch"):
        import torch

    folder = find_score_weights(BERT)
    layer = _layer(folder).number
    candidate_vectors, theirs = (
        _embed(str(folder), layer, text.strip()[:_MAX_TEXT]) for text in (candidate, reference)
    )
    if len(candidate_vectors[1]) <= 2 or len(theirs[1]) <= 2:  # nothing between the special tokens
        return 0.0
    alike = candidate_vectors[0] @ theirs[0].T
    precision, recall = alike.max(dim=1).values[candidate_vectors[1]].mean(), alike.max(dim=0).values[theirs[1]].mean()
    total = float(precision + recall)
    return 0.0 if total <= 0 or not torch.isfinite(torch.tensor(total)) else float(2 * precision * recall) / total


def _embed(folder: str, layer: int, text: str) -> tuple[Any, Any]:
    """Return the embeddings of all tokens, each of norm 1, and the mask of the tokens that are not special tokens."""
    with import_libraries("torch"):
        import torch

    model, tokenizer = _load_bert(folder)
    tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=_limit(model, tokenizer))
    with torch.inference_mode():
        states = model(**tokens, output_hidden_states=True).hidden_states[layer][0]
    special = {tokenizer.cls_token_id, tokenizer.sep_token_id}
    is_counted = torch.tensor([int(token) not in special for token in tokens["input_ids"][0]])
    return torch.nn.functional.normalize(states, dim=-1), is_counted


def _limit(model: Any, tokenizer: Any) -> int:
    return min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512) or 512)


def _see(images: Any, data: bytes) -> Any:
    with import_libraries("PIL.Image"):
        from PIL import Image

    with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP", "GIF")) as image:
        return images(images=image.convert("RGB"), return_tensors="pt")


@load_once
def _load_clip(folder: str) -> tuple[Any, Any, Any]:
    from transformers import AutoImageProcessor, AutoTokenizer, CLIPModel

    return _quiet(CLIPModel, folder), AutoImageProcessor.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


@load_once
def _load_vit(folder: str) -> tuple[Any, Any]:
    from transformers import AutoImageProcessor, AutoModel

    return _quiet(AutoModel, folder), AutoImageProcessor.from_pretrained(folder)


@load_once
def _load_bert(folder: str) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer

    model = _quiet(AutoModel, folder)
    encoder = model.get_encoder() if model.config.is_encoder_decoder else model
    return encoder, AutoTokenizer.from_pretrained(folder)


def _quiet(auto: Any, folder: str) -> Any:
    with MODEL_LOADING:
        model = auto.from_pretrained(folder, use_safetensors=True, local_files_only=True, trust_remote_code=False)
    return model.eval()
