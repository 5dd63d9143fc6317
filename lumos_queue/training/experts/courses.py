"""The lesson of each expert and its number of steps. They take at most three minutes on a shared core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from lumos_queue.training.experts import readings, restorations, views, writings
from lumos_queue.training.experts.lesson import Lesson


@dataclass(frozen=True, slots=True)
class Course:
    lesson: Callable[[str, Sequence[str]], Lesson]  #: gets the expert's name and the profiles of its pictures
    steps: int


COURSES: Mapping[str, Course] = MappingProxyType(
    {
        "Image Super Resolution": Course(restorations.restoration, 600),
        "Image Denoising": Course(restorations.restoration, 600),
        "Image Deblurring": Course(restorations.restoration, 600),
        "Colorization": Course(restorations.restoration, 800),
        "Image Classification": Course(views.classification, 250),
        "Object Detection": Course(views.detection, 700),
        "Image Captioning": Course(views.description, 800),
        "Visual Question Answering": Course(views.visual_questions, 900),
        "Text to Image Generation": Course(writings.drawing, 500),
        "Sentiment Analysis": Course(readings.sentiment, 300),
        "Fill Mask": Course(readings.masks, 1500),
        "Machine Translation": Course(writings.translation, 1200),
        "Question Answering": Course(readings.answers, 800),
        "Text Summarization": Course(readings.summaries, 200),
    }
)
