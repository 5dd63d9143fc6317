"""Find experts of `own:PATH`: networks in a folder that `lumos train experts` wrote."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from lumos_queue.commands import digest
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.base import MIB, BackendFacts, Fidelity, Loading
from lumos_queue.experts.backends.needs import need_modules, versions
from lumos_queue.experts.backends.own.config import CONFIG, MODELS, WEIGHTS, ExpertConfig, folder_of, read_config
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.util.extras import install_command
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.regular_file import open_regular
from lumos_queue.util.weights import check_weights

_HERE = Path(__file__).resolve().parent
#: The limit of a process's writable memory, in bytes. Loading torch takes 220 MiB (CPU build) or 760 MiB (CUDA build).
_MEMORY = 1024 * MIB


def find_trained(expert: str, url: str) -> BackendFacts | None:
    """Return the facts of an expert in the folder after `own:`; None if the folder does not have this expert.

    Raises SpecError for a missing folder, for a folder without any expert, and for weights that cannot be read.
    """
    parent = from_launch(Path(url.removeprefix("own:")).expanduser()).absolute()
    if not parent.is_dir():
        raise SpecError(f"not run: needs trained experts: '{parent}' is no folder. `lumos train experts` makes one.")
    folder = folder_of(parent, expert)
    if expert not in MODELS or not folder.is_dir():
        if not any((folder_of(parent, name) / CONFIG).is_file() for name in MODELS):
            raise SpecError(f"not run: needs trained experts: '{parent}' has none. `lumos train experts` makes them.")
        return None
    need_modules(("torch", "safetensors"), install_command("local"))
    check_weights(folder)  # its message explains that pickles are refused
    config = read_config(folder / CONFIG, expert)
    _check_header(folder / WEIGHTS)
    size = (folder / WEIGHTS).stat().st_size
    return BackendFacts(
        expert,
        url,
        digest("own", "trained", expert, _digest_of_network(folder, config), _digest_of_code()),
        config.licence[:80],
        Fidelity.SUBSTITUTE,
        EXPERTS[expert].output,
        f"trained: {size / 1e3:,.0f} kB{_say_profiles(config.training.get('profiles'))}",
        Loading(MODELS[expert], {"folder": str(folder)}, memory=_MEMORY),
    )


def _digest_of_network(folder: Path, config: ExpertConfig) -> str:
    """Return the digest of everything that affects the answers. Training settings are not part of it."""
    with open_regular(folder / WEIGHTS, folder) as file:
        weights = hashlib.file_digest(file, "sha256").hexdigest()
    return digest(weights, json.dumps([config.shape, config.vocabulary], sort_keys=True))


def _check_header(path: Path) -> None:
    """Raises SpecError for a file that is truncated or not in the safetensors format. The weights are not read."""
    with import_libraries("safetensors.SafetensorError", "safetensors.safe_open"):
        from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):
            pass
    except (OSError, SafetensorError) as error:
        raise SpecError(f"not run: needs weights: '{path}' cannot be read ({error}). Train it again.") from None


def _say_profiles(profiles: object) -> str:
    return f", {' and '.join(map(str, profiles))[:60]}" if isinstance(profiles, list) and profiles else ""


@cache
def _digest_of_code() -> str:
    """Return the digest of the code that runs the networks, and of the libraries that compute."""
    parts = versions("numpy", "pillow", "torch", "safetensors")
    for path in sorted((*_HERE.glob("networks/*.py"), *_HERE.glob("models/*.py"), _HERE.parent / "pixels.py")):
        parts += [path.name, hashlib.sha256(path.read_bytes()).hexdigest()]
    return digest(*parts)
