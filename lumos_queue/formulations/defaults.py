"""The formulations that commands and requests use if a person names none, and those that only commands use."""

from __future__ import annotations

USUAL = "iterative"  #: of requests, builds and fits
LONE_SOLVER = "cot"  #: of requests that name a solver alone
REWARDED = "model-synthesis"  #: of `lumos train rltf`
RUN_JUDGE = "tooleval"  #: of `lumos judge`
ANSWER_GRADER = "stored-answer"  #: of `lumos score --judge`
#: Of the original's training files, by its names. No model was called in iterative ones: they are annotations.
RELEASED = {"iterative": "annotation", "onetime": "one-pass"}
IMPORTED_TREE, IMPORTED_CHAINS = "dfsdt", "react"  #: of the searches in ToolBench's answer files
