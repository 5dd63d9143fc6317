"""Map steps to the nearest name of an expert by a sentence encoder, like OpenAGI's code, but with a threshold.

The original uses all-MiniLM-L6-v2 and always takes the nearest name, so nonsense becomes a model. Here a step names no
expert if the cosine of its nearest name is below the threshold; with the threshold -1 it always names an expert. The
weights come from a local folder as their authors publish them: config.json, a tokenizer, *.safetensors.
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
from lumos_queue.util.model_loading import MODEL_LOADING, import_libraries
from lumos_queue.util.weights import check_weights

NAMES, ENCODER, MODEL = "names", "encoder", "model"
THRESHOLD = 0.4  #: cosine; steps of the paper's examples have 0.60 and more, a step about something else 0.17
MAX_TOKENS = 256
_NEEDED = ("config.json", "tokenizer.json")


@dataclass(frozen=True, slots=True)
class ParserChoice:
    """The method that maps the steps of a reply to experts."""

    folder: Path | None = None  #: of the encoder; None: steps are mapped by names and aliases
    threshold: float = THRESHOLD
    url: str = ""  #: address of the model that maps the steps; '': no model does


def read_parser(name: str, value: str) -> ParserChoice:
    """Read the value of the setting `name`: 'names', 'encoder:FOLDER', 'encoder:FOLDER@COSINE' or 'model:URL'.

    Raises SpecError for any other value, and for missing files or modules. A submission checks the URL.
    """
    if value == NAMES:
        return ParserChoice()
    kind, _, rest = value.partition(":")
    if kind == MODEL and ":" in rest:
        return ParserChoice(url=rest)
    if kind != ENCODER or not rest:
        raise SpecError(f"The setting {name} must be names or encoder:FOLDER or model:URL, not '{value[:80]}'.")
    folder, separator, cosine = rest.rpartition("@")
    threshold = _read_cosine(cosine) if separator else None
    if threshold is None:
        folder, threshold = rest, THRESHOLD
    path = from_launch(Path(folder).expanduser())
    if missing_files := [file_name for file_name in _NEEDED if not (path / file_name).is_file()]:
        raise SpecError(f"not run: needs {', '.join(missing_files)} of a sentence encoder in '{folder}'.")
    check_weights(path)
    need_modules(("torch", "transformers"), install_command("local"))
    return ParserChoice(path, threshold)


def open_parser(choice: ParserChoice) -> FindName:
    """Return the function that maps the text of a step to the name of its expert, for a choice without a model.

    Raises InfrastructureError if the encoder cannot be loaded.
    """
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
    """Finds the expert whose name is nearest to a text, by vectors that are encoded like in sentence-transformers.

    The names of experts are encoded once, when the encoder is loaded.
    """

    def __init__(self, folder: Path):
        try:
            with import_libraries():
                import torch
                from transformers import AutoModel, AutoTokenizer
                from transformers.utils import logging

            logging.disable_progress_bar()
            torch.set_num_threads(1)  # workers share the machine
            self._torch = torch
            with MODEL_LOADING:
                self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
                self._model: Any = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True).eval()
            self._names = self._encode(PLANNABLE)
        except Exception as error:  # the libraries can raise anything for a damaged file
            raise InfrastructureError(f"the sentence encoder in '{folder}' cannot be loaded: {error}"[:300]) from None

    def nearest(self, text: str, threshold: float) -> str:
        """Return the expert whose name is nearest to the text; '' if the cosine is below the threshold or NaN."""
        if not any(map(str.isalnum, text)):
            return ""
        cosines = (self._names @ self._encode([text])[0]).tolist()
        best = max(range(len(cosines)), key=lambda index: (not math.isnan(cosines[index]), cosines[index]))
        is_near = cosines[best] >= threshold or (threshold == -1 and not math.isnan(cosines[best]))  # -1.0000001 is -1
        return PLANNABLE[best] if is_near else ""

    def _encode(self, texts: Sequence[str]) -> Any:
        """Return a matrix with a row of length 1 for each text: the mean of the last layer over the text's tokens."""
        rows = self._tokenizer(list(texts), padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        with self._torch.inference_mode():
            vectors = self._model(**rows).last_hidden_state
        mask = rows["attention_mask"].unsqueeze(-1)
        means = (vectors * mask).sum(1) / mask.sum(1)
        return self._torch.nn.functional.normalize(means, dim=-1)


_open_encoder = lru_cache(2)(SentenceEncoder)
