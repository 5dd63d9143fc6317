"""One model at a time is loaded with transformers in a process.

While `from_pretrained` runs it replaces `PreTrainedModel.tie_weights` by a function that does nothing, and then puts
back what it found (`transformers.initialization.no_tie_weights`, 5.x). Two threads that load at once can leave the
empty function in place: from then on every model whose head is its embeddings gets a random head, without a word.
"""

from __future__ import annotations

import threading

#: Held by every thread that builds or loads a model of transformers.
MODEL_LOADING = threading.Lock()
