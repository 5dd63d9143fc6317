"""docs/settings.md: every setting with its type, default and meaning, as lumos_queue/settings.py declares them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from pydantic_core import PydanticUndefined

from lumos_queue.experts.host import DEFAULT_MEMORY
from lumos_queue.settings import Settings
from tests.reference_pages.markdown import code, table

HEAD = """\
# Settings

Written by `make docs-reference` from `lumos_queue/settings.py`: change the code, not this page.

Settings are environment variables, read once when a process starts; all durations are seconds. A deployment keeps them
in `/etc/lumos/lumos.env` ([running.md](running.md)). A relative path is in the folder of the launch.
"""
RULES = """\
`LUMOS_HEARTBEAT_SECONDS` < `LUMOS_FENCE_SECONDS` < `LUMOS_LEASE_SECONDS` must hold. Why a key is bound to one server:
[decision 17](decisions/0017-keys-are-bound-to-servers.md).
"""
OTHERS_HEAD = """\
## Read elsewhere

Variables that one part reads by itself, when it needs them.
"""
#: Variables outside `Settings`: type, default, meaning. A test searches the code for others.
OTHERS = {
    "LUMOS_CHILDREN": ("number", "", "child processes of one `lumos-worker@` unit; each uses about one core"),
    "LUMOS_TRAIN_RANKS": ("number", "1", "processes of one training window on a CPU ([training.md](training.md))"),
    "LUMOS_EXPERT_MEMORY": (
        "number",
        str(DEFAULT_MEMORY),
        "bytes for all experts of one worker process ([experts.md](experts.md))",
    ),
    "LUMOS_CLIP_WEIGHTS": ("path", "", "weights of OpenAGI's `clip_score` ([experts.md](experts.md))"),
    "LUMOS_BERT_WEIGHTS": ("path", "", "weights of its `bert_score`"),
    "LUMOS_BERT_LAYER": ("number", "", "layer whose embeddings `bert_score` compares ([experts.md](experts.md))"),
    "LUMOS_VIT_WEIGHTS": ("path", "", "weights of its `vit_score`"),
    "LUMOS_LAUNCH_FOLDER": (
        "path",
        "",
        "folder that relative paths refer to; default: the current one. Set for child processes",
    ),
}
_TYPES = {str: "text", Path: "path", int: "number", float: "number"}


def write_settings_page() -> str:
    """Return the page."""
    fields = Settings.model_fields.items()
    settings_table = table(("variable", "type", "default", "meaning"), (_row(name, field) for name, field in fields))
    rows = ((code(name), kind, code(default), meaning) for name, (kind, default, meaning) in OTHERS.items())
    return "\n".join(
        [HEAD, settings_table, RULES, OTHERS_HEAD, table(("variable", "type", "default", "meaning"), rows)]
    )


def name_variable(name: str) -> str:
    """Return the environment variable of a field of `Settings`."""
    return f"{Settings.model_config.get('env_prefix')}{name.upper()}"


def _row(name: str, field: Any) -> tuple[str, str, str, str]:
    kinds = [_TYPES[kind] for kind in (get_args(field.annotation) or (field.annotation,)) if kind in _TYPES]
    limits = [f"{sign} {bound}" for sign, bound in _bounds(field)]
    default = "" if field.default in (None, PydanticUndefined) else str(field.default)
    return code(name_variable(name)), " ".join([*kinds, *limits]), code(default), field.description


def _bounds(field: Any) -> list[tuple[str, Any]]:
    signs = (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))
    return [
        (sign, getattr(constraint, name))
        for constraint in field.metadata
        for name, sign in signs
        if hasattr(constraint, name)
    ]
