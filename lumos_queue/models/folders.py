"""The folder of this machine's models, and the files that record the origin of a model."""

from __future__ import annotations

import json
import re
from importlib import util
from pathlib import Path
from typing import Any

from lumos_queue.endpoints.model_folder import MADE_FROM, check_folder, digest_of_files, model_digests, weights
from lumos_queue.errors import SpecError
from lumos_queue.settings import read_settings
from lumos_queue.util.extras import install_command

MERGED = "merged"  #: the folder of merged adapters among the models
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def models_folder() -> Path:
    """Return the folder of this machine's models: `models` in LUMOS_HOME."""
    return read_settings().home / "models"


def resolve_model_folder(name: str) -> Path:
    """Return the folder for a model of that name. Raises SpecError if no model may have the name."""
    if not _NAME.fullmatch(name) or name == MERGED:
        raise SpecError(
            f"'{name[:80]}' cannot name a model: expected up to 64 letters, digits, '.', '_' or '-', "
            f"a letter or digit first, and not '{MERGED}'."
        )
    return models_folder() / name


def write_made_from(folder: Path, origin: dict[str, Any]) -> None:
    """Write `origin`, which describes the source of the model, and the digest of its weights to `made-from.json`.

    The digest reveals later whether the weights were changed.
    """
    value = {**origin, "weights_sha256": digest_of_files(weights(folder))}
    (folder / MADE_FROM).write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")


#: Modules that `lumos web` needs; the extra `web` installs them.
WEB_LIBRARIES = ("fastapi", "uvicorn", "multipart", "argon2")


def require_libraries(*names: str, extra: str = "local") -> None:
    """Raise SpecError if one of these libraries is not installed. The message names `extra`, which installs them."""
    if missing_names := [name for name in names if not util.find_spec(name)]:
        raise SpecError(f"This needs {' and '.join(missing_names)}: {install_command(extra)}.")


def check_made_from(folder: Path, sha256: str) -> None:
    """Raise SpecError if the model in a folder is incomplete or its digest is not `sha256`."""
    check_folder(folder)
    if model_digests(folder)["sha256"] != sha256:
        raise SpecError(f"'{folder}' holds another model, or was changed: move it away, and get the model again.")
