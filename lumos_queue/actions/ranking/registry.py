"""Rankers by what a domain's option `--tool ranker=…` says: `lexical`, or `KIND:DIR` (actions/ranking/neural.py)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import util
from pathlib import Path

from lumos_queue.actions.ranking.base import Ranker
from lumos_queue.actions.ranking.lexical import Lexical
from lumos_queue.actions.ranking.neural import KINDS, Neural
from lumos_queue.endpoints.model_folder import identity, weights
from lumos_queue.errors import SpecError, unknown
from lumos_queue.util.launch_folder import from_launch

#: The model of each kind that LUMOS ranks with.
PUBLISHED = {
    "dpr": "facebook/dpr-reader-multiset-base",
    "cross-encoder": "cross-encoder/stsb-roberta-large",
    "swapped-cross-encoder": "osunlp/MindAct_CandidateGeneration_deberta-v3-base",
}


def prepare_ranker(tools: Mapping[str, str]) -> dict[str, str]:
    """The options with `ranker` checked: its folder absolute, the digest of its weights as `ranker_sha256` beside it.

    Raises SpecError, saying what is needed and how to get it, when the ranker cannot run here.
    """
    found = _read(tools.get("ranker", ""))
    if found is None:
        return dict(tools)
    kind, folder = found[0], found[1].resolve()
    return {**tools, "ranker": f"{kind}:{folder}", "ranker_sha256": _digest(folder, _state(folder))}


def ranker_of(tools: Mapping[str, str]) -> Ranker:
    """The ranker that prepared options name. Raises SpecError also when its weights are not those of then."""
    found = _read(tools.get("ranker", ""))
    meant = tools.get("ranker_sha256", "")
    if found is not None and meant and (now := _digest(found[1], _state(found[1]))) != meant:
        raise SpecError(
            f"The weights in '{found[1]}' have the sha256 {now[:12]}…, expected {meant[:12]}… as submitted."
        )
    return open_ranker(tools.get("ranker", ""))


def open_ranker(spec: str) -> Ranker:
    """`''` or `lexical`; or `KIND:DIR`, a folder of weights on this machine. Raises SpecError as `prepare_ranker`."""
    found = _read(spec)
    return Lexical() if found is None else Neural(*found)


def _read(spec: str) -> tuple[str, Path] | None:
    """Kind and folder; None: lexical."""
    if spec in ("", "lexical"):
        return None
    kind, _, place = spec.partition(":")
    if kind not in KINDS or not place:
        raise unknown("ranker", spec, ("lexical", *(f"{one}:DIR" for one in KINDS)))
    _check(kind, folder := from_launch(place))
    return kind, folder


def _check(kind: str, folder: Path) -> None:
    model = PUBLISHED[kind]
    if not (folder / "config.json").is_file():
        raise SpecError(
            f"not run: needs the weights of {model} (or of another {kind}) in '{folder}'. "
            f"Get them with: hf download {model} --local-dir '{folder}'"
        )
    if not weights(folder):
        raise SpecError(
            f"not run: '{folder}' has no *.safetensors weights; other formats can run code and are refused. "
            f"Get a revision of {model} that has them, or convert it on a machine where that does no harm."
        )
    if not (folder / "tokenizer.json").is_file():
        raise SpecError(f"not run: '{folder}' has no tokenizer.json. Save the model's fast tokenizer there.")
    if not (util.find_spec("torch") and util.find_spec("transformers")):
        raise SpecError(f"not run: '{kind}' needs torch and transformers: pip install 'lumos-queue[local]'.")


def _state(folder: Path) -> tuple[tuple[str, int, int], ...]:
    return tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in weights(folder))


@cache
def _digest(folder: Path, _state: tuple) -> str:
    """sha256 of the weights; hashed once in a process for each state of the files."""
    return identity(folder)["sha256"]
