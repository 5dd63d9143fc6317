"""Find the originals of OpenAGI's generated inputs, and the right outputs for them, for experts of `oracle:`."""

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
    """Loads inputs and right outputs of samples by their origin: source, split and number."""

    def load(self, origin: Origin) -> bytes:
        return load_input(
            origin.source, origin.split, origin.number, origin.channel, origin.augmentations, origin.profile
        )

    def answer(self, origin: Origin) -> bytes | None:
        """Return the right output after `origin.experts`: the target, its translation, or the picture of a caption.

        Return None if there is no right output.
        """
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
