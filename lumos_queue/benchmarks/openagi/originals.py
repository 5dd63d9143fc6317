"""What OpenAGI's generated inputs were before they were changed, and what is right of them, for `oracle:` experts."""

from __future__ import annotations

from lumos_queue.benchmarks.openagi.data.samples import load_input, load_sample
from lumos_queue.experts.originals import Origin

#: By source and channel: the expert whose output is the sample's target.
_HEADS = {
    ("labels", "image"): "Image Classification",
    ("captions", "image"): "Image Captioning",
    ("objects", "image"): "Object Detection",
    ("documents", "text"): "Text Summarization",
    ("sentiments", "text"): "Sentiment Analysis",
    ("signs", "image"): "Visual Question Answering",
    ("passages", "document"): "Question Answering",
}
_TRANSLATED, _DRAWN = "Machine Translation", "Text to Image Generation"


class _Originals:
    """The samples by source, split and number."""

    def load(self, origin: Origin) -> bytes:
        return load_input(
            origin.source, origin.split, origin.number, origin.channel, origin.augmentations, origin.profile
        )

    def answer(self, origin: Origin) -> bytes | None:
        """The target, its German, and of a caption as a text its German and its picture."""
        head = _HEADS.get((origin.source, origin.channel))
        target = load_sample(origin.source, origin.split, origin.number).target
        if origin.source == "captions" and origin.channel == "text":
            if origin.experts == (_DRAWN,):
                return load_input(origin.source, origin.split, origin.number, "image")
            return target.de.encode() if origin.experts == (_TRANSLATED,) else None
        if origin.experts == (head,):
            return target.en.encode()
        return target.de.encode() if origin.experts == (head, _TRANSLATED) else None


ORIGINALS = _Originals()
