"""Choose the layer of a text encoder whose embeddings BERTScore compares.

It is the layer of LUMOS_BERT_LAYER, else that of bert-score's published table for the model's own name, else the last.
The name of a folder does not matter. Scores of different layers are not comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.util.regular_file import read_regular
from lumos_queue.util.untrusted_json import read_json

VARIABLE = "LUMOS_BERT_LAYER"
_MAX_LAYER = 999  #: of models whose configuration does not state the number of layers
#: Names of the number of layers in the configurations of models of transformers.
_LAYER_COUNTS = ("num_hidden_layers", "n_layers", "n_layer", "encoder_layers", "num_layers", "num_encoder_layers")
#: Owners of models that the Hub later gave to models without an owner. The table has the names without them.
_LATER_OWNERS = ("albert", "distilbert", "FacebookAI", "google-bert", "google-t5", "xlnet")


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of an encoder."""

    number: int  #: from 0, the embeddings; -1 for the last if the number of layers is unknown
    is_last: bool


@lru_cache(maxsize=64)
def choose_layer(folder: Path, checkpoint: str, text: str) -> Layer:
    """Return the layer of the encoder in a folder. A process reads the configuration of the same folder only once.

    `checkpoint` is the id of the model, '' if only its configuration can name it; `text` is the value of
    LUMOS_BERT_LAYER. Raises SpecError for a value that is not a layer of this model.
    """
    config = _read_config(folder)
    count = _count_layers(config)
    number = _read_layer(text, count, folder) if text else None
    if number is None:
        number = _find_in_table((checkpoint, config.get("_name_or_path")), count)
    if number is None:
        return Layer(count or -1, True)
    return Layer(number, number == count)


def _read_layer(text: str, count: int | None, folder: Path) -> int:
    if text.isascii() and text.isdecimal() and len(text) <= len(str(_MAX_LAYER)) and int(text) <= (count or _MAX_LAYER):
        return int(text)
    layers = f"from 0 to {count:,}" if count else "of this model"
    raise SpecError(f"{VARIABLE}={text[:40]} cannot be used: expected a layer {layers}, of '{folder}'.")


def _find_in_table(names: Iterable[object], count: int | None) -> int | None:
    """Return the layer of the first name in the table, if the model has that layer; None without such a name."""
    for name in names:
        if isinstance(name, str):
            owner, _, rest = name.partition("/")
            layer = BERT_LAYERS.get(rest if owner in _LATER_OWNERS else name)
            if layer is not None and layer <= (count or _MAX_LAYER):
                return layer
    return None


def _count_layers(config: Mapping[str, Any]) -> int | None:
    for name in _LAYER_COUNTS:
        count = config.get(name)
        if isinstance(count, int) and 0 < count <= _MAX_LAYER:
            return count
    return None


def _read_config(folder: Path) -> Mapping[str, Any]:
    try:
        config = read_json(read_regular(folder / "config.json", folder))
    except (OSError, ValueError, SpecError):
        return {}  # loading the model reports the problem
    return config if isinstance(config, dict) else {}


