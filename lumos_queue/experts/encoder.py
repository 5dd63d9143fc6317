"""The nearest name by a sentence encoder, as OpenAGI's code maps steps to models; but with a least cosine.

The original takes all-MiniLM-L6-v2 and always the nearest name, so that nonsense becomes a model. Here a step whose
nearest name is further than the threshold names none. The weights come from a local folder as their authors publish
them: config.json, a tokenizer, *.safetensors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from lumos_queue.errors import InfrastructureError, SpecError
from lumos_queue.experts.backends.needs import need_modules
from lumos_queue.experts.catalogue import PLANNABLE
from lumos_queue.experts.names import find_name
from lumos_queue.experts.parsing import FindName
from lumos_queue.util.extras import install_command
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.model_loading import MODEL_LOADING
from lumos_queue.util.weights import check_weights

NAMES, ENCODER = "names", "encoder"
THRESHOLD = 0.4  #: cosine; steps of the paper's examples have 0.60 and more, a step about something else 0.17
MAX_TOKENS = 256
_NEEDED = ("config.json", "tokenizer.json")


@dataclass(frozen=True, slots=True)
class ParserChoice:
    """How the steps of a reply become experts."""

    folder: Path | None = None  #: of the encoder; None: by their names
    threshold: float = THRESHOLD


def read_parser(name: str, value: str) -> ParserChoice:
    """'names', 'encoder:FOLDER' or 'encoder:FOLDER@COSINE'. Raises SpecError, also where something is not there."""
    if value == NAMES:
        return ParserChoice()
    kind, _, rest = value.partition(":")
    if kind != ENCODER or not rest:
        raise SpecError(f"The setting {name} must be names or encoder:FOLDER, not '{value[:80]}'.")
    folder, at, cosine = rest.rpartition("@")
    threshold = _read_cosine(cosine) if at else None
    if threshold is None:
        folder, threshold = rest, THRESHOLD
    path = from_launch(Path(folder).expanduser())
    if missing := [one for one in _NEEDED if not (path / one).is_file()]:
        raise SpecError(f"not run: needs {', '.join(missing)} of a sentence encoder in '{folder}'.")
    check_weights(path)
    need_modules(("torch", "transformers"), install_command("local"))
    return ParserChoice(path, threshold)


def open_parser(choice: ParserChoice) -> FindName:
    """What finds the expert of a step. Raises InfrastructureError when the encoder cannot be loaded."""
    if choice.folder is None:
        return find_name
    encoder = _open_encoder(choice.folder)
    return lambda text: encoder.nearest(text, choice.threshold)


def _read_cosine(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if -1 <= value <= 1 else None


class SentenceEncoder:
    """Mean of the last layer's vectors over the tokens, as sentence-transformers do; the names are encoded once."""

    def __init__(self, folder: Path):
        try:
            import torch
            from transformers import AutoModel, AutoTokenizer
            from transformers.utils import logging

            logging.disable_progress_bar()
            torch.set_num_threads(1)  # workers share the machine
            self._torch = torch
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            with MODEL_LOADING:
                self._model: Any = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True).eval()
            self._names = self._encode(PLANNABLE)
        except Exception as error:  # whatever a damaged file makes the libraries raise
            raise InfrastructureError(f"the sentence encoder in '{folder}' cannot be loaded: {error}"[:300]) from None

    def nearest(self, text: str, threshold: float) -> str:
        """The nearest of the names; '' where its cosine is below the threshold, or not a number."""
        if not any(map(str.isalnum, text)):
            return ""
        cosines = (self._names @ self._encode([text])[0]).tolist()
        best = max(range(len(cosines)), key=lambda index: (not math.isnan(cosines[index]), cosines[index]))
        return PLANNABLE[best] if cosines[best] >= threshold else ""

    def _encode(self, texts: Sequence[str]) -> Any:
        """Vectors of length 1, a row for each text."""
        rows = self._tokenizer(list(texts), padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        with self._torch.inference_mode():
            vectors = self._model(**rows).last_hidden_state
        mask = rows["attention_mask"].unsqueeze(-1)
        means = (vectors * mask).sum(1) / mask.sum(1)
        return self._torch.nn.functional.normalize(means, dim=-1)


_open_encoder = lru_cache(2)(SentenceEncoder)
