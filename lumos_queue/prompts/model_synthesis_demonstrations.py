"""Solved problems that few-shot prompts show: the tasks of OpenAGI's labelled split, in their current wording.

A step that says which of two texts it is for ends in its channel, as Fill Mask would fit both.
tests/unit/test_model_synthesis_prompts.py compares them with the benchmark's tasks and split.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Solved:
    """A problem, and the names of the models that solve it, in order."""

    task: int  #: its id in the benchmark
    given: str
    wanted: str
    steps: tuple[str, ...]

    @property
    def problem(self) -> str:
        return f"Given {self.given}, how to {self.wanted} step by step?"


DEMONSTRATIONS = (
    Solved(
        4,
        "low-resolutioned noisy grayscale image",
        "return the regular image",
        ("Image Super Resolution", "Image Denoising", "Colorization"),
    ),
    Solved(13, "noisy image", "return the regular image", ("Image Denoising",)),
    Solved(
        23,
        "noisy blurry grayscale image",
        "return the object names in German",
        ("Image Denoising", "Image Deblurring", "Colorization", "Object Detection", "Machine Translation"),
    ),
    Solved(
        43,
        "low-resolutioned noisy grayscale image",
        "return the class label in English",
        ("Image Super Resolution", "Image Denoising", "Colorization", "Image Classification"),
    ),
    Solved(
        45,
        "noisy grayscale image",
        "return the caption in German",
        ("Image Denoising", "Colorization", "Image Captioning", "Machine Translation"),
    ),
    Solved(
        51,
        "low-resolutioned grayscale image",
        "return the caption in German",
        ("Image Super Resolution", "Colorization", "Image Captioning", "Machine Translation"),
    ),
    Solved(
        65,
        "low-resolutioned noisy blurry image",
        "return the object names in German",
        ("Image Super Resolution", "Image Denoising", "Image Deblurring", "Object Detection", "Machine Translation"),
    ),
    Solved(
        74,
        "noisy blurry image",
        "return the object names in English",
        ("Image Denoising", "Image Deblurring", "Object Detection"),
    ),
    Solved(
        90,
        "low-resolutioned noisy image",
        "return the caption in English",
        ("Image Super Resolution", "Image Denoising", "Image Captioning"),
    ),
    Solved(
        99,
        "low-resolutioned image",
        "return the caption in German",
        ("Image Super Resolution", "Image Captioning", "Machine Translation"),
    ),
    Solved(
        103,
        "low-resolutioned image",
        "return the class label in English",
        ("Image Super Resolution", "Image Classification"),
    ),
    Solved(105, "clozed English text", "generate a image", ("Fill Mask", "Text to Image Generation")),
    Solved(
        107,
        "clozed English text",
        "return the summarization in German",
        ("Fill Mask", "Text Summarization", "Machine Translation"),
    ),
    Solved(
        119,
        "low-resolutioned noisy blurry grayscale image and English query",
        "answer the question in English",
        ("Image Super Resolution", "Image Denoising", "Image Deblurring", "Colorization", "Visual Question Answering"),
    ),
    Solved(
        120,
        "low-resolutioned noisy blurry grayscale image and English query",
        "answer the question in German",
        (
            "Image Super Resolution",
            "Image Denoising",
            "Image Deblurring",
            "Colorization",
            "Visual Question Answering",
            "Machine Translation",
        ),
    ),
    Solved(
        146,
        "grayscale image and clozed English query",
        "answer the question in German",
        ("Colorization", "Fill Mask", "Visual Question Answering", "Machine Translation"),
    ),
    Solved(
        154,
        "noisy blurry image and clozed English query",
        "answer the question in German",
        ("Image Denoising", "Image Deblurring", "Fill Mask", "Visual Question Answering", "Machine Translation"),
    ),
    Solved(
        160,
        "low-resolutioned blurry image and English query",
        "answer the question in German",
        ("Image Super Resolution", "Image Deblurring", "Visual Question Answering", "Machine Translation"),
    ),
    Solved(
        176,
        "low-resolutioned image and English query",
        "answer the question in German",
        ("Image Super Resolution", "Visual Question Answering", "Machine Translation"),
    ),
    Solved(
        177,
        "clozed English document and clozed English query",
        "answer the question in German",
        ("Fill Mask on the document", "Fill Mask on the question", "Question Answering", "Machine Translation"),
    ),
)
