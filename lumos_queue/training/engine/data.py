"""Store encoded conversations on disk, so that no window has to tokenise all conversations again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from lumos_queue.errors import SpecError
from lumos_queue.training.engine.masks import Example

IGNORED = -100  #: label of a token that is not learnt
TRAIN, DEV = "train.safetensors", "dev.safetensors"  #: the files of a fit


def write_examples(examples: Iterable[Example], path: Path) -> int:
    """Write the examples to a safetensors file; return their number."""
    stored_examples = list(examples)
    empty = {"ids": np.zeros(0, np.int32), "learnt": np.zeros(0, bool)}
    save_file(
        {
            "ids": np.concatenate([example.ids for example in stored_examples]) if stored_examples else empty["ids"],
            "learnt": np.concatenate([example.learnt for example in stored_examples])
            if stored_examples
            else empty["learnt"],
            "lengths": np.array([len(example.ids) for example in stored_examples], np.int64),
        },
        path,
    )
    return len(stored_examples)


class EncodedConversations(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """The examples of a file. An example has `input_ids` and `labels`, of the same length."""

    def __init__(self, path: Path):
        """Load the examples. Raises SpecError when the file is not one that `write_examples` wrote."""
        try:
            tensors = load_file(path)
            self._ids, self._learnt, self.lengths = tensors["ids"], tensors["learnt"], tensors["lengths"].tolist()
        except (OSError, ValueError, KeyError) as error:
            raise SpecError(f"No encoded conversations could be read from '{path}': {error}") from None
        self._ends = np.cumsum(self.lengths)

    def count_learnt(self) -> list[int]:
        """Return the number of learnt tokens of each example."""
        sums = np.concatenate(([0], np.cumsum(self._learnt)))
        return (sums[self._ends] - sums[self._ends - self.lengths]).tolist()

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        stop = self._ends[index]
        start = stop - self.lengths[index]
        ids = torch.from_numpy(self._ids[start:stop].astype(np.int64))
        learnt = torch.from_numpy(self._learnt[start:stop])
        return {"input_ids": ids, "labels": torch.where(learnt, ids, IGNORED)}


def pad_right(rows: Sequence[dict[str, torch.Tensor]], pad: int) -> dict[str, torch.Tensor]:
    """Return `input_ids` and `labels` of shape (rows, longest), and `lengths` of shape (rows,).

    The padding is on the right, where causal attention ignores it, so no attention mask is needed.
    """
    fill: dict[str, Any] = {"input_ids": pad, "labels": IGNORED}
    tensors = {
        name: torch.nn.utils.rnn.pad_sequence([row[name] for row in rows], batch_first=True, padding_value=value)
        for name, value in fill.items()
    }
    return tensors | {"lengths": torch.tensor([len(row["input_ids"]) for row in rows])}
