"""The originals of OpenAGI's generated inputs, and the right outputs for them. `oracle:` experts use them."""

from __future__ import annotations

from lumos_queue.benchmarks.openagi.data.samples import load_input, load_sample
from lumos_queue.experts.originals import Origin

#: (source, channel) → the expert whose output is the sample's target
_HEADS = {
    ("labels", "image"): "Image Classification",
    ("captions", "image"): "Image Captioning",
    ("objects", "image"): "Object Detection",
    ("documents", "text"): "Text Summarization",
    ("sentiments", "text"): "Sentiment Analysis",
    ("signs", "image"): "Visual Question Answering",
    ("passages", "document"): "Question Answering",
}
_TRANSLATION, _DRAWING = "Machine Translation", "Text to Image Generation"


class _Originals:
    """The samples by source, split and number."""

    def load(self, origin: Origin) -> bytes:
        return load_input(
            origin.source, origin.split, origin.number, origin.channel, origin.augmentations, origin.profile
        )

    def answer(self, origin: Origin) -> bytes | None:
        """Return the target or its German; for the text of a caption its German or its picture. None: no answer."""
        head = _HEADS.get((origin.source, origin.channel))
        target = load_sample(origin.source, origin.split, origin.number).target
        if origin.source == "captions" and origin.channel == "text":
            if origin.experts == (_DRAWING,):
                return load_input(origin.source, origin.split, origin.number, "image")
            return target.de.encode() if origin.experts == (_TRANSLATION,) else None
        if origin.experts == (head,):
            return target.en.encode()
        return target.de.encode() if origin.experts == (head, _TRANSLATION) else None


ORIGINALS = _Originals()