#: Name of a model → the layer whose embeddings agree best with people, from bert-score 0.3.13 (MIT; Zhang et al. 2020).
BERT_LAYERS: Mapping[str, int] = MappingProxyType(
    {
        "bert-base-uncased": 9,
        "bert-large-uncased": 18,
        "bert-base-cased-finetuned-mrpc": 9,
        "bert-base-multilingual-cased": 9,
        "bert-base-chinese": 8,
        "roberta-base": 10,
        "roberta-large": 17,
        "roberta-large-mnli": 19,
        "roberta-base-openai-detector": 7,
        "roberta-large-openai-detector": 15,
        "xlnet-base-cased": 5,
        "xlnet-large-cased": 7,
        "xlm-mlm-en-2048": 6,
        "xlm-mlm-100-1280": 10,
        "allenai/scibert_scivocab_uncased": 8,
        "allenai/scibert_scivocab_cased": 9,
        "nfliu/scibert_basevocab_uncased": 9,
        "distilroberta-base": 5,
        "distilbert-base-uncased": 5,
        "distilbert-base-uncased-distilled-squad": 4,
        "distilbert-base-multilingual-cased": 5,
        "albert-base-v1": 10,
        "albert-large-v1": 17,
        "albert-xlarge-v1": 16,
        "albert-xxlarge-v1": 8,
        "albert-base-v2": 9,
        "albert-large-v2": 14,
        "albert-xlarge-v2": 13,
        "albert-xxlarge-v2": 8,
        "xlm-roberta-base": 9,
        "xlm-roberta-large": 17,
        "google/electra-small-generator": 9,
        "google/electra-small-discriminator": 11,
        "google/electra-base-generator": 10,
        "google/electra-base-discriminator": 9,
        "google/electra-large-generator": 18,
        "google/electra-large-discriminator": 14,
        "google/bert_uncased_L-2_H-128_A-2": 1,
        "google/bert_uncased_L-2_H-256_A-4": 1,
        "google/bert_uncased_L-2_H-512_A-8": 1,
        "google/bert_uncased_L-2_H-768_A-12": 2,
        "google/bert_uncased_L-4_H-128_A-2": 3,
        "google/bert_uncased_L-4_H-256_A-4": 3,
        "google/bert_uncased_L-4_H-512_A-8": 3,
        "google/bert_uncased_L-4_H-768_A-12": 3,
        "google/bert_uncased_L-6_H-128_A-2": 5,
        "google/bert_uncased_L-6_H-256_A-4": 5,
        "google/bert_uncased_L-6_H-512_A-8": 5,
        "google/bert_uncased_L-6_H-768_A-12": 5,
        "google/bert_uncased_L-8_H-128_A-2": 7,
        "google/bert_uncased_L-8_H-256_A-4": 7,
        "google/bert_uncased_L-8_H-512_A-8": 6,
        "google/bert_uncased_L-8_H-768_A-12": 7,
        "google/bert_uncased_L-10_H-128_A-2": 8,
        "google/bert_uncased_L-10_H-256_A-4": 8,
        "google/bert_uncased_L-10_H-512_A-8": 9,
        "google/bert_uncased_L-10_H-768_A-12": 8,
        "google/bert_uncased_L-12_H-128_A-2": 10,
        "google/bert_uncased_L-12_H-256_A-4": 11,
        "google/bert_uncased_L-12_H-512_A-8": 10,
        "google/bert_uncased_L-12_H-768_A-12": 9,
        "amazon/bort": 0,
        "facebook/bart-base": 6,
        "facebook/bart-large": 10,
        "facebook/bart-large-cnn": 10,
        "facebook/bart-large-mnli": 11,
        "facebook/bart-large-xsum": 9,
        "t5-small": 6,
        "t5-base": 11,
        "t5-large": 23,
        "vinai/bertweet-base": 9,
        "microsoft/deberta-base": 9,
        "microsoft/deberta-base-mnli": 9,
        "microsoft/deberta-large": 16,
        "microsoft/deberta-large-mnli": 18,
        "microsoft/deberta-xlarge": 18,
        "microsoft/deberta-xlarge-mnli": 40,
        "YituTech/conv-bert-base": 10,
        "YituTech/conv-bert-small": 10,
        "YituTech/conv-bert-medium-small": 9,
        "microsoft/mpnet-base": 8,
        "squeezebert/squeezebert-uncased": 9,
        "squeezebert/squeezebert-mnli": 9,
        "squeezebert/squeezebert-mnli-headless": 9,
        "tuner007/pegasus_paraphrase": 15,
        "google/pegasus-large": 8,
        "google/pegasus-xsum": 11,
        "sshleifer/tiny-mbart": 2,
        "facebook/mbart-large-cc25": 12,
        "facebook/mbart-large-50": 12,
        "facebook/mbart-large-en-ro": 12,
        "facebook/mbart-large-50-many-to-many-mmt": 12,
        "facebook/mbart-large-50-one-to-many-mmt": 12,
        "allenai/led-base-16384": 6,
        "facebook/blenderbot_small-90M": 7,
        "facebook/blenderbot-400M-distill": 2,
        "microsoft/prophetnet-large-uncased": 4,
        "microsoft/prophetnet-large-uncased-cnndm": 7,
        "SpanBERT/spanbert-base-cased": 8,
        "SpanBERT/spanbert-large-cased": 17,
        "microsoft/xprophetnet-large-wiki100-cased": 7,
        "ProsusAI/finbert": 10,
        "Vamsi/T5_Paraphrase_Paws": 12,
        "ramsrigouthamg/t5_paraphraser": 11,
        "microsoft/deberta-v2-xlarge": 10,
        "microsoft/deberta-v2-xlarge-mnli": 17,
        "microsoft/deberta-v2-xxlarge": 21,
        "microsoft/deberta-v2-xxlarge-mnli": 22,
        "allenai/longformer-base-4096": 7,
        "allenai/longformer-large-4096": 14,
        "allenai/longformer-large-4096-finetuned-triviaqa": 14,
        "zhiheng-huang/bert-base-uncased-embedding-relative-key": 4,
        "zhiheng-huang/bert-base-uncased-embedding-relative-key-query": 7,
        "zhiheng-huang/bert-large-uncased-whole-word-masking-embedding-relative-key-query": 19,
        "google/mt5-small": 8,
        "google/mt5-base": 11,
        "google/mt5-large": 19,
        "google/mt5-xl": 24,
        "google/bigbird-roberta-base": 10,
        "google/bigbird-roberta-large": 14,
        "google/bigbird-base-trivia-itc": 8,
        "princeton-nlp/unsup-simcse-bert-base-uncased": 10,
        "princeton-nlp/unsup-simcse-bert-large-uncased": 18,
        "princeton-nlp/unsup-simcse-roberta-base": 8,
        "princeton-nlp/unsup-simcse-roberta-large": 13,
        "princeton-nlp/sup-simcse-bert-base-uncased": 10,
        "princeton-nlp/sup-simcse-bert-large-uncased": 18,
        "princeton-nlp/sup-simcse-roberta-base": 10,
        "princeton-nlp/sup-simcse-roberta-large": 16,
        "dbmdz/bert-base-turkish-cased": 10,
        "dbmdz/distilbert-base-turkish-cased": 4,
        "google/byt5-small": 1,
        "google/byt5-base": 17,
        "google/byt5-large": 30,
        "microsoft/deberta-v3-xsmall": 10,
        "microsoft/deberta-v3-small": 4,
        "microsoft/deberta-v3-base": 9,
        "microsoft/mdeberta-v3-base": 10,
        "microsoft/deberta-v3-large": 12,
        "khalidalt/DeBERTa-v3-large-mnli": 18,
    }
)
