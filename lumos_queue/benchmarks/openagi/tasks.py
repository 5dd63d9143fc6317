"""OpenAGI's 185 tasks, by rule (Ge et al. 2023, arXiv:2304.04370, table A.6), in the order of the released list.

A task is what is given, what was done to it, and what is wanted. Its gold plan takes back what was done, the last
first, then runs the model of what is wanted, then translates where German is wanted. Other plans can be right, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from lumos_queue.experts.base import Kind, Slot
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.plans import Plan, Signature

#: What is done to inputs, as descriptions name it: the last that is done is named first, and taken back first.
IMAGE_AUGMENTATIONS = ("low-resolutioned", "noisy", "blurry", "grayscale")
CLOZED = "clozed"
UNDOES = {one.undoes: one.name for one in EXPERTS.values() if one.undoes}  #: augmentation → the expert that undoes it

_SETS = tuple(
    tuple(name for name, there in zip(IMAGE_AUGMENTATIONS, reversed(chosen), strict=True) if there)
    for chosen in product((True, False), repeat=len(IMAGE_AUGMENTATIONS))
)[:-1]
_TEXTS = ((CLOZED,), ())
_GERMAN, _ENGLISH = "de", "en"
_LANGUAGES = {_GERMAN: "German", _ENGLISH: "English"}
#: Difficulties of the published table that are not the number of models of the gold plan.
_PUBLISHED = {15: 5, 133: 4, 137: 5, 145: 4, 146: 5, 149: 4, 150: 5, 171: 3, 172: 4}


@dataclass(frozen=True, slots=True)
class Channel:
    """One input of a task."""

    slot: Slot
    augmentations: tuple[str, ...]  #: what was done to it, as in IMAGE_AUGMENTATIONS or CLOZED


@dataclass(frozen=True, slots=True)
class TaskGoal:
    """What a task asks for."""

    words: str  #: 'return the caption', with the language left out
    expert: str  #: the model that makes it; '' where the restored input itself is wanted
    source: str  #: the data set that the paper takes its samples from
    output: Kind
    metric: str  #: the paper's: 'vit', 'bert' or 'clip'


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A task without data."""

    id: int  #: its place in the released list, from 0
    category: str  #: 'image-text', 'text+text-text', …
    channels: tuple[Channel, ...]
    wanted: TaskGoal
    language: str = ""  #: of the output: 'de' or 'en'; '' of an image

    @property
    def linear(self) -> bool:
        return len(self.channels) == 1

    @property
    def signature(self) -> Signature:
        return Signature(tuple(one.slot for one in self.channels), self.wanted.output)

    @property
    def description(self) -> str:
        """As in the released list, its grammar too."""
        given = " and ".join(map(_describe, self.channels))
        language = f" in {_LANGUAGES[self.language]}" if self.language else ""
        return f"Given {given}, how to {self.wanted.words}{language} step by step?"

    @property
    def plan(self) -> Plan:
        """The gold plan."""
        restored = tuple(tuple(UNDOES[name] for name in one.augmentations) for one in self.channels)
        head = (self.wanted.expert,) if self.wanted.expert else ()
        needs_translation = self.language == _GERMAN and self.wanted.expert != "Machine Translation"
        tail = (*head, "Machine Translation") if needs_translation else head
        return Plan((), (*restored[0], *tail)) if self.linear else Plan(restored, tail)

    @property
    def difficulty(self) -> int:
        """The published one."""
        return _PUBLISHED.get(self.id, self.difficulty_derived)

    @property
    def difficulty_derived(self) -> int:
        """The models of the gold plan."""
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
    """Category, channels, what is wanted and its language, in the released order."""
    for names in _SETS:
        yield "image-image", (Channel(_IMAGE, names),), REGULAR, ""
    for names, language, wanted in product(_SETS, _LANGUAGES, (CAPTION, LABEL, OBJECTS)):
        yield "image-text", (Channel(_IMAGE, names),), wanted, language
    for names in _TEXTS:
        yield "text-image", (Channel(_TEXT, names),), PICTURE, ""
    for names, language, wanted in product(_TEXTS, _LANGUAGES, (SUMMARY, TRANSLATION, SENTIMENT)):
        if (wanted, language) != (TRANSLATION, _ENGLISH):
            yield "text-text", (Channel(_TEXT, names),), wanted, language
    for names, query, language in product(_SETS, _TEXTS, reversed(_LANGUAGES)):
        yield "image+text-text", (Channel(_IMAGE, names), Channel(_QUESTION, query)), ANSWER_IMAGE, language
    for document, query, language in product(_TEXTS, _TEXTS, _LANGUAGES):
        yield "text+text-text", (Channel(_DOCUMENT, document), Channel(_QUESTION, query)), ANSWER_TEXT, language


TASKS = tuple(TaskSpec(number, *one) for number, one in enumerate(_tasks()))
