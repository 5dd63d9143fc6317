"""Solved problems for few-shot prompts: the tasks of OpenAGI's labelled split, in their current wording.

If a step could use two texts, as for Fill Mask, it ends with the channel of its text.
tests/unit/test_model_synthesis_prompts.py compares the problems with the benchmark's tasks and split.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Solved:
    """A solved problem: a task, and the names of the models that solve it, in order."""

    task: int  #: its id in the benchmark
    inputs: str
    outputs: str
    steps: tuple[str, ...]

    @property
    def problem(self) -> str:
        return f"Given {self.inputs}, how to {self.outputs} step by step?"


DEMONSTRATIONS = (
    Solved(
        2,
        "low-resolutioned blurry grayscale image",
        "return the regular image",
        ("Image Super Resolution", "Image Deblurring", "Colorization"),
    ),
    Solved(13, "noisy image", "return the regular image", ("Image Denoising",)),
    Solved(
        17,
        "low-resolutioned noisy blurry grayscale image",
        "return the object names in German",
        (
            "Image Super Resolution",
            "Image Denoising",
            "Image Deblurring",
            "Colorization",
            "Object Detection",
            "Machine Translation",
        ),
    ),
    Solved(
        20,
        "low-resolutioned noisy blurry grayscale image",
        "return the object names in English",
        ("Image Super Resolution", "Image Denoising", "Image Deblurring", "Colorization", "Object Detection"),
    ),
    Solved(
        33,
        "blurry grayscale image",
        "return the caption in German",
        ("Image Deblurring", "Colorization", "Image Captioning", "Machine Translation"),
    ),
    Solved(
        35,
        "blurry grayscale image",
        "return the object names in German",
        ("Image Deblurring", "Colorization", "Object Detection", "Machine Translation"),
    ),
    Solved(
        43,
        "low-resolutioned noisy grayscale image",
        "return the class label in English",
        ("Image Super Resolution", "Image Denoising", "Colorization", "Image Classification"),
    ),
    Solved(
        48,
        "noisy grayscale image",
        "return the caption in English",
        ("Image Denoising", "Colorization", "Image Captioning"),
    ),
    Solved(
        57,
        "grayscale image",
        "return the caption in German",
        ("Colorization", "Image Captioning", "Machine Translation"),
    ),
    Solved(
        81,
        "blurry image",
        "return the caption in German",
        ("Image Deblurring", "Image Captioning", "Machine Translation"),
    ),
    Solved(
        89,
        "low-resolutioned noisy image",
        "return the object names in German",
        ("Image Super Resolution", "Image Denoising", "Object Detection", "Machine Translation"),
    ),
    Solved(105, "clozed English text", "generate a image", ("Fill Mask", "Text to Image Generation")),
    Solved(110, "clozed English text", "return the summarization in English", ("Fill Mask", "Text Summarization")),
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
        122,
        "noisy blurry grayscale image and clozed English query",
        "answer the question in German",
        (
            "Image Denoising",
            "Image Deblurring",
            "Colorization",
            "Fill Mask",
            "Visual Question Answering",
            "Machine Translation",
        ),
    ),
    Solved(
        127,
        "low-resolutioned blurry grayscale image and English query",
        "answer the question in English",
        ("Image Super Resolution", "Image Deblurring", "Colorization", "Visual Question Answering"),
    ),
    Solved(
        164,
        "blurry image and English query",
        "answer the question in German",
        ("Image Deblurring", "Visual Question Answering", "Machine Translation"),
    ),
    Solved(
        169,
        "noisy image and clozed English query",
        "answer the question in English",
        ("Image Denoising", "Fill Mask", "Visual Question Answering"),
    ),
    Solved(
        171,
        "noisy image and English query",
        "answer the question in English",
        ("Image Denoising", "Visual Question Answering"),
    ),
    Solved(
        182,
        "English document and clozed English query",
        "answer the question in English",
        ("Fill Mask on the question", "Question Answering"),
    ),
)
