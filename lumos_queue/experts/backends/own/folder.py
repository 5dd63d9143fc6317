"""A folder of trained experts, as the recipe `experts` exports it: experts.json and a safetensors file for each."""

from __future__ import annotations

import hashlib
from pathlib import Path

from lumos_queue.commands import digest
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.base import MIB, BackendFacts, Fidelity, Loading
from lumos_queue.experts.backends.needs import need_modules
from lumos_queue.experts.base import Expert
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.untrusted_json import read_json

MANIFEST = "experts.json"
_MODEL = "lumos_queue.experts.backends.own.trained:Restore"


def find(expert: Expert, url: str, path: str) -> BackendFacts:
    """Raises SpecError for a folder without this expert, or whose weights are not those that were exported."""
    place = from_launch(Path(path).expanduser())
    need_modules(("torch", "safetensors"), "pip install 'lumos-queue[local]'")
    try:
        entry = read_json((place / MANIFEST).read_bytes())["experts"][expert.name]
        name, sha256, note = Path(str(entry["file"])).name, str(entry["sha256"]), str(entry["note"])
        with (place / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError, KeyError, TypeError):
        raise SpecError(
            f"not run: needs {expert.name} in '{place}': train it with `lumos train experts --folder {place}`, "
            "or choose own: for the rule."
        ) from None
    if found != sha256:
        raise SpecError(f"'{place / name}' is not what was exported: its sha256 is {found[:12]}…, not {sha256[:12]}….")
    return BackendFacts(
        expert.name,
        url,
        digest("own", expert.name, sha256),
        "MIT",
        Fidelity.SUBSTITUTE,
        expert.output,
        f"trained: {note[:100]}",
        Loading(_MODEL, {"weights": str((place / name).resolve())}, memory=1024 * MIB),
    )
