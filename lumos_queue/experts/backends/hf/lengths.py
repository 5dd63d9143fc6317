"""Read how long the texts of a checkpoint may be: what its configuration states for the task, or for all generation."""

from __future__ import annotations

from typing import Any

OWN_LENGTHS = "own"  #: those of the checkpoint
FIXED_LENGTHS = "fixed"  #: NEW_TOKENS for every checkpoint, as in jobs that earlier versions submitted
NEW_TOKENS = 200  #: limit where a checkpoint states none
MAX_LENGTH = 1024  #: tokens: limit for every checkpoint
_LIMITS = ("max_length", "max_new_tokens")
_NAMES = (*_LIMITS, "min_length", "min_new_tokens")


def read_lengths(config: Any, generation_config: Any, task: str) -> dict[str, int]:
    """Return arguments of `generate` that limit the output, in tokens.

    `config` is the configuration of the model, whose `task_specific_params` come first, as in the pipelines of
    transformers up to version 4; then comes `generation_config`. Without a limit of the checkpoint it is NEW_TOKENS.
    """
    settings = getattr(config, "task_specific_params", None)
    task_settings = settings.get(task) if isinstance(settings, dict) else None
    stated_lengths = task_settings if isinstance(task_settings, dict) else {}
    lengths: dict[str, int] = {}
    for name in _NAMES:
        length = stated_lengths.get(name, getattr(generation_config, name, None))
        if isinstance(length, int) and length > 0:
            lengths[name] = min(length, MAX_LENGTH)
    return lengths if any(name in lengths for name in _LIMITS) else {**lengths, "max_new_tokens": NEW_TOKENS}
