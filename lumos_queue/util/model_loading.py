"""The lock under which a process imports large libraries and loads models: one thread at a time.

Python lets several threads import at once. Where modules of a library import each other, a thread can then see a module
that another thread has not finished: `cannot import name 'AutoImageProcessor' from 'transformers'`. transformers,
scipy, diffusers and Pillow import modules also later, when a name or a file format is first used. So every import of
such a library inside a function is in a block `with import_libraries():` (tests/unit/test_library_imports.py).

`from_pretrained` imports the modules of a model's architecture, too. While it runs, it also replaces
`PreTrainedModel.tie_weights` by a function that does nothing, and afterwards restores the former function
(`transformers.initialization.no_tie_weights`, 5.x). If two threads load at once, the empty function can remain. Then
every model whose head is tied to its embeddings gets a random head, without an error.

Never take the lock while a module is imported, that is in code outside functions: another thread can hold the lock and
wait for that module.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import TypeVar

T = TypeVar("T")

#: A thread must hold it while it calls `from_pretrained` of any class, or builds a model of transformers.
MODEL_LOADING = threading.RLock()
_imported: set[str] = set()  #: modules that a block has imported; importing them again needs no lock


@contextmanager
def import_libraries(*modules: str) -> Iterator[None]:
    """Hold MODEL_LOADING for a block that imports large libraries, or own modules that import them.

    A function that runs often names the modules that its block imports: once they are imported, the block does not wait
    for the lock, which another thread holds for as long as it loads a model.
    """
    if modules and _imported.issuperset(modules):
        yield
        return
    with MODEL_LOADING:
        yield
        if pillow := sys.modules.get("PIL.Image"):
            pillow.init()  # the modules of all file formats; otherwise the first picture imports them
        _imported.update(modules)


def load_once(load: Callable[[str], T]) -> Callable[[str], T]:
    """Return a function that calls `load`, which imports libraries and loads a folder's model, under MODEL_LOADING.

    The function keeps the model of the last folder. Threads that need the same folder at once get the same model.
    """
    load_folder = lru_cache(maxsize=1)(load)

    @wraps(load)
    def load_under_lock(folder: str) -> T:
        with import_libraries():
            return load_folder(folder)

    return load_under_lock
