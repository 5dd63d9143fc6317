"""The kinds of jobs. Columns and messages are text and hold the members' values."""

from __future__ import annotations

from lumos_queue.records import TextEnum


class JobKind(TextEnum):
    """What a job does. The values are stored, and are a part of the digest of a job."""

    EVALUATE = "evaluate"  #: runs an agent on a benchmark and scores its answers
    INFER = "infer"  #: runs an agent on a benchmark
    CONVERT = "convert"  #: turns gold solutions into annotations
    TRAIN = "train"  #: fits a model
    CORRECT = "correct"  #: stores an episode with a person's changes; no worker runs it
    IMPORT = "import"  #: stores episodes that were made elsewhere; no worker runs it


#: Kinds of jobs whose episodes are runs of an agent.
RUNS = (JobKind.EVALUATE, JobKind.INFER)
