"""Prompts with the contents of those that OpenAGI's paper prints, or that its released code sends (arXiv:2304.04370).

    zero-shot-paper     the objective alone (figure A.4)
    zero-shot-released  the objective as a problem, and the request to mark the steps of its solution (the code)
    prompt-1-paper      the role, the objective, and the names of the models (figure A.6)
    prompt-2-paper      the same, and what each model is useful for and, for ten of them, what it receives

The wording is ours, sentence by sentence; docs/model_synthesis.md maps the sentences. Unlike the prompts of
model_synthesis.py, none of these adds a sentence on tasks of several inputs or on the form of the reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_SENTENCE, _TEXT, _PATH, _IMAGE = "a sentence", "a text", "the path of an image", "an image"


@dataclass(frozen=True, slots=True)
class _Model:
    name: str  #: as the paper prints it
    purpose: str
    inputs: str = ""  #: what it receives; '': the paper does not print it


_MODELS = (
    _Model("Sentiment Analysis", "finding the sentiment of a sentence", _SENTENCE),
    _Model("Text Summarization", "summing up a sentence or a paragraph", _TEXT),
    _Model("Machine Translation", "translating a sentence", _TEXT),
    _Model("Fill Mask", "filling the masked position of a sentence", _TEXT),
    _Model("Question Answering", "answering a question about a context"),
    _Model("Image Classification", "finding the class of an image", _PATH),
    _Model("Object Detection", "finding the objects in a photo", _PATH),
    _Model("Colorization", "giving colors to a photo", _PATH),
    _Model("Image Super-Resolution", "making an image of high resolution from one of low resolution"),
    _Model("Image Denoising", "repairing a noisy image", _IMAGE),
    _Model("Image Deblurring", "repairing a blurry image", _IMAGE),
    _Model("Visual Question Answering", "answering a question about an image"),
    _Model("Image Captioning", "telling what a photo contains", _IMAGE),
    _Model("Text-to-Image Generation", "making an image from a description"),
)
_PLANNER = """\
You plan, as an expert, the to-do list by which a robot reaches an objective.
Make the list as short as possible.
Each task has to be relevant, effective, short and necessary.
For each task, the robot can use only the machine learning models that are provided.
"""
_BEFORE_OBJECTIVE = f"{_PLANNER}Write the to-do list for this objective: "
_NAMES = "".join(f"{model.name}\n" for model in _MODELS)
_DESCRIPTIONS = "".join(
    f"{model.name}: useful for {model.purpose}" + (f"; receives {model.inputs}\n" if model.inputs else "\n")
    for model in _MODELS
)
_MODELS_HEAD = "\nThe models:\n"
ZERO_SHOT_PAPER, ZERO_SHOT_RELEASED = "zero-shot-paper", "zero-shot-released"
PROMPT_1_PAPER, PROMPT_2_PAPER = "prompt-1-paper", "prompt-2-paper"
#: Schema to the texts before and after the objective, all in the user's turn.
AROUND_OBJECTIVE: Mapping[str, tuple[str, str]] = {
    ZERO_SHOT_PAPER: ("", ""),
    ZERO_SHOT_RELEASED: ("Problem: ", '\nHow is it solved? Mark each step with "Step".'),
    PROMPT_1_PAPER: (_BEFORE_OBJECTIVE, _MODELS_HEAD + _NAMES),
    PROMPT_2_PAPER: (_BEFORE_OBJECTIVE, _MODELS_HEAD + _DESCRIPTIONS),
}
