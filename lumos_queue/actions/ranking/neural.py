"""Rank with a neural model on the CPU. transformers reads a folder of weights in the form that their authors publish.

    dpr:DIR                    a DPR reader, e.g. facebook/dpr-reader-multiset-base: the relevance logit of (query,
                               title, text), spec/lumos.md 5.2
    cross-encoder:DIR          a sequence classifier of one output, e.g. cross-encoder/stsb-roberta-large (5.5): the
                               logit of the pair (query, text)
    swapped-cross-encoder:DIR  the logit of the pair (text, query): osunlp/MindAct_CandidateGeneration_deberta-v3-base
                               was evaluated with one order and trained with the other (5.3)

torch and transformers are imported when the first query arrives, in the thread that ranks, not with this module.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from lumos_queue.actions.ranking.base import RankerKind, split_title
from lumos_queue.errors import InfrastructureError, LumosError, SpecError
from lumos_queue.util.model_loading import MODEL_LOADING, import_libraries

MAX_LENGTH = 512  #: tokens of a query with a text; longer pairs are cut
BATCH = 10  #: texts in one forward pass, as in the original


class Neural:
    """A Ranker with a neural model. The first query loads the model, and `close` releases it."""

    def __init__(self, kind: str, folder: Path):
        self.name = f"{kind}:{folder}"
        self._kind, self._folder = kind, folder
        self._model: Any = None
        self._tokenizer: Any = None
        self._close_event = threading.Event()
        # One thread: two forward passes at once would only slow each other down.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"rank {folder.name}")

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a logit for each text.

        Raises SpecError if the folder cannot be loaded, InfrastructureError if the model fails.
        """
        if self._close_event.is_set():
            raise InfrastructureError(f"the ranker {self.name} is closed")
        if not texts:
            return []
        return await asyncio.wrap_future(self._thread.submit(self._scores, query, list(texts)))

    async def close(self) -> None:
        """Stop after the current forward pass; waiting queries fail with InfrastructureError."""
        self._close_event.set()
        await asyncio.to_thread(self._thread.shutdown)
        self._model = self._tokenizer = None

    # --- in the thread ------------------------------------------------------------------------------------------------

    def _scores(self, query: str, texts: list[str]) -> list[float]:
        try:
            with import_libraries("torch"):
                import torch

            if self._model is None:
                self._load()
            rows = [self._row(query, text) for text in texts]
            scores = [0.0] * len(rows)
            with torch.inference_mode():
                for positions in _batches(rows):
                    if self._close_event.is_set():
                        raise InfrastructureError(f"the ranker {self.name} was closed")
                    logits = self._logits([rows[position] for position in positions])
                    for position, logit in zip(positions, logits, strict=True):
                        scores[position] = logit
        except LumosError:
            raise
        except Exception as error:  # memory, say
            raise InfrastructureError(f"the ranker {self.name} failed: " + str(error).partition("\n")[0]) from None
        if not all(map(math.isfinite, scores)):
            raise SpecError(f"'{self._folder}' gives scores that are not numbers: its weights are damaged.")
        return scores

    def _load(self) -> None:
        with import_libraries():
            import torch
            from transformers import AutoModelForSequenceClassification, AutoTokenizer, DPRReader
            from transformers.utils import logging

        logging.disable_progress_bar()
        torch.set_num_threads(1)  # workers share the machine
        loader: Any = DPRReader if self._kind == "dpr" else AutoModelForSequenceClassification
        try:
            with MODEL_LOADING:
                tokenizer = AutoTokenizer.from_pretrained(self._folder, local_files_only=True)
                model, report = loader.from_pretrained(
                    self._folder,
                    dtype=torch.float32,
                    use_safetensors=True,
                    local_files_only=True,
                    output_loading_info=True,
                )
        except MemoryError:
            raise
        except Exception as error:  # an untrusted folder can make the two libraries raise anything
            reason = str(error).partition("\n")[0]
            raise SpecError(f"'{self._folder}' cannot be loaded as a {self._kind}: {reason}") from None
        if missing_names := sorted(report["missing_keys"]):
            raise SpecError(f"'{self._folder}' is not a {self._kind}: it has no weights for '{missing_names[0]}'.")
        if self._kind != "dpr" and model.config.num_labels != 1:
            raise SpecError(f"'{self._folder}' has {model.config.num_labels} outputs, expected 1: a score.")
        self._model, self._tokenizer = model.eval(), tokenizer
        tokenizer.model_max_length = 10**9  # pairs are cut below; no warning on the terminal
        position_count = getattr(model.config, "max_position_embeddings", MAX_LENGTH + 2)
        # RoBERTa counts positions from its padding id + 1: two fewer tokens than it has positions.
        self._max_length = min(
            MAX_LENGTH, position_count - 2 if "roberta" in model.config.model_type else position_count
        )

    def _row(self, query: str, text: str) -> dict[str, list[int]]:
        """Return the token ids of a query and a text, truncated, and the segment ids if the model has them."""
        tokenizer = self._tokenizer
        if self._kind == "dpr":
            # [CLS] query [SEP] title [SEP] text, as the reader was trained (transformers, DPRReaderTokenizer).
            title, body = split_title(text)
            start = [
                tokenizer.cls_token_id,
                *self._ids(query),
                tokenizer.sep_token_id,
                *self._ids(title),
                tokenizer.sep_token_id,
            ]
            return {"input_ids": [*start, *self._ids(body)][: self._max_length]}
        pair = (query, text) if self._kind == "cross-encoder" else (text, query)
        row = tokenizer(
            *pair, truncation="longest_first", max_length=self._max_length
        )  # as sentence-transformers cuts pairs
        return {name: row[name] for name in ("input_ids", "token_type_ids") if name in row}

    def _ids(self, text: str) -> list[int]:
        return self._tokenizer(text, add_special_tokens=False)["input_ids"]

    def _logits(self, rows: list[dict[str, list[int]]]) -> list[float]:
        """Return the logits of rows of similar length, from one forward pass."""
        with import_libraries("torch"):
            import torch

        width = max(len(row["input_ids"]) for row in rows)
        padding = {"input_ids": self._tokenizer.pad_token_id, "token_type_ids": 0}
        inputs = {
            name: torch.tensor([row[name] + [padding[name]] * (width - len(row[name])) for row in rows])
            for name in rows[0]
        }
        inputs["attention_mask"] = torch.tensor(
            [[1] * len(row["input_ids"]) + [0] * (width - len(row["input_ids"])) for row in rows]
        )
        output = self._model(**inputs)
        return (output.relevance_logits if self._kind == "dpr" else output.logits[:, 0]).tolist()


def _batches(rows: list[dict[str, list[int]]]) -> Iterator[list[int]]:
    """Yield the positions of `rows` in batches of similar length."""
    order = sorted(range(len(rows)), key=lambda position: len(rows[position]["input_ids"]))
    for start in range(0, len(order), BATCH):
        yield order[start : start + BATCH]


def _open(kind: str, folder: Path | None) -> Neural:
    assert folder is not None, f"the ranker {kind} needs a folder of weights"
    return Neural(kind, folder)


DPR = RankerKind("facebook/dpr-reader-multiset-base", partial(_open, "dpr"))
CROSS_ENCODER = RankerKind("cross-encoder/stsb-roberta-large", partial(_open, "cross-encoder"))
SWAPPED_CROSS_ENCODER = RankerKind(
    "osunlp/MindAct_CandidateGeneration_deberta-v3-base", partial(_open, "swapped-cross-encoder")
)
