"""The options of the WebShop actions, checked at submission and again in the worker."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from lumos_queue.actions.options import check_option_names
from lumos_queue.actions.ranking.registry import prepare_ranker
from lumos_queue.actions.shop.stock import open_stock
from lumos_queue.errors import SpecError
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.regular_file import open_regular

FILES = {
    "catalogue": "WebShop's product file (items_shuffle*.json); without it, the generated catalogue",
    "attributes": "WebShop's attribute file (items_ins*.json) of that catalogue",
}
OPTIONS = {
    **FILES,
    "ranker": "what compares texts in FeatureRetrieve and Pick: 'lexical' (default), or 'cross-encoder:DIR'",
}


def prepare_tools(tools: Mapping[str, str]) -> dict[str, str]:
    """Return the options with absolute paths, the sha256 of the files, and counts of the catalogue. Raises SpecError.

    It counts products, rows that are no products, and skipped options (Product.left_out).
    """
    check_option_names(tools, "webshop", OPTIONS)
    if "attributes" in tools and "catalogue" not in tools:
        raise SpecError("--tool attributes=… goes with a catalogue: add --tool catalogue=…, or leave attributes out.")
    options = prepare_ranker(tools)
    for name in FILES.keys() & tools.keys():
        path = from_launch(tools[name]).absolute()
        options |= {name: str(path), f"{name}_sha256": _sha256(name, path)}
    if "catalogue" in tools:
        stock = open_stock(options)
        options |= {
            "catalogue_products": str(len(stock.products)),
            "catalogue_bad_rows": str(stock.bad),
            "catalogue_options_left_out": str(stock.left_out),
        }
    return options


def check_files(tools: Mapping[str, str]) -> None:
    """Raise SpecError if a file that prepared options name is missing, or has changed since submission."""
    for name in FILES.keys() & tools.keys():
        digest, expected_digest = _sha256(name, from_launch(tools[name])), tools.get(f"{name}_sha256")
        if expected_digest and digest != expected_digest:
            raise SpecError(
                f"--tool {name}: '{tools[name]}' has sha256 {digest[:12]}…, the job was submitted with "
                f"{expected_digest[:12]}…: restore it, or submit again."
            )


def _sha256(name: str, path: Path) -> str:
    try:
        state = path.stat()
        return _digest(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        reason = error.strerror or error
        raise SpecError(f"--tool {name}: cannot read '{path}': {reason}. Give {FILES[name]}.") from error


@lru_cache(maxsize=8)
def _digest(path: Path, _mtime_ns: int, _size: int) -> str:
    """Return a file's sha256. It is computed again only if the file's size or time has changed."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
