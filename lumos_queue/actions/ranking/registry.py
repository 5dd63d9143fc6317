"""Open the ranker that the option `--tool ranker=…` names: `lexical`, or `KIND:DIR` (actions/ranking/neural.py).

A plug-in's ranker is written `NAME`, or `NAME:DIR` if it names the weights that it needs (`published`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import util
from pathlib import Path

from lumos_queue.actions.ranking.base import Ranker, RankerKind
from lumos_queue.endpoints.model_folder import identity, weights
from lumos_queue.errors import SpecError, unknown
from lumos_queue.util.extras import install_command
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.plugins import is_dotted
from lumos_queue.util.registry import Registry
from lumos_queue.util.regular_file import check_entries

RANKERS: Registry[RankerKind] = Registry(
    "ranker",
    {
        "lexical": "lumos_queue.actions.ranking.lexical:LEXICAL",
        "dpr": "lumos_queue.actions.ranking.neural:DPR",
        "cross-encoder": "lumos_queue.actions.ranking.neural:CROSS_ENCODER",
        "swapped-cross-encoder": "lumos_queue.actions.ranking.neural:SWAPPED_CROSS_ENCODER",
    },
    "rankers",
    RankerKind,
)
DEFAULT = "lexical"  #: needs no weights, and so no folder


def prepare_ranker(tools: Mapping[str, str]) -> dict[str, str]:
    """Return the options with the absolute folder of `ranker`, and with `ranker_sha256`, the digest of its weights.

    Raises SpecError if the ranker cannot run on this machine; the message explains how to get what is missing.
    """
    name, folder = _read(tools.get("ranker", ""))
    if folder is None:
        return dict(tools)
    folder = folder.resolve()
    return {**tools, "ranker": f"{name}:{folder}", "ranker_sha256": _digest(folder, _state(folder))}


def open_prepared(tools: Mapping[str, str]) -> Ranker:
    """Return the ranker of prepared options. Raises SpecError, also if its weights have changed since submission."""
    _, folder = _read(tools.get("ranker", ""))
    stored_sha256 = tools.get("ranker_sha256", "")
    if folder is not None and stored_sha256 and (sha256 := _digest(folder, _state(folder))) != stored_sha256:
        raise SpecError(
            f"The weights in '{folder}' have the sha256 {sha256[:12]}…, expected {stored_sha256[:12]}… as submitted: "
            "restore them, or submit again."
        )
    return open_ranker(tools.get("ranker", ""))


def open_ranker(spec: str) -> Ranker:
    """Return the ranker of an option: `''`, `lexical`, or `KIND:DIR` with a folder of weights. Raises SpecError."""
    name, folder = _read(spec)
    return RANKERS.load(name).open(folder)


def _read(spec: str) -> tuple[str, Path | None]:
    """Return the ranker's name and its folder, None if it needs no weights. Raises SpecError for a bad option."""
    name, path = split_ranker(spec)
    if not RANKERS.knows(name) or (RANKERS.is_built_in(name) and (name == DEFAULT) == bool(path)):
        forms = (ranker if ranker == DEFAULT else f"{ranker}:DIR" for ranker in RANKERS)
        raise unknown("ranker", spec, (*forms, *RANKERS.plugin_names))
    if bool(RANKERS.load(name).published) != bool(path):
        form = (
            f"{name}:DIR, a folder of weights" if RANKERS.load(name).published else f"{name} alone: it needs no weights"
        )
        raise SpecError(f"The ranker '{spec[:80]}' must be written as {form}.")
    if not path:
        return name, None
    _check(name, folder := from_launch(path))
    return name, folder


def split_ranker(spec: str) -> tuple[str, str]:
    """Return the ranker's name, and its folder as written in the option; '' without a folder."""
    first, _, rest = (spec or DEFAULT).partition(":")
    if rest and is_dotted(f"{first}:{rest.partition(':')[0]}") and first not in RANKERS:
        attribute, _, rest = rest.partition(":")
        return f"{first}:{attribute}", rest
    return first, rest


def _check(kind: str, folder: Path) -> None:
    model = RANKERS.load(kind).published
    if not (folder / "config.json").is_file():
        raise SpecError(
            f"not run: needs the weights of {model} (or of another {kind}) in '{folder}'. "
            f"Get them with: hf download {model} --local-dir '{folder}'"
        )
    check_entries(folder)
    if not weights(folder):
        raise SpecError(
            f"not run: '{folder}' has no *.safetensors weights; other formats can run code and are refused. "
            f"Get a revision of {model} that has them, or convert it on a machine where that does no harm."
        )
    if not (folder / "tokenizer.json").is_file():
        raise SpecError(f"not run: '{folder}' has no tokenizer.json. Save the model's fast tokenizer there.")
    if not (util.find_spec("torch") and util.find_spec("transformers")):
        raise SpecError(f"not run: '{kind}' needs torch and transformers: {install_command('local')}.")


def _state(folder: Path) -> tuple[tuple[str, int, int], ...]:
    return tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in weights(folder))


@cache
def _digest(folder: Path, _state: tuple[tuple[str, int, int], ...]) -> str:
    """Return the sha256 of the weights, computed once in a process for each state of the files."""
    return identity(folder)["sha256"]
