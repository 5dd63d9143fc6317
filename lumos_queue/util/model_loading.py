"""A lock with which a process loads only one model at a time with transformers.

While `from_pretrained` runs, it replaces `PreTrainedModel.tie_weights` by a function that does nothing, and afterwards
restores the former function (`transformers.initialization.no_tie_weights`, 5.x). If two threads load at once, the empty
function can remain. Then every model whose head is tied to its embeddings gets a random head, without an error.
"""

from __future__ import annotations

import threading

#: A thread must hold it while it builds or loads a model of transformers.
MODEL_LOADING = threading.Lock()
