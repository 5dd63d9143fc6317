"""Experts that process texts with transformers. Special tokens are skipped by id, not by their characters."""

from __future__ import annotations

from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)

from lumos_queue.experts.backends.hf.lengths import FIXED_LENGTHS, NEW_TOKENS, OWN_LENGTHS, read_lengths
from lumos_queue.experts.backends.hf.loading import load
from lumos_queue.experts.backends.pixels import read_text
from lumos_queue.experts.problems import BAD_INPUT, SampleError
from lumos_queue.util.model_loading import MODEL_LOADING

_MASK = "[MASK]"
_WINDOW, _STRIDE, _LONGEST_ANSWER = 384, 128, 30  #: tokens


class _Text:
    auto: Any

    def __init__(self, folder: str):
        self.model, self.device = load(self.auto, folder)
        with MODEL_LOADING:
            self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def encode(self, text: str, **options: Any) -> Any:
        """Return the tokens of a text, truncated to the length that the model takes."""
        longest = min(self.tokenizer.model_max_length, getattr(self.model.config, "max_position_embeddings", 1024))
        return self.tokenizer(text, return_tensors="pt", truncation=True, max_length=longest, **options).to(self.device)


class ClassifyText(_Text):
    auto = AutoModelForSequenceClassification

    def run(self, *inputs: bytes) -> bytes:
        """Return the label in lower case, because references are in lower case."""
        with torch.inference_mode():
            scores = self.model(**self.encode(read_text(inputs[0]))).logits
        return str(self.model.config.id2label[int(scores.argmax())]).lower().encode()


class _Generate(_Text):
    prefix = ""
    task = ""  #: name of the task in the configurations of checkpoints

    def __init__(self, folder: str, lengths: str = OWN_LENGTHS):
        super().__init__(folder)
        self.lengths = {"max_new_tokens": NEW_TOKENS}
        if lengths != FIXED_LENGTHS:
            self.lengths = read_lengths(self.model.config, self.model.generation_config, self.task)

    def run(self, *inputs: bytes) -> bytes:
        with torch.inference_mode():
            output = self.model.generate(**self.encode(self.prefix + read_text(inputs[0])), **self.lengths)
        return self.tokenizer.decode(output[0], skip_special_tokens=True).strip().encode()


class Summarize(_Generate):
    auto = AutoModelForSeq2SeqLM
    task = "summarization"


class Translate(_Generate):
    auto = AutoModelForSeq2SeqLM
    prefix = "translate English to German: "
    task = "translation_en_to_de"


class Continue(_Generate):
    auto = AutoModelForCausalLM

    def __init__(self, folder: str):
        super().__init__(folder, FIXED_LENGTHS)


class FillMask(_Text):
    auto = AutoModelForMaskedLM

    def run(self, *inputs: bytes) -> bytes:
        """Replace all masks at once by their likeliest tokens. A text without a mask stays as it is."""
        text = read_text(inputs[0])
        if _MASK not in text:
            return text.encode()
        mask = self.tokenizer.mask_token
        encoding = self.encode(text.replace(_MASK, mask))
        with torch.inference_mode():
            scores = self.model(**encoding).logits[0]
        positions = (encoding["input_ids"][0] == self.tokenizer.mask_token_id).nonzero().ravel().tolist()
        parts = text.split(_MASK)
        if len(positions) != len(parts) - 1:
            raise SampleError(BAD_INPUT, "a mask beyond what the model can read")
        words = [self.tokenizer.decode([int(scores[position].argmax())]).strip() for position in positions]
        return "".join(part + word for part, word in zip(parts, [*words, ""], strict=True)).encode()


class AnswerFromText(_Text):
    auto = AutoModelForQuestionAnswering

    def run(self, *inputs: bytes) -> bytes:
        """Return the likeliest span of the document, which is read in overlapping windows."""
        document, question = read_text(inputs[0]), read_text(inputs[1])
        limit = min(_WINDOW, getattr(self.model.config, "max_position_embeddings", _WINDOW))
        encoding = self.tokenizer(
            question,
            document,
            truncation="only_second",
            max_length=limit,
            stride=min(_STRIDE, limit // 4),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding=True,
            return_tensors="pt",
        )
        offsets = encoding.pop("offset_mapping")
        encoding.pop("overflow_to_sample_mapping")
        with torch.inference_mode():
            output = self.model(**encoding.to(self.device))
        best, span = float("-inf"), (0, 0)
        for window in range(len(offsets)):
            inside = torch.tensor([part == 1 for part in encoding.sequence_ids(window)])
            score, start, end = _best_span(output.start_logits[window].cpu(), output.end_logits[window].cpu(), inside)
            if score > best:
                best, span = score, (int(offsets[window][start][0]), int(offsets[window][end][1]))
        return document[slice(*span)].encode()


def _best_span(starts: torch.Tensor, ends: torch.Tensor, inside: torch.Tensor) -> tuple[float, int, int]:
    """Return score, first and last token of the best span within the document."""
    starts, ends = starts.masked_fill(~inside, -torch.inf), ends.masked_fill(~inside, -torch.inf)
    sums = starts[:, None] + ends[None, :]
    valid_spans = torch.ones_like(sums, dtype=torch.bool).triu() & ~torch.ones_like(sums, dtype=torch.bool).triu(
        _LONGEST_ANSWER
    )
    sums = sums.masked_fill(~valid_spans, -torch.inf)
    start, end = divmod(int(sums.argmax()), sums.shape[1])
    return float(sums[start, end]), start, end
