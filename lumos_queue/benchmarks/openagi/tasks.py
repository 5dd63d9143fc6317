"""OpenAGI's 185 tasks (Ge et al. 2023, arXiv:2304.04370, table A.6), made by rule in the order of the released list.

A task has augmented inputs and a goal. Its gold plan undoes the augmentations in reverse order, then runs the goal's
model, then translates the output if it must be German. Other plans can be right, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from lumos_queue.experts.base import Kind, Slot
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.plans import Plan, Signature

#: Augmentations of inputs, as descriptions name them: the last augmentation is named first and undone first.
IMAGE_AUGMENTATIONS = ("low-resolutioned", "noisy", "blurry", "grayscale")
CLOZED = "clozed"
UNDOES = {
    expert.undoes: expert.name for expert in EXPERTS.values() if expert.undoes
}  #: augmentation → the expert that undoes it

_SETS = tuple(
    tuple(name for name, is_included in zip(IMAGE_AUGMENTATIONS, reversed(choices), strict=True) if is_included)
    for choices in product((True, False), repeat=len(IMAGE_AUGMENTATIONS))
)[:-1]
_TEXTS = ((CLOZED,), ())
_GERMAN, _ENGLISH = "de", "en"
_LANGUAGES = {_GERMAN: "German", _ENGLISH: "English"}
#: Task id → the difficulty of the published table, where it is not the number of models of the gold plan.
_PUBLISHED = {15: 5, 133: 4, 137: 5, 145: 4, 146: 5, 149: 4, 150: 5, 171: 3, 172: 4}


@dataclass(frozen=True, slots=True)
class Channel:
    """One input of a task."""

    slot: Slot
    augmentations: tuple[str, ...]  #: names of IMAGE_AUGMENTATIONS, or CLOZED


@dataclass(frozen=True, slots=True)
class TaskGoal:
    """The output that a task asks for."""

    words: str  #: 'return the caption', without the language
    expert: str  #: the model that makes the output; '' if the output is the restored input
    source: str  #: the data set that the paper takes its samples from
    output: Kind
    metric: str  #: the paper's: 'vit', 'bert' or 'clip'


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A task without data."""

    id: int  #: its position in the released list, from 0
    category: str  #: 'image-text', 'text+text-text', …
    channels: tuple[Channel, ...]
    goal: TaskGoal
    language: str = ""  #: of the output: 'de' or 'en'; '' for an image

    @property
    def linear(self) -> bool:
        return len(self.channels) == 1

    @property
    def signature(self) -> Signature:
        return Signature(tuple(channel.slot for channel in self.channels), self.goal.output)

    @property
    def description(self) -> str:
        """The description with the wording and the grammar of the released list."""
        inputs = " and ".join(map(_describe, self.channels))
        language = f" in {_LANGUAGES[self.language]}" if self.language else ""
        return f"Given {inputs}, how to {self.goal.words}{language} step by step?"

    @property
    def plan(self) -> Plan:
        """The gold plan."""
        restorations = tuple(tuple(UNDOES[name] for name in channel.augmentations) for channel in self.channels)
        head = (self.goal.expert,) if self.goal.expert else ()
        needs_translation = self.language == _GERMAN and self.goal.expert != "Machine Translation"
        tail = (*head, "Machine Translation") if needs_translation else head
        return Plan((), (*restorations[0], *tail)) if self.linear else Plan(restorations, tail)

    @property
    def difficulty(self) -> int:
        """The difficulty of the published table."""
        return _PUBLISHED.get(self.id, self.difficulty_derived)

    @property
    def difficulty_derived(self) -> int:
        """The number of models of the gold plan."""
        return len(self.plan.names)


_IMAGE, _TEXT = Slot("image", Kind.IMAGE), Slot("text", Kind.TEXT)
_DOCUMENT, _QUESTION = Slot("document", Kind.TEXT), Slot("question", Kind.TEXT)
_NOUNS = {"image": "image", "text": "text", "document": "document", "question": "query"}

REGULAR = TaskGoal("return the regular image", "", "ImageNet-1K val", Kind.IMAGE, "vit")
CAPTION = TaskGoal("return the caption", "Image Captioning", "COCO captions val2017", Kind.TEXT, "bert")
LABEL = TaskGoal("return the class label", "Image Classification", "ImageNet-1K val", Kind.TEXT, "bert")
OBJECTS = TaskGoal("return the object names", "Object Detection", "COCO instances val2017", Kind.TEXT, "bert")
PICTURE = TaskGoal("generate a image", "Text to Image Generation", "COCO captions val2017", Kind.IMAGE, "clip")
SUMMARY = TaskGoal("return the summarization", "Text Summarization", "CNN/DailyMail test", Kind.TEXT, "bert")
TRANSLATION = TaskGoal("translate the text", "Machine Translation", "COCO captions val2017", Kind.TEXT, "bert")
SENTIMENT = TaskGoal("return the sentiment", "Sentiment Analysis", "SST-2 val", Kind.TEXT, "bert")
ANSWER_IMAGE = TaskGoal("answer the question", "Visual Question Answering", "TextVQA val", Kind.TEXT, "bert")
ANSWER_TEXT = TaskGoal("answer the question", "Question Answering", "SQuAD val", Kind.TEXT, "bert")


def _describe(channel: Channel) -> str:
    language = ("English",) if channel.slot.kind is Kind.TEXT else ()
    return " ".join((*channel.augmentations, *language, _NOUNS[channel.slot.name]))


def _tasks() -> Iterator[tuple[str, tuple[Channel, ...], TaskGoal, str]]:
    """Yield category, channels, goal and language of each task, in the released order."""
    for names in _SETS:
        yield "image-image", (Channel(_IMAGE, names),), REGULAR, ""
    for names, language, goal in product(_SETS, _LANGUAGES, (CAPTION, LABEL, OBJECTS)):
        yield "image-text", (Channel(_IMAGE, names),), goal, language
    for names in _TEXTS:
        yield "text-image", (Channel(_TEXT, names),), PICTURE, ""
    for names, language, goal in product(_TEXTS, _LANGUAGES, (SUMMARY, TRANSLATION, SENTIMENT)):
        if (goal, language) != (TRANSLATION, _ENGLISH):
            yield "text-text", (Channel(_TEXT, names),), goal, language
    for names, query, language in product(_SETS, _TEXTS, reversed(_LANGUAGES)):
        yield "image+text-text", (Channel(_IMAGE, names), Channel(_QUESTION, query)), ANSWER_IMAGE, language
    for document, query, language in product(_TEXTS, _TEXTS, _LANGUAGES):
        yield "text+text-text", (Channel(_DOCUMENT, document), Channel(_QUESTION, query)), ANSWER_TEXT, language


TASKS = tuple(TaskSpec(number, *parts) for number, parts in enumerate(_tasks()))
